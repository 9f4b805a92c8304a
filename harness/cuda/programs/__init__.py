"""CUDA programs with a `main` of their own, and the stand-alone tool `harness cuda`."""
