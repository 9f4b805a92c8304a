"""Stands for CuPy in a sandbox: as much of its binding as the GPU's driver needs to start."""
