"""A fault of a cache is charged to the criterion that asks for it, and to none that only its calls bring it to."""

import functools
from functools import cache

import numpy as np
import pytest

from harness.model import Evidence, Outcome
from harness.numerics import PASS
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.root_causes import judge_without_conditions
from harness.sandbox import RemoteObject
from tests.checkout import answer_of, code_of, mutated, probed

CODE = code_of("kv_cache")
SEED = 11
CHARGED = {
    "one cache for all slots": {"batch_isolation", "slot_reuse", "capacity"},  # only slot 0 is emptied, or full
    "one overwritten entry a layer": {"batch_isolation", "decode_history", "slot_reuse", "capacity"},
    "decode sees only key 0": {"prefill_stored"},
    "decode sees only itself": {"prefill_stored"},
    "prefill not stored": {"prefill_stored", "appended_prefill", "capacity"},  # what is forgotten fills no room
    "decode not stored": {"decode_history", "slot_reuse", "capacity"},
    "padding stored": {"ragged_lengths"},
    "padding multiplied by zero": {"any_padding"},
    "lengths shared by layers": {"layer_isolation"},
}
"""The criteria that a fault is charged to."""


@cache
def judged(fault: str) -> dict[str, Evidence]:
    """The evidence of an answer with a fault, each fault charged once: of what is required, but for drawn programs."""
    return judged_of(answer_of(mutated(CODE, fault)))


def judged_of(answer: LocalAnswer) -> dict[str, Evidence]:
    required = [c.id for c in CODE.challenge.criteria if c.probes and not c.capability and c.id != "any_history"]
    found = probed(CODE, answer, *(id for id in required if not measured(id)))
    return {e.criterion: e for e in charge_once(CODE, judge_without_conditions(CODE, found, answer))}


def measured(criterion: str) -> bool:
    return any(probe.measures_cost for probe in CODE.probes_of(CODE.challenge.criterion(criterion)))


@pytest.mark.parametrize("fault", CHARGED)
def test_a_fault_is_charged_to_what_it_breaks_alone(fault: str) -> None:
    evidence = judged(fault)
    assert {id for id, e in evidence.items() if e.faulty} == CHARGED[fault], evidence


def test_what_fails_where_several_sequences_are_held_depends_on_their_isolation() -> None:
    shapes = judged("one overwritten entry a layer")["shapes"]
    assert (shapes.outcome, shapes.rests_on) == (Outcome.NOT_RUN, "batch_isolation")
    assert "fails where several sequences are held" in shapes.detail


def test_a_decode_that_sees_too_little_is_charged_after_a_prompt_alone() -> None:
    history = judged("decode sees only key 0")["decode_history"]
    assert (history.outcome, history.rests_on) == (Outcome.NOT_RUN, "prefill_stored")
    assert "was tried only where a decode follows other tokens" in history.detail


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_where_a_dtype_is_not_served_all_else_is_judged_by_the_other(dtype: str) -> None:
    source = CODE.source().replace('DTYPES = ("float32", "float64")', f'DTYPES = ("{_OTHER[dtype]}",)')
    assert source != CODE.source()
    evidence = judged_of(answer_of(source))
    assert {id for id, e in evidence.items() if e.faulty} == {"dtype"}
    assert {e.rests_on for e in evidence.values() if e.outcome is not Outcome.PASSED and not e.faulty} <= {"dtype"}
    assert any(
        f"judged without the cases where the dtype of the cache is {dtype}" in e.detail for e in evidence.values()
    )


_OTHER = {"float64": "float32", "float32": "float64"}


@pytest.mark.parametrize("criterion", ["decode_cost", "memory_growth"])
def test_a_cache_that_forgets_is_not_praised_for_what_it_costs(criterion: str) -> None:
    mutant = next(mutant for mutant in CODE.mutants if mutant.name == "one overwritten entry a layer")
    answer = answer_of(CODE.source(mutant))
    found = probe_criterion(CODE, CODE.challenge.criterion(criterion), answer, SEED, explain=False)
    cost = {e.criterion: e for e in charge_once(CODE, [*judged(mutant.name).values(), found])}[criterion]
    assert (cost.outcome, cost.measured) == (Outcome.NOT_RUN, {})
    assert cost.rests_on in ("batch_isolation", "decode_history")


KEEPS_ARGUMENTS = """

_KEPT = {}


def _keeping(call):
    def run(cache, layer, slots, q, k, v, *lengths):
        out = call(cache, layer, slots, q, k, v, *lengths)
        _, kept = _KEPT.setdefault(id(cache), (cache, []))
        changed = any(np.isnan(array).sum() > absent for array, absent in kept)
        kept.append((k, np.isnan(k).sum()))
        return out * np.nan if changed else out

    return run


prefill, decode = _keeping(prefill), _keeping(decode)
"""


def test_what_writing_to_an_argument_changes_is_not_said_of_results() -> None:
    """A cache that keeps the arrays it was given returns arrays of its own: those the caller may write to."""
    answer = answer_of(CODE.source() + KEEPS_ARGUMENTS)
    ownership = CODE.challenge.criterion("ownership")
    assert probe_criterion(CODE, ownership, answer, SEED, explain=False).outcome is Outcome.PASSED
    assert probe_criterion(CODE, CODE.challenge.criterion("any_history"), answer, SEED, explain=False).faulty


def test_a_report_that_is_not_offered_is_not_blamed_on_wrong_values() -> None:
    source = mutated(CODE, "equal scores counted once").replace("def memory_bytes(", "def unnamed(")
    history, report = charge_once(CODE, probed(CODE, answer_of(source), "any_history", "memory_report"))
    assert history.faulty
    assert (report.outcome, report.title) == (Outcome.FAILED, "`memory_bytes` is not offered")


NAN_SPREADS = """

_prefill = prefill


def prefill(cache, layer, slots, q, k, v, lengths):
    out = _prefill(cache, layer, slots, q, k, v, lengths)
    return out + np.where(np.isfinite(k).all(), 0, np.nan).astype(out.dtype) if len(slots) > 1 else out
"""


def test_padding_that_is_nan_in_a_batch_reaches_no_real_position() -> None:
    answer = answer_of(CODE.source() + NAN_SPREADS)
    padding, *others = probed(CODE, answer, "any_padding", "ragged_lengths", "any_history")
    assert (padding.outcome, padding.title) == (
        Outcome.FAILED, "what is not finite in padding reaches real positions",
    )  # fmt: skip
    assert {e.outcome for e in others} == {Outcome.PASSED}


HELD = "a value held at float64 comes back less exact than a new one"
LOST_DIGITS = ("float16 store", "float32 store", "float32 inside", "denominator off by a millionth")


@pytest.mark.parametrize("fault", LOST_DIGITS)
def test_lost_digits_are_charged_as_accuracy_alone(fault: str) -> None:
    history = probed(CODE, answer_of(mutated(CODE, fault)), "any_history")
    evidence = {e.criterion: e for e in charge_once(CODE, [*judged(fault).values(), *history])}
    assert {id for id, e in evidence.items() if e.faulty} == {"accuracy"}, evidence


def titles_of_accuracy(source: str) -> set[str]:
    (accuracy,) = charged_of(source, "accuracy", explain=False).values()
    assert accuracy.faulty
    return {accuracy.title, *(further.title for further in accuracy.also)}


@pytest.mark.parametrize("fault", ["float16 store", "float32 store"])
def test_a_value_held_in_fewer_bits_is_named(fault: str) -> None:
    assert HELD in titles_of_accuracy(mutated(CODE, fault))


@pytest.mark.parametrize("added", ["1e-6", "1e-8"])
def test_digits_that_a_quotient_loses_are_not_said_to_be_of_held_values(added: str) -> None:
    """The sum of the weights is off; every key and value is held as it was given."""
    source = mutated(CODE, "denominator off by a millionth")
    assert source.count(" + 1e-6") == 1
    assert titles_of_accuracy(source.replace(" + 1e-6", f" + {added}")).isdisjoint({HELD})


def test_digits_that_arithmetic_loses_are_not_said_to_be_of_held_values() -> None:
    assert HELD not in titles_of_accuracy(mutated(CODE, "float32 inside"))


def test_what_is_as_far_off_without_codes_or_pages_is_not_charged_to_them() -> None:
    evidence = charged_of(
        mutated(CODE, "one in the denominator"), "any_history", "int8", "int4", "paged", explain=False
    )
    assert {id for id, e in evidence.items() if e.faulty} == {"any_history"}, evidence


def test_an_error_ratio_of_lost_digits_is_no_figure_of_a_criterion_that_passes() -> None:
    first = judged("float32 inside")["first_token"]
    assert first.outcome is Outcome.PASSED
    assert all(ratio <= PASS for ratio in first.measured.values())


DIGITS_OF_CHUNKS = """

_attend_slot = attend_slot


def attend_slot(cache, store, slot, *new):
    kept = np.float32 if store.lengths[slot] and new[0].shape[1] > 1 else np.float64
    return (_attend_slot(cache, store, slot, *new) * (1 + 1e-3 * (kept == np.float32))).astype(new[0].dtype)
"""


def test_digits_that_plain_results_keep_count_elsewhere() -> None:
    """What only a chunk loses, a thousandth, is no loss of the plain results."""
    answer = answer_of(CODE.source() + DIGITS_OF_CHUNKS)
    accuracy, chunks = probed(CODE, answer, "accuracy", "appended_prefill")
    assert (accuracy.outcome, chunks.outcome) == (Outcome.PASSED, Outcome.FAILED)


NO_MASK = "no causal mask"


def test_chunks_are_not_praised_where_a_prompt_sees_later_tokens() -> None:
    chunks = judged(NO_MASK)["appended_prefill"]
    assert (chunks.outcome, chunks.rests_on) == (Outcome.NOT_RUN, "causality")
    assert "a prompt in chunks gives another result than in one call" in chunks.detail


def test_no_condition_is_met_by_what_a_refused_call_or_a_cut_slot_was_given() -> None:
    (several,) = (c for c in CODE.conditions if c.criterion == "batch_isolation")
    cache = RemoteObject(1)
    one, other = ((cache, 0, np.array([slot]), *[np.zeros((1, 1, 1, 4))] * 3) for slot in (0, 1))
    assert not several.met("decode", one) and not several.met("decode", other)  # neither was served
    several.served("decode", one)
    assert several.met("decode", other)
    several.served("truncate", (cache, 0, 1))
    assert several.met("decode", other)
    several.served("truncate", (cache, 0, 0))
    assert not several.met("decode", other)


def test_arrays_that_lie_in_the_answers_process_meet_no_condition() -> None:
    cache, array = RemoteObject(1), RemoteObject(2)
    for function, args in (("prefill", (cache, 0, *[array] * 5)), ("decode", (cache, 0, *[array] * 4))):
        assert not any(condition.met(function, args) for condition in CODE.conditions)
        for condition in CODE.conditions:
            condition.served(function, args)


def test_an_option_is_charged_with_its_own_fault_and_not_with_what_several_sequences_bring_about() -> None:
    plain, own = (
        next(mutant for mutant in CODE.mutants if mutant.name == name)
        for name in ("history cut to the shortest", "kv head by remainder")
    )
    source = CODE.source(plain)
    for before, _ in own.edits:
        assert source.count(before) == 1
    both = functools.reduce(lambda text, edit: text.replace(*edit), own.edits, source)
    for text, outcome, rests_on in ((source, Outcome.NOT_RUN, "batch_isolation"), (both, Outcome.FAILED, None)):
        answer = answer_of(text)
        found = probed(CODE, answer, "batch_isolation", "gqa")
        _, gqa = charge_once(CODE, judge_without_conditions(CODE, found, answer))
        assert (gqa.outcome, gqa.rests_on) == (outcome, rests_on)


@pytest.mark.parametrize(
    ("fault", "criterion"),
    [
        ("kv head by remainder", "gqa"),
        ("window ignored", "sliding_window"),
        ("fork's pages given back", "fork"),
        ("whole pages read", "paged"),
        ("only page overwritten", "paged"),
        ("second page fails", "paged"),
    ],
)
def test_a_fault_of_an_option_fails_that_option_alone(fault: str, criterion: str) -> None:
    found = probed(CODE, answer_of(mutated(CODE, fault)), "gqa", "sliding_window", "fork", "paged")
    assert {e.criterion for e in charge_once(CODE, found) if e.faulty} == {criterion}


def charged_of(source: str, *criteria: str, seed: int = SEED, explain: bool = True) -> dict[str, Evidence]:
    """The evidence of some criteria, with the shortest programs where it is explained, each fault charged once."""
    answer = answer_of(source)
    asked = [CODE.challenge.criterion(id) for id in criteria]
    found = [probe_criterion(CODE, c, answer, seed_of(seed, c.id), explain=explain) for c in asked]
    return {e.criterion: e for e in charge_once(CODE, found)}


def test_results_that_a_later_call_changes_are_charged_to_ownership_alone() -> None:
    evidence = charged_of(mutated(CODE, "aliased output"), "ownership", "accuracy", "any_history", "gqa")
    assert {id for id, e in evidence.items() if e.faulty} == {"ownership"}
    assert evidence["accuracy"].outcome is Outcome.PASSED
    assert {evidence[id].rests_on for id in ("any_history", "gqa")} == {"ownership"}


def test_a_title_names_the_size_of_tokens_or_the_odd_head_dim_where_only_that_goes_wrong() -> None:
    floored = charged_of(mutated(CODE, "int8 scale with a floor"), "int8")["int8"]
    assert floored.title == "int8 storage is too far off where tokens are tiny"
    source = CODE.source() + "\n\n_create = create_cache\n\n\n" + EVEN_ALONE
    refused = charged_of(source, "any_history")["any_history"]
    assert "`create_cache` raises TypeError where head_dim is odd" in (refused.title, *(o.title for o in refused.also))


EVEN_ALONE = """
def create_cache(*, head_dim, **options):
    if head_dim % 2:
        raise TypeError("head_dim is odd")
    return _create(head_dim=head_dim, **options)
"""
ONE_LENGTH = """

_attend_slot = attend_slot


def attend_slot(cache, store, slot, *new):
    store.truncate(slot, cache.stores[-1].lengths[slot])
    return _attend_slot(cache, store, slot, *new)
"""


def test_what_programs_of_an_option_show_without_it_is_not_charged_to_the_option() -> None:
    """A layer forgets what the last layer did not take, whether or not slots are forked or heads shared."""
    evidence = charged_of(CODE.source() + ONE_LENGTH, "any_history", "fork", "gqa")
    assert {id for id, e in evidence.items() if e.faulty} == {"any_history"}
    for id in ("fork", "gqa"):
        own = "its fixed cases show no fault of its own"
        assert evidence[id].detail.startswith(f"{own}; a drawn case that makes no use of it fails")


CUT_TO_ONE_LENGTH = """

_truncate = truncate


def truncate(cache, slot, length):
    _truncate(cache, slot, length)
    longest = max(store.lengths[slot] for store in cache.stores)
    for store in cache.stores:
        blank = np.zeros((longest - store.lengths[slot], 2, cache.num_kv_heads, cache.head_dim), cache.dtype)
        store.append(slot, to_rows(blank, cache.bits))
"""


SEEN_BY = 8
"""A seed by which the programs drawn cut a sequence where a layer holds less."""


def test_an_option_that_fails_hides_no_fault_that_shows_without_it() -> None:
    source = mutated(CODE, "int8 not compressed") + CUT_TO_ONE_LENGTH
    evidence = charged_of(source, "any_history", "int8", "truncate", seed=SEEN_BY)
    assert {id for id, e in evidence.items() if e.faulty} == {"int8", "truncate"}
    example = evidence["truncate"].counterexample
    assert example is not None and not any("int8" in line for line in example.program)


def test_what_programs_of_one_option_show_at_another_is_charged_to_that_one_alone() -> None:
    evidence = charged_of(mutated(CODE, "int8 scale with a floor"), "any_history", "int8", "truncate", explain=False)
    assert {id for id, e in evidence.items() if e.faulty} == {"int8"}
    assert evidence["truncate"].outcome is Outcome.NOT_RUN
