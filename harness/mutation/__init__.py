"""Faults planted on purpose, and what a challenge's probes say of them."""
