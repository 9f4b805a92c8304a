"""Measurements of a submission's source beyond its contract: metrics, strength of its own tests, claims."""

__all__ = [
    "assertions",
    "ast_mutants",
    "boxed_suite",
    "claims",
    "evidence",
    "hints",
    "metrics",
    "own_tests",
    "sources",
    "tools",
    "vacuous_assertions",
]
