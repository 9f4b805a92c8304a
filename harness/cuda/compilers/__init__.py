"""Compilers found on this machine, and the processor time they may take."""
