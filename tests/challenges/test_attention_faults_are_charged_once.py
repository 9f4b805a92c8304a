"""A fault of attention fails the criterion that asks for it, whatever the design around it, and no other."""

from collections.abc import Mapping
from typing import Any

import pytest

from harness.model import Evidence, Location, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.root_causes import judge_without_conditions
from harness.probing.failures import NotOffered
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Plan
from tests.checkout import answer_of, code_of, mutated, probed

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
    "extreme_scale": {"before": "q = q.clip(-1e13, 1e13)"},
    "argument_errors": {"before": "k = k[:, :, : q.shape[2]]"},
}
"""A fault of the forward by the criterion that it fails."""
ALONE = ("full_attention", "causal_default", "tile_invariance", "dtype", "shapes")
"""Faults that touch nothing that another criterion asks for."""


def source_of(challenge: str, design: str) -> str:
    variants = {variant.name: variant for variant in code_of(challenge).variants}
    return code_of(challenge).source(variants.get(design))


def wrapped(design: str, fault: dict[str, str]) -> str:
    plain = {"default": "True", "causal": "causal", "before": "pass", "after": "pass"}
    return source_of(FORWARD, design) + WRAPPED.format(**{**plain, **fault})


def judged(challenge: str, source: str, only: set[str] | None = None) -> dict[str, Evidence]:
    """Return the evidence of an answer that claims no options, each fault charged once; by default what is cheap."""
    code, answer = code_of(challenge), answer_of(source)
    required = [c.id for c in code.challenge.criteria if c.probes and not c.capability]
    evidence = probed(code, answer, *(id for id in required if id not in UNASKED and only in (None, {id})))
    return {e.criterion: e for e in charge_once(code, judge_without_conditions(code, evidence, answer))}


def faulty(evidence: dict[str, Evidence]) -> set[str]:
    return {id for id, e in evidence.items() if e.faulty}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("criterion", FAULTS)
def test_a_fault_fails_its_criterion_around_any_design(criterion: str, design: str) -> None:
    evidence = judged(FORWARD, wrapped(design, FAULTS[criterion]), {criterion})
    assert faulty(evidence) == {criterion}, evidence


COSTS = {
    "no_score_matrix": {"before": "scores = q @ k.swapaxes(-1, -2)", "after": "o = o + 0 * scores[..., :1]"},
    "memory_growth": {
        "before": "seen = q[..., :1] > k[..., :1].swapaxes(-1, -2)",
        "after": "o = o + 0 * seen[..., :1]",
    },
    "tile_skipping": {"after": "unseen = causal and _RIGHT(q, k, v, tile_size, False)"},
}
"""What a call costs more, by the criterion that it fails: read from outside a process."""


@pytest.mark.parametrize("design", ("reference", "heads in a loop", "keys outside"))
@pytest.mark.parametrize("criterion", COSTS)
def test_a_cost_fails_its_criterion_around_any_design(criterion: str, design: str) -> None:
    code = code_of(FORWARD)
    with open_in_sandbox(code, wrapped(design, COSTS[criterion])) as answer:
        evidence = probe_criterion(code, code.challenge.criterion(criterion), answer, SEED, explain=False)
    assert evidence.faulty and evidence.obstacle is None, evidence


@pytest.mark.parametrize("criterion", ALONE)
def test_a_fault_fails_no_criterion_that_does_not_ask_for_it(criterion: str) -> None:
    assert faulty(judged(FORWARD, wrapped("reference", FAULTS[criterion]))) == {criterion}


def test_lost_digits_are_charged_as_digits_alone() -> None:
    evidence = judged(FORWARD, wrapped("reference", FAULTS["accuracy"]))
    assert {id: e.title for id, e in evidence.items() if e.faulty} == {
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
    assert "fails where a tile has one row" in shapes.detail


def test_a_fault_beside_that_of_one_row_is_still_charged() -> None:
    one_row = "if tile_size == 1:\n        raise IndexError('too many indices')"
    both = {"before": one_row, "after": FAULTS["shapes"]["after"]}
    assert faulty(judged(FORWARD, wrapped("reference", both))) == {"tile_invariance", "shapes"}


NARROW = "q, k, v = (each.astype('float16') for each in (q, k, v))"
NARROW_BACK = "cache = {name: each.astype('float16') for name, each in cache.items()}"


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_half_precision_throughout_is_charged_as_digits_and_as_range(challenge: str) -> None:
    """No mask, shape, ramp or tile is at fault; float16 ends at 65,504, and inner products of the contract do not."""
    if challenge == FORWARD:
        source = wrapped("reference", {"before": f"given = q.dtype\n    {NARROW}", "after": "o = o.astype(given)"})
    else:
        source = backward_wrapped(
            "reference", early=f"given = q, k, v\n    {NARROW}",
            forward="o = o.astype(given[0].dtype)\n    cache = {'O': o, 'L': cache['L'].astype(o.dtype),"
            " **dict(zip('QKV', given))}",
            before=f"given = do.dtype\n    {NARROW_BACK}\n    do = do.astype('float16')",
            backward="gradients = tuple(each.astype(given) for each in gradients)",
        )  # fmt: skip
    assert faulty(judged(challenge, source)) - {"argument_errors"} == {
        "accuracy",
        "extreme_scale",
        "extreme_scores",
    }


def test_results_of_fewer_digits_than_the_inputs_are_charged_as_their_dtype_alone() -> None:
    evidence = judged(FORWARD, wrapped("reference", {"after": "o = o.astype('float32')"}))
    assert faulty(evidence) == {"dtype"}
    assert {evidence[id].rests_on for id in ("accuracy", "extreme_scale")} == {"dtype"}


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_where_a_mode_is_missing_all_else_is_judged_by_the_other(challenge: str) -> None:
    missing = "if not causal:\n        raise NotImplementedError('causal attention only')"
    both = {"early": missing, "before": missing} if challenge == BOTH else {"before": missing}
    source = wrapped("reference", both) if challenge == FORWARD else backward_wrapped("reference", **both)
    evidence = judged(challenge, source)
    assert {id: e.outcome for id, e in evidence.items() if e.outcome is not Outcome.PASSED} == {
        "full_attention": Outcome.FAILED
    }
    assert "judged without the cases where a call is made without the mask" in evidence["shapes"].detail
    assert not faulty(judged(challenge, source_of(challenge, "reference")))


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_where_the_mask_is_missing_all_else_is_judged_without_it(challenge: str) -> None:
    missing = "if causal:\n        raise NotImplementedError('full attention only')"
    both = {"early": missing, "before": missing} if challenge == BOTH else {"before": missing}
    source = wrapped("reference", both) if challenge == FORWARD else backward_wrapped("reference", **both)
    evidence = judged(challenge, source)
    assert faulty(evidence) == {"causality"}
    others = [e for id, e in evidence.items() if id != "causality"]
    assert all(e.outcome is Outcome.PASSED or e.rests_on == "causality" for e in others)
    assert "judged without the cases where a call is made with the mask" in evidence["shapes"].detail


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_where_a_dtype_is_not_served_all_else_is_judged_by_the_other(challenge: str, dtype: str) -> None:
    q, do = (f"if {name}.dtype == '{dtype}':\n        raise TypeError('not served')" for name in ("q", "do"))
    source = (
        wrapped("reference", {"before": q})
        if challenge == FORWARD
        else backward_wrapped("reference", early=q, before=do)
    )
    evidence = judged(challenge, source)
    assert faulty(evidence) == {"dtype"}
    others = [e for id, e in evidence.items() if id != "dtype"]
    assert all(e.outcome is Outcome.PASSED or e.rests_on == "dtype" for e in others)
    assert f"judged without the cases where inputs are {dtype}" in evidence["shapes"].detail


def test_a_fault_beside_a_missing_mode_is_still_charged() -> None:
    missing = "if not causal:\n        raise NotImplementedError('causal attention only')"
    both = {"before": missing, "after": FAULTS["tile_invariance"]["after"]}
    evidence = judged(FORWARD, wrapped("reference", both))
    assert faulty(evidence) == {"full_attention", "tile_invariance"}
    assert "not full" in evidence["tile_invariance"].title


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_a_wrong_shape_at_one_position_is_a_matter_of_shapes_at_any_size(challenge: str) -> None:
    one = "o = o[:, :, 0] if o.shape[2] == 1 else o"
    back = "gradients = tuple(each[:, :, 0] if each.shape[2] == 1 else each for each in gradients)"
    source = (
        wrapped("reference", {"after": one}) if challenge == FORWARD else backward_wrapped("reference", backward=back)
    )
    code, answer = code_of(challenge), answer_of(source)
    evidence = probed(code, answer, "any_size", "shapes")
    settled = charge_once(code, judge_without_conditions(code, evidence, answer))
    assert [(e.criterion, e.rests_on) for e in settled if e.outcome is not Outcome.PASSED] == [
        ("any_size", "shapes"), ("shapes", None)
    ]  # fmt: skip


def test_a_wrong_scale_is_no_fault_of_the_mask_the_shapes_or_large_scores() -> None:
    evidence = judged(FORWARD, wrapped("reference", FAULTS["values"]))
    told = ("full_attention", "shapes", "extreme_scores", "accuracy")
    assert faulty(evidence) == {"values"}
    assert {(evidence[id].outcome, evidence[id].rests_on) for id in told} == {(Outcome.NOT_RUN, "values")}


BACKWARD_WRAPPED = """

_FORWARD, _BACKWARD, _CALLS = flash_attention_fwd, flash_attention_bwd, []


def flash_attention_fwd(q, k, v, tile_size, causal={default}):
    {early}
    o, cache = _FORWARD(q, k, v, tile_size, causal)
    {forward}
    return o, cache


def flash_attention_bwd(do, cache, tile_size, causal={default}):
    {before}
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


def times(factor: str) -> str:
    """Return the line that multiplies each gradient."""
    return f"gradients = tuple(each * each.dtype.type({factor}) for each in gradients)"


FURTHER_FAULTS = {
    "output": {"forward": "o = 2 * o"},
    "gradients": {"backward": times("2")},
    "log_sum_exp": {"forward": "cache['L'] = cache['L'] + 1"},
    "causality": {
        "backward": "leak = causal * 0.1 * do.mean(axis=2, keepdims=True)\n"
        "    gradients = tuple(each + leak.astype(each.dtype) for each in gradients)"
    },
    "full_attention": {"backward": times("1 if causal else 2")},
    "tile_invariance": {"backward": times("1.01 if do.shape[2] % tile_size else 1")},
    "independence": {
        "backward": "others = do.shape[1] > 1\n    gradients = tuple(each + others * each[:, :1] for each in gradients)"
    },
    "statelessness": {"backward": "_CALLS.append(1)\n    " + times("1 + 1e-3 * len(_CALLS)")},
    "shapes": {"backward": times("do.shape[3] > 1")},
    "argument_errors": {"early": "k = k[:, :, : q.shape[2]]"},
    "extreme_scores": {"backward": times("1.01 if abs(cache['Q']).max() > 20 else 1")},
    "extreme_scale": {"early": "q = q.clip(-1e13, 1e13)"},
    "accuracy": {"backward": "gradients = tuple(each.astype('float32').astype(each.dtype) for each in gradients)"},
}
"""Faults of either pass by the criterion that they fail, whatever else they do."""


def backward_wrapped(design: str, **fault: str) -> str:
    plain = {"default": "True", **dict.fromkeys(("early", "forward", "before", "backward"), "pass")}
    return source_of(BOTH, design) + BACKWARD_WRAPPED.format(**{**plain, **fault})


@pytest.mark.parametrize("design", BACKWARDS)
@pytest.mark.parametrize("criterion", BACKWARD_FAULTS)
def test_a_fault_of_both_passes_fails_its_criterion_alone(criterion: str, design: str) -> None:
    assert faulty(judged(BOTH, backward_wrapped(design, **BACKWARD_FAULTS[criterion]))) == {criterion}


@pytest.mark.parametrize("design", BACKWARDS)
@pytest.mark.parametrize("criterion", FURTHER_FAULTS)
def test_a_fault_of_either_pass_fails_its_criterion_around_any_design(criterion: str, design: str) -> None:
    evidence = judged(BOTH, backward_wrapped(design, **FURTHER_FAULTS[criterion]), {criterion})
    assert faulty(evidence) == {criterion}, evidence


@pytest.mark.parametrize("design", BACKWARDS)
def test_a_backward_that_needs_its_forward_s_process_is_seen(design: str) -> None:
    source = backward_wrapped(design, forward="_CALLS.append(1)", backward=times("len(_CALLS) > 0"))
    code = code_of(BOTH)
    with open_in_sandbox(code, source) as answer:
        evidence = probe_criterion(code, code.challenge.criterion("cache_is_data"), answer, SEED, explain=False)
    assert evidence.faulty and evidence.obstacle is None, evidence


def test_l_of_another_shape_is_a_matter_of_form() -> None:
    code = code_of(BOTH)
    evidence = judged(BOTH, mutated(code, "L with an axis of one"))
    assert {id: e.title for id, e in evidence.items() if e.faulty} == {
        "cache_arrays": "L of the cache has another shape"
    }


def test_a_wrong_output_keeps_its_words_where_a_call_of_other_sizes_fails() -> None:
    """The plain call that shows which digits are lost may raise: nothing of that is said of the case that is wrong."""
    elsewhere = {"before": "if q.shape[2:] == (16, 8):\n        raise IndexError('too many indices')"}
    fault = {**elsewhere, "after": "o = o * o.dtype.type(1.5 if 1 == tile_size < q.shape[2] else 1)"}
    found = judged(FORWARD, wrapped("reference", fault), {"tile_invariance"})["tile_invariance"]
    assert found.title == "the output is wrong where the tile size is 1" and "IndexError" not in found.detail


def test_what_is_wrong_without_a_mask_is_charged_where_an_adapter_serves_no_mask() -> None:
    source = wrapped("reference", {"after": "o = o * o.dtype.type(1 if causal else 2)"})
    code, answer = code_of(FORWARD), answer_of(source)
    found = probe_criterion(
        code,
        code.challenge.criterion("full_attention"),
        _Maskless(answer),
        SEED,
        explain=False,
        adapters={"adapter.py"},
    )
    assert (found.outcome, found.title) == (Outcome.FAILED, "o is wrong without the mask")


def test_a_mask_that_an_adapter_does_not_serve_is_no_fault_of_l() -> None:
    code, answer = code_of(BOTH), answer_of(source_of(BOTH, "reference"))
    found = probe_criterion(
        code, code.challenge.criterion("log_sum_exp"), _Maskless(answer), SEED, explain=False, adapters={"adapter.py"}
    )
    assert found.outcome is Outcome.PASSED and found.unserved


class _Maskless(AnswerWrapper):
    """An answer whose adapter serves no mask."""

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        if function == "flash_attention_fwd" and args[4:5] != (False,):
            place = [Location(file="adapter.py", line=6)]
            raise NotOffered(
                f"`{function}` raises NotImplementedError", "NotImplementedError: no mask", locations=place
            )
        return super().call(function, *args, returns=returns, **options)


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_a_mask_that_hidden_scores_outweigh_is_charged_as_such_and_once(challenge: str) -> None:
    """Values at the ends of the contract's magnitudes show it as well, and do not decide."""
    code = code_of(challenge)
    mutant = next(m for m in code.mutants if m.name.startswith("mask of -1e9 added"))
    evidence = judged(challenge, code.source(mutant))
    assert faulty(evidence) == {"extreme_scores"}
    assert "later" in evidence["extreme_scores"].title
    assert evidence["extreme_scores"].title.endswith("whose scores lie far above")


def test_a_mask_that_hidden_scores_outweigh_is_no_matter_of_extreme_values() -> None:
    code = code_of(FORWARD)
    answer = answer_of(mutated(code, "mask of -1e9 added"))
    (found,) = probed(code, answer, "any_size")
    assert found.title == "the output at a position depends on later ones whose scores lie far above"


def options_judged(challenge: str, source: str, *further: str, explain: bool = False) -> dict[str, Evidence]:
    """Return the evidence of an answer that claims every option: of options, and further criteria, each fault once."""
    code, answer = code_of(challenge), answer_of(source)
    asked = [c for c in code.challenge.criteria if c.probes and (c.capability or c.id in further)]
    evidence = [probe_criterion(code, c, answer, seed_of(SEED, c.id), explain=explain) for c in asked]
    return {e.criterion: e for e in charge_once(code, judge_without_conditions(code, evidence, answer))}


OPTIONS = {"gqa", "fewer_queries", "blind_rows"}
OPTION_FAULTS = [(name, m.name) for name in (FORWARD, BOTH) for m in code_of(name).mutants if m.criterion in OPTIONS]


def with_faults(challenge: str, *faults: str) -> str:
    """Return the reference with known faults."""
    source = source_of(challenge, "reference")
    for old, new in (edit for m in code_of(challenge).mutants if m.name in faults for edit in m.edits):
        assert old in source
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(("challenge", "fault"), OPTION_FAULTS)
def test_a_fault_of_an_option_fails_that_option_alone(challenge: str, fault: str) -> None:
    criterion = next(m.criterion for m in code_of(challenge).mutants if m.name == fault)
    evidence = options_judged(challenge, with_faults(challenge, fault))
    passed = {id for id, e in evidence.items() if e.outcome is Outcome.PASSED}
    assert faulty(evidence) == {criterion} and passed == OPTIONS - {criterion}


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_faults_of_two_options_are_charged_to_both(challenge: str) -> None:
    evidence = options_judged(challenge, with_faults(challenge, "heads in turn", "first query at the first key"))
    assert faulty(evidence) == {"gqa", "fewer_queries"}


@pytest.mark.parametrize("challenge", [FORWARD, BOTH])
def test_the_smallest_case_of_an_option_keeps_it(challenge: str) -> None:
    def case(criterion: str, fault: str) -> Mapping[str, Any]:
        found = options_judged(challenge, with_faults(challenge, "heads in turn", fault), explain=True)[criterion]
        assert found.counterexample
        return found.counterexample.case

    shared = case("gqa", "")
    assert shared["share"] > 1 and shared["N"] == shared["M"]
    fewer = case("fewer_queries", "first query at the first key")
    assert fewer["N"] < fewer["M"] and fewer["share"] == 1
    blind = case("blind_rows", "NaN where nothing is seen")
    assert blind["N"] > blind["M"] and blind["share"] == 1


def test_an_option_is_charged_beside_a_fault_that_its_plain_inputs_do_not_meet() -> None:
    source = with_faults(FORWARD, "heads in turn", "mask of -1e9")
    evidence = options_judged(FORWARD, source, "extreme_scores", "any_size")
    assert faulty(evidence) == {"gqa", "extreme_scores"}


def test_what_is_wrong_at_some_sizes_is_no_fault_of_an_option() -> None:
    source = wrapped("reference", {"after": "o = o * o.dtype.type(2 if q.shape[3] > 60 else 1)"})
    assert faulty(options_judged(FORWARD, source, "any_size")) == {"any_size"}
