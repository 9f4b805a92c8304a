"""What the source of an answer shows without its contract: metrics, the strength of its own tests, its claims."""

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
