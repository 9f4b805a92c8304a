"""Reviews, and defects that they named."""
