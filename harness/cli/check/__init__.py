"""`harness check`: the command, and output of its trials."""
