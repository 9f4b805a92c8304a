"""An answer that is slow or greedy at large sizes is not run there, and fails for nothing but its cost."""

import re

import pytest

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import sweeping
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.evidence.criteria import probe_criterion
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
call_seconds = CALL_SECONDS
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
    def assess(body, call_seconds=0.5):
        limits, _, criterion = ANY_SIZE.replace("CALL_SECONDS", str(call_seconds)).partition("[[criteria]]")
        toml = TOML.replace("[[dimensions]]", f"{limits}[[dimensions]]", 1) + f"[[criteria]]{criterion}"
        workspace = make_workspace(tmp_path, toml=toml, probes=PROBES + DRAWN)
        code = ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))
        with open_in_sandbox(code, HEAD + body + RIGHT) as answer:
            return probe_criterion(code, code.challenge.criterion("any_size"), answer, 4)

    return assess


def test_time_at_large_sizes_leaves_them_out(assessed, monkeypatch):
    monkeypatch.setattr(sweeping, "SECONDS", 2.0)
    monkeypatch.setattr(sweeping, "AHEAD", 0.5)
    spins = "    end = time.process_time() + x.size / 50_000\n    while time.process_time() < end: pass\n"
    evidence = assessed(spins, call_seconds=3)
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)
    assert evidence.draws.tried > 5 and "B = " in evidence.draws.unreached
    assert "the largest were not reached" in evidence.detail


@pytest.mark.parametrize("condition", ["x.shape[0] > 300", "x.shape[1] % 64 == 0"])
def test_a_size_that_never_ends_fails_where_its_neighbours_end_at_once(assessed, condition):
    evidence = assessed(f"    if {condition}:\n        while True: pass\n")
    assert evidence.outcome is Outcome.FAILED and evidence.title == "`scaled` does not end in time"
    assert re.fullmatch(r"B = \d+, D = \d+: no answer within .*; B = \d+, D = \d+ takes \S+ s", evidence.detail)


def test_nor_does_one_whose_time_grows_fast(assessed):
    slow = "    end = time.process_time() + (x.size / 4000) ** 2\n    while time.process_time() < end: pass\n"
    evidence = assessed(slow)
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)


def test_nor_does_one_that_waits(assessed):
    """What used no processor may have been kept from it."""
    evidence = assessed("    if x.shape[0] > 300:\n        time.sleep(60)\n")
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)
    assert "does not end in time" in evidence.detail


def test_memory_at_large_sizes_leaves_them_out(assessed):
    evidence = assessed("    waste = [bytearray(1 << 20) for _ in range(x.size // 10)]\n", call_seconds=3)
    assert (evidence.outcome, evidence.draws.failed) == (Outcome.NOT_RUN, 0)
    assert "MemoryError" in evidence.detail


def test_a_wrong_value_at_a_size_within_reach_fails_all_the_same(assessed):
    spoil = "    x = x + (x.shape[1] > 500)\n    waste = [bytearray(1 << 20) for _ in range(x.size // 10)]\n"
    evidence = assessed(spoil, call_seconds=3)
    assert evidence.outcome is Outcome.FAILED and evidence.thresholds[0].wrong_from == 501
