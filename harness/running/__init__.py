"""One grade as a list of stages, many grades at a time, and where their records are kept."""
