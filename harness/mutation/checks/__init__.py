"""Checks of a challenge: what its probes say of answers known to be right or wrong."""
