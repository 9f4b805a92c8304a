"""The corpus of attacks on the harness, and of honest answers that look like some."""
