"""Audits of published records."""
