"""Faults planted under a guard, language by language."""
