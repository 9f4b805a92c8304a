"""Submissions, their names and files, and published collections."""
