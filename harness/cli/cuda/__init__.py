"""`harness cuda`: the commands, and their output."""
