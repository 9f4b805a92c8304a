"""Repaired copies of submissions that nvcc refuses."""
