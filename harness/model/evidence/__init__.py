"""Evidence of criteria, signals from the sandbox, and the findings and repairs derived from them."""
