"""Code that runs inside the sandbox."""
