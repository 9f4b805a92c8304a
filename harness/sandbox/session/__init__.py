"""A session in the sandbox."""
