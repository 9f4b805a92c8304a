"""The walls of the sandbox."""
