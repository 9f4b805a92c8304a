"""However a run ends, every finished grade is whole on disk, and the next run goes on from there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import JudgeError, NotFoundError, SpecError
from harness.executors.base import grade_all
from harness.executors.local import GradingProcess, LocalExecutor
from harness.grading.options import Options
from harness.grading.replay import replay
from harness.grading.submission_grade import Graded, grade_one
from harness.model import Outcome, Record
from harness.workspace.stored_files import read_stored
from tests.toy import CHALLENGE_ID, PROBES, REFERENCE, TOML, add_submission, make_workspace

RUN = """
import sys
from pathlib import Path
from harness.grading.options import Options
from harness.executors.base import grade_all
from harness.executors.local import LocalExecutor
from harness.workspace import Workspace
w = Workspace(Path(sys.argv[1]))
for graded in grade_all(LocalExecutor(w, Options(), 2), w.submissions()):
    print(graded.record.name, flush=True)
"""


def start(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def left_over(root: Path) -> list[Path]:
    return [p for p in (*root.rglob(".*.json.*"),) if p.is_file()]


def test_a_killed_run_keeps_what_it_finished(toy, submit):
    for i in range(4):
        submit(f"m{i}", toy.source() + f"\n# {i}\n")
    finished: set[str] = set()
    for lines in range(1, 4):  # each run is killed while it works on what the one before it left
        with start(toy.workspace.root) as run:
            assert run.stdout is not None
            finished |= {run.stdout.readline().strip() for _ in range(lines)}
            run.kill()
            finished |= set(run.communicate(timeout=20)[0].split())
        records = {read_stored(p, Record).name for p in toy.workspace.records_folder.glob("*/[!.]*.json")}
        assert finished and finished <= records
    assert len(finished) >= 3
    results = list(grade_all(LocalExecutor(toy.workspace, Options(), 2), toy.workspace.submissions()))
    assert all(isinstance(r, Graded) for r in results)
    assert {r.record.name for r in results if r.reused} >= finished
    assert not left_over(toy.workspace.root)


def test_half_written_files_of_the_dead_are_swept(toy, submit):
    folder = submit("m", toy.source())
    dead = subprocess.Popen(["true"])
    dead.wait()
    path = toy.workspace.record_path("m", "scaled_sum")
    path.parent.mkdir(parents=True)
    half = path.with_name(f".{path.name}.{dead.pid}")
    half.write_text('{"schema')
    grade_one(toy.workspace, folder)
    assert not half.exists() and read_stored(path, Record).name == "m/scaled_sum"


def test_a_replay_shows_the_recorded_figures_again(toy, submit):
    record = grade_one(toy.workspace, submit("m", toy.source(toy.mutants[0]))).record
    shown = replay(toy.workspace, record, "values")
    assert shown.same and shown.evidence == shown.recorded
    assert os.path.exists(toy.workspace.record_path("m", "scaled_sum"))


@pytest.mark.parametrize(
    ("recorded", "same"),
    [
        ({"outcome": "not_run", "rests_on": "values"}, None),
        ({"outcome": "failed", "rests_on": "values", "own_outcome": "not_run"}, None),
        ({"outcome": "failed", "rests_on": "values", "own_outcome": "passed"}, False),
        ({"outcome": "failed", "rests_on": "values", "own_outcome": "failed"}, True),
        ({"outcome": "not_run"}, None),
        ({"outcome": "passed"}, False),
    ],
)
def test_a_replay_claims_no_sameness_where_the_record_has_no_outcome(toy, submit, recorded, same):
    record = grade_one(toy.workspace, submit("m", toy.source().replace("return total", "return 1 + total"))).record
    values, linear = record.evidence
    about = linear.model_dump(include={"criterion", "dimension", "severity", "seed"})
    forged = type(linear).model_validate({**about, "detail": "why", **recorded})
    shown = replay(toy.workspace, record.model_copy(update={"evidence": (values, forged)}), "linear")
    assert shown.evidence.outcome is Outcome.FAILED and shown.same is same


def test_a_replay_of_no_such_criterion_names_the_nearest(toy, submit):
    record = grade_one(toy.workspace, submit("m", toy.source())).record
    with pytest.raises(NotFoundError, match=r"^no criterion 'linea'; did you mean 'linear'\?\n"):
        replay(toy.workspace, record, "linea")
    path = toy.workspace.challenge_folder(CHALLENGE_ID) / "challenge.toml"
    path.write_text(path.read_text().replace('probes = ["doubling_doubles"]', 'review = "Is it?"'))
    with pytest.raises(SpecError, match="'linear' is not fed by probes"):
        replay(toy.workspace, record, "linear")


ONE_ROW = """
from harness.probing.conditions import Condition
CONDITIONS = (Condition("there are several rows", "values", lambda _, args: len(args[0]) > 1, mode=True),)
"""


@pytest.mark.parametrize(("fault", "outcome"), [("raise KeyError", Outcome.PASSED), ("x = x ** 2", Outcome.NOT_RUN)])
def test_what_a_grade_judged_without_a_condition_replays_as_recorded(tmp_path, fault, outcome):
    rubric = TOML.replace('anchor = "values"', 'anchor = "linear"')
    probes = PROBES.replace("@probe(", '@probe({"B": 1, "D": 3}, ')
    workspace = make_workspace(tmp_path, toml=rubric, probes=probes)
    (workspace.challenge_folder(CHALLENGE_ID) / "conditions.py").write_text(ONE_ROW)
    source = REFERENCE.replace("    total =", f"    if len(x) > 1:\n        {fault}\n    total =")
    record = grade_one(workspace, add_submission(workspace, "m", source)).record
    shown = replay(workspace, record, "linear")
    assert shown.recorded.outcome is outcome
    assert shown.same and shown.evidence == shown.recorded


def test_a_lost_grading_process_costs_one_attempt_only(toy, submit):
    folders = [submit(f"m{i}", toy.source() + f"\n# {i}\n") for i in range(3)]
    grader = GradingProcess(toy.workspace, Options())

    def end(stage: str) -> None:
        os.kill(grader.pid, signal.SIGKILL)

    try:
        with pytest.raises(JudgeError, match="the grading process ended"):
            grader.grade(toy.workspace, folders[0], Options(), end)
        for folder in folders:
            grader.grade(toy.workspace, folder, Options(), lambda stage: None)
    finally:
        grader.close()
