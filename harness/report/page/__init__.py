"""All reports on one page, `index.html`: one file that a browser opens from disk and that fetches nothing."""

from harness.model import Provenance
from harness.report import words
from harness.report.material import Material
from harness.report.page.html import data, render
from harness.report.page.submissions import MOST_DETAILED, groups
from harness.report.page.views import board_rows, comparison, heats
from harness.report.scoreboard import Scoreboard, scoreboard

__all__ = ["page"]


def page(material: Material, board: Scoreboard | None = None) -> str:
    """The page. The same material gives the same bytes.

    Args:
        material: rubrics, records and reviews, in any order; the last of two records of one submission counts.
        board: the scoreboard of the measured marks, where it was made before.
    """
    # loads matplotlib, which only this page needs
    from harness.report.page.drawings import sections

    board = board or scoreboard(material)
    known = {c.id for c in material.challenges}
    last = {r.name: r for r in material.records if r.challenge in known}
    records = sorted(last.values(), key=lambda r: (r.challenge, r.model))
    maps = heats(material.challenges, records)
    models = [row.standing.model for row in board.rows]
    provenances = sorted({r.provenance for r in records})
    return render(
        board=board,
        rows=board_rows(board),
        heats=maps,
        comparison=data(comparison(maps, models, records)),
        models=models,
        provenances=[words.provenance(p) for p in provenances],
        reconstructed=sorted(r.name for r in records if r.provenance is Provenance.RECONSTRUCTION),
        figures=sections(material.challenges, records, models),
        groups=tuple(groups(material.challenges, records, material.reviews, material.sources)),
        submissions=len(records),
        most_detailed=MOST_DETAILED,
    )
