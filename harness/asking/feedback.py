"""What a model is told of a reply, before it may reply again: what a user sees, and nothing of any probe's inputs.

Of a finding only the title and the severity are told: details, counterexamples, figures and diagnoses hold sizes,
seeds, expected values, and words of the reference.
"""

from collections.abc import Iterator, Sequence

from harness.model import BuildFailure, Record

MOST_WORDS = 6000
"""Characters of the compiler's words that are told, the first ones."""
_AGAIN = (
    "Reply with your whole answer again: every file complete, each in a fenced block of its own, its name after the "
    "language."
)


def on_grade(record: Record) -> str | None:
    """What to tell of a reply that was graded; None where nothing is left to mend."""
    if record.build:
        return _told(["Your answer does not build.", *_words(record.build)])
    faults = dict.fromkeys(f"- {finding.title} ({finding.severity.value})" for finding in record.findings)
    if not faults:
        return None
    return _told(["Your answer was tested by running it. These faults were found:", "\n".join(faults)])


def on_unreadable(reason: str, found: Sequence[str] = ()) -> str:
    """What to tell of a reply that holds no answer.

    Args:
        reason: why it holds none.
        found: what it holds, a line each.
    """
    listed = "\n".join(f"- {line}" for line in found)
    return _told([f"No answer could be taken from your reply: it {reason}.", *([listed] if listed else [])])


def _words(failure: BuildFailure) -> Iterator[str]:
    whose = {"compiler": "The compiler's words:", "import": "It was refused when it was loaded:"}
    text = failure.detail
    cut = "\n..." if len(text) > MOST_WORDS else ""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{whose.get(failure.stage, 'Why:')}\n\n{fence}\n{text[:MOST_WORDS]}{cut}\n{fence}"


def _told(parts: Sequence[str]) -> str:
    return "\n\n".join([*parts, _AGAIN])
