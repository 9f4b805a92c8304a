"""Equal files earn equal marks: one seed gives the same evidence, fresh seeds the same outcomes, titles and points."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cuda.compilers.host_compiler import host_compiler
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Challenge, Record
from harness.workspace import Workspace
from tests import shares
from tests.fewer_criteria import copied
from tests.toy import REFERENCE, SUBMISSION, TOML

MEASURED = TOML + "".join(
    f"""
[[criteria]]
id = "{name}"
dimension = "correctness"
severity = "minor"
title = "{name}"
{feed}
"""
    for name, feed in {
        "suite": 'tests = "suite_passes"',
        "noticed": 'tests = "kill_rate"',
        "checks": 'tests = "real_assertions"',
        "size": 'metric = "largest_file"',
        "documented": 'metric = "documentation"',
    }.items()
)
TESTED = SUBMISSION + '[tests]\ncommand = ["python", "-m", "pytest", "-q"]\n'
SUITE = """
import numpy as np
from answer import scaled

def test_one_row():
    assert scaled(np.array([[1.0, 2.0]]), 1.0) == 3.0
"""
FAULTY = REFERENCE.replace("return total * scale", "total[3:] = 0\n    return total * scale")
ROOT = Path(harness.__file__).parents[1]


def grades(workspace: Workspace, folder: Path, *seeds: int | None) -> list[Record]:
    return [grade_one(workspace, folder, Options(seed=seed, force=True)).record for seed in seeds]


def seen(record: Record) -> list[dict[str, Any]]:
    """All evidence; no figure of these challenges is a time."""
    return [item.model_dump() for item in record.evidence]


def judged(record: Record) -> tuple[Any, ...]:
    """What a reader goes by: outcomes, titles and points."""
    return [(e.criterion, e.outcome, e.title, e.fraction) for e in record.evidence], record.overall, record.dimensions


def with_what_they_rest_on(challenge: Challenge, kept: set[str]) -> set[str]:
    """Ids of criteria, and of all that these rest on, at whatever distance."""
    under = {id for c in challenge.criteria if c.id in kept for id in c.rests_on}
    return kept if under <= kept else with_what_they_rest_on(challenge, kept | under)


@pytest.mark.parametrize("answer", [REFERENCE, FAULTY], ids=["right", "faulty"])
def test_a_python_answer_has_one_mark(toy, submit, answer):
    """Probes, source metrics and the answer's own tests on mutants of its code give the same twice."""
    (toy.workspace.root / "challenges" / "scaled_sum" / "challenge.toml").write_text(MEASURED)
    folder = submit("m", answer, TESTED, test_answer__py=SUITE)
    one, same, fresh = grades(Workspace(toy.workspace.root), folder, 7, 7, None)
    assert seen(one) == seen(same)
    assert judged(one) == judged(same) == judged(fresh)
    (noticed,) = [item for item in one.evidence if item.criterion == "noticed"]
    assert noticed.measured["mutants_tried"] >= 3


@pytest.mark.parametrize(("seeded_by", "same"), [("files", True), ("run", False)])
def test_a_share_of_what_was_drawn_is_drawn_from_the_files_where_the_rubric_says_so(toy, submit, seeded_by, same):
    """Runs of their own seeds give such a criterion the same figures, and others for other files."""
    rubric = toy.workspace.root / "challenges" / "scaled_sum" / "challenge.toml"
    rubric.write_text(TOML.replace("[[criteria]]", f'[[criteria]]\nseeded_by = "{seeded_by}"', 1))
    workspace = Workspace(toy.workspace.root)
    one, other = grades(workspace, submit("m", FAULTY), None, None)
    changed, *_ = grades(workspace, submit("n", FAULTY + "\n# another file\n"), None)
    assert (drawn(one) == drawn(other)) is same
    assert drawn(changed) != drawn(one)


def drawn(record: Record) -> tuple[Any, ...]:
    """What depends on the draws of the anchor."""
    (values,) = [item for item in record.evidence if item.criterion == "values"]
    return values.seed, values.measured, values.counterexample


@pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler here: nothing is emulated")
def test_a_cuda_answer_has_one_mark(tmp_path):
    """The compiler, the emulated device and its counters give the same twice."""
    challenge = Workspace(ROOT).challenge("fused_softmax_topk")
    # some of every dimension, and what they rest on; without the anchor nothing else counts
    drawn = shares.share(challenge.criteria, 8, lambda c: c.dimension)
    kept = with_what_they_rest_on(challenge, {challenge.anchor, *(c.id for c in drawn)})
    rubric = copied(challenge.id, tmp_path, without=[c.id for c in challenge.criteria if c.id not in kept])
    # hundreds of drawn sizes would show what a few fixed ones do, for most of the time
    many = "any_size_is_right", "any_k_is_right", "any_number_of_short_rows_is_right", "very_many_rows_are_served"
    text = rubric.read_text()
    for name in many:
        text = text.replace(f'    "{name}",\n', "")
    rubric.write_text(text)
    folder = tmp_path / "submissions" / "baseline" / "fused_softmax_topk"
    shutil.copytree(ROOT / "submissions" / "baseline" / "fused_softmax_topk", folder)
    one, same = grades(Workspace(tmp_path), folder, 7, 7)
    assert seen(one) == seen(same)
    assert judged(one) == judged(same)
