"""Grades on a Ray cluster."""
