"""Figures of records, drawn by templates."""
