"""A kernel wrong at some size fails at drawn sizes alone, any order of summing passes, and losses are mapped."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from softmax_topk_answers import CODE, Floats, Launch, Row, answer, blind, exact, short_lists

from harness.model import Evidence, Outcome, Threshold
from harness.mutation.checks.check import open_in_sandbox
from harness.probing import Mutant
from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import ProbeFailure
from harness.probing.patterns import pattern_of
from harness.probing.probe import run
from tests import shares

SEED = shares.number()
MANY_ROWS = CODE.probes["very_many_rows_are_served"]


def searched(given: Answer, *, explain: bool) -> Evidence:
    criterion = CODE.challenge.criterion("any_size")
    return probe_criterion(CODE, criterion, given, seed_of(SEED, criterion.id), explain=explain)


def mutant(name: str) -> Mutant:
    return next(each for each in CODE.mutants if each.name == name)


def test_the_size_where_a_fault_begins_is_named() -> None:
    """Probabilities of long rows are a hundredth too large: the length at which they are begins the finding."""

    def larger(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        probs, columns = exact(logits, k)
        return probs * (1.01 if len(logits) > 1183 else 1), columns

    seen = searched(answer(larger), explain=True)
    assert seen.outcome is Outcome.FAILED
    assert seen.thresholds == (Threshold(axis="vocab", right_at=1183, wrong_from=1184, onward=True),)
    assert seen.detail.startswith("right up to vocab = 1,183, wrong from vocab = 1,184 on")
    assert seen.draws is not None and 0 < seen.draws.failed < seen.draws.tried


def test_a_row_is_missed_however_far_behind_it_lies() -> None:
    """Every launch is judged whole where the device cannot run a part of it."""
    found = run(MANY_ROWS, answer(exact, writes=lambda row: row < 1 << 16), SEED)
    assert (found.title, found.passed) == ("rows are never written", False)
    assert run(MANY_ROWS, answer(exact), SEED).passed


def test_a_wrong_value_for_one_sign_of_zero_fails() -> None:
    """Zeros of both signs are equal: taking one for less than all others loses it."""

    def below(logits: Floats, k: int) -> tuple[Floats, NDArray[np.int64]]:
        columns = np.argsort(-np.where(np.signbit(logits) & (logits == 0), -np.inf, logits), kind="stable")[:k]
        weights = np.exp(logits - logits.max())
        return weights[columns] / weights.sum(), columns

    assert searched(answer(below), explain=False).outcome is Outcome.FAILED


def test_a_grid_that_ends_too_early_is_named_by_its_rows() -> None:
    with open_in_sandbox(CODE, CODE.source(mutant("grid of 4,096 blocks at most"))) as given:
        found = run(MANY_ROWS, given, SEED)
    assert found.title == "rows are never written"
    assert found.thresholds == (Threshold(axis="rows", right_at=4096, wrong_from=4097, onward=True),)


def test_a_grid_that_the_device_refuses_is_a_legal_call_refused() -> None:
    with open_in_sandbox(CODE, CODE.source(mutant("rows along y"))) as given:
        found = run(MANY_ROWS, given, SEED, shrink=False)
    assert found.title == "a legal call is refused"
    assert "65573" in found.detail


def test_a_grid_too_large_to_run_is_refused_all_the_same() -> None:
    """Some blocks of a launch show that the device refuses it, where all of them would take too long."""
    grids = CODE.module("probes_grids")
    draw = Draw(SEED, "refused")
    logits = CODE.module("binding").normal(draw, (1 << 16) + 37, 3)
    with open_in_sandbox(CODE, CODE.source(mutant("rows along y"))) as given:
        with pytest.raises(ProbeFailure, match="a legal call is refused") as failure:
            grids._require_accepted(given, draw, logits, 3)
        assert "65573" in failure.value.detail
        grids._require_accepted(given, draw, logits[: 1 << 12], 3)


def test_a_part_of_a_large_grid_writes_the_rows_at_its_ends_and_nothing_else() -> None:
    binding = CODE.module("binding")
    rows = (1 << 16) + 100
    draw = Draw(SEED, "part")
    with open_in_sandbox(CODE, CODE.source()) as given:
        logits = binding.normal(draw, rows, 2)
        back = binding.call(given, draw, logits, 1, mode="sample")
    region = back.regions["indices"]
    written = np.flatnonzero(region.changed[region.inside])
    around = range((1 << 16) - 32, (1 << 16) + 32)
    assert set(written) == {*range(32), *around, *range(rows - 32, rows)}
    assert back.report.launches[0].grid == (rows, 1, 1)


Sum = Callable[[Floats], np.float32]


def sequential(weights: Floats) -> np.float32:
    return np.float32(np.cumsum(weights, dtype=np.float32)[-1])


def smallest_last(weights: Floats) -> np.float32:
    return sequential(np.sort(weights)[::-1])


def striped(weights: Floats) -> np.float32:
    return sequential(np.array([sequential(weights[i::256]) for i in range(min(256, len(weights)))]))


def pairwise(weights: Floats) -> np.float32:
    return np.float32(weights.sum(dtype=np.float32))


def summed(
    total: Sum, exponential: Callable[[Floats], Floats] = np.exp
) -> Callable[[Floats, int], tuple[Floats, Floats]]:
    def row(logits: Floats, k: int) -> tuple[Floats, Floats]:
        columns = exact(logits, k)[1]
        weights = exponential(logits - logits.max()).astype(np.float32)
        return weights[columns] / total(weights), columns

    return row


def by_base_two(x: Floats) -> Floats:
    return np.exp2(x * np.float32(np.log2(np.e)))


@pytest.mark.parametrize("criterion", ["values", "stability", "large_vocab"])
@pytest.mark.parametrize(
    ("total", "exponential"),
    [(sequential, np.exp), (smallest_last, np.exp), (striped, np.exp), (pairwise, np.exp), (sequential, by_base_two)],
    ids=["sequential", "smallest last", "striped", "pairwise", "powers of two"],
)
def test_honest_sums_pass(total: Sum, exponential: Callable[[Floats], Floats], criterion: str) -> None:
    evidence = probe_criterion(
        CODE, CODE.challenge.criterion(criterion), answer(summed(total, exponential)), seed_of(20, criterion)
    )
    assert (evidence.outcome, evidence.detail) == (Outcome.PASSED, "")


@pytest.mark.parametrize(
    "total",
    [lambda w: pairwise(w[1:]), lambda w: pairwise(w[:-1]), lambda w: pairwise(w.astype(np.float16))],
    ids=["first term left out", "last term left out", "half precision"],
)
def test_dishonest_sums_fail(total: Sum) -> None:
    evidence = probe_criterion(CODE, CODE.challenge.criterion("values"), answer(summed(total)), seed_of(20, "values"))
    assert evidence.outcome is Outcome.FAILED


def scaled(logits: Floats, k: int) -> tuple[Floats, Floats]:
    probs, columns = exact(logits, k)
    return probs / 32, columns


def renormalised(logits: Floats, k: int) -> tuple[Floats, Floats]:
    probs, columns = exact(logits, k)
    return probs / probs.sum(), columns


def powers_of_two(logits: Floats, k: int) -> tuple[Floats, Floats]:
    return exact(logits * np.float32(np.log(2)), k)


def misplaced(logits: Floats, k: int) -> tuple[Floats, Floats]:
    probs, columns = exact(logits, k)
    return probs, columns[::-1]


@pytest.mark.parametrize(
    ("row", "criterion", "said"),
    [
        (blind(lambda c, n: c % 256 < 10), "selection", "winners placed in columns c with c mod 256 >= 10 are lost"),
        (blind(lambda c, n: c % 32 == 0), "selection", "winners placed in columns c with c mod 32 != 0 are lost"),
        (blind(lambda c, n: c % 512 // 64 != 3), "selection", "c with 192 <= c mod 512 <= 255 are lost"),
        (blind(lambda c, n: c < n // 4 * 4), "selection", "columns c with c >= 1100 are lost"),
        (blind(lambda c, n: c < 1024), "selection", "columns c with c >= 1024 are lost"),
        (short_lists(16, 256), "selection", "of 48 winners 256 columns apart only 16 are found"),
        (scaled, "values", "every probability is 1/32 of the right one"),
        (renormalised, "values", "they are normalised over the k chosen, not the row"),
        (powers_of_two, "values", "probabilities go as exp(0.6931 x) instead of exp(x) (powers of 2)"),
        (misplaced, "values", "stand beside other columns"),
    ],
    ids=["256", "lanes", "warps", "vector tail", "block tail", "lists", "scaled", "renormalised", "base", "misplaced"],
)
def test_the_diagnosis_says_which(row: Row, criterion: str, said: str) -> None:
    evidence = probe_criterion(CODE, CODE.challenge.criterion(criterion), answer(row), seed_of(20, criterion))
    assert evidence.outcome is Outcome.FAILED
    assert evidence.diagnosis is not None
    assert said in evidence.diagnosis.words


@pytest.mark.parametrize("lost", [[3], range(600, 1104), range(1, 1104, 2)], ids=["one row", "late rows", "odd rows"])
def test_a_loss_in_some_rows_of_a_launch_is_no_matter_of_columns(lost: Sequence[int]) -> None:
    """As where a scratch is too small for many rows, and other memory is written over."""

    def damaged(plain: Launch) -> Launch:
        def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
            code, logits, probs, indices, report = plain(symbol, arguments, **options)
            rows, k, begin = arguments[1], arguments[3], arguments[5]["shift"] // 4
            entries = indices[begin : begin + rows * k].reshape(rows, k)
            hurt = [row for row in lost if row < rows]
            entries[hurt, 0] = np.setdiff1d(np.arange(2 * k + 1), entries[hurt])[0]
            return code, logits, probs, indices, report

        return launch

    mapped = CODE.module("losses").loss_map
    assert mapped(answer(exact, around=damaged), Draw(1, "map"), 16) is None


@pytest.mark.parametrize(
    ("every", "said"), [(4, "rows r with r mod 4 != 0 are never written"), (8, "rows r with r mod 8 != 0 are")]
)
def test_rows_never_written_are_named_by_their_pattern(every: int, said: str) -> None:
    conflated = answer(exact, writes=lambda row: row % every == 0)
    evidence = probe_criterion(CODE, CODE.challenge.criterion("rows"), conflated, seed_of(20, "rows"))
    assert evidence.title == "rows are never written"
    assert evidence.diagnosis is not None
    assert evidence.diagnosis.words.startswith(said)
    assert evidence.loss is not None and evidence.loss.unit == "rows" and evidence.loss.period == every


@pytest.mark.parametrize(
    ("places", "size", "said"),
    [
        ([5], 40, "c = 5"),
        (range(7), 40, "c < 7"),
        (range(30, 40), 40, "c >= 30"),
        (range(3, 9), 40, "3 <= c <= 8"),
        (range(1, 40, 2), 40, "c mod 2 != 0"),
        ([3, 7, 20], 40, "c = 3 or c = 7 or c = 20"),
        ([1, 4, 6, 20, 33], 40, None),
    ],
)
def test_places_are_described_by_the_shortest_rule(places: list[int], size: int, said: str | None) -> None:
    mask = np.zeros(size, bool)
    mask[list(places)] = True
    pattern = pattern_of(mask)
    assert (pattern and pattern.condition("c")) == said
