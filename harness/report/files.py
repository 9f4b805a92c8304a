"""The report files: what they are called, what is in them, and writing only those that changed."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.errors import SpecError
from harness.model import Challenge, Record
from harness.report.contexts import challenge_report
from harness.report.render import render
from harness.report.scoreboard import as_markdown, scoreboard
from harness.workspace import write_atomically

SCOREBOARD = "scoreboard.md"


def render_all(challenges: Iterable[Challenge], records: Iterable[Record]) -> dict[str, str]:
    """All reports by path below `reports/`: one for each challenge with a record, and the scoreboard.

    Args:
        challenges: in any order.
        records: one for each submission graded, in any order.

    Raises:
        SpecError: a challenge has the name of the scoreboard.
    """
    known = list(records)
    rubrics = sorted(challenges, key=lambda c: c.id)
    reports = {}
    for challenge in rubrics:
        own = [r for r in known if r.challenge == challenge.id]
        if own:
            reports[f"{challenge.id}.md"] = render("challenge.md.j2", report=challenge_report(challenge, own))
    if SCOREBOARD in reports:
        raise SpecError("challenges/scoreboard/challenge.toml", "is the name of the scoreboard", field="id")
    return reports | {SCOREBOARD: as_markdown(scoreboard(rubrics, known))}


def write(reports: Mapping[str, str], folder: Path) -> list[Path]:
    """Write what differs from the files under `folder`, each in one step; returns what was written.

    Raises:
        StoreError: a file cannot be written.
    """
    written = []
    for name, text in sorted(reports.items()):
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text)
            written.append(path)
    return written
