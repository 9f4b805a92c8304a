"""Where an answer loses winners, writes no rows or scales all probabilities, the finding says where and by how much."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from softmax_topk_answers import CODE, Floats, Launch, Row, answer, blind, exact, short_lists

from harness.model import Outcome
from harness.probing.draw import Draw
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.patterns import pattern_of


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
