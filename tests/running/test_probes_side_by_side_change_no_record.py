"""A grade whose probes run side by side has the record of one that runs them in turn."""

from pathlib import Path

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.grading import speculative_probing
from harness.grading.options import Options
from harness.grading.speculative_probing import Ahead
from harness.grading.submission_grade import grade_one
from harness.model import Counterexample, Outcome, Record, SignalKind
from harness.probing.answers import SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.probe import ProbeResult
from harness.workspace import Workspace
from tests.toy import PROBES, REFERENCE, TOML, add_submission, make_workspace

ROOT = Path(__file__).parents[2]
SOFTMAX = "fused_softmax_topk"
DRAWN = """
from harness.probing.sizes import Axis, Drawn

@probe(drawn=Drawn({"D": Axis(1, 900)}, 12))
def any_row_is_right(answer, draw, *, D):
    x = draw.grid(1, D)
    return {"error_ratio_rows": expect.close("out", ask(answer, x, 1.0), x.sum(axis=-1), 1e-9)}

@probe(drawn=Drawn({"B": Axis(1, 90)}, 12))
def any_number_is_right(answer, draw, *, B):
    x = draw.normal(B, 3)
    return {"error_ratio_numbers": expect.close("out", ask(answer, x, 1.0), x.sum(axis=-1), 1e-9)}

@probe({"D": 9}, traced=False)
def costs_little(answer, draw, *, D):
    ask(answer, draw.normal(2, D), 1.0)
"""
ANY_SIZE = """
[[criteria]]
id = "any_size"
dimension = "correctness"
severity = "major"
title = "Right at any size, at little cost"
probes = ["any_row_is_right", "any_number_is_right", "costs_little"]
"""
ANSWERS = {
    "right": REFERENCE,
    "without the scale": "def scaled(x, scale):\n    return x.sum(axis=-1)\n",
    "wrong at some sizes": REFERENCE.replace("total * scale", "total * scale + (x.shape[-1] % 9 == 7)"),
    "wrong for some numbers of rows": REFERENCE.replace("total * scale", "total * scale + (len(x) > 60)"),
    "wrong from its ninth call on": (
        "calls = []\n" + REFERENCE.replace("total = ", "calls.append(1)\n    total = (len(calls) > 8) + ")
    ),
    "raises": REFERENCE.replace("return total", "raise KeyError(len(x)) if len(x) > 5 else None\n    return total"),
    "ends its process": REFERENCE.replace("return total", "import os; len(x) > 60 and os._exit(3)\n    return total"),
    "looks about": REFERENCE.replace(
        "return total", "try:\n        open('/etc/shadow')\n    except OSError:\n        pass\n    return total"
    ),
}

RIGHT_AT_ANY_SIZE = ("right", "without the scale", "looks about")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, toml=TOML + ANY_SIZE, probes=PROBES + DRAWN)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The criteria of which something was run ahead, and counted."""
    found = []
    real = Ahead.take

    def noted(self, criterion, seed):
        results = real(self, criterion, seed)
        found.extend([criterion.id] if results else [])
        return results

    monkeypatch.setattr(Ahead, "take", noted)
    return found


def both(workspace: Workspace, folder: Path, **options: object) -> tuple[Record, Record]:
    """The records of two lanes and of one."""
    grades = [grade_one(workspace, folder, Options(seed=3, force=True, cores=n, **options)) for n in (2, 1)]
    plain = [g.record.model_copy(update={"made": grades[0].record.made, "seconds": {}}) for g in grades]
    return plain[0], plain[1]


@pytest.mark.parametrize("name", ANSWERS)
def test_in_python(workspace: Workspace, name: str, taken: list[str]) -> None:
    folder = add_submission(workspace, "m", ANSWERS[name])
    beside, in_turn = both(workspace, folder)
    assert beside == in_turn
    assert ("any_size" in taken) == (name in RIGHT_AT_ANY_SIZE)
    assert [s.kind for s in beside.signals] == [SignalKind.UNSEEN_FILE] * (name == "looks about")


@pytest.mark.skipif(host_compiler() is None, reason="no C++ compiler here: nothing is emulated")
@pytest.mark.parametrize("fault", [None, 0])
def test_in_cuda(tmp_path: Path, fault: int | None, taken: list[str]) -> None:
    workspace = Workspace.at(ROOT)
    code = ChallengeCode(workspace, workspace.challenge(SOFTMAX))
    (tmp_path / code.language.entry).write_text(code.source(None if fault is None else code.mutants[fault]))
    (tmp_path / "submission.toml").write_text(
        f'[submission]\nmodel = "m"\nchallenge = "{SOFTMAX}"\nentry = "{code.language.entry}"\n'
        'language = "cuda"\nprovenance = "model-output"\n'
    )
    only = ("values", "rows", "ties", "memory_safety", "refusal")
    beside, in_turn = both(workspace, tmp_path, only=only, publish=False, stored=False)
    assert beside == in_turn
    assert set(taken) == (set(only) if fault is None else set())


def test_what_ran_ahead_is_charged_as_in_turn(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = SandboxedAnswer.close

    def closed(self):
        calls.append(self.calls)
        real(self)

    monkeypatch.setattr(SandboxedAnswer, "close", closed)
    both(workspace, add_submission(workspace, "m", REFERENCE))
    twin, beside, in_turn = calls
    assert 0 < twin < in_turn
    assert beside == in_turn


def test_an_answer_that_is_wrong_by_chance_has_one_try(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is wrong while probes run side by side, and right when its turn comes: what was seen is the finding."""
    real = speculative_probing._run_probe

    def shown(probe, answer, seed):
        result = real(probe, answer, seed)
        if probe.name != "any_number_is_right":
            return result
        wrong = Counterexample(probe=probe.name, case={"B": 7}, where="out[0]", expected=1.0, got=2.0)
        return ProbeResult(probe.name, 0.0, {}, "out is wrong", "out[0] is 2 instead of 1", {"B": 7}, wrong)

    monkeypatch.setattr(speculative_probing, "_run_probe", shown)
    beside, in_turn = both(workspace, add_submission(workspace, "m", REFERENCE))
    of = {item.criterion: item for item in beside.evidence}
    assert of["any_size"].outcome is Outcome.FAILED
    assert of["any_size"].detail == "out[0] is 2 instead of 1; asked the same once more, it answered right"
    assert [e for e in beside.evidence if e.criterion != "any_size"] == [
        e for e in in_turn.evidence if e.criterion != "any_size"
    ]
    assert all(e.outcome is Outcome.PASSED for e in in_turn.evidence)
