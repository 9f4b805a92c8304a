"""Programs that run a submission's own tests inside the sandbox."""
