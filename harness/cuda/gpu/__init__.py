"""Submissions on a GPU: detection, build, calls and comparative timing."""
