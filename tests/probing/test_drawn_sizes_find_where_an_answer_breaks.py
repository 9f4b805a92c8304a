"""An answer that is wrong at a size nobody chose fails, and the size where it begins is named."""

import numpy as np
import pytest

from harness.model import Draws
from harness.probing import Array, NotRun, expect, probe
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.failures import OutOfMemory
from harness.probing.probe import once, run
from harness.probing.sizes import Axis, Drawn
from tests.checkout import answer_of

DRAWN = Drawn(
    {"rows": Axis(1, 3000), "D": Axis(1, 4096)}, 60, lambda rows, D: rows * D, 40_000, {"dtype": ("float64", "float32")}
)


@probe(drawn=DRAWN)
def sums_are_right(answer, draw, *, rows, D, dtype):
    x = draw.grid(rows, D, dtype=dtype, bits=4)
    got = answer.call("total", x, returns=Array((rows,), dtype))
    expect.same("out", got, x.sum(axis=-1), "a sum is wrong", within=1e-5)
    return {"largest_D": D}


def answer(body, literals=()):
    made = answer_of(f"import numpy as np\ndef total(x):\n    rows, D = x.shape\n{body}")
    made.literals = literals
    return made


RIGHT = "    return x.sum(axis=-1)\n"


def wrong_when(condition):
    return f"    return x.sum(axis=-1) + x.dtype.type({condition})\n"


def test_a_right_answer_passes_and_says_how_much_was_tried():
    result = run(sums_are_right, answer(RIGHT), 5)
    assert result.passed and result.draws == Draws(planned=60, tried=60)
    assert result.figures["largest_D"] > 2000
    assert result.draws.missable == pytest.approx(1 - 0.05 ** (1 / 60))


@pytest.mark.parametrize("threshold", [1024, 700, 97])
def test_the_size_from_which_it_is_wrong_is_found(threshold):
    result = run(sums_are_right, answer(wrong_when(f"D > {threshold}")), 5)
    (found,) = result.thresholds
    assert (found.axis, found.right_at, found.wrong_from, found.onward) == ("D", threshold, threshold + 1, True)
    begins = f"right up to D = {threshold:,}, wrong from D = {threshold + 1:,} on (with rows = 1): out[0] is "
    assert result.detail.startswith(begins)
    assert result.counterexample.case | {"draw": 0} == {"rows": 1, "D": threshold + 1, "dtype": "float64", "draw": 0}
    assert 0 < result.draws.failed < result.draws.tried < 60


def test_a_size_in_one_dtype_alone_keeps_the_dtype():
    result = run(sums_are_right, answer(wrong_when("rows > 300 and x.dtype == np.float32")), 5)
    assert result.counterexample.case["dtype"] == "float32"
    assert [t.wrong_from for t in result.thresholds] == [301]


def test_residues_are_told_as_residues():
    result = run(sums_are_right, answer(wrong_when("D > 20 and D % 4 != 0")), 5)
    assert str(result.thresholds[0]) == "wrong where D mod 4 is not 0, from D = 21 on"


def test_no_rule_of_residues_is_told_that_does_not_hold_far_away():
    result = run(sums_are_right, answer(wrong_when("D > 20 and (D % 4 != 0 or D > 100)")), 5)
    assert [(t.right_at, t.wrong_from, t.period) for t in result.thresholds] == [(20, 21, None)]


def test_a_fault_at_every_size_has_no_threshold():
    result = run(sums_are_right, answer(wrong_when("True")), 5)
    assert result.thresholds == () and result.counterexample.case["D"] == 1


def test_a_literal_of_the_source_is_tried_on_both_sides():
    hit = [run(sums_are_right, answer(wrong_when("D == 1777"), {1776}), seed).passed for seed in range(6)]
    blind = [run(sums_are_right, answer(wrong_when("D == 1777")), seed).passed for seed in range(6)]
    assert sum(hit) < sum(blind) and not all(hit)


def test_the_same_seed_draws_the_same_cases_and_one_replays_alone():
    first, second = (run(sums_are_right, answer(wrong_when("D > 700")), 11) for _ in range(2))
    assert (first.case, first.counterexample) == (second.case, second.counterexample)
    with pytest.raises(Exception, match="a sum is wrong"):
        once(sums_are_right, answer(wrong_when("D > 700")), 11, first.counterexample.case)


def test_every_size_meets_its_range():
    cases = [DRAWN.case(i, np.random.default_rng(i), (), DRAWN.most) for i in range(200)]
    assert all(DRAWN.cost_of(case) <= DRAWN.most for case in cases)
    for name, axis in DRAWN.axes.items():
        sizes = [case[name] for case in cases]
        assert min(sizes) <= 2 and max(sizes) > 0.7 * axis.high
        assert len({n % 16 for n in sizes}) == 16
    assert max(map(DRAWN.cost_of, cases)) > 0.7 * DRAWN.most


def test_each_size_comes_from_the_top_of_its_range_whatever_integers_the_source_names():
    named = set(range(2, 40))
    for count in (60, 14, 9, 5):  # where the sizes have no equal number of turns, none goes without
        drawn = Drawn({"rows": Axis(1, 3000), "width": Axis(1, 4096)}, count)
        for seed in range(40):
            cases = [drawn.case(i, np.random.default_rng([seed, i]), named, drawn.most) for i in range(count)]
            for place, (name, axis) in enumerate(drawn.axes.items()):
                turns = [case[name] for case in cases[place :: len(drawn.axes)]]
                assert max(turns) > 0.7 * axis.high ** (1 - 1 / len(turns))


def test_other_turns_of_a_size_are_still_pulled_to_the_integers_named():
    cases = [DRAWN.case(i, np.random.default_rng(i), {1777}, DRAWN.most) for i in range(DRAWN.count)]
    assert sum(abs(case["D"] - 1777) <= 1 for case in cases) > 3


def test_sizes_that_need_too_much_memory_are_not_run_and_not_charged():
    class Small(LocalAnswer):
        def call(self, function, *args, **options):
            if args[0].size > 5000:
                raise OutOfMemory("`total` raises MemoryError")
            return super().call(function, *args, **options)

    small = Small(module_of("answer", f"def total(x):\n{RIGHT}"))
    with pytest.raises(NotRun, match="the largest were not reached: `total` raises MemoryError at rows = ") as not_run:
        run(sums_are_right, small, 5)
    assert 30 < not_run.value.draws.tried < 60 and not_run.value.draws.failed == 0


def test_what_earlier_calls_left_behind_is_blamed_on_no_size():
    counted = "    CALLS.append(1)\n    return x.sum(axis=-1) + x.dtype.type(len(CALLS) > 20)\nCALLS = []\n"

    class Fresh(LocalAnswer):
        def fresh(self):
            super().fresh()
            self.module.CALLS.clear()

    result = run(sums_are_right, Fresh(module_of("answer", f"def total(x):\n{counted}")), 5)
    assert not result.passed and result.thresholds == ()
    assert result.counterexample.case == result.case
