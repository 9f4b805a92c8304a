"""Challenges, the suites they form, and the profiles by which they are graded."""
