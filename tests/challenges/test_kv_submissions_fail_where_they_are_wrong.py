"""The rebuilt caches and the baseline fail the critical criteria that running them showed to be wrong, and no other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from harness.model import Criterion, Evidence, Outcome, Severity, Submission
from harness.probing.answers import SandboxedAnswer
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.common_causes import settle_names
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.sandbox import WorkerSpec, detect, snapshot
from tests import shares
from tests.checkout import WORKSPACE, code_of
from tests.reconstructed import folder_of

CODE = code_of("kv_cache")
SEED = 20
CRITICAL = {
    "baseline": set(),
    "glm-5": {"causality"},
    "minimax-m2.7": {
        "causality", "prefill_then_decode", "decode_history", "batch_isolation", "ragged_lengths",
    },
    "qwen3.6-27b": {"prefill_then_decode", "prefill_stored", "decode_history", "ragged_lengths"},
}  # fmt: skip
OVERWRITTEN = "one overwritten entry a layer or shared batch cache"
"""Two known faults that are this answer's: they differ in what a prompt attends to, which is its other fault."""
NAMED = [
    ("minimax-m2.7", "causality", "no causal mask"),
    ("minimax-m2.7", "batch_isolation", OVERWRITTEN),
    ("minimax-m2.7", "decode_history", OVERWRITTEN),
    ("qwen3.6-27b", "prefill_stored", "decode sees only key 0"),
    ("qwen3.6-27b", "decode_history", "decode sees only key 0"),
    ("qwen3.6-27b", "ragged_lengths", "padding stored"),
    ("qwen3.6-27b", "paged", "rest of the page attended"),
    ("qwen3.6-27b", "int8", "int8 codes of 0 to 255"),
    ("glm-5", "causality", "no causal mask"),
]
MODELS = shares.share(CRITICAL, 3, lambda model: model == "baseline")
"""The baseline, and one of the rebuilt answers in every run."""
EXPLAINED = [known for known in NAMED if known[0] in MODELS]
"""Those searched for in this run, all of an answer: of names that fit one failure the one that fits the others wins."""
FIGURES = {
    "baseline": {("memory_growth", "bytes_per_token"): pytest.approx(1024, rel=0.05)},
    "glm-5": {
        ("memory_growth", "bytes_per_token"): pytest.approx(1024, rel=0.05),
        ("int8", "int8_bytes_ratio"): pytest.approx(0.50, rel=0.05),
        ("int4", "int4_bytes_ratio"): pytest.approx(0.375, rel=0.05),
        ("int8", "int8_max_error"): pytest.approx(0.004, rel=0.5),
        ("int4", "int4_max_error"): pytest.approx(0.07, rel=0.5),
    },
    "minimax-m2.7": {("memory_report", "memory_report_ratio"): 2.0},
    "qwen3.6-27b": {("int8", "int8_bytes_ratio"): pytest.approx(2.25, rel=0.05)},
}
"""What running them showed. A token of 2 layers, 4 key/value heads, 16 float32 numbers, keys and values: 1024 bytes.

Of caches whose decode finds none of the tokens they were given no bytes are stated: to forget them would cost nothing.
"""
TIMED = {"decode_speed", "decode_cost"}
"""The first is no question of right or wrong; the second waits for a quiet machine, which only tests alone have."""
MEASURED = {"int8", "int4", "memory_growth", "memory_report"}
WHOLE = ("baseline", "glm-5")
"""Of these everything is asked: that nothing else fails is a promise."""


@dataclass(frozen=True)
class Run:
    evidence: dict[str, Evidence]
    sandbox_seconds: float

    def failed(self) -> set[str]:
        """What is not met by a fault of its own."""
        met = (Outcome.PASSED, Outcome.NOT_RUN)
        return {e.criterion for e in self.evidence.values() if e.outcome not in met and e.rests_on is None}

    def open(self) -> set[str]:
        """What could not be judged."""
        return {e.criterion for e in self.evidence.values() if e.outcome is Outcome.NOT_RUN}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {model: run(model) for model in MODELS}


@contextmanager
def opened_answer(place: Path) -> Iterator[tuple[SandboxedAnswer, Submission]]:
    submission = WORKSPACE.submission(place)
    contract, entry = CODE.challenge.contract, submission.about.entry
    assert isinstance(entry, str)
    with snapshot(place) as copy:
        target = WorkerSpec(
            copy.path, entry, (*contract.functions, *contract.optional), CODE.challenge.limits, detect()
        )
        answer = SandboxedAnswer(target, dict(submission.capabilities))
        try:
            answer.open()
            yield answer, submission
        finally:
            answer.close()


@cache
def run(model: str) -> Run:
    with opened_answer(folder_of(model, CODE.challenge.id)) as (answer, submission):
        named = {c for m, c, _ in EXPLAINED if m == model}
        asked = [c for c in CODE.challenge.criteria if c.probes and c.id not in TIMED]
        if model not in WHOLE:
            asked = [c for c in asked if c.severity is Severity.CRITICAL or c.id in MEASURED | named]
        seen = charge_once(CODE, [judged(c, answer, submission, c.id in named) for c in asked])
        evidence = settle_names(CODE, seen, answer)
    return Run({e.criterion: e for e in evidence}, answer.sandbox_seconds)


def judged(criterion: Criterion, answer: SandboxedAnswer, submission: Submission, explain: bool) -> Evidence:
    seed = seed_of(SEED, criterion.id)
    return probe_criterion(
        CODE, criterion, answer, seed, submission=submission, explain=explain, share=shares.drawn_cases()
    )


@pytest.mark.parametrize("model", MODELS)
def test_the_critical_failures_are_those_seen_by_running(runs: dict[str, Run], model: str) -> None:
    critical = {c.id for c in CODE.challenge.criteria if c.severity is Severity.CRITICAL}
    assert runs[model].failed() & critical == CRITICAL[model]


@pytest.mark.parametrize(("model", "criterion", "fault"), EXPLAINED)
def test_the_fault_is_named(runs: dict[str, Run], model: str, criterion: str, fault: str) -> None:
    diagnosis = runs[model].evidence[criterion].diagnosis
    assert diagnosis is not None
    assert diagnosis.mutant in fault.split(" or ")


def test_the_baseline_passes_every_probe_of_what_it_offers(runs: dict[str, Run]) -> None:
    assert runs["baseline"].failed() | runs["baseline"].open() == {"truncate"}


@pytest.mark.parametrize("model", MODELS)
def test_figures_are_those_measured_when_it_was_run(runs: dict[str, Run], model: str) -> None:
    evidence = runs[model].evidence
    seen = {(criterion, figure): evidence[criterion].measured[figure] for criterion, figure in FIGURES[model]}
    assert seen == FIGURES[model]


@pytest.mark.parametrize("model", [model for model in MODELS if model == "glm-5"])
def test_one_missing_mask_costs_one_criterion(runs: dict[str, Run], model: str) -> None:
    """GLM-5 claims no option that it lacks: beside causality only what it does not offer is lost.

    Its pages are right in every fixed case; drawn histories need the mask it lacks, and say nothing of them.
    Whether a history of calls meets that mask depends on how many are drawn.
    """
    assert runs[model].failed() == {"causality", "gqa", "sliding_window", "fork", "truncate"}
    assert {"paged"} <= runs[model].open() <= {"paged", "any_history"}


@pytest.mark.parametrize("model", [model for model in MODELS if model == "qwen3.6-27b"])
def test_codes_that_wrap_round_are_far_off(runs: dict[str, Run], model: str) -> None:
    assert runs[model].evidence["int8"].measured["int8_max_error"] > 1


@pytest.mark.alone
@pytest.mark.parametrize("model", [model for model in WHOLE if model in MODELS])
def test_a_decode_costs_in_proportion_to_what_it_holds(model: str) -> None:
    """No answer whose decode reads each token once is found to grow faster, also where the machine is busy."""
    criterion = CODE.challenge.criterion("decode_cost")
    with opened_answer(folder_of(model, CODE.challenge.id)) as (answer, submission):
        tries = [judged(criterion, answer, submission, False) for _ in range(2)]
    assert {evidence.outcome for evidence in tries} <= {Outcome.PASSED, Outcome.NOT_RUN}, tries
    assert all("busy" in evidence.detail for evidence in tries if evidence.outcome is Outcome.NOT_RUN)


@pytest.mark.alone
def test_the_whole_suite_is_quick() -> None:
    """Measured 8.7 s for the baseline on a quiet machine, where 9 s are allowed; a slower one may take 15.

    The best of a few runs: what other work of the machine adds to one of them is not the suite's.
    """
    took = []
    while not took or (min(took) > 15.0 and len(took) < 4):
        run.cache_clear()
        took.append(run("baseline").sandbox_seconds)
    assert min(took) <= 15.0, took
