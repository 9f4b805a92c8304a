"""The rebuilt layer norms and the baseline come out equal in correctness and stability, and apart where they differ."""

import pytest

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import assess
from harness.probing.answers import SandboxedAnswer
from harness.sandbox import WorkerSpec, detect, snapshot
from tests import shares
from tests.checkout import WORKSPACE, code_of
from tests.reconstructed import folder_of

CODE = code_of("layernorm_backward")
DIMENSIONS = ("correctness", "numerical_stability")
TOLD_APART = ("cache_entries", "cache_bytes", "check_speed")
CACHES = {"baseline": (3, 1.0), "glm-5": (3, 1.0), "minimax-m2.7": (12, 3.1), "qwen3.6-27b": (4, 1.0)}
"""Of each, the arrays in its cache, and its bytes as a multiple of what a cache needs."""
MODELS = shares.share(CACHES, 3, lambda model: model == "baseline")
"""The baseline, and one of the rebuilt answers in every run."""
Run = dict[str, Evidence]


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {model: run(model) for model in MODELS}


def run(model: str) -> Run:
    place = folder_of(model, CODE.challenge.id)
    entry = WORKSPACE.submission(place).about.entry
    assert isinstance(entry, str)
    functions = CODE.challenge.contract.functions
    asked = [c.id for c in CODE.challenge.criteria if c.probes and (c.dimension in DIMENSIONS or c.id in TOLD_APART)]
    with snapshot(place) as copy:
        answer = SandboxedAnswer(WorkerSpec(copy.path, entry, functions, CODE.challenge.limits, detect()))
        try:
            answer.open()
            return {e.criterion: e for id in asked for e in assess(CODE, answer, 20, id, shares.drawn_cases())}
        finally:
            answer.close()


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("model", MODELS)
def test_every_numerical_criterion_passes_in_full(runs: dict[str, Run], model: str, dimension: str) -> None:
    numerical = [e for e in runs[model].values() if e.dimension == dimension]
    assert len(numerical) >= 5
    assert [e.criterion for e in numerical if e.outcome is not Outcome.PASSED] == []


def test_the_caches_are_told_apart(runs: dict[str, Run]) -> None:
    for model, each in runs.items():
        entries, ratio = CACHES[model]
        assert each["cache_entries"].measured["cache_entries"] == entries
        assert each["cache_bytes"].measured["cache_bytes_ratio"] == pytest.approx(ratio, abs=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_an_element_loop_is_too_slow_for_real_sizes(runs: dict[str, Run], model: str) -> None:
    """At (8, 32, 128) the loop takes half a minute by any machine, a projection hundredths of a second."""
    seen = runs[model]["check_speed"]
    assert seen.outcome is (Outcome.PASSED if model == "baseline" else Outcome.FAILED)
    if model != "baseline":
        assert seen.title == "the check takes longer than 2.5 s at (8, 32, 128)"
