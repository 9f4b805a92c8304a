"""`harness cuda` and its output."""
