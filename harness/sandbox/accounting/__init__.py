"""Resources that a process in the sandbox uses."""
