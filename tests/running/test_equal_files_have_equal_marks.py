"""Equal files earn equal marks: one seed gives the same evidence, fresh seeds the same outcomes, titles and points."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cuda.host_compiler import host_compiler
from harness.model import Record
from harness.running.options import Options
from harness.running.submission_grade import grade_one
from harness.workspace import Workspace
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


@pytest.mark.parametrize("answer", [REFERENCE, FAULTY], ids=["right", "faulty"])
def test_a_python_answer_has_one_mark(toy, submit, answer):
    """Probes, source metrics and the answer's own tests on mutants of its code give the same twice."""
    (toy.workspace.root / "challenges" / "scaled_sum" / "challenge.toml").write_text(MEASURED)
    folder = submit("m", answer, TESTED, test_answer__py=SUITE)
    one, same, fresh = grades(Workspace(toy.workspace.root), folder, 7, 7, None)
    assert seen(one) == seen(same)
    assert judged(one) == judged(same) == judged(fresh)
    (noticed,) = [item for item in one.evidence if item.criterion == "noticed"]
    assert noticed.measured["mutants_tried"] > 3


@pytest.mark.slow
@pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler here: nothing is emulated")
def test_a_cuda_answer_has_one_mark(tmp_path):
    """The compiler, the emulated device and its counters give the same twice."""
    for place in ("challenges", "references"):
        shutil.copytree(ROOT / place / "fused_softmax_topk", tmp_path / place / "fused_softmax_topk")
    # hundreds of drawn sizes would show what a few fixed ones do, for most of the time
    rubric = tmp_path / "challenges" / "fused_softmax_topk" / "challenge.toml"
    many = "any_size_is_right", "any_k_is_right", "any_number_of_short_rows_is_right", "very_many_rows_are_served"
    text = rubric.read_text()
    for name in many:
        assert f'    "{name}",\n' in text
        text = text.replace(f'    "{name}",\n', "")
    rubric.write_text(text)
    folder = tmp_path / "submissions" / "baseline" / "fused_softmax_topk"
    shutil.copytree(ROOT / "submissions" / "baseline" / "fused_softmax_topk", folder)
    one, same = grades(Workspace(tmp_path), folder, 7, 7)
    assert seen(one) == seen(same)
    assert judged(one) == judged(same)
