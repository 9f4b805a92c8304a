"""C, C++ and CUDA source: its syntax, outline and integers."""
