"""A sentence about two numbers shows digits until they differ: what failed never reads as if it were right."""

import math
from typing import Any

import numpy as np
import pytest

from harness.model import Counterexample
from harness.numerics import beyond_rounding, distinct, instead
from harness.probing import ProbeFailure, expect
from harness.report import formatting

BASE = 425.087949123456
PAIRS: dict[str, tuple[Any, Any]] = {
    "7th digit": (BASE, BASE + 1e-4),
    "10th digit": (BASE, BASE + 1e-7),
    "15th digit": (BASE, BASE + 1e-12),
    "one bit": (BASE, math.nextafter(BASE, 500)),
    "one bit of float32": (np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1))),
    "float32 beside float64": (float(np.float32(0.46889302)), 0.46889302),
    "tiny": (5e-324, 1e-323),
    "huge": (1e300, math.nextafter(1e300, math.inf)),
    "long double": (0.25, np.longdouble(0.25) * (1 + np.longdouble(2) ** -50)),
    "whole numbers": (12345678901, 12345678902),
    "a whole number beside a real one": (3, 3.0000000001),
    "signs of zero": (0.0, -0.0),
    "NaN": (math.nan, 1.0),
    "infinity": (math.inf, 1.7976931348623157e308),
    "two infinities": (math.inf, -math.inf),
}


@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind != "signs of zero"])
def test_texts_differ_as_soon_as_they_can(kind: str) -> None:
    one, other = PAIRS[kind]
    texts = distinct(one, other)
    assert texts[0] != texts[1] and distinct(other, one) == texts[::-1]
    assert instead(one, other) == f"{texts[0]} instead of {texts[1]}"
    assert max(map(len, distinct(1.5, 2.5))) == 3 and distinct(1.0, 1.0) == ("1", "1")
    if kind == "10th digit":
        assert texts == ("425.0879491", "425.0879492")


@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind != "long double"])
def test_a_report_tells_expected_from_got(kind: str) -> None:
    got, expected = (each if isinstance(each, int) else float(each) for each in PAIRS[kind])
    texts = formatting.expected_and_got(Counterexample(expected=expected, got=got))
    assert texts[0] != texts[1]
    shown = formatting.values(Counterexample(where="out[0]", expected=expected, got=got))
    assert shown == f"out[0]: expected {texts[0]}, got {texts[1]}"


def test_what_rounding_may_cost_reads_as_less_than_what_is_off() -> None:
    assert beyond_rounding(0.0, -9.99e98, 9.96e98) == (
        "0 instead of -9.99e+98, off by 9.99e+98; rounding may cost 9.96e+98"
    )
    assert beyond_rounding(1.0, 2.0, 1e-9) == "1 instead of 2, off by 1; rounding may cost 1e-09"
    assert beyond_rounding(math.nan, 2.0, 1e-9) == "NaN instead of 2; rounding may cost 1e-09"
    off, allowed = distinct(32.00001, 32.0, 3)
    assert float(off) > float(allowed)


def test_probes_show_digits_until_they_differ() -> None:
    wanted = np.array([BASE, 1.0])
    with pytest.raises(ProbeFailure) as same:
        expect.same("out", wanted + np.array([1e-11, 0.0]), wanted, "differs")
    with pytest.raises(ProbeFailure) as close:
        expect.close("out", wanted + np.array([1e-9, 0.0]), wanted.astype(np.longdouble), 0.0)
    for failure in (same.value, close.value):
        got, _, expected = failure.detail.partition(" instead of ")
        assert got.removeprefix("out[0] is ") != expected.partition(":")[0]
