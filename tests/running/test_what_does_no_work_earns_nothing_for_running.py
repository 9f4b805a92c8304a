"""What does no work earns nothing for running, and taking working parts out raises no mark."""

from pathlib import Path

import pytest

import harness
from harness.cli import scaffold
from harness.cuda.compilers.nvcc import nvcc
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import UNBUILT, Outcome, Record, Status
from harness.scoring.doubts import find_doubts
from harness.workspace import Workspace
from tests.toy import SUBMISSION, TOML, add_submission, make_workspace

RUBRIC = f"""{TOML}
[[dimensions]]
id = "tests"
title = "Tests"
weight = 1
[[dimensions]]
id = "quality"
title = "Quality"
weight = 1
[[criteria]]
id = "suite"
dimension = "tests"
severity = "major"
title = "Its own tests pass"
tests = "suite_passes"
[[criteria]]
id = "assertions"
dimension = "tests"
severity = "minor"
title = "Its own tests assert something"
tests = "real_assertions"
[[criteria]]
id = "claims"
dimension = "tests"
severity = "minor"
title = "Its figures are those measured"
claims = true
[[criteria]]
id = "size"
dimension = "quality"
severity = "major"
title = "The largest file is not too large"
metric = "largest_file"
"""
TESTED = SUBMISSION + '[tests]\ncommand = ["python", "-m", "pytest", "-q"]\n'
TESTS = "import {0}\n\ndef test_rows():\n    assert {0}.rows() == 2\n    assert {0}.rows() > 1\n"


def graded(workspace: Workspace, source: str, module: str = "answer") -> Record:
    folder = add_submission(workspace, "somebody", source, TESTED)
    (folder / "helpers.py").write_text("def rows():\n    return 2\n")
    (folder / "test_own.py").write_text(TESTS.format(module))
    return grade_one(workspace, folder, Options(publish=False)).record


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, toml=RUBRIC)


def assert_idle(workspace: Workspace, record: Record, cause: str) -> None:
    assert (record.dimensions["correctness"].score, record.dimensions["tests"].score) == (0, 0)
    assert record.dimensions["quality"].score == 100
    suite = next(e for e in record.evidence if e.criterion == "suite")
    assert (suite.outcome, suite.rests_on, suite.own_outcome) == (Outcome.FAILED, cause, Outcome.PASSED)
    assert find_doubts(record, workspace.challenge(record.challenge), lambda: record.probe_set or "") == ()
    assert "suite" not in {finding.criterion for finding in record.findings}


def test_tests_that_pass_on_a_stub_earn_nothing(workspace: Workspace) -> None:
    stub = "import numpy as np\n\ndef rows():\n    return 2\n\ndef scaled(x, scale):\n    return np.zeros(len(x))\n"
    assert_idle(workspace, graded(workspace, stub), "values")


def test_tests_that_pass_beside_what_does_not_load_earn_nothing(workspace: Workspace) -> None:
    record = graded(workspace, "import nothing_like_this\n", "helpers")
    assert record.status is Status.BUILD_FAILED
    assert_idle(workspace, record, UNBUILT)


def test_what_works_keeps_what_its_tests_earn(workspace: Workspace) -> None:
    right = "def rows():\n    return 2\n\ndef scaled(x, scale):\n    return x.sum(axis=-1) * scale\n"
    record = graded(workspace, right)
    assert record.dimensions["tests"].score == record.overall.score == 100


ABOUT = """[submission]
model = "somebody"
challenge = "rows"
language = "cuda"
entry = ["answer.cu"]
provenance = "model-output"
"""
STUB = """#include <cuda_runtime.h>
extern "C" int softmax(const float* logits, int rows, int vocab, float* probs, cudaStream_t stream) { return 1; }
"""


@pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")
def test_a_kernel_that_only_returns_an_error_code_earns_nothing_for_compiling(tmp_path: Path) -> None:
    (tmp_path / "challenges").mkdir()
    workspace = Workspace(tmp_path)
    scaffold.challenge(workspace, "rows", "cuda")
    rubric = workspace.challenge("rows")
    folder = tmp_path / "submissions" / "somebody" / "rows"
    folder.mkdir(parents=True)
    (folder / "submission.toml").write_text(ABOUT)
    (folder / "answer.cu").write_text(STUB)
    record = grade_one(workspace, folder, Options(publish=False)).record
    compiles = next(e for e in record.evidence if e.criterion == "compiles")
    assert (compiles.rests_on, compiles.own_outcome) == (rubric.anchor, Outcome.PASSED)
    judged = {c.dimension for c in rubric.criteria if c.executed}
    assert {id: record.dimensions[id].score for id in judged} == dict.fromkeys(judged, 0)


ROOT = Path(__file__).parents[2]
GONE = """

def {name}(*args, **options):
    raise NotImplementedError("{name}")
"""
CHAINS = {
    "kv_cache": (("fork", "memory_bytes"), ("release",), ("decode",), ("prefill",)),
    "tree_verification": (("generate",), ("build_tree_mask",), ("verify_and_accept",)),
    "flash_attention_backward": (("flash_attention_bwd",), ("flash_attention_fwd",)),
}
"""Functions of a right answer in the order in which they are taken out."""


@pytest.mark.parametrize("challenge", CHAINS)
def test_less_of_a_right_answer_earns_no_more(challenge: str, tmp_path: Path) -> None:
    source = (ROOT / "references" / challenge / "reference.py").read_text("utf-8")
    marks, rewards = [], []
    for place, names in enumerate(((), *CHAINS[challenge])):
        source += "".join(GONE.format(name=name) for name in names)
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "answer.py").write_text(source, encoding="utf-8")
        record = harness.grade(
            folder, challenge, entry="answer.py", seed=5, force=True, profile="reward", workspace=ROOT
        )
        marks.append(record.overall.score)
        rewards.append(record.reward)
    assert (marks[0], rewards[0]) == (100, 1)
    assert (marks[-1], rewards[-1]) == (0, 0)
    assert marks == sorted(marks, reverse=True)
    assert rewards == sorted(rewards, reverse=True)
