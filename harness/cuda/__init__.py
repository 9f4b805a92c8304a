"""CUDA answers: compiled by the real compiler, run on an emulated device, and on a real one where there is one."""
