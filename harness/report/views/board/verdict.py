"""The board in two sentences."""

from collections.abc import Iterator

from harness.model import Provenance, Status
from harness.report import formatting
from harness.report.views.board.rows import Entry, ScoreboardRow
from harness.report.views.board.scoreboard import Scoreboard
from harness.scoring.marked import first_group


def board_verdict(board: Scoreboard) -> str:
    """Say who leads, what does not build, and where everybody fails."""
    rows = [row for row in board.rows if Provenance.BASELINE not in row.standing.provenance]
    parts = (*_lead(board), *_unbuilt(board, rows), *_all_fail(board, rows))
    return f"{'; '.join(parts)}." if parts else ""


def _lead(board: Scoreboard) -> Iterator[str]:
    ranked = first_group([row.standing for row in board.ranked])
    first = [place.model for place in ranked if place.rank == ranked[0].rank]
    if not first:
        yield "No model has a mark on every challenge that counts"
        return
    mean, over = formatting.whole(ranked[0].mean), len(board.compared)
    challenges = f"{over} challenge{'s' if over != 1 else ''}"
    if len(first) > 1:
        yield f"{', '.join(first[:-1])} and {first[-1]} share the first place: {mean} on average over {challenges}"
        return
    best = sum(_leads(board, number, first[0]) for number, c in enumerate(board.challenges) if c.id in board.compared)
    leads = f"{first[0]} leads with {mean} on average over {challenges}"
    yield f"{leads}; on {best or 'none'} of them no model has a higher mark"


def _leads(board: Scoreboard, number: int, model: str) -> bool:
    entries = {row.standing.model: row.entries[number] for row in board.rows if _counts(row)}
    marks = {name: e.overall.score for name, e in entries.items() if e.overall and e.overall.score is not None}
    return model in marks and marks[model] == max(marks.values())


def _counts(row: ScoreboardRow) -> bool:
    return Provenance.BASELINE not in row.standing.provenance


def _unbuilt(board: Scoreboard, rows: list[ScoreboardRow]) -> Iterator[str]:
    """Yield the challenge with most answers that do not build."""
    columns = [(c.title, _given(rows, number)) for number, c in enumerate(board.challenges)]
    counts = [(sum(e.status is Status.BUILD_FAILED for e in given), len(given), title) for title, given in columns]
    failed, of, title = max(counts, key=lambda count: (count[0], -count[1]), default=(0, 0, ""))
    if failed:
        yield f"{failed} of {of} answers to {title} {'does' if failed == 1 else 'do'} not build"


def _all_fail(board: Scoreboard, rows: list[ScoreboardRow]) -> Iterator[str]:
    """Yield the challenges of which every answer, of two or more, misses a critical criterion."""
    titles = [
        c.title
        for number, c in enumerate(board.challenges)
        if len(given := _given(rows, number)) > 1 and all(e.critical[0] < e.critical[1] for e in given)
    ]
    if titles:
        named = f"{', '.join(titles[:-1])} and {titles[-1]}" if len(titles) > 1 else titles[0]
        yield f"every answer to {named} misses a critical criterion"


def _given(rows: list[ScoreboardRow], number: int) -> list[Entry]:
    return [e for row in rows if (e := row.entries[number]).status not in (None, Status.JUDGE_ERROR)]
