"""`Drivers` calls in every dtype and setting that a guard may ask for, and as often as it says."""

import pytest

from harness.probing.draw import Draw
from harness.probing.drivers import Drivers


class Noted:
    """What was drawn, called and judged, in order."""

    def __init__(self) -> None:
        self.judged: list[tuple[object, ...]] = []
        self.called = 0

    def draw(self, draw: Draw, *given: object, **settings: object) -> tuple[object, ...]:
        return (*given, *settings.values())

    def call(self, answer: object, given: object) -> None:
        self.called += 1

    def judge(self, answer: object, draw: Draw, given: tuple[object, ...]) -> None:
        self.judged.append(given)


@pytest.fixture
def noted() -> Noted:
    return Noted()


def small(draw: Draw, t: int) -> tuple[int, int]:
    return t, draw.integer(1, 9)


def drive(driver, t: int = 5) -> None:
    driver(None, Draw(7, "x"), t)


def drivers(noted: Noted, **more) -> Drivers:
    return Drivers(noted.draw, noted.call, noted.judge, small, **more)


def test_every_dtype_and_setting_is_tried(noted):
    drive(drivers(noted, settings=({"causal": True}, {"causal": False})).of(lambda draw, t: (t,)))
    assert noted.judged == [(5, dtype, causal) for dtype in ("float64", "float32") for causal in (True, False)]


def test_a_guard_may_ask_for_one_dtype_and_one_setting(noted):
    made = drivers(noted, settings=({"causal": True}, {"causal": False}))
    drive(made.of(lambda draw, t: (t,), dtype="float32", causal=False))
    assert noted.judged == [(5, "float32", False)]


def test_values_are_changed_before_they_are_judged(noted):
    drive(drivers(noted).of(lambda draw, t: (t,), lambda draw, given, t: (*given, "changed"), "float64"))
    assert noted.judged == [(5, "float64", "changed")]


@pytest.mark.parametrize(("functions", "called"), [(1, 5), (2, 2)])
def test_calls_are_counted_by_the_functions_of_the_contract(noted, functions, called):
    (often, *_) = drivers(noted, functions=functions).guards_of_history(9)
    assert (often.call, often.high) == ("calls > {t}", 9)
    drive(often.driver)
    assert noted.called == called and [dtype for *_, dtype in noted.judged] == ["float32", "float64"]


def test_one_shape_is_repeated_and_dtypes_take_turns(noted):
    _, again, in_turn, of_float32 = drivers(noted).guards_of_history(9)
    drive(again.driver)
    assert len(noted.judged) == 3 and len(set(noted.judged)) == 1
    noted.judged.clear()
    drive(in_turn.driver)
    drive(of_float32.driver)
    assert [dtype for *_, dtype in noted.judged] == ["float64", "float32", "float64", "float32"]
