"""Any difference of value, shape, dtype or NaN fails what a probe expects, in words that are true; no other does."""

import copy
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.numerics import distinct
from harness.probing import ProbeFailure, expect, laws
from harness.probing.failures import CallFailed, FaultElsewhere, TrivialOutput
from tests import shares
from tests.any_arrays import DTYPES, FLOATING, WHOLE, named, pairs, values

EXAMPLES = settings(max_examples=shares.examples(200))
POWERS = st.integers(-300, 300).map(lambda n: 10.0**n)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.just(np.nan) | st.text(max_size=2)
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner), max_leaves=6)


@EXAMPLES
@given(values())
def test_equal_results_are_the_same(array):
    assert expect.same("out", array.copy(), array, "differs") == 0.0
    laws.inputs_stay({"x": array}, (array.copy(),))


@EXAMPLES
@given(pairs())
def test_one_entry_that_differs_is_named(pair):
    wrong, right, index = pair
    with pytest.raises(ProbeFailure) as seen:
        expect.same("out", wrong, right, "differs", "again")
    got, _, wanted = seen.value.detail.removeprefix(f"again: {named('out', index)} is ").partition(" instead of ")
    assert (seen.value.title, seen.value.where) == ("differs", named("out", index))
    assert got != wanted
    if right.dtype.kind != "f":
        assert (got, wanted) == (str(wrong[index]), str(right[index]))
        assert (seen.value.got, seen.value.expected) == (wrong[index].item(), right[index].item())
        assert type(seen.value.got) is type(right[index].item())
    with pytest.raises(ProbeFailure, match="a call changes x"):
        laws.inputs_stay({"x": right}, (wrong,))


@EXAMPLES
@given(values(), values())
def test_another_shape_or_dtype_is_named_with_both(one, other):
    assume(one.shape != other.shape or one.dtype != other.dtype)
    with pytest.raises(ProbeFailure) as seen:
        expect.same("out", one, other, "differs", within=1e9)
    form = "shape" if one.shape != other.shape else "dtype"
    assert seen.value.detail == f"out has {form} {getattr(one, form)} instead of {getattr(other, form)}"


@EXAMPLES
@given(st.sampled_from(("float64", "longdouble")), POWERS, st.integers(1, 9), st.booleans())
def test_a_share_of_any_size_passes_up_to_its_bound(dtype, power, size, over):
    wanted = np.full(size, power, dtype)
    got = wanted.copy()
    got[-1] *= 1 + (1.1e-3 if over else 0.9e-3)
    if over:
        with pytest.raises(ProbeFailure, match="differs"):
            expect.same("out", got, wanted, "differs", within=1e-3)
    else:
        assert expect.same("out", got, wanted, "differs", within=1e-3) == pytest.approx(0.9e-3, rel=1e-6)


@EXAMPLES
@given(pairs(WHOLE))
def test_integers_and_booleans_are_never_nearly_right(pair):
    wrong, right, index = pair
    for judged in (
        lambda: expect.close("out", wrong, right, 1e9, limit=1e9),
        lambda: expect.same("out", wrong, right, "out is wrong", within=1e9),
    ):
        with pytest.raises(ProbeFailure, match="out is wrong") as seen:
            judged()
        assert seen.value.detail == f"{named('out', index)} is {wrong[index]} instead of {right[index]}"


@EXAMPLES
@given(values(), st.sampled_from(DTYPES))
def test_a_result_is_right_in_whatever_width_the_oracle_has(array, wide):
    with np.errstate(all="ignore"):
        oracle = array.astype(wide)
    kept = array.dtype.kind == "f" or oracle.dtype.kind not in "f"
    assume(kept and (array.dtype.kind == "b") == (oracle.dtype.kind == "b") and np.array_equal(oracle, array))
    assert expect.close("out", array, oracle) == 0.0


@EXAMPLES
@given(values(FLOATING, smallest=1), st.data())
def test_a_special_value_in_the_wrong_place_is_wrong(right, data):
    index = tuple(data.draw(st.integers(0, size - 1)) for size in right.shape)
    wrong = right.copy()
    wrong[index] = 1.0 if np.isnan(right[index]) else np.nan
    with pytest.raises(ProbeFailure, match="out is wrong") as seen:
        expect.close("out", wrong, right, 1e300)
    assert seen.value.where == named("out", index)


@EXAMPLES
@given(values(), values())
def test_what_cannot_be_compared_is_wrong(one, other):
    assume(one.shape != other.shape or (one.dtype.kind == "b") != (other.dtype.kind == "b"))
    with pytest.raises(ProbeFailure, match="out is wrong") as seen:
        expect.close("out", one, other, 1e300)
    assert "shape" in seen.value.detail if one.shape != other.shape else str(other.dtype) in seen.value.detail


def test_what_lies_beyond_a_dtype_excuses_nothing_else():
    oracle = np.array([1e300, 1.0], np.longdouble)
    assert expect.close("out", np.array([np.inf, 1.0], "float32"), oracle) == 0.0
    with pytest.raises(ProbeFailure, match="out is wrong"):
        expect.close("out", np.array([np.inf, 9.0], "float32"), oracle)


@EXAMPLES
@given(pairs())
def test_only_a_constant_or_a_copy_is_trivial(pair):
    other, array, index = pair
    if array.size > 1:
        constant = np.full_like(array, array[index])
        for dead, given_arrays in ((constant, ()), (array, (array.copy(),))):
            with pytest.raises(TrivialOutput):
                expect.alive("out", dead, *given_arrays)
        constant[index] = other[index]
        expect.alive("out", constant, array[:0] if array.ndim else array)


def test_a_copy_is_called_by_the_input_that_it_has_the_values_of():
    dy = np.arange(6.0).reshape(2, 3)
    for inputs, title in (
        ({"x": dy + 1, "dy where gamma is 1": dy}, "dx equals dy where gamma is 1"),
        ({"gamma": dy[0]}, "dx repeats gamma"),
    ):
        actual = np.resize(next(reversed(inputs.values())), dy.shape)
        with pytest.raises(TrivialOutput, match=f"^{title}$"):
            expect.alive("dx", actual, **inputs)


@EXAMPLES
@given(pairs())
def test_digits_are_all_that_may_be_lost(pair):
    wrong, right, index = pair
    assert laws.only_digits_apart(right.copy(), right)
    finite = right[np.isfinite(right)].astype(np.longdouble)
    off = abs(np.longdouble(wrong[index]) - np.longdouble(right[index]))
    least = laws.DIGITS.get(right.dtype.name, 0.0) * abs(finite).max(initial=np.longdouble(0))
    assert laws.only_digits_apart(wrong, right) == (right.dtype.kind == "f" and bool(off <= least))
    assert not laws.only_digits_apart(right[None], right)


class Keeper:
    """An answer's process that keeps values."""

    def __init__(self):
        self.kept = []

    def load(self, name, source):
        pass

    def call(self, function, value, **options):
        self.kept.append(copy.deepcopy(value))
        return len(self.kept) - 1

    def fetch(self, place, plan):
        return copy.deepcopy(self.kept[place])


@EXAMPLES
@given(st.lists(TREES, max_size=3), TREES)
def test_a_list_stays_unless_something_in_it_changes(given_list, more):
    laws.lists_stay(Keeper(), {"tokens": given_list}, lambda kept: None)
    answer = Keeper()
    with pytest.raises(ProbeFailure, match="a call changes tokens"):
        laws.lists_stay(answer, {"tokens": given_list}, lambda kept: answer.kept[kept["tokens"]].append(more))
    for place, entry in enumerate(given_list):
        put = partial(put_in_place, answer := Keeper(), place, more)
        if repr(entry) == repr(more):
            laws.lists_stay(answer, {"tokens": given_list}, put)
        elif entry != more or type(entry) is not type(more):
            with pytest.raises(ProbeFailure, match="a call changes tokens"):
                laws.lists_stay(answer, {"tokens": given_list}, put)


def put_in_place(answer, place, value, kept):
    answer.kept[kept["tokens"]][place] = value


@pytest.mark.parametrize(("before", "after"), [([1], [True]), ([1], [1.0]), ([1], (1,)), ([np.nan], [0.0])])
def test_equal_calls_give_data_of_one_form(before, after):
    replies = iter([before, before, after])
    with pytest.raises(ProbeFailure, match="the reply differs between identical calls"):
        laws.equal_calls_get_equal_replies(Keeper(), lambda: next(replies), lambda: next(replies))


@given(pairs())
def test_a_held_result_stays_unless_it_changes(pair):
    wrong, right, _ = pair
    laws.results_stay(lambda: ({"out": right}, 0), lambda: None, lambda held: {"out": right.copy()})
    with pytest.raises(ProbeFailure, match="a later call changes the out of an earlier one"):
        laws.results_stay(lambda: ({"out": right}, 0), lambda: None, lambda held: {"out": wrong})


@pytest.mark.parametrize("kind", [CallFailed, TrivialOutput, FaultElsewhere])
def test_only_a_comparison_is_renamed(kind):
    for failure, title in ((kind("as it was"), "as it was"), (ProbeFailure("as it was"), "renamed")):
        with pytest.raises(ProbeFailure) as seen, expect.renamed("renamed"):
            raise failure
        assert (seen.value, seen.value.title) == (failure, title)


@pytest.mark.parametrize("pair", [(np.longdouble(1), np.nextafter(np.longdouble(1), 2)), (2**53 + 1, 2.0**53)])
def test_figures_differ_in_words_where_they_do(pair):
    assert len(set(distinct(*pair))) == 2
