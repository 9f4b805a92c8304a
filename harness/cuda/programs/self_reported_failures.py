"""Failures that a program reports in its own output."""

import re

_FAILURE = re.compile(
    r"\b(?:failed|failure|fail|mismatch(?:es)?|mismatched|incorrect|does not match|do not match|not equal|wrong)\b"
    r"|\berror\b\s*[:!]|\berror\s+at\b|\b[1-9]\d*\s+errors?\b|\bnot\s+ok\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\b(?:no|not|without|zero|0)\s+(?:\w+\s+){0,2}?(?:fail|mismatch|error|wrong|incorrect)"
    r"|\b(?:failed|failures|failure|fail|mismatch\w*|errors?|incorrect|wrong)\s*(?:count|rate)?\s*(?:[:=]\s*-?[\d.]|0(?![.\d]))"
    r"|\b0 (?:of|/) ?\d|\bif\b|\bwhen\b",
    re.IGNORECASE,
)
"""Wording that only resembles a failure: `0 mismatches`, `max error: 1e-6`."""


def failures(output: str) -> list[str]:
    """Return the lines that seem to report a failure, each cut to 200 characters."""
    return [text.strip()[:200] for text in output.splitlines() if _FAILURE.search(text) and not _NONE.search(text)]
