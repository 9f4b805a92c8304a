"""Submissions: names, files, conversations with models, and published collections."""
