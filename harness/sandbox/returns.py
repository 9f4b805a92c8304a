"""What the parent asks back for, and the check of what came.

A return plan is one of the classes below, or a tuple of them. Array sizes and places follow from the plan, never
from the reply: a reply is compared with the plan by equality, and room is only ever made for what was asked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.sandbox.boot import wire

WHOLE = range(-(2**63), 2**64)
"""Integers that may cross: those an array can hold."""

WIDEST = 8
"""Bytes of the widest number that crosses."""
Plan = Any
"""`Array`, `Tree`, `Scalar`, `Nothing`, `Keep`, or a tuple of plans."""


class MalformedReply(Exception):
    """A reply is not what was asked for; internal to the box, which turns it into data."""


@dataclass(frozen=True)
class Array:
    """One array of this shape and dtype.

    An array of another dtype, a plain number or a nested list of them is converted where that loses nothing but digits
    that the dtype does not hold; see `converted`.

    Attributes:
        shape: its shape.
        dtype: its dtype.
        exact: whether nothing is converted: the form is what is asked.
    """

    shape: tuple[int, ...]
    dtype: str
    exact: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes that the array may take."""
        return prod(self.shape) * (np.dtype(self.dtype).itemsize if self.exact else WIDEST)


@dataclass(frozen=True)
class Tree:
    """Free-form data: nested dicts, lists and tuples of arrays and scalars, at most `limit` bytes of arrays."""

    limit: int
    DEPTH = 8
    NODES = 2000
    TEXT = 48_000
    """Bytes of its description: it must also fit into a request, which says more than a reply."""


@dataclass(frozen=True)
class Scalar:
    """One plain `bool`, `int` or `float`; a number of the other kind, or in an array of no axes, is converted.

    Attributes:
        kind: which of the three.
        exact: whether nothing is converted: the form is what is asked.
    """

    kind: type
    exact: bool = False


@dataclass(frozen=True)
class Nothing:
    """None."""


@dataclass(frozen=True)
class Keep:
    """Whatever it is, it stays in the worker; the parent gets a `RemoteObject`."""


def room(plan: Plan) -> int:
    """Bytes of output file that a reply to `plan` may need."""
    arena = wire.Arena()
    for leaf in _leaves(plan):
        if isinstance(leaf, Array):
            arena.place(leaf.nbytes)
        elif isinstance(leaf, Scalar):
            arena.place(WIDEST)
        elif isinstance(leaf, Tree):
            arena.place(leaf.limit + wire.ALIGNMENT * 64)
    return arena.size


def outline(plan: Plan, ids: Iterator[int]) -> Any:
    """The plan as the worker needs it: which parts stay there, under ids the parent hands out."""
    if isinstance(plan, tuple):
        return [outline(item, ids) for item in plan]
    return {"kept": next(ids)} if isinstance(plan, Keep) else None


def _leaves(plan: Plan) -> Iterator[Plan]:
    if isinstance(plan, tuple):
        for item in plan:
            yield from _leaves(item)
    else:
        yield plan


class Reader:
    """Checks one reply against its plan and copies the arrays out."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size
        self.arena = wire.Arena()
        self.nodes = 0

    def read(self, claim: Any, plan: Plan, kept: Any, name: str = "result") -> Any:
        """Return the value `claim` describes.

        Raises:
            MalformedReply: it is not what `plan` asks for; the message says how.
        """
        if isinstance(plan, tuple):
            return self._tuple(claim, plan, kept, name)
        if isinstance(plan, Array):
            return self._array(claim, plan, name)
        if isinstance(plan, Tree):
            self._limit = self.arena.size + plan.limit + wire.ALIGNMENT * 64
            tree = self._tree(claim, name, 0)
            if len(json.dumps(wire.describe(tree, wire.Arena()))) > Tree.TEXT:
                raise MalformedReply(f"{name}: more text than may cross")
            return tree
        if isinstance(plan, Keep):
            if claim != kept:
                raise MalformedReply(f"{name}: not an object of the worker")
            return wire.RemoteObject(kept["kept"])
        if isinstance(plan, Nothing):
            if claim is not None:
                raise MalformedReply(f"{name}: {summary(claim)} instead of None")
            return None
        return self._scalar(claim, plan, name)

    def _scalar(self, claim: Any, plan: Scalar, name: str) -> Any:
        value = _of_a_word(claim, name)
        body = claim.get("array") if isinstance(claim, dict) else None
        if not plan.exact and isinstance(body, list) and len(body) == 3 and body[1] == [] and _is_dtype(body[0]):
            value = self._array(claim, Array((), body[0]), name).item()
        made = value if plan.exact else plain(value, plan.kind)
        if type(made) is not plan.kind:
            raise MalformedReply(f"{name}: {summary(claim)} instead of one {plan.kind.__name__}")
        return made

    def echo(self, claims: Any, sent: wire.Arena) -> tuple[Any, ...]:
        """The arguments of `sent` as they were after the call.

        Raises:
            MalformedReply: they did not all come back.
        """
        if not isinstance(claims, list) or len(claims) != len(sent.arrays):
            raise MalformedReply("the arguments did not come back")
        return tuple(
            self._array(claim, Array(array.shape, array.dtype.str, exact=True), "argument")
            for claim, (_, array) in zip(claims, sent.arrays, strict=True)
        )

    def _tuple(self, claim: Any, plan: tuple[Plan, ...], kept: Any, name: str) -> tuple[Any, ...]:
        items = claim.get("tuple", claim.get("list")) if isinstance(claim, dict) and len(claim) == 1 else None
        if not isinstance(items, list) or len(items) != len(plan):
            raise MalformedReply(f"{name}: {summary(claim)} instead of {len(plan)} values")
        return tuple(
            self.read(item, part, keep, f"{name}[{i}]")
            for i, (item, part, keep) in enumerate(zip(items, plan, kept, strict=True))
        )

    def _array(self, claim: Any, plan: Array, name: str) -> Any:
        body = claim.get("array") if isinstance(claim, dict) else None
        if not isinstance(body, list) or len(body) != 3:
            return self._numbers(claim, plan, name)
        if not _is_dtype(body[0]) or (plan.exact and np.dtype(body[0]) != np.dtype(plan.dtype)):
            raise MalformedReply(f"{name}: dtype {_dtype(body[0])} instead of {plan.dtype}")
        if body[1] != list(plan.shape) or any(type(n) is not int for n in body[1]):
            raise MalformedReply(f"{name}: shape {_shape(body[1])} instead of {_shape(list(plan.shape))}")
        nbytes = prod(plan.shape) * np.dtype(body[0]).itemsize
        offset = self.arena.place(nbytes)
        if type(body[2]) is not int or body[2] != offset or offset + nbytes > self.size:
            raise MalformedReply(f"{name}: array is not where it was asked for")
        return _converted(wire.read_array(self.fd, body[0], list(plan.shape), offset), plan, name)

    def _numbers(self, claim: Any, plan: Array, name: str) -> Any:
        """Read a number, or nested lists of numbers, in place of an array."""
        try:
            numbers = None if plan.exact else _rectangle(claim)
        except (ValueError, OverflowError):
            numbers = None
        if numbers is None or numbers.dtype.str not in wire.DTYPES:
            raise MalformedReply(f"{name}: {summary(claim)} instead of an array")
        if numbers.shape != plan.shape:
            raise MalformedReply(f"{name}: shape {_shape(list(numbers.shape))} instead of {_shape(list(plan.shape))}")
        return _converted(numbers, plan, name)

    def _tree(self, claim: Any, name: str, depth: int) -> Any:
        self.nodes += 1
        if depth > Tree.DEPTH or self.nodes > Tree.NODES:
            raise MalformedReply(f"{name}: nested or branched beyond what may cross")
        if claim is None or type(claim) in (bool, int, float, str):
            return _of_a_word(claim, name)
        ((kind, body),) = claim.items() if isinstance(claim, dict) and len(claim) == 1 else (("other", "?"),)
        if kind == "array" and isinstance(body, list) and len(body) == 3:
            return self._free_array(body, name)
        if kind in ("list", "tuple") and isinstance(body, list):
            built = [self._tree(item, f"{name}[{i}]", depth + 1) for i, item in enumerate(body)]
            return tuple(built) if kind == "tuple" else built
        if kind == "dict" and isinstance(body, list) and all(isinstance(p, list) and len(p) == 2 for p in body):
            if any(type(k) not in (str, int) for k, _ in body):
                raise MalformedReply(f"{name}: a key that is neither a string nor an integer")
            return {k: self._tree(v, f"{name}[{k!r:.40}]", depth + 1) for k, v in body}
        raise MalformedReply(f"{name}: {summary(claim)} is not plain data")

    def _free_array(self, body: list[Any], name: str) -> Any:
        dtype, shape, offset = body
        if not _is_dtype(dtype) or not _is_shape(shape):
            raise MalformedReply(f"{name}: not a plain array")
        nbytes = prod(shape) * np.dtype(dtype).itemsize
        if self.arena.size + nbytes > min(self.size, self._limit):
            raise MalformedReply(f"{name}: more data than may cross")
        if type(offset) is not int or offset != self.arena.place(nbytes) or self.arena.size > self.size:
            raise MalformedReply(f"{name}: array is not where it was asked for")
        return wire.read_array(self.fd, dtype, shape, offset)


def converted(array: NDArray[Any], dtype: str) -> NDArray[Any] | None:
    """Return the array in another dtype; None where that loses more than digits that the dtype does not hold.

    Numbers become numbers of another width or kind where their values stay; booleans are no numbers. Floats may be
    rounded to narrower ones, as long as none becomes infinite.
    """
    if array.dtype == np.dtype(dtype):
        return array
    if "b" in (array.dtype.kind, np.dtype(dtype).kind):
        return None
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
    if array.dtype.kind == made.dtype.kind == "f":
        kept = np.array_equal(np.isinf(array), np.isinf(made))
    else:
        kept = np.array_equal(array, made)
    return made if kept else None


def plain(value: Any, kind: type) -> Any:
    """Return a number as an int or a float where its value stays, else as it is; a bool is no number."""
    if type(value) is kind or type(value) not in (int, float) or kind is bool:
        return value
    try:
        made = kind(value)
    except (ValueError, OverflowError):  # no integer is infinite or NaN
        return value
    return made if made == value else value


def _converted(array: NDArray[Any], plan: Array, name: str) -> NDArray[Any]:
    made = converted(array, plan.dtype)
    if made is None:
        raise MalformedReply(f"{name}: dtype {array.dtype.name} instead of {plan.dtype}")
    return made


def _rectangle(claim: Any) -> NDArray[Any] | None:
    """Return the array that nested lists of numbers stand for; None where there are none."""
    if type(claim) in (bool, int, float):
        return np.array(claim)
    items = claim.get("list", claim.get("tuple")) if isinstance(claim, dict) and len(claim) == 1 else None
    if not isinstance(items, list) or not items:
        return None
    parts = [_rectangle(item) for item in items]
    return None if any(part is None for part in parts) else np.array(parts)


def summary(claim: Any) -> str:
    """A claim in a few words, safe to print."""
    if not isinstance(claim, dict):
        return "None" if claim is None else f"{type(claim).__name__} {claim!r:.40}"
    if len(claim) != 1:
        return "something that is not a value"
    ((kind, body),) = claim.items()
    if kind == "array" and isinstance(body, list) and len(body) == 3:
        return f"{_dtype(body[0])} array of shape {_shape(body[1])}"
    if kind in ("list", "tuple", "dict") and isinstance(body, list):
        return f"a {kind} of {len(body)}"
    return f"{body}"[:200] if kind == "other" else "something that is not a value"


def _of_a_word(claim: Any, name: str) -> Any:
    if type(claim) is int and claim not in WHOLE:
        raise MalformedReply(f"{name}: an integer of more than 64 bits")
    return claim


def _is_dtype(text: Any) -> bool:
    return isinstance(text, str) and text in wire.DTYPES


def _is_shape(shape: Any) -> bool:
    """Whether an array of this shape can exist: NumPy counts an empty one by its other axes."""
    listed = isinstance(shape, list) and len(shape) <= 16 and all(type(n) is int and n >= 0 for n in shape)
    return listed and prod(max(n, 1) for n in shape) < 2**60


def _dtype(text: Any) -> str:
    return np.dtype(text).name if _is_dtype(text) else f"{text}"[:20]


def _shape(shape: Any) -> str:
    return str(tuple(shape)) if _is_shape(shape) else "that is no shape"
