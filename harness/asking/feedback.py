"""Feedback to a model between turns, limited to what a user would see.

It states only title and severity of a finding. Details, counterexamples, figures and diagnoses would leak sizes, seeds,
expected values and text of the reference.
"""

from collections.abc import Iterator, Sequence

from harness.model import BuildFailure, Record

MOST_WORDS = 6000
"""Characters of a compiler's output that are quoted, from its start."""
_AGAIN = (
    "Reply with your whole answer again: every file complete, each in a fenced block of its own, its name after the "
    "language."
)


def on_grade(record: Record) -> str | None:
    """Return the feedback on a graded reply; None without a fault."""
    if record.build:
        return _join_parts(["Your answer does not build.", *_quote_failure(record.build)])
    faults = dict.fromkeys(f"- {finding.title} ({finding.severity.value})" for finding in record.findings)
    if not faults:
        return None
    return _join_parts(["Your answer was tested by running it. These faults were found:", "\n".join(faults)])


def on_unreadable(reason: str, found: Sequence[str] = ()) -> str:
    """Return the feedback on a reply without a submission, which lists its blocks."""
    listed = "\n".join(f"- {line}" for line in found)
    return _join_parts([f"No answer could be taken from your reply: it {reason}.", *([listed] if listed else [])])


def _quote_failure(failure: BuildFailure) -> Iterator[str]:
    whose = {"compiler": "The compiler's words:", "import": "It was refused when it was loaded:"}
    text = failure.detail
    cut = "\n..." if len(text) > MOST_WORDS else ""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{whose.get(failure.stage, 'Why:')}\n\n{fence}\n{text[:MOST_WORDS]}{cut}\n{fence}"


def _join_parts(parts: Sequence[str]) -> str:
    return "\n\n".join([*parts, _AGAIN])
