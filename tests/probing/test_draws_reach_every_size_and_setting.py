"""Probes are found, their draws have turns and reach what they should, and families hold what they say."""

from dataclasses import replace

import numpy as np
import pytest

from harness.errors import SpecError
from harness.probing import Axis, Draw, Drawn
from harness.probing.families import FAMILIES, MAGNITUDES, SCALED, values
from harness.probing.sizes import DRAW

AXES = {"rows": Axis(1, 8000), "width": Axis(2, 8000)}
KINDS = ("plain", "zeros", "large", "tiny", "spread")
DRAWN = Drawn(AXES, 100, lambda rows, width: rows * width, 40e3, {"kind": KINDS, "k": tuple(range(500))}, brief=20e3)


def brief(salt: int) -> list[dict]:
    drawn = replace(DRAWN.in_brief(), salt=salt)
    return [dict(drawn.case(i, np.random.default_rng([salt, i]), (64,), drawn.most)) for i in range(drawn.count)]


def test_each_size_is_large_once_and_no_case_costs_more_than_it_may():
    for salt in range(1, 30):
        cases = brief(salt)
        for index, (name, axis) in enumerate(AXES.items()):
            assert cases[index][name] > axis.high / 4
        assert all(case["rows"] * case["width"] <= 20e3 for case in cases)
        assert [case[DRAW] for case in cases] == list(range(len(cases)))


def test_every_value_of_a_setting_of_few_comes_once():
    assert all(sorted(case["kind"] for case in brief(salt)) == sorted(KINDS) for salt in range(1, 30))


def test_the_order_of_settings_differs_between_seeds():
    assert len({tuple(case["kind"] for case in brief(salt)) for salt in range(1, 30)}) > 10


def test_a_probe_may_have_every_value_of_a_setting_of_many():
    many = replace(DRAWN, choices={"k": tuple(range(40))}, covered=40).in_brief()
    values = [many.case(i, np.random.default_rng(i), (), many.most)["k"] for i in range(many.count)]
    assert sorted(values) == list(range(40))


def test_sizes_in_turn_are_divided_by_each_number_up_to_half_of_the_cases():
    turns = Drawn({"width": Axis(1, 6000)}, 80, choices={"k": tuple(range(40))}, covered=40, in_turn=100)
    for drawn in (turns, turns.in_brief()):
        widths = [drawn.case(i, np.random.default_rng(i), (), drawn.most)["width"] for i in range(drawn.count)]
        assert all(any(width % n == 0 for width in widths) for n in range(1, drawn.count // 2 + 1))
        assert len(set(widths)) > drawn.count // 2


@pytest.mark.parametrize("others", [0, 1, 1000])
def test_what_is_drawn_between_two_turns_changes_neither(others: int) -> None:
    plain, drawing = Draw(7, "probe"), Draw(7, "probe")
    turns = [plain.turn() for _ in range(3)]
    found = []
    for _ in range(3):
        found.append(drawing.turn())
        drawing.normal(others)
    assert found == turns
    assert len(set(turns)) == 3


def test_turns_change_no_draw_and_begin_elsewhere_for_another_seed() -> None:
    plain, turning = Draw(7, "probe"), Draw(7, "probe")
    begins = turning.turn()
    assert (plain.normal(5) == turning.normal(5)).all()
    assert Draw(8, "probe").turn() != begins != Draw(7, "other").turn()


SHAPE = (40, 3, 12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("family", [*FAMILIES, *SCALED])
@pytest.mark.parametrize("shape", [SHAPE, (1,), (1, 1), (7,)])
def test_values_are_finite_and_in_the_range_that_contracts_name(family, dtype, shape):
    made = values(Draw(3), family, *shape, dtype=dtype)
    assert made.shape == shape and made.dtype == dtype and np.isfinite(made).all()
    assert abs(made).max() <= MAGNITUDES[dtype][1]


def test_peculiar_families_are_peculiar():
    def made(family):
        return values(Draw(3), family, *SHAPE).reshape(-1, SHAPE[-1])

    assert set(np.signbit(made("signed zeros")).ravel()) == {True, False} and not made("signed zeros").any()
    assert (made("equal rows") == made("equal rows")[0]).all()
    assert ((np.diff(made("sorted")) > 0).all(axis=1) | (np.diff(made("sorted")) < 0).all(axis=1)).all()
    assert ((made("one-hot") != 0).sum(axis=1) <= 1).all() and len(set(made("constant").ravel())) == 1
    assert (np.ptp(made("constant rows"), axis=1) == 0).all() and np.ptp(made("constant rows")) > 0
    special = np.ptp(made("some rows constant"), axis=1) == 0
    assert 10 < special.sum() < 80
    subnormal = values(Draw(3), "subnormal", 50, dtype="float32")
    assert (abs(subnormal[subnormal != 0]) < np.finfo(np.float32).smallest_normal).mean() > 0.9


HEAD = "from harness.probing import probe\n\n@probe(n=1)\n"


def test_a_new_file_of_probes_is_found(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text(HEAD + "def extra_holds(answer, draw, *, n): ...\n")
    assert sorted(toy.probes) == ["doubling_doubles", "extra_holds", "rows_match_the_oracle"]


def test_two_probes_of_one_name_are_refused(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text(HEAD + "def doubling_doubles(answer, draw, *, n): ...\n")
    with pytest.raises(SpecError, match=r"probes_extra.py.*'doubling_doubles'"):
        _ = toy.probes


def test_a_helper_that_imports_a_probe_defines_it_only_once(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text("from .probes import doubling_doubles\n")
    assert "doubling_doubles" in toy.probes


def test_a_criterion_that_names_no_probe_is_told_the_nearest(toy):
    criterion = toy.challenge.criteria[0].model_copy(update={"probes": ("doubling_double",)})
    with pytest.raises(SpecError, match="doubling_doubles"):
        toy.probes_of(criterion)
