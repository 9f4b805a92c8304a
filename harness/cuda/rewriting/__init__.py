"""CUDA source to C++ for the emulated device; what is not CUDA stays byte for byte."""

from harness.cuda.rewriting.includes import SourceTree
from harness.cuda.rewriting.submission import Rewriting, rewrite
from harness.cuda.rewriting.unsupported import UnsupportedConstruct

__all__ = ["Rewriting", "SourceTree", "UnsupportedConstruct", "rewrite"]
