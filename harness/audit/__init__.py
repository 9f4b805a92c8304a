"""Audits of published records: submissions graded again, and mutants of what they passed."""
