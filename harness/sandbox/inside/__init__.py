"""The worker's files, the only part of the harness visible in the box."""
