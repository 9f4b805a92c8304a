"""harness: a grader for model-generated ML kernels."""

__version__ = "0.1.0"
