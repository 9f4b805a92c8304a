"""Source metrics, strength of own tests, and truth of claims of a submission."""

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
