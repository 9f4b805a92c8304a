"""One grade as a list of stages."""
