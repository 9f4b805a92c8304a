"""`harness collection verify` finds what must be there, refuses what must not, and compares fields, never sentences."""

import json
from pathlib import Path
from typing import Any

import pytest
from collected_answers import FILES, NAME, Published, commit

from harness.errors import SpecError
from harness.importing.collection import open_collection
from harness.importing.importer import lay_out
from harness.importing.verification import Agreement, read_findings, verify
from harness.model.submissions.expectation import ExpectedFinding
from harness.workspace import Workspace
from tests.commands import called

CHECKOUT = Workspace(Path(__file__).parents[2])
RAISES = b"""
def scaled(x, scale):
    if x.shape[0] > 5:
        raise ArithmeticError("too many rows")
    return x.sum(axis=-1) * scale
"""
"""Fails the criterion `values` at line 4, and the anchor with it: `linear` only loses its credit."""


@pytest.fixture
def graded(published: Published) -> Published:
    files = {**FILES, "theirs.py": RAISES}
    published.state(files, commit=commit(published.clone, files))
    with open_collection(published.workspace, "published", published.clone) as importer:
        lay_out(importer, published.workspace.fetched_folder("published"))
    assert called(published.workspace.root, "grade", NAME).returncode == 0
    return published


def finding(kind: str = "may", **fields: Any) -> ExpectedFinding:
    given = {"kind": kind, "model": "m", "challenge": "scaled_sum", "says": "raises", "criteria": ["values"]} | fields
    return ExpectedFinding.model_validate(given | ({"number": 1} if kind == "must" else {}))


def test_every_field_decides(graded: Published) -> None:
    records = {record.name: record for record in graded.workspace.records()}
    fit: list[dict[str, Any]] = [
        {}, {"titles": ["`*` raises Arithmetic*"]}, {"titles": ["other", "`scaled` raises ArithmeticError"]},
        {"locations": ["theirs.py"]}, {"locations": ["theirs.py:4"]}, {"outcomes": ["failed"]}, {"criteria": []},
    ]  # fmt: skip
    differ: list[dict[str, Any]] = [
        {"criteria": ["linear"]}, {"titles": ["raises"]}, {"locations": ["theirs.py:5"]}, {"locations": ["adapter.py"]},
        {"outcomes": ["passed"]}, {"mutants": ["no scale"]}, {"measured": {"error_ratio": {}}},
        {"criteria": [], "build": "import"}, {"criteria": [], "build": "compiler"},
    ]  # fmt: skip
    for kind, shown, not_shown in (
        ("must", Agreement.FOUND, Agreement.MISSING),
        ("may", Agreement.SEEN, Agreement.NOT_SEEN),
        ("never", Agreement.PRESENT, Agreement.ABSENT),
    ):
        assert [v.agreement for v in verify((finding(kind, **f) for f in fit), records)] == [shown] * len(fit)
        found = [v.agreement for v in verify((finding(kind, **f) for f in differ), records)]
        assert found == [not_shown] * len(differ)


def test_a_figure_decides_by_its_range(published: Published) -> None:
    with open_collection(published.workspace, "published", published.clone) as importer:
        lay_out(importer, published.workspace.fetched_folder("published"))
    assert called(published.workspace.root, "grade", NAME).returncode == 0
    records = {record.name: record for record in published.workspace.records()}
    ranges = [{"least": 0, "most": 32}, {"most": -1}, {"least": 33}]
    findings = [finding(outcomes=["passed"], measured={"error_ratio": each}) for each in ranges]
    assert [v.agreement for v in verify(findings, records)] == [Agreement.SEEN, Agreement.NOT_SEEN, Agreement.NOT_SEEN]


def test_an_answer_without_a_record_is_not_verified() -> None:
    rows = verify([finding("must"), finding("never"), finding("may")], {})
    assert [(row.agreement, row.right) for row in rows] == [
        (Agreement.UNGRADED, False), (Agreement.UNGRADED, False), (Agreement.UNGRADED, True),
    ]  # fmt: skip


def state(published: Published, kind: str, criterion: str) -> None:
    number = "number = 1\n" if kind == "must" else ""
    (published.manifest.parent / "expected.toml").write_text(
        f'[[findings]]\nkind = "{kind}"\n{number}model = "m"\nchallenge = "scaled_sum"\nsays = "it raises"\n'
        f'criteria = ["{criterion}"]\n'
    )


@pytest.mark.parametrize(
    ("kind", "criterion", "code", "verdict"),
    [("must", "values", 0, "found"), ("must", "linear", 1, "MISSING"), ("never", "values", 1, "PRESENT")],
)
def test_the_command_ends_with_what_it_found(
    graded: Published, kind: str, criterion: str, code: int, verdict: str
) -> None:
    state(graded, kind, criterion)
    done = called(graded.workspace.root, "collection", "verify", "published")
    assert done.returncode == code and verdict in done.stdout
    assert "1 of 1 answers have a record" in done.stderr
    assert (f"not listed: {NAME} fails values" in done.stderr) is (criterion == "linear" or kind == "never")
    listed = json.loads(called(graded.workspace.root, "collection", "verify", "published", "--json").stdout)
    assert [row["agreement"] for row in listed] == [verdict.lower()] and listed[0]["right"] is (code == 0)


def test_a_criterion_that_is_not_there_is_told(graded: Published) -> None:
    state(graded, "must", "vales")
    done = called(graded.workspace.root, "collection", "verify", "published")
    assert done.returncode == 2 and "scaled_sum has no criterion 'vales'" in done.stderr
    (graded.manifest.parent / "expected.toml").unlink()
    with pytest.raises(SpecError, match=r"expected\.toml: is missing"):
        read_findings(graded.workspace, graded.workspace.collection("published"))


@pytest.mark.parametrize("id", CHECKOUT.collections())
def test_what_was_found_in_the_collections_here_can_be_compared(id: str) -> None:
    collection = CHECKOUT.collection(id)
    findings = read_findings(CHECKOUT, collection)
    assert {f.name for f in findings} == set(collection.by_name)
    for row in findings:
        mutants = (CHECKOUT.challenge_folder(row.challenge) / "mutants.py").read_text()
        assert all(f'"{name}"' in mutants for name in row.mutants), row
        files = collection.by_name[row.name].files
        assert all(place.partition(":")[0] in files for place in row.locations), row
