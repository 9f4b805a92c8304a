"""A reply counts only when it equals what was asked for in kind, dtype, shape and place."""

import numpy as np
import pytest

from harness.sandbox import Array, CallStatus, Keep, Nothing, Scalar, Tree

SOURCE = """
import numpy as np
class Odd(np.ndarray):
    pass
class Thing:
    pass
ANSWERS = {
    "right": lambda: np.ones((2, 3)),
    "view": lambda: np.ones((4, 6))[::2, ::2],
    "broadcast": lambda: np.broadcast_to(1.0, (2, 3)),
    "subclass": lambda: np.ones((2, 3)).view(Odd),
    "fortran": lambda: np.asfortranarray(np.ones((2, 3))),
    "list": lambda: [[1.0] * 3] * 2,
    "float32": lambda: np.ones((2, 3), "float32"),
    "transposed": lambda: np.ones((3, 2)),
    "object": lambda: np.array([[object()] * 3] * 2),
    "thing": lambda: Thing(),
    "none": lambda: None,
    "pair": lambda: (np.ones((2, 3)), np.ones((2, 3))),
    "huge": lambda: np.ones((2, 3, 100000)),
    "text": lambda: "x" * 100000,
    "function": lambda: ANSWERS,
}
def answer(name): return ANSWERS[name]()
def big_int(): return 10**400
def nan(): return float("nan")
def deep():
    value = []
    for _ in range(60):
        value = [value]
    return value
def tree(): return {"x": np.arange(3), "n": (1, 2.5, None, "s", True), "m": {1: np.zeros((0, 4))}}
"""


@pytest.mark.parametrize("name", ["right", "view", "broadcast", "subclass", "fortran"])
def test_any_honest_array_of_that_shape_and_dtype_counts(opened, tier, name):
    reply = opened(SOURCE).call("answer", name, returns=Array((2, 3), "float64"))
    assert reply.status is CallStatus.RETURNED
    assert type(reply.value) is np.ndarray and (reply.value == 1).all()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("list", "a list of 2 instead of an array"),
        ("float32", "dtype float32 instead of float64"),
        ("transposed", "shape (3, 2) instead of (2, 3)"),
        ("object", "array of dtype object instead of an array"),
        ("thing", "Thing instead of an array"),
        ("none", "None instead of an array"),
        ("pair", "a tuple of 2 instead of an array"),
        ("huge", "shape (2, 3, 100000) instead of (2, 3)"),
        ("text", "instead of an array"),
        ("function", "instead of an array"),
    ],
)
def test_anything_else_is_named_and_does_not_count(opened, tier, name, words):
    box = opened(SOURCE)
    reply = box.call("answer", name, returns=Array((2, 3), "float64", exact=True))
    assert reply.status is CallStatus.MALFORMED and reply.value is None
    assert words in reply.text
    assert box.call("answer", "right", returns=Array((2, 3), "float64")).status is CallStatus.RETURNED


FORMS = """
import numpy as np
FORMS = {
    "wider": lambda: np.array([1.5, np.inf, np.nan], np.float64),
    "narrower": lambda: np.array([1.5, np.inf, np.nan], np.float16),
    "list": lambda: [1.5, float("inf"), float("nan")],
    "list of scalars": lambda: [np.float32(1.5), np.float64("inf"), np.float16("nan")],
    "integers": lambda: np.array([1, 2, 3], np.int64),
    "too large": lambda: np.array([1.5, 1e300, 0.0]),
    "booleans": lambda: np.array([True, False, True]),
    "whole floats": lambda: np.array([1.0, 2.0, 3.0]),
    "fractions": lambda: np.array([1.0, 2.5, 3.0]),
    "int of 64 bits": lambda: np.array([1, 2**40, 3]),
    "ragged": lambda: [[1.0, 2.0], [3.0]],
    "a number": lambda: 2.0,
    "an array of no axes": lambda: np.array(2, np.int8),
}
def form(name): return FORMS[name]()
"""


@pytest.mark.parametrize(
    ("name", "dtype", "wanted"),
    [
        ("wider", "float32", [1.5, np.inf, np.nan]),
        ("narrower", "float64", [1.5, np.inf, np.nan]),
        ("list", "float32", [1.5, np.inf, np.nan]),
        ("list of scalars", "float32", [1.5, np.inf, np.nan]),
        ("integers", "float32", [1, 2, 3]),
        ("integers", "int32", [1, 2, 3]),
        ("whole floats", "int32", [1, 2, 3]),
        ("too large", "float32", None),
        ("booleans", "float32", None),
        ("integers", "bool", None),
        ("fractions", "int32", None),
        ("int of 64 bits", "int32", None),
        ("ragged", "float64", None),
    ],
)
def test_another_form_is_converted_where_that_loses_nothing(opened, name, dtype, wanted):
    box = opened(FORMS, "form")
    reply = box.call("form", name, returns=Array((3,), dtype))
    if wanted is None:
        assert reply.status is CallStatus.MALFORMED
    else:
        assert reply.value.dtype == dtype
        np.testing.assert_array_equal(reply.value, np.array(wanted, dtype))
    assert box.call("form", name, returns=Array((3,), dtype, exact=True)).status is CallStatus.MALFORMED


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("name", ["a number", "an array of no axes"])
def test_a_number_is_converted_where_its_value_stays(opened, name, kind):
    reply = opened(FORMS, "form").call("form", name, returns=Scalar(kind))
    assert type(reply.value) is kind and reply.value == 2


def test_scalars_are_of_the_kind_asked_for(opened, tier):
    box = opened(SOURCE)
    assert box.call("nan", returns=Scalar(int)).status is CallStatus.MALFORMED
    assert np.isnan(box.call("nan", returns=Scalar(float)).value)
    assert box.call("answer", "none", returns=Nothing()).status is CallStatus.RETURNED
    assert box.call("nan", returns=Nothing()).status is CallStatus.MALFORMED


def test_free_form_data_crosses_as_plain_values_within_its_limits(opened, tier):
    box = opened(SOURCE)
    value = box.call("tree", returns=Tree(1000)).value
    assert value["n"] == (1, 2.5, None, "s", True)
    assert (value["x"] == np.arange(3)).all() and value["m"][1].shape == (0, 4)
    assert box.call("deep", returns=Tree(1000)).status is CallStatus.MALFORMED
    assert box.call("answer", "huge", returns=Tree(1000)).status is CallStatus.MALFORMED
    assert box.call("answer", "thing", returns=Tree(1000)).status is CallStatus.MALFORMED


def test_a_kept_object_stays_in_the_worker_and_shows_later_changes(opened, tier):
    box = opened("import numpy as np\nbuffer = np.zeros(2)\ndef f(x):\n    buffer[:] = x\n    return buffer\n")
    first, kept = box.call("f", 1.0, returns=Array((2,), "float64"), hold=True).value
    box.call("f", 2.0, returns=Keep())
    assert (first == 1).all()
    assert (box.fetch(kept, Array((2,), "float64")).value == 2).all()


def test_arguments_come_back_as_the_call_left_them(opened, tier):
    box = opened("def f(x, *, y):\n    x += 1\n    return None\n")
    x, y = np.zeros(3), np.ones((2, 2))
    reply = box.call("f", x, y=y, returns=Nothing(), echo=True)
    assert (reply.echo[0] == 1).all() and (reply.echo[1] == y).all()
    assert (x == 0).all()


def test_what_an_answer_raises_is_data(opened, tier):
    box = opened(
        "class ValueError(Exception): pass\ndef f():\n    raise ValueError('mine')\ndef g():\n    raise SystemExit(3)\n"
    )
    reply = box.call("f", returns=Nothing())
    assert reply.status is CallStatus.RAISED and "mine" in reply.text and "answer.py:3" in reply.text
    assert "ValueError" not in reply.lineage
    assert "SystemExit" in box.call("g", returns=Nothing()).lineage
