"""Challenges, suites and profiles."""
