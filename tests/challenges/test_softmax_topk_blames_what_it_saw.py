"""What an answer kept of earlier calls, or read where nobody wrote, is not put down to logits, rows or schedules."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from softmax_topk_answers import CODE, Launch, Row, answer, blind, exact

from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.draw import Draw
from harness.probing.failures import FaultElsewhere, FromUnwritten, ProbeFailure
from harness.probing.probe import once

BLAMED = {
    "the_maximum_may_come_at_any_column": "probabilities depend on where the maximum lies",
    "far_logits_stay_right": "logits far apart give wrong results",
    "the_order_of_rows_does_not_matter": "a row depends on other rows",
    "rows_together_equal_rows_alone": "a row depends on other rows",
    "identical_calls_get_identical_replies": "the result depends on the order in which warps run",
}


def remembering(*, first_logit: bool) -> LocalAnswer:
    """Return what the call before did, where sizes are equal, and the first logit if that is looked at."""
    before: dict[Any, Any] = {}

    def around(plain: Launch) -> Launch:
        def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
            logits = arguments[0]
            key = *arguments[1:4], logits["buffer"][logits["shift"] // 4] if first_logit else None
            if key not in before:
                before.clear()
                before[key] = logits
            code, _, *outputs = plain(symbol, [before[key], *arguments[1:]], **options)
            return code, logits["buffer"], *outputs

        return launch

    return answer(exact, around=around)


def leaving_rows_out_by_chance() -> LocalAnswer:
    """Leave the last row of a launch unwritten in three calls of eight; a row of one column has a block each."""
    last = [-1]

    def around(plain: Launch) -> Launch:
        def launch(symbol: str, arguments: list[Any], turn: int, **options: Any) -> tuple[Any, ...]:
            rows = arguments[1]
            last[0] = rows - 1 if turn % 8 in (0, 3, 5) else -1
            *results, report = plain(symbol, arguments, **options)
            kernel = {"kernel": "softmax", "grid": [rows, 1, 1], "block": [32, 1, 1]}
            text = json.dumps({"version": 1, "mode": 0, "launches": [kernel]}).encode()
            report[: len(text)] = np.frombuffer(text, np.uint8)
            return *results, report

        return launch

    return answer(lambda logits, k: (np.ones(1), np.zeros(1)), writes=lambda row: row != last[0], around=around)


def reading_unwritten() -> LocalAnswer:
    """Leave out a third of the columns, wherever a word that nobody wrote is not NaN: in three calls of eight."""
    spoilt = [False]
    third = blind(lambda columns, vocab: columns % 3 > 0)

    def around(plain: Launch) -> Launch:
        def launch(*given: Any, fill: str, turn: int, **options: Any) -> tuple[Any, ...]:
            spoilt[0] = fill == "mixed" and turn % 8 in (0, 3, 5)
            return plain(*given, **options)

        return launch

    return answer(lambda logits, k: (third if spoilt[0] else exact)(logits, k), around=around)


@pytest.mark.parametrize(
    "unsound", [lambda: remembering(first_logit=True), lambda: remembering(first_logit=False), reading_unwritten],
    ids=["first logit", "sizes", "unwritten"],
)  # fmt: skip
@pytest.mark.parametrize("name", BLAMED)
def test_what_was_kept_or_never_written_is_no_matter_of_inputs(unsound: Callable[[], LocalAnswer], name: str) -> None:
    probe = CODE.probes[name]
    for seed in range(12):
        one = unsound()
        for case in probe.cases:
            try:
                once(probe, one, seed, case)
            except FaultElsewhere:
                continue
            except ProbeFailure as failure:
                assert failure.title != BLAMED[name]


def test_columns_that_are_lost_whatever_nobody_wrote_are_a_matter_of_selection() -> None:
    """Half of the columns are lost, and one more where what nobody wrote is not NaN."""
    holding = [""]

    def around(plain: Launch) -> Launch:
        def launch(*given: Any, fill: str, **options: Any) -> tuple[Any, ...]:
            holding[0] = fill
            return plain(*given, **options)

        return launch

    def row(logits: Any, k: int) -> tuple[Any, Any]:
        probs, columns = blind(lambda columns, vocab: columns % 2 > 0)(logits, k)
        return probs, np.where(np.arange(k) == 0, {"nan": -1, "zeros": 0}.get(holding[0], 7), columns)

    with pytest.raises(ProbeFailure) as failure:
        once(CODE.probes["every_column_can_win"], answer(row, around=around), 1, {"vocab": 37, "k": 8})
    assert failure.value.fault_of == "selection"


def crowded(seen: Row) -> LocalAnswer:
    """Rank the k columns of `seen` with one of a list that nobody wrote."""
    candidates = {"nan": (np.inf, -1), "zeros": (0.0, 0), "mixed": (3.4e38, 0x7F7F7F7F)}
    other = [candidates["nan"]]

    def around(plain: Launch) -> Launch:
        def launch(*given: Any, fill: str, **options: Any) -> tuple[Any, ...]:
            other[0] = candidates[fill]
            return plain(*given, **options)

        return launch

    def row(logits: Any, k: int) -> tuple[Any, Any]:
        probs, columns = seen(logits, k)
        value, column = other[0]
        order = np.argsort(-np.append(logits[columns], value), kind="stable")[:k]
        return probs, np.append(columns, column)[order]

    return answer(row, around=around)


def test_the_column_shown_is_lost_whatever_nobody_wrote() -> None:
    one = crowded(blind(lambda columns, vocab: columns % 2 > 0))
    for seed in range(12):
        with pytest.raises(ProbeFailure) as failure:
            once(CODE.probes["every_column_can_win"], one, seed, {"vocab": 37, "k": 8})
        assert (failure.value.title, failure.value.fault_of) == ("candidates are lost", "selection")
        assert isinstance(failure.value.expected, int) and failure.value.expected % 2 == 0
        assert "with each of 5 contents of memory that nobody has written" in failure.value.detail


@pytest.mark.parametrize(("above", "otherwise"), [(9, "right"), (-9, "wrong in another way")])
def test_columns_that_only_unwritten_memory_crowds_out_are_no_matter_of_selection(above: int, otherwise: str) -> None:
    logits = (np.linspace(-1, 1, 40) + above).astype(np.float32)[None]
    judging, launch = CODE.module("judging"), CODE.module("binding").launch
    with pytest.raises(FromUnwritten) as failure:
        judging.right_choice(launch(crowded(exact), Draw(1, "unwritten"), logits, 5), crowded(exact), Draw(1, "map"))
    assert failure.value.fault_of == "memory_safety"
    assert f"; {otherwise} where unwritten memory holds other values" in failure.value.detail


def test_rows_that_are_left_out_by_chance_begin_at_no_size() -> None:
    smallest, case = CODE.module("probes_grids")._smallest_grid, {"rows": 4200, "vocab": 1, "k": 1}
    for seed in range(24):
        found = smallest(leaving_rows_out_by_chance(), Draw(seed, "rows"), case, ProbeFailure("rows are never written"))
        assert found.thresholds == ()


def scaled(factor: float, *, last_column: int | None = None) -> LocalAnswer:
    """Return right probabilities times a factor, and for the last of each row a column that it must not name."""

    def row(logits: Any, k: int) -> tuple[Any, Any]:
        probs, columns = exact(logits, k)
        columns = np.array(columns)
        columns[-1] = columns[-1] if last_column is None or k == 1 else last_column
        return probs * factor, columns

    return answer(row)


@pytest.mark.parametrize("column", [None, -1])
def test_one_factor_of_all_probabilities_comes_before_columns_that_are_not_to_be_named(column: int | None) -> None:
    probe = CODE.probes["probabilities_match_the_oracle"]
    with pytest.raises(ProbeFailure) as failure:
        once(probe, scaled(1 / 32, last_column=column), 1, probe.cases[0])
    assert failure.value.title == "probabilities are wrong"
    which = "every probability" if column is None else "every probability beside a column of its row"
    assert failure.value.diagnosis == f"{which} is 1/32 of the right one"


def test_a_column_that_is_not_to_be_named_is_no_matter_of_right_probabilities() -> None:
    probe = CODE.probes["probabilities_match_the_oracle"]
    with pytest.raises(ProbeFailure, match="an index lies outside its row"):
        once(probe, scaled(1.0, last_column=-1), 1, probe.cases[0])


def test_one_probability_alone_is_off_by_no_factor_of_all() -> None:
    probe = CODE.probes["probabilities_match_the_oracle"]
    with pytest.raises(ProbeFailure) as failure:
        once(probe, scaled(0.75), 1, {"rows": 1, "vocab": 5, "k": 1})
    assert failure.value.diagnosis is None


def test_a_constant_is_no_replay_of_an_earlier_call() -> None:
    probe = CODE.probes["calls_of_equal_size_are_told_apart"]
    constant = answer(lambda logits, k: (np.full(k, 0.5), np.arange(k)))
    with pytest.raises(ProbeFailure, match="probabilities are wrong"):
        once(probe, constant, 1, probe.cases[0])


def off_at(place: int, factor: float) -> LocalAnswer:
    """Return what is right but for the probability at one place of each row."""

    def row(logits: Any, k: int) -> tuple[Any, Any]:
        probs, columns = exact(logits, k)
        return np.where(np.arange(k) == min(place, k - 1), factor * probs, probs), columns

    return answer(row)


@pytest.mark.parametrize("case", [{"rows": 1, "vocab": 5, "k": 2}, {"rows": 2, "vocab": 9, "k": 2}])
def test_one_wrong_probability_of_a_row_follows_no_power(case: dict[str, int]) -> None:
    probe = CODE.probes["probabilities_match_the_oracle"]
    for seed in range(5):
        with pytest.raises(ProbeFailure) as failure:
            once(probe, off_at(1, 0.6), seed, case)
        assert failure.value.diagnosis is None


def test_a_wrong_probability_near_zero_is_no_swapped_one() -> None:
    logits = np.array([[40.0, 0.0, -1.0, 39.0]], np.float32)
    judging, launch = CODE.module("judging"), CODE.module("binding").launch
    with pytest.raises(ProbeFailure) as failure:
        judging.right_probabilities(launch(off_at(2, 0.5), Draw(1, "rows"), logits, 3))
    assert failure.value.diagnosis is None


def test_rows_between_spoilt_ones_keep_their_numbers() -> None:
    probe = CODE.probes["spoilt_rows_leave_others_alone"]
    for wrong, name in (("probs", "probs[1, "), ("indices", "indices[1")):
        with pytest.raises(ProbeFailure) as failure:
            once(probe, answer(exact, around=spoiling(wrong)), 1, {"rows": 3, "vocab": 40, "k": 4})
        assert failure.value.where is not None and failure.value.where.startswith(name)
        assert failure.value.detail.startswith("rows = 3, ")


def spoiling(output: str) -> Callable[[Launch], Launch]:
    """Spoil an output of the second row where the first is not of numbers."""

    def around(plain: Launch) -> Launch:
        def launch(symbol: str, arguments: list[Any], **options: Any) -> tuple[Any, ...]:
            code, logits, probs, indices, report = plain(symbol, arguments, **options)
            first, begin, _ = (a["shift"] // 4 for a in arguments if isinstance(a, dict))
            vocab, k = arguments[2:4]
            if np.isnan(logits[first : first + vocab]).any():
                place = slice(begin + k, begin + 2 * k)
                if output == "probs":
                    probs[place] *= np.float32(2)
                else:
                    indices[place] = indices[place][0]
            return code, logits, probs, indices, report

        return launch

    return around
