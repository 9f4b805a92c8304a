"""What a repaired copy of an answer shows stands beside its marks and changes none of them."""

import json
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.cuda.compilers.nvcc import nvcc
from harness.grading.options import Options
from harness.grading.replay import replay
from harness.grading.submission_grade import grade_one
from harness.languages import AnswerFiles, RepairedAnswer
from harness.languages.cuda import Cuda
from harness.model import Challenge, Location, Outcome, Record, Repair, RepairKind, Status
from harness.scoring import score
from harness.workspace import Workspace

pytestmark = pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")

ABOUT = """[submission]
model = "somebody"
challenge = "rows"
language = "cuda"
entry = ["answer.cu"]
provenance = "model-output"
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    root = tmp_path_factory.mktemp("workspace")
    (root / "challenges").mkdir()
    workspace = Workspace(root)
    scaffold.challenge(workspace, "rows", "cuda")
    return workspace


def graded(workspace: Workspace, source: str) -> Record:
    folder = workspace.root / "submissions" / "somebody" / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.toml").write_text(ABOUT)
    (folder / "answer.cu").write_text(source)
    return grade_one(workspace, folder, Options(publish=False)).record


def broken(workspace: Workspace) -> str:
    """The reference with a wrong sum, and behind a constant whose header is not included."""
    right = (workspace.root / "references" / "rows" / "reference.cu").read_text()
    return right.replace("-INFINITY", "-FLT_MAX").replace("SUM ? mine + other", "SUM ? mine + mine")


@pytest.fixture(scope="module")
def record(workspace: Workspace) -> Record:
    return graded(workspace, broken(workspace))


def test_the_copy_shows_the_fault_behind_the_failed_build(record: Record) -> None:
    assert record.status is Status.BUILD_FAILED and record.repaired is not None
    assert record.repaired.cause is RepairKind.MISSING_HEADER
    failed = {e.criterion for e in record.repaired.evidence if e.outcome is Outcome.FAILED}
    assert "values" in failed
    build = record.findings[0]
    assert (build.criterion, build.title) == ("build", "does not build: a header is not included")
    assert build.diagnosis and "<cfloat>" in build.diagnosis
    assert {f.criterion for f in record.findings}.isdisjoint(failed)


def test_no_mark_knows_of_it(workspace: Workspace, record: Record) -> None:
    scored = score(workspace.challenge("rows"), record.evidence, built=False)
    assert (record.overall, record.dimensions, record.gates) == (scored.overall, scored.dimensions, scored.gates)
    rights = {**json.loads(record.to_json()), "repaired": None}
    bare = Record.from_json(json.dumps(rights))
    assert (bare.overall, bare.evidence) == (record.overall, record.evidence)
    assert bare.findings[0].title == "does not build"


def test_it_reads_back_and_older_records_do_without(record: Record) -> None:
    assert Record.from_json(record.to_json()) == record
    older = json.loads(record.to_json())
    del older["repaired"]
    assert Record.from_json(json.dumps(older)).repaired is None


class Refusing(Cuda):
    """CUDA whose copies never build."""

    def repaired(
        self, files: AnswerFiles, challenge: Challenge, into: Path, spared: object = ()
    ) -> RepairedAnswer | None:
        """One repair, and the next fault."""
        place = Location(file="answer.cu", line=1)
        repair = Repair(kind=RepairKind.MISSPELT_NAME, locations=(place,), words="a name was put right")
        return RepairedAnswer((repair,), "another fault")


def test_a_copy_that_does_not_build_either_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.grading.job.language", lambda name: Refusing())
    found = graded(workspace, "int rows = nothing;\n").repaired
    assert found is not None and not found.evidence
    assert "another fault" in found.detail


def test_what_no_rule_knows_has_no_copy(workspace: Workspace) -> None:
    record = graded(workspace, "int rows = ;\n")
    assert record.status is Status.BUILD_FAILED and record.repaired is None
    assert record.findings[0].title == "does not build"


def test_a_criterion_of_the_copy_can_be_replayed(workspace: Workspace, record: Record) -> None:
    folder = workspace.root / "submissions" / "somebody" / "rows"
    (folder / "answer.cu").write_text(broken(workspace))
    again = replay(workspace, record, "values")
    assert record.repaired and again.repaired and again.same
    assert again.recorded in record.repaired.evidence
    assert again.evidence.title == again.recorded.title
