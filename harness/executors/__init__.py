"""Executors, which run many grades."""
