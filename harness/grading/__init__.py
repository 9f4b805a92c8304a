"""Grades as lists of stages, many grades at a time, and the store of their records."""
