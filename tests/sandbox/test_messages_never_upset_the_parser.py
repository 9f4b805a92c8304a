"""Whatever a worker sends is a message or a forgery; whatever a message claims is a value or a mismatch.

And what the parent describes for the worker reads back as it was.
"""

import itertools
import json
import math
import os
import socket
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.sandbox.inside import wire
from harness.sandbox.session.channel import Channel
from harness.sandbox.session.output import Output
from harness.sandbox.session.reply import CallStatus
from harness.sandbox.session.returns import (
    WHOLE,
    Array,
    Keep,
    MalformedReply,
    Nothing,
    Reader,
    Scalar,
    Tree,
    outline,
    room,
    summary,
)
from tests import shares

SIZE = 1 << 12
texts = st.text(max_size=8) | st.sampled_from(["array", "list", "tuple", "dict", "kept", "function", "other", "<f8"])
sizes = st.integers(-2, 5) | st.sampled_from([64, 2**31, 2**63, 10**30]) | st.booleans() | st.floats()
leaves = st.none() | sizes | texts
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
arrays = st.tuples(st.sampled_from(["<f8", "<f4", "|b1", "<i8", "O", "<U8", ">f8"]), st.lists(sizes, max_size=3), sizes)


def one_key(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.lists(st.lists(inner, min_size=2, max_size=2), max_size=3)
    return st.one_of(
        arrays.map(lambda body: {"array": list(body)}),
        st.builds(lambda kind, body: {kind: body}, st.sampled_from(["list", "tuple"]), st.lists(inner, max_size=3)),
        pairs.map(lambda body: {"dict": body}),
        st.builds(lambda kind, body: {kind: body}, texts, inner),
    )


claims = trees | st.recursive(trees, one_key, max_leaves=8)
"""What a worker may say of a result: any JSON, mostly close to what is asked for."""
single = st.sampled_from(
    [Array((2, 3), "float64"), Array((), "int64"), Array((0, 4), "bool"), Tree(512), Scalar(int), Scalar(float),
     Scalar(bool), Nothing(), Keep()]
)  # fmt: skip
plans = single | st.lists(single | st.tuples(single, single), max_size=3).map(tuple)


@pytest.fixture(scope="module")
def memory() -> int:
    fd = os.memfd_create("reply")
    os.pwrite(fd, np.random.default_rng(1).bytes(SIZE), 0)
    return fd


@settings(max_examples=shares.examples(400))
@given(claims, plans, st.integers(0, SIZE))
@example({"array": ["<f8", [2, 3], True]}, Array((2, 3), "float64"), SIZE)
@example({"array": ["<f8", [2, 3.0], 0]}, Array((2, 3), "float64"), SIZE)
@example({"array": ["<f8", [2**62, 2**62], 0]}, Tree(512), SIZE)
@example({"array": ["<f8", [0, 2**62, 2**62], 0]}, Tree(512), SIZE)
@example({"array": ["<f8", [1] * 20, 0]}, Tree(512), SIZE)
@example({"array": [["<f8"], [2], 0]}, Tree(512), SIZE)
@example({"list": [10**4000]}, Tree(512), SIZE)
@example({"dict": [["\ud800", 1]]}, Tree(512), SIZE)
@example(10**4000, Scalar(int), SIZE)
@example({"dict": [[{"list": []}, 1]]}, Tree(512), SIZE)
@example({"dict": [[1, 2], [1, 3]]}, Tree(512), SIZE)
@example(True, Scalar(int), SIZE)
@example({"kept": 1.0}, Keep(), SIZE)
@example({"kept": True}, Keep(), SIZE)
def test_any_claim_is_a_value_or_a_mismatch(memory: int, claim: Any, plan: Any, size: int):
    try:
        value = Reader(memory, size).read(claim, plan, outline(plan, itertools.repeat(1)))
    except MalformedReply as mismatch:
        assert len(str(mismatch)) < 600
        return
    as_asked(value, plan)


def as_asked(value: Any, plan: Any) -> None:
    """A value that came through is exactly what the plan asks for."""
    match plan:
        case tuple():
            assert isinstance(value, tuple) and len(value) == len(plan)
            for item, part in zip(value, plan, strict=True):
                as_asked(item, part)
        case Array():
            assert (value.shape, value.dtype) == (plan.shape, np.dtype(plan.dtype))
        case Scalar():
            assert type(value) is plan.kind and (type(value) is not int or value in WHOLE)
        case Nothing():
            assert value is None
        case Keep():
            assert isinstance(value, wire.RemoteObject) and type(value.id) is int and value.id == 1
        case Tree():
            bound = sum(a.nbytes for _, a in described(value)[1].arrays)
            assert bound <= plan.limit + 64 * wire.ALIGNMENT


@settings(max_examples=shares.examples(200))
@given(claims)
def test_any_claim_can_be_told_in_a_few_words(claim: Any):
    assert len(summary(claim)) <= 250


def received(data: bytes) -> dict[str, Any] | CallStatus:
    """What the parent makes of one message."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read, write = os.pipe2(os.O_CLOEXEC)
    os.close(write)
    channel = Channel(ours, Output(read))
    try:
        with theirs:
            theirs.send(data)
            return channel.receive(5)
    finally:
        channel.close()


@settings(max_examples=shares.examples(150))
@given(st.binary(min_size=1, max_size=80) | claims.map(json.dumps).map(str.encode))
@example(b"[" * 50_000)
@example(b'{"id": 1' + b"0" * 5000 + b"}")
@example(b'{"id": "\\ud800"}')
@example(b'{"id": NaN}')
@example(b'{"\\ud800": 1, "\\udfff": 2}')
@example(b"\xff\xfe{\x00}\x00")
def test_any_message_is_an_object_or_a_forgery(data: bytes):
    message = received(data)
    if isinstance(message, CallStatus):
        assert message is CallStatus.PROTOCOL_VIOLATION
    else:
        assert isinstance(message, dict)
        json.dumps(message, ensure_ascii=False).encode()  # no half surrogate pair is left


dtypes = st.sampled_from(sorted(wire.DTYPES))
filled = st.builds(
    lambda dtype, shape, seed: np.frombuffer(
        np.random.default_rng(seed).bytes(math.prod(shape) * np.dtype(dtype).itemsize), dtype
    ).reshape(shape),
    dtypes.filter(lambda name: name != "|b1"), st.lists(st.integers(0, 3), max_size=3), st.integers(0, 99),
)  # fmt: skip
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=8) | filled
keys = st.text(max_size=8) | st.integers(-(2**63), 2**63)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


def described(value: Any) -> tuple[Any, wire.Arena]:
    arena = wire.Arena()
    return wire.describe(value, arena), arena


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


@settings(max_examples=shares.examples(200))
@given(values)
def test_what_is_described_reads_back_as_it_was(value: Any):
    claim, arena = described(value)
    plan = Tree(arena.size)
    fd = os.memfd_create("value")
    try:
        os.truncate(fd, room(plan))
        arena.write(fd)
        back = Reader(fd, room(plan)).read(json.loads(json.dumps(claim)), plan, None)
    finally:
        os.close(fd)
    assert same(back, value)
