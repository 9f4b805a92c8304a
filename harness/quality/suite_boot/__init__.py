"""The files that run an answer's own test suite inside the box."""
