"""An answer that is slow or greedy at large sizes is not run there, and fails for nothing but its cost."""

import pytest

from harness.model import Outcome
from harness.probing import sweeping
from harness.probing.check import sandboxed
from harness.probing.code import ChallengeCode
from harness.probing.criteria import probe_criterion
from tests.toy import CHALLENGE_ID, PROBES, TOML, make_workspace

DRAWN = """
from harness.probing.sizes import Axis, Drawn

@probe(drawn=Drawn({"B": Axis(1, 900), "D": Axis(1, 4000)}, 24, lambda B, D: B * D, 100_000))
def any_size_is_right(answer, draw, *, B, D):
    x = draw.grid(B, D)
    expect.same("out", ask(answer, x, 1.0), x.sum(axis=-1), "a row is wrong", within=1e-9)
"""
ANY_SIZE = """
[limits]
call_seconds = 3
[[criteria]]
id = "any_size"
dimension = "correctness"
severity = "critical"
title = "Right at any size"
probes = ["any_size_is_right"]
"""
HEAD = "import time\ndef scaled(x, scale):\n"
RIGHT = "    return x.sum(axis=-1) * scale\n"


@pytest.fixture
def assessed(tmp_path):
    toml = TOML.replace("[[dimensions]]", f"{ANY_SIZE.partition('[[criteria]]')[0]}[[dimensions]]", 1)
    workspace = make_workspace(tmp_path, toml=toml + "[[criteria]]" + ANY_SIZE.partition("[[criteria]]")[2],
                               probes=PROBES + DRAWN)  # fmt: skip
    code = ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))

    def assess(body):
        with sandboxed(code, HEAD + body + RIGHT) as answer:
            return probe_criterion(code, code.challenge.criterion("any_size"), answer, 4)

    return assess


def test_time_at_large_sizes_leaves_them_out(assessed, monkeypatch):
    monkeypatch.setattr(sweeping, "SECONDS", 2.0)
    monkeypatch.setattr(sweeping, "AHEAD", 0.5)
    spins = "    end = time.process_time() + x.size / 50_000\n    while time.process_time() < end: pass\n"
    evidence = assessed(spins)
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)
    assert evidence.draws.tried > 5 and "B = " in evidence.draws.unreached
    assert "the largest were not reached: the answer takes" in evidence.detail


def test_a_size_that_never_ends_is_not_run(assessed):
    evidence = assessed("    if x.shape[0] > 300:\n        while True: pass\n")
    assert evidence.outcome is Outcome.NOT_RUN and evidence.draws.tried > 5
    assert "does not end in time" in evidence.detail


def test_memory_at_large_sizes_leaves_them_out(assessed):
    evidence = assessed("    waste = [bytearray(1 << 20) for _ in range(x.size // 10)]\n")
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)
    assert "MemoryError" in evidence.detail


def test_a_wrong_value_at_a_size_within_reach_fails_all_the_same(assessed):
    spoil = "    x = x + (x.shape[1] > 500)\n    waste = [bytearray(1 << 20) for _ in range(x.size // 10)]\n"
    evidence = assessed(spoil)
    assert evidence.outcome is Outcome.FAILED and evidence.thresholds[0].wrong_from == 501
