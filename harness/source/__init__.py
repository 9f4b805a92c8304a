"""Reading of source files, without running them."""
