"""A fault of attention fails the criterion that asks for it, whatever the design around it, and no other."""

from functools import cache
from pathlib import Path

import pytest

from harness.model import Evidence, Outcome
from harness.probing.code import ChallengeCode
from harness.probing.criteria import charged_once, probe_criterion, seed_of
from harness.probing.local_answer import LocalAnswer
from harness.probing.mutants import module_of
from harness.probing.root_causes import judged_without_conditions
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
FORWARD, BOTH = "flash_attention", "flash_attention_backward"
SEED = 11
DESIGNS = ("reference", "two passes", "heads in a loop", "keys outside", "row by row")
"""Right answers of the forward that a fault is wrapped around."""
BACKWARDS = ("reference", "keys outside", "row by row")
UNASKED = {"any_size", "no_score_matrix", "memory_growth", "tile_skipping"}
"""Criteria of many draws and of cost."""
WRAPPED = """

_RIGHT, _CALLS = flash_attention_fwd, []


def flash_attention_fwd(q, k, v, tile_size, causal={default}):
    _CALLS.append(1)
    {before}
    o = _RIGHT(q, k, v, tile_size, {causal})
    {after}
    return o
"""
FAULTS = {
    "values": {"after": "o = 2 * o"},
    "full_attention": {"causal": "True"},
    "causality": {"after": "o = o + (causal * 0.1 * v.mean(axis=2, keepdims=True)).astype(o.dtype)"},
    "causal_default": {"default": "False"},
    "tile_invariance": {"after": "o = o * o.dtype.type(1.01 if q.shape[2] % tile_size else 1)"},
    "independence": {"after": "o = o + o.dtype.type(0.1) * o[:, :1] * (o.shape[1] > 1)"},
    "statelessness": {"after": "o = o * o.dtype.type(1 + 1e-3 * len(_CALLS))"},
    "dtype": {"after": "o = o.astype('float64')"},
    "shapes": {"after": "o = o * o.dtype.type(o.shape[3] > 1)"},
    "extreme_scores": {"after": "o = o * o.dtype.type(1.01 if abs(q).max() > 20 else 1)"},
    "accuracy": {"after": "o = o.astype('float32').astype(o.dtype)"},
}
"""A fault of the forward by the criterion that it fails."""
ALONE = ("full_attention", "causal_default", "tile_invariance", "dtype", "shapes")
"""Faults that touch nothing that another criterion asks for."""


@cache
def code_of(challenge: str) -> ChallengeCode:
    return ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))


def source_of(challenge: str, design: str) -> str:
    variants = {variant.name: variant for variant in code_of(challenge).variants}
    return code_of(challenge).source(variants.get(design))


def wrapped(design: str, fault: dict[str, str]) -> str:
    plain = {"default": "True", "causal": "causal", "before": "pass", "after": "pass"}
    return source_of(FORWARD, design) + WRAPPED.format(**{**plain, **fault})


def judged(challenge: str, source: str, only: set[str] | None = None) -> dict[str, Evidence]:
    """The evidence of an answer, each fault charged once; of all criteria that cost little by default."""
    code, answer = code_of(challenge), LocalAnswer(module_of("answer", source))
    asked = [c for c in code.challenge.criteria if c.probes and c.id not in UNASKED and only in (None, {c.id})]
    evidence = [probe_criterion(code, c, answer, seed_of(SEED, c.id), explain=False) for c in asked]
    return {e.criterion: e for e in charged_once(code, judged_without_conditions(code, evidence, answer))}


def faulty(evidence: dict[str, Evidence]) -> set[str]:
    return {id for id, e in evidence.items() if e.faulty}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("criterion", FAULTS)
def test_a_fault_fails_its_criterion_around_any_design(criterion: str, design: str) -> None:
    evidence = judged(FORWARD, wrapped(design, FAULTS[criterion]), {criterion})
    assert faulty(evidence) == {criterion}, evidence


@pytest.mark.parametrize("criterion", ALONE)
def test_a_fault_fails_no_criterion_that_does_not_ask_for_it(criterion: str) -> None:
    assert faulty(judged(FORWARD, wrapped("reference", FAULTS[criterion]))) == {criterion}


def test_lost_digits_are_charged_as_digits_alone() -> None:
    evidence = judged(FORWARD, wrapped("reference", FAULTS["accuracy"]))
    assert {id: e.title for id, e in evidence.items() if e.faulty} == {
        "values": "o loses digits",
        "accuracy": "results are less accurate than the inputs allow",
        "extreme_scale": "the output does not survive extreme values",  # float32 ends at 3e38
    }


def test_what_fails_where_a_tile_has_one_row_is_charged_once_and_said() -> None:
    one_row = {"before": "rows = {min(tile_size, q.shape[2] - i) for i in range(0, q.shape[2], max(tile_size, 1))}"}
    one_row["before"] += "\n    if 1 in rows:\n        raise IndexError('too many indices')"
    evidence = judged(FORWARD, wrapped("reference", one_row))
    assert faulty(evidence) == {"tile_invariance", "argument_errors"}  # it looks at two axes before it checks them
    assert evidence["tile_invariance"].title == "calls fail where a tile has one row"
    shapes = evidence["shapes"]
    assert (shapes.outcome, shapes.rests_on) == (Outcome.NOT_RUN, "tile_invariance")
    assert "fails only where a tile has one row" in shapes.detail


def test_a_fault_beside_that_of_one_row_is_still_charged() -> None:
    one_row = "if tile_size == 1:\n        raise IndexError('too many indices')"
    both = {"before": one_row, "after": FAULTS["shapes"]["after"]}
    assert faulty(judged(FORWARD, wrapped("reference", both))) == {"tile_invariance", "shapes"}


def test_a_wrong_scale_is_no_fault_of_the_mask_the_shapes_or_large_scores() -> None:
    evidence = judged(FORWARD, wrapped("reference", FAULTS["values"]))
    told = ("full_attention", "shapes", "extreme_scores", "accuracy")
    assert faulty(evidence) == {"values"}
    assert {(evidence[id].outcome, evidence[id].rests_on) for id in told} == {(Outcome.NOT_RUN, "values")}


BACKWARD_WRAPPED = """

_FORWARD, _BACKWARD = flash_attention_fwd, flash_attention_bwd


def flash_attention_fwd(q, k, v, tile_size, causal={default}):
    o, cache = _FORWARD(q, k, v, tile_size, causal)
    {forward}
    return o, cache


def flash_attention_bwd(do, cache, tile_size, causal={default}):
    gradients = _BACKWARD(do, cache, tile_size, causal)
    {backward}
    return gradients
"""
BACKWARD_FAULTS = {
    "causal_default": {"default": "False"},
    "cache_reuse": {"backward": "cache['K'] = cache['K'] * 0"},
    "dtype": {
        "forward": "o = o.astype('float64'); cache['O'], cache['L'] = o, cache['L'].astype('float64')",
        "backward": "gradients = tuple(each.astype('float64') for each in gradients)",
    },
    "cache_arrays": {"forward": "cache['S'] = o"},
}
"""Faults of both passes that fail one criterion alone."""


@pytest.mark.parametrize("design", BACKWARDS)
@pytest.mark.parametrize("criterion", BACKWARD_FAULTS)
def test_a_fault_of_both_passes_fails_its_criterion_alone(criterion: str, design: str) -> None:
    plain = {"default": "True", "forward": "pass", "backward": "pass"}
    source = source_of(BOTH, design) + BACKWARD_WRAPPED.format(**{**plain, **BACKWARD_FAULTS[criterion]})
    assert faulty(judged(BOTH, source)) == {criterion}


def test_l_of_another_shape_is_a_matter_of_form() -> None:
    code = code_of(BOTH)
    mutant = next(m for m in code.mutants if m.name == "L with an axis of one")
    evidence = judged(BOTH, code.source(mutant))
    assert {id: e.title for id, e in evidence.items() if e.faulty} == {
        "cache_arrays": "L of the cache has another shape"
    }
