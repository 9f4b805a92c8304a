"""The emulated device: its runtime, builds for it, and its traces."""
