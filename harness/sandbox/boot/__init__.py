"""The worker's files: all that the box shows of the harness."""
