"""Source metrics, strength of own tests, and truth of claims of a submission."""
