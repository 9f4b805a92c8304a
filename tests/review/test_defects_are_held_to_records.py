"""What a published defect came to follows from the record alone, and the list of them names only what there is."""

from pathlib import Path

import pytest

from harness.errors import SpecError
from harness.model import (
    Challenge,
    Counterexample,
    Evidence,
    Location,
    Observation,
    Outcome,
    Provenance,
    PublishedDefect,
    Record,
    Severity,
)
from harness.review.defects import OTHER_FAULT, DefectRuling, read_defects, rule
from harness.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
OURS = Workspace(ROOT)
CHALLENGE = OURS.challenge("kv_cache")

HEAD = "schema_version = 1\n"
ENTRY = """
[[defects]]
id = "no-mask"
model = "glm-5"
challenge = "kv_cache"
said = "No causal mask"
severity = "major"
criteria = ["causality"]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The real challenges, and one model without answers."""
    (tmp_path / "challenges").symlink_to(ROOT / "challenges")
    (tmp_path / "submissions" / "glm-5").mkdir(parents=True)
    (tmp_path / "reports" / "published").mkdir(parents=True)
    return Workspace(tmp_path)


def write(workspace: Workspace, text: str) -> Workspace:
    (workspace.root / "reports" / "published" / "defects.toml").write_text(HEAD + text, encoding="utf-8")
    return workspace


def record(provenance: Provenance = Provenance.MODEL_OUTPUT, **outcomes: object) -> Record:
    """A real record with the evidence of some criteria changed."""
    real = OURS.record("glm-5/kv_cache")
    evidence = tuple(_changed(e, outcomes[e.criterion]) if e.criterion in outcomes else e for e in real.evidence)
    return real.model_copy(update={"evidence": evidence, "provenance": provenance})


def _changed(evidence: Evidence, told: object) -> Evidence:
    fields = {"outcome": told} if isinstance(told, Outcome) else told
    assert isinstance(fields, dict)
    return Evidence.of(CHALLENGE.criterion(evidence.criterion), **fields)


def ruling(record: Record | None, *criteria: str, **changes: object) -> DefectRuling:
    defect = PublishedDefect(id="d", model="glm-5", challenge="kv_cache", said="wrong", criteria=criteria, **changes)
    return rule(defect, CHALLENGE, record).ruling


NOT_RUN = {"outcome": Outcome.NOT_RUN, "detail": "the box was gone"}
UNBUILT = {"outcome": Outcome.FAILED, "detail": "the submission does not build", "rests_on": "build"}


def test_one_criterion_that_shows_it_confirms() -> None:
    seen = record(causality=Outcome.FAILED, dtype=Outcome.PASSED)
    assert ruling(seen, "causality") is DefectRuling.CONFIRMED
    assert ruling(seen, "dtype", "causality") is DefectRuling.CONFIRMED
    assert ruling(record(claims={"outcome": Outcome.PARTIAL, "fraction": 0.5}), "claims") is DefectRuling.CONFIRMED


def test_only_all_criteria_together_refute() -> None:
    assert ruling(record(causality=Outcome.PASSED, dtype=Outcome.PASSED), "causality", "dtype") is DefectRuling.REFUTED
    assert ruling(record(causality=Outcome.PASSED, dtype=NOT_RUN), "causality", "dtype") is DefectRuling.UNSEEN


@pytest.mark.parametrize("hidden", [NOT_RUN, UNBUILT])
def test_what_did_not_run_confirms_and_refutes_nothing(hidden: dict[str, object]) -> None:
    assert ruling(record(causality=hidden), "causality") is DefectRuling.UNSEEN


def test_without_criteria_or_record_nothing_is_seen() -> None:
    assert ruling(record(causality=Outcome.FAILED)) is DefectRuling.UNSEEN
    assert ruling(None, "causality") is DefectRuling.UNSEEN


def test_a_failure_with_another_fault_does_not_confirm() -> None:
    """`probe` and `at` hold a criterion that can fail for several faults to the one that was named."""
    also = (Observation(title="Takes no fewer bytes", counterexample=Counterexample(probe="fewer_bytes")),)
    place = Location(file="a.cu", line=7)
    seen = record(causality={"outcome": Outcome.FAILED, "detail": "wrong", "also": also, "locations": (place,)})
    assert ruling(seen, "causality", probe="fewer_bytes") is DefectRuling.CONFIRMED
    assert ruling(seen, "causality", probe="same_values") is DefectRuling.UNSEEN
    assert ruling(seen, "causality", at=place) is DefectRuling.CONFIRMED
    assert ruling(seen, "causality", at=Location(file="a.cu", line=8)) is DefectRuling.UNSEEN


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [(Provenance.RECONSTRUCTION, DefectRuling.UNSEEN), (Provenance.MODEL_OUTPUT, DefectRuling.CONFIRMED)],
)
def test_the_text_of_a_reconstruction_is_no_evidence(provenance: Provenance, expected: DefectRuling) -> None:
    assert ruling(record(provenance, largest_file=Outcome.FAILED), "largest_file") is expected
    # how it behaves is
    assert ruling(record(provenance, causality=Outcome.FAILED), "causality") is DefectRuling.CONFIRMED


def test_the_bundled_list_comes_to_what_ran() -> None:
    records = {r.name: r for r in OURS.records()}
    rubrics: dict[str, Challenge] = {id: OURS.challenge(id) for id in OURS.challenges()}
    held = {d.id: rule(d, rubrics[d.challenge], records.get(d.submission)) for d in read_defects(OURS)}
    # what the reading got right
    assert held["prompt-not-causal"].ruling is DefectRuling.CONFIRMED
    assert held["one-cache-for-the-batch"].ruling is DefectRuling.CONFIRMED
    assert held["over-caching"].ruling is DefectRuling.CONFIRMED
    # what it got wrong: the stack hands the attention the very form it reads
    assert held["formats-do-not-fit"].ruling is DefectRuling.REFUTED
    # the file stops at its first line, before the line that was blamed
    blamed = held["misspelt-argument"]
    assert (blamed.ruling, blamed.hidden) == (DefectRuling.UNSEEN, ((OTHER_FAULT, "compiles"),))


def test_a_workspace_without_the_list_has_no_defects(workspace: Workspace) -> None:
    assert read_defects(workspace) == ()


def test_what_is_written_is_read(workspace: Workspace) -> None:
    (defect,) = read_defects(write(workspace, ENTRY))
    assert (defect.submission, defect.severity, defect.criteria) == ("glm-5/kv_cache", Severity.MAJOR, ("causality",))


@pytest.mark.parametrize(
    ("old", "new", "field", "told"),
    [
        ('"glm-5"', '"glm-6"', "defects.no-mask.model", "no model 'glm-6'; did you mean 'glm-5'?"),
        (
            '"kv_cache"',
            '"kv_cash"',
            "defects.no-mask.challenge",
            "no challenge 'kv_cash'; did you mean 'kv_cache'?",
        ),
        ('"causality"', '"casuality"', "defects.no-mask.criteria", "'casuality'; did you mean 'causality'?"),
        ('"major"', '"grave"', "defects.no-mask.severity", "(got 'grave')"),
        ("severity", "severety", "defects.no-mask.severety", "unknown key"),
        (
            'criteria = ["causality"]',
            'criteria = ["causality"]\nunseen = "no"',
            "defects.no-mask",
            "leave out 'unseen'",
        ),
        ('criteria = ["causality"]', 'probe = "x"', "defects.no-mask", "need criteria"),
        ('severity = "major"', "severity = ", "", "is not TOML"),
    ],
)
def test_a_fault_in_the_list_is_told_with_file_field_and_value(
    workspace: Workspace, old: str, new: str, field: str, told: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read_defects(write(workspace, ENTRY.replace(old, new)))
    assert caught.value.path.name == "defects.toml"
    assert caught.value.field == field
    assert told in str(caught.value)


def test_one_defect_is_told_once(workspace: Workspace) -> None:
    with pytest.raises(SpecError, match="defects: 'no-mask' appears twice"):
        read_defects(write(workspace, ENTRY + ENTRY))
