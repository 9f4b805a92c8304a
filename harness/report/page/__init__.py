"""All reports on one page, `index.html`, which opens from disk and loads nothing else."""

from harness.model import Provenance
from harness.report import formatting
from harness.report.page.html import data, render
from harness.report.page.submission_details import MOST_DETAILED, challenge_details
from harness.report.page.views import board_rows, comparison, heat_maps
from harness.report.views.answers import answers
from harness.report.views.inputs import ReportInputs
from harness.report.writers.scoreboard import Scoreboard, scoreboard

__all__ = ["page"]


def page(inputs: ReportInputs, board: Scoreboard | None = None) -> str:
    """Return the page; equal inputs give equal bytes.

    Args:
        inputs: of two records of one submission the last one counts.
        board: scoreboard of the measured marks, if already built.
    """
    # loads matplotlib, which only this page needs
    from harness.report.page.drawings import sections

    board = board or scoreboard(inputs)
    known = {c.id for c in inputs.challenges}
    last = {r.name: r for r in inputs.records if r.challenge in known}
    records = sorted(last.values(), key=lambda r: (r.challenge, r.submission_name.order))
    answered = answers(records)
    maps = heat_maps(inputs.challenges, answered)
    models = [row.standing.model for row in board.rows]
    provenances = sorted({r.provenance for r in records})
    return render(
        board=board,
        rows=board_rows(board),
        heat_maps=maps,
        comparison=data(comparison(maps, models, answered)),
        models=models,
        provenances=[formatting.provenance(p) for p in provenances],
        reconstructed=sorted(r.name for r in records if r.provenance is Provenance.RECONSTRUCTION),
        figures=sections(inputs.challenges, [answer.shown for answer in answered], models),
        challenge_details=tuple(
            challenge_details(inputs.challenges, records, inputs.reviews, inputs.sources, inputs.unfetched)
        ),
        submissions=len(records),
        attempts=any(answer.attempts for answer in answered),
        most_detailed=MOST_DETAILED,
    )
