"""The emulated device: its compiled runtime, submissions built for it, and the trace it leaves."""
