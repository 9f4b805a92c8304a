"""Submissions as probes meet them: opened, on a device, wrapped."""
