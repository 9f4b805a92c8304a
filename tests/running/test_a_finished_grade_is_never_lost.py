"""However a run ends, every finished grade is whole on disk, and the next run goes on from there."""

import os
import signal
import subprocess

import pytest

from harness.errors import JudgeError, NotFoundError, SpecError
from harness.executors.local import GradingProcess
from harness.grading.options import Options
from harness.grading.replay import replay
from harness.grading.submission_grade import grade_one
from harness.model import Outcome, Record
from harness.workspace.stored_files import read_stored
from tests.toy import CHALLENGE_ID, PROBES, REFERENCE, TOML, add_submission, make_workspace


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
