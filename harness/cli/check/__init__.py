"""`harness check` and its output."""
