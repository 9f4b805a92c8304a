"""CUDA submissions: the compiler check, the emulated device and GPUs.

A folder imports only those before it: compilers, check, rewriting, emulator, gpu, repair, programs. `inside` runs in
the sandbox and imports none of them.
"""
