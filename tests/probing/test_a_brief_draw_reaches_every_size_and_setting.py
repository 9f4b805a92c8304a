"""A brief draw has a large case for each size and every value of a setting, in an order that nobody knows before."""

from dataclasses import replace

import numpy as np

from harness.probing import Axis, Drawn
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
