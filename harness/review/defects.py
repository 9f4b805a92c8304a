"""Published defects checked against records: confirmed, refuted, or invisible to every criterion."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.errors import SpecError, nearest
from harness.model import (
    UNBUILT,
    Challenge,
    Criterion,
    Evidence,
    Outcome,
    Provenance,
    PublishedDefect,
    PublishedDefects,
    Record,
)
from harness.model.manifest import read_toml
from harness.workspace import Workspace

DEFECTS = Path("reports", "published", "defects.toml")
NOT_ASKED = "no criterion covers it"
OTHER_FAULT = "fails, but its evidence shows another fault"


class DefectRuling(StrEnum):
    """The verdict on a published defect from running the submission."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNSEEN = "cannot see"


@dataclass(frozen=True)
class RuledDefect:
    """A defect with its verdict.

    Attributes:
        ruling: confirmed if a criterion shows it, refuted if all its criteria passed.
        by: decisive evidence, if any.
        hidden: obstacles, as pairs of a reason and a criterion or an empty string; empty if the evidence decides.
    """

    defect: PublishedDefect
    ruling: DefectRuling
    by: tuple[Evidence, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()


def read_defects(workspace: Workspace) -> tuple[PublishedDefect, ...]:
    """Return the defects in `reports/published/defects.toml`, if it exists.

    Raises:
        SpecError: it is malformed, repeats a defect, or names an unknown model, challenge or criterion.
    """
    path = workspace.root / DEFECTS
    if not path.exists():
        return ()
    defects = read_toml(path, PublishedDefects).defects
    models, rubrics = workspace.models(), {id: workspace.challenge(id) for id in workspace.challenges()}
    seen: set[str] = set()
    for defect in defects:
        where = f"defects.{defect.id}"
        _check_name(path, f"{where}.model", "model", defect.model, models)
        _check_name(path, f"{where}.challenge", "challenge", defect.challenge, list(rubrics))
        criteria = [c.id for c in rubrics[defect.challenge].criteria]
        for id in defect.criteria:
            _check_name(path, f"{where}.criteria", f"criterion of {defect.challenge}", id, criteria)
        if defect.id in seen:
            raise SpecError(path, f"{defect.id!r} appears twice", field="defects")
        seen.add(defect.id)
    return defects


def rule(defect: PublishedDefect, challenge: Challenge, record: Record | None) -> RuledDefect:
    """Check a defect against its submission's record, if any."""
    if not defect.criteria:
        return RuledDefect(defect, DefectRuling.UNSEEN, hidden=((defect.unseen or NOT_ASKED, ""),))
    if record is None:
        return RuledDefect(
            defect, DefectRuling.UNSEEN, hidden=tuple(("no record of the submission", id) for id in defect.criteria)
        )
    rubric = {c.id: c for c in challenge.criteria}
    evidence = {e.criterion: e for e in record.evidence}
    hidden, showing = [], []
    for id in defect.criteria:
        seen = evidence.get(id)
        if why := out_of_sight(rubric.get(id), seen, record.provenance):
            hidden.append((why, id))
        elif seen is not None and seen.outcome is not Outcome.PASSED:
            if defect.appears_in(seen):
                showing.append(seen)
            else:
                hidden.append((OTHER_FAULT, id))
    if showing:
        return RuledDefect(defect, DefectRuling.CONFIRMED, tuple(showing))
    if hidden:
        return RuledDefect(defect, DefectRuling.UNSEEN, hidden=tuple(hidden))
    return RuledDefect(defect, DefectRuling.REFUTED, tuple(evidence[id] for id in defect.criteria))


def out_of_sight(criterion: Criterion | None, evidence: Evidence | None, provenance: Provenance) -> str:
    """Return why a criterion's evidence says nothing about the model's own code, or an empty string."""
    if criterion is None or evidence is None:
        return "not in the record"
    if evidence.rests_on:
        unbuilt = evidence.rests_on == UNBUILT
        return "does not build, so none of it ran" if unbuilt else f"counts for nothing while {evidence.rests_on} fails"
    if not evidence.outcome.assessed:
        return "needs a reader" if criterion.review else evidence.detail
    if criterion.metric and provenance is Provenance.RECONSTRUCTION:
        return "read off the text of the reconstruction, which is not the model's"
    return ""


def _check_name(path: Path, field: str, kind: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SpecError(path, f"no {kind} {value!r}{nearest(value, known)}", field=field)
