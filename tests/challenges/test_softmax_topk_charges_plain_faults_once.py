"""A plain fault is charged by the criterion whose property it breaks, and what is special only where it alone fails."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from softmax_topk_answers import CODE, Launch, Row, answer, exact

from harness.model import Evidence, Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.answers import Answer
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import FaultElsewhere
from harness.probing.probe import once, run

LOGITS = "selection", "values", "rows", "stability", "ties", "special_values", "shapes", "any_size", "large_vocab"
ASKED = (*LOGITS, "every_k", "refusal")
"""Criteria that an answer in NumPy can be judged by."""


def thirty_second(logits: Any, k: int) -> tuple[Any, Any]:
    probs, columns = exact(logits, k)
    return probs / 32, columns


def first_twice(logits: Any, k: int) -> tuple[Any, Any]:
    """Name the best column at the last place again."""
    probs, columns = exact(logits, k)
    return probs, np.array([*columns[:-1], columns[0]])


def spoilt_by_ties(logits: Any, k: int) -> tuple[Any, Any]:
    """Name the first of equal logits for each of them."""
    probs, columns = exact(logits, k)
    return probs, np.array([np.flatnonzero(logits == logits[column])[0] for column in columns])


def listing_larger_than_the_smallest(logits: Any, k: int) -> tuple[Any, Any]:
    """Keep a list that begins with -FLT_MAX, which only a larger logit replaces."""
    probs, columns = exact(logits, k)
    listed = logits[columns] > np.finfo(np.float32).min
    return np.where(listed, probs, 0), np.where(listed, columns, -1)


def by_rounded_probability(logits: Any, k: int) -> tuple[Any, Any]:
    """Choose by probabilities in float32, of which many are 0."""
    probs, columns = exact(logits, len(logits))
    rounded = np.zeros(len(logits), np.float32)
    rounded[columns] = probs
    chosen = np.argsort(-rounded, kind="stable")[:k]
    return rounded[chosen], chosen


def by_fixed_point(logits: Any, k: int) -> tuple[Any, Any]:
    """Choose by 22 binary places of logits nearer to 0 than 1."""
    probs, columns = exact(logits, len(logits))
    places = np.where(np.abs(logits) < 1, np.rint(logits * 2.0**22) / 2.0**22, logits)
    chosen = np.argsort(-places, kind="stable")[:k]
    return probs[np.argsort(columns)][chosen], chosen


def with_a_maximum_of_at_least(start: float) -> Row:
    """Take the maximum of a row to be no less than `start`."""

    def row(logits: Any, k: int) -> tuple[Any, Any]:
        _, columns = exact(logits, k)
        with np.errstate(all="ignore"):
            weights = np.exp(logits - max(logits.max(), np.float32(start)))
            return weights[columns] / weights.sum(), columns

    return row


def on_a_boundary(plain: Launch) -> Launch:
    """Refuse logits off a 16-byte boundary."""
    none = refusing(plain)

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        return (none if arguments[0]["shift"] % 16 else plain)(symbol, arguments, **options)

    return launch


def beside(plain: Launch) -> Launch:
    """Write a number behind the probabilities."""

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        code, logits, probs, *rest = plain(symbol, arguments, **options)
        if code == 0:
            probs[arguments[4]["shift"] // 4 + arguments[1] * arguments[3]] = 0.25
        return code, logits, probs, *rest

    return launch


def refusing(plain: Launch) -> Launch:
    """Refuse every call."""

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        _, *rest = plain(symbol, arguments, **options)
        return 1, *rest

    return launch


def short_rows_only(plain: Launch) -> Launch:
    """Refuse rows of more than 2,000 columns."""
    none = refusing(plain)

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        return (none if arguments[2] > 2000 else plain)(symbol, arguments, **options)

    return launch


def columns_of_the_first_row(plain: Launch) -> Launch:
    """Name in every row the columns of the first, as threads do whose rows share one buffer."""

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        code, logits, probs, indices, report = plain(symbol, arguments, **options)
        k, shift = arguments[3], arguments[5]["shift"] // 4
        for row in range(1, arguments[1] if code == 0 else 0):
            indices[shift + row * k : shift + (row + 1) * k] = indices[shift : shift + k]
        return code, logits, probs, indices, report

    return launch


def in_the_order_of_warps(plain: Launch) -> Launch:
    """Move each probability by an ulp where the schedule is another one, as sums by atomics do."""

    def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
        code, logits, probs, *rest = plain(symbol, arguments, **options)
        inside = slice(start := arguments[4]["shift"] // 4, start + arguments[1] * arguments[3] * (code == 0))
        probs[inside] = np.nextafter(probs[inside], np.float32(options.get("seed", 0) % 2))
        return code, logits, probs, *rest

    return launch


ANSWERS: Mapping[str, tuple[Callable[[], LocalAnswer], set[str]]] = {
    "probabilities 1/32 of the right ones": (lambda: answer(thirty_second), {"values"}),
    "a column is named twice": (lambda: answer(first_twice), {"selection"}),
    "one row of two is never written": (lambda: answer(exact, writes=lambda row: row % 2 == 0), {"rows"}),
    "rows name the columns of the first": (lambda: answer(exact, around=columns_of_the_first_row), {"rows"}),
    "every call is refused": (lambda: answer(exact, around=refusing), {"values"}),
    "long rows are refused": (lambda: answer(exact, around=short_rows_only), {"any_size", "large_vocab"}),
    "the first of equal logits is named for each": (lambda: answer(spoilt_by_ties), {"ties", "special_values"}),
    "a list begins with the smallest float": (
        lambda: answer(listing_larger_than_the_smallest), {"special_values"},
    ),
}  # fmt: skip


def evidence(one: Answer, asked: tuple[str, ...], *, failed: tuple[str, ...] = ()) -> dict[str, Evidence]:
    criteria = [c for c in CODE.challenge.criteria if c.id in asked]
    found = [probe_criterion(CODE, c, one, seed_of(3, c.id), explain=False, share=0.1) for c in criteria]
    found += [Evidence.of(CODE.challenge.criterion(id), Outcome.FAILED, detail="seen") for id in failed]
    return {e.criterion: e for e in charge_once(CODE, found)}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_fault_is_charged_by_the_criteria_that_it_is_of(name: str) -> None:
    make, owners = ANSWERS[name]
    found = evidence(make(), ASKED)
    assert {id for id, e in found.items() if e.faulty} == owners
    assert {e.rests_on for e in found.values() if e.rests_on} <= owners


def test_writing_beside_the_outputs_is_charged_by_memory_safety_alone() -> None:
    found = evidence(answer(exact, around=beside), ASKED, failed=("memory_safety",))
    assert {id for id, e in found.items() if e.faulty} == {"memory_safety"}
    assert {e.rests_on for id, e in found.items() if id != "memory_safety"} == {"memory_safety"}
    assert all("writes outside probs" in e.detail for id, e in found.items() if id != "memory_safety")


@pytest.mark.parametrize("sign", [1, -1])
def test_the_ends_of_the_floats_are_not_judged_where_plain_logits_fail(sign: int) -> None:
    case = {"rows": 2, "vocab": 20, "k": 3, "sign": sign}
    with pytest.raises(FaultElsewhere, match="probabilities are wrong"):
        once(CODE.probes["the_largest_and_smallest_floats_are_served"], answer(thirty_second), 1, case)


@pytest.mark.parametrize(("start", "near_the_end"), [(1e-38, False), (-1e4, False), (-1e30, True)])
def test_logits_of_minus_the_largest_float_are_not_blamed_where_milder_ones_fail(
    start: float, near_the_end: bool
) -> None:
    found = evidence(answer(with_a_maximum_of_at_least(start)), ("values", "stability", "special_values"))
    assert {id for id, e in found.items() if e.faulty} == {"stability"}
    titles = {found["stability"].title, *(further.title for further in found["stability"].also)}
    assert ("logits near minus the largest float give wrong results" in titles) == near_the_end


def test_an_order_among_probabilities_that_round_alike_is_charged_to_stability_alone() -> None:
    found = evidence(answer(by_rounded_probability), ("selection", "stability", "ties", "any_size"))
    assert {id: e.rests_on for id, e in found.items() if e.outcome is not Outcome.PASSED} == {
        "stability": None, "ties": "stability", "any_size": "stability",
    }  # fmt: skip
    seen = [one.title for one in found["stability"].also]
    assert "logits whose probabilities round alike come in any order" in seen
    assert "neighbouring floats are not distinguished" in seen


def test_an_order_lost_near_zero_alone_is_charged_to_ties() -> None:
    found = evidence(answer(by_fixed_point), ("selection", "stability", "ties"))
    assert {id for id, e in found.items() if e.faulty} == {"ties"}


@pytest.mark.parametrize("name", ["vector loads by vocab % 4 alone", "outputs taken for aligned"])
def test_vectors_off_their_boundary_are_charged_by_alignment_alone(name: str) -> None:
    (mutant,) = (one for one in CODE.mutants if one.name == name)
    with open_in_sandbox(CODE, CODE.source(mutant)) as misread:
        found = evidence(misread, ("alignment", "memory_safety", "any_size"))
    assert {id for id, e in found.items() if e.faulty} == {"alignment"}
    assert found["memory_safety"].rests_on == "alignment"


def test_drawn_logits_are_aligned_for_an_answer_that_misreads_others() -> None:
    """A plain run may accept what a GPU refuses."""
    probe, case = CODE.probes["any_k_is_right"], {"vocab": 20, "k": 2, "shift": 4}
    for one, shift in ((answer(exact, around=on_a_boundary), 0), (answer(exact), 4)):
        assert probe.fit(one, case)["shift"] == shift


def test_values_are_right_where_only_long_rows_are_refused() -> None:
    found = evidence(answer(exact, around=short_rows_only), ("values", "any_size"))
    assert {id: e.outcome for id, e in found.items()} == {"values": Outcome.PASSED, "any_size": Outcome.FAILED}


def test_sums_in_the_order_of_warps_are_no_equal_replies() -> None:
    asked = ("values", "repeatable")
    found = evidence(answer(exact, around=in_the_order_of_warps), asked)
    assert {id: (e.outcome, e.title) for id, e in found.items()} == {
        "values": (Outcome.PASSED, ""), "repeatable": (Outcome.FAILED, "identical calls get different replies"),
    }  # fmt: skip


def test_a_case_states_the_k_that_is_called() -> None:
    limited = answer(first_twice)
    limited.capabilities = {"max_k": 32}
    found = run(CODE.probes["real_vocabularies_are_served"], limited, 1, shrink=False)
    assert found.counterexample is not None
    assert found.case == {"rows": 2, "vocab": 50257, "k": 50}
    assert found.counterexample.case["k"] == 32
    assert "k = 32" in found.detail
