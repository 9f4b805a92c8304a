"""Whatever a worker sends, the parent gets a value that was asked for or a reason: never an error of its own."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sandbox import Array, CallStatus, Keep, Nothing, Scalar, Tree
from harness.sandbox.memory_file import MemoryFile
from harness.sandbox.returns import MalformedReply, Reader, outline, room
from tests import shares

ATOMS: list[Any] = [
    None, True, 0, 1, -1, 64, 2**62, 2**63, 2**64, 10**30, 10**4000, 1.5, float("nan"), "", "x", "\ud800", "<f8", "|O",
    "<f4", [], {},
]  # fmt: skip
SHAPES = [[2], [2, 3], [0, 2**62], [0, 2**62, 2**62], [-1], [1] * 20, [True], [10**30], "x"]
PLANS: list[Any] = [
    Array((2,), "float64"), Array((0, 4), "float32"), Tree(1000), Scalar(int), Scalar(float), Scalar(bool), Nothing(),
    Keep(), (Array((2,), "float64"), Tree(100)), (Tree(10), (Keep(), Scalar(int))),
]  # fmt: skip
atoms = st.sampled_from(ATOMS)
arrays = st.tuples(atoms | st.just("<f8"), st.sampled_from(SHAPES) | atoms, st.just(0) | atoms)
claims = st.recursive(
    atoms | arrays.map(lambda body: {"array": list(body)}),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["array", "list", "tuple", "dict", "kept", "other", "odd"]), inner, max_size=2),
        st.lists(st.tuples(inner, inner).map(list), max_size=3).map(lambda pairs: {"dict": pairs}),
    ),
    max_leaves=12,
)


@settings(max_examples=shares.examples(600), deadline=None)
@given(claim=claims, plan=st.sampled_from(PLANS))
def test_a_claim_is_read_or_refused(claim: Any, plan: Any) -> None:
    size = room(plan)
    received = json.loads(json.dumps(claim))
    with MemoryFile.blank(size) as output:
        try:
            Reader(output.fd, size).read(received, plan, outline(plan, itertools.count(1)))
        except MalformedReply as reason:
            assert str(reason)


@pytest.mark.parametrize(
    ("value", "plan", "status"),
    [
        ("2**63 - 1", Scalar(int), CallStatus.RETURNED),
        ("10**400", Scalar(int), CallStatus.MALFORMED),
        ("[10**400]", Tree(0), CallStatus.MALFORMED),
        ("'x' * 40_000", Tree(0), CallStatus.RETURNED),
        ("'x' * 59_000", Tree(0), CallStatus.MALFORMED),
    ],
)
def test_only_what_can_be_reckoned_with_and_handed_back_crosses(opened, tier, value, plan, status):
    box = opened(f"def f(*a): return {value}\n")
    reply = box.call("f", returns=plan)
    assert reply.status is status
    if status is CallStatus.RETURNED:
        assert box.call("f", reply.value, returns=plan).status is CallStatus.RETURNED


def test_half_a_surrogate_pair_becomes_a_question_mark(opened, tier):
    box = opened("def f(): return '\\ud800 and \\U0001f600'\ndef g(): raise ValueError('\\udfff')\n")
    assert box.call("f", returns=Tree(0)).value == "? and \U0001f600"
    assert "ValueError: ?" in box.call("g", returns=Nothing()).text


HOSTILE_ERRORS = """
class Name(str):
    def __getitem__(self, part): return 'y' * 50_000
class Long(type):
    @property
    def __name__(cls): return Name('x')
class Ends(type):
    @property
    def __name__(cls): raise SystemExit(3)
class Odd(type):
    @property
    def __name__(cls): return [1]
def f(kind):
    class Error(BaseException, metaclass={'long': Long, 'ends': Ends, 'odd': Odd}[kind]):
        def __str__(self): raise self
    raise Error
"""


@pytest.mark.parametrize(
    ("kind", "status"),
    [("long", CallStatus.PROTOCOL_VIOLATION), ("ends", CallStatus.CRASHED), ("odd", CallStatus.PROTOCOL_VIOLATION)],
)
def test_an_error_that_hides_its_name_ends_the_worker(opened, tier, kind, status):
    assert opened(HOSTILE_ERRORS).call("f", kind, returns=Nothing()).status is status
