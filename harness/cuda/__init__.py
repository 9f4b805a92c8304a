"""CUDA submissions: the compiler gate, the emulated device and GPUs."""
