"""Return plans, and the check of replies against them.

Array sizes and offsets follow from the plan, so a hostile reply cannot make the parent allocate.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.sandbox.inside import wire

WHOLE = range(-(2**63), 2**64)
"""Integers that an array can hold, and so may cross."""

WIDEST = 8
"""Bytes of the widest number that crosses."""
Plan = Any
"""`Array`, `Tree`, `Scalar`, `Nothing`, `Keep`, or a tuple of plans."""


class MalformedReply(Exception):
    """A reply deviates from its plan."""


@dataclass(frozen=True)
class Array:
    """One array of this shape and dtype.

    Attributes:
        exact: true to refuse other dtypes, plain numbers and nested lists, which are `converted` otherwise.
    """

    shape: tuple[int, ...]
    dtype: str
    exact: bool = False

    @property
    def nbytes(self) -> int:
        """Most bytes that the array may take."""
        return prod(self.shape) * (np.dtype(self.dtype).itemsize if self.exact else WIDEST)


@dataclass(frozen=True)
class Tree:
    """Free-form data: nested dicts, lists and tuples of scalars, and of arrays up to `limit` bytes."""

    limit: int
    DEPTH = 8
    NODES = 2000
    TEXT = 48_000
    """Bytes of its description, which must also fit in a request with its larger overhead."""


@dataclass(frozen=True)
class Scalar:
    """One plain number.

    Attributes:
        kind: `bool`, `int` or `float`.
        exact: true to refuse other kinds and 0-d arrays.
    """

    kind: type
    exact: bool = False


@dataclass(frozen=True)
class Nothing:
    """The value None."""


@dataclass(frozen=True)
class Keep:
    """Any value, kept in the worker as a `RemoteObject`."""


def room(plan: Plan) -> int:
    """Return the output file's size in bytes."""
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
    """Mark the parts of a plan that the worker keeps."""
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
    """Checks a reply against its plan and copies its arrays."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd = fd
        self.size = size
        self.arena = wire.Arena()
        self.nodes = 0

    def read(self, claim: Any, plan: Plan, kept: Any, name: str = "result") -> Any:
        """Return the value that `claim` describes.

        Raises:
            MalformedReply: it deviates from `plan`.
        """
        if isinstance(plan, tuple):
            return self._read_tuple(claim, plan, kept, name)
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
        value = _check_width(claim, name)
        body = claim.get("array") if isinstance(claim, dict) else None
        if not plan.exact and isinstance(body, list) and len(body) == 3 and body[1] == [] and _is_dtype(body[0]):
            value = self._array(claim, Array((), body[0]), name).item()
        made = value if plan.exact else plain(value, plan.kind)
        if type(made) is not plan.kind:
            raise MalformedReply(f"{name}: {summary(claim)} instead of one {plan.kind.__name__}")
        return made

    def echo(self, claims: Any, sent: wire.Arena) -> tuple[Any, ...]:
        """Return the array arguments as they were after the call.

        Raises:
            MalformedReply: some did not come back.
        """
        if not isinstance(claims, list) or len(claims) != len(sent.arrays):
            raise MalformedReply("the arguments did not come back")
        return tuple(
            self._array(claim, Array(array.shape, array.dtype.str, exact=True), "argument")
            for claim, (_, array) in zip(claims, sent.arrays, strict=True)
        )

    def _read_tuple(self, claim: Any, plan: tuple[Plan, ...], kept: Any, name: str) -> tuple[Any, ...]:
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
            raise MalformedReply(f"{name}: dtype {_format_dtype(body[0])} instead of {plan.dtype}")
        if body[1] != list(plan.shape) or any(type(n) is not int for n in body[1]):
            raise MalformedReply(f"{name}: shape {_format_shape(body[1])} instead of {_format_shape(list(plan.shape))}")
        nbytes = prod(plan.shape) * np.dtype(body[0]).itemsize
        offset = self.arena.place(nbytes)
        if type(body[2]) is not int or body[2] != offset or offset + nbytes > self.size:
            raise MalformedReply(f"{name}: array is not where it was asked for")
        return _convert(wire.read_array(self.fd, body[0], list(plan.shape), offset), plan, name)

    def _numbers(self, claim: Any, plan: Array, name: str) -> Any:
        try:
            numbers = None if plan.exact else _parse_rectangle(claim)
        except (ValueError, OverflowError):
            numbers = None
        if numbers is None or numbers.dtype.str not in wire.DTYPES:
            raise MalformedReply(f"{name}: {summary(claim)} instead of an array")
        if numbers.shape != plan.shape:
            raise MalformedReply(
                f"{name}: shape {_format_shape(list(numbers.shape))} instead of {_format_shape(list(plan.shape))}"
            )
        return _convert(numbers, plan, name)

    def _tree(self, claim: Any, name: str, depth: int) -> Any:
        self.nodes += 1
        if depth > Tree.DEPTH or self.nodes > Tree.NODES:
            raise MalformedReply(f"{name}: nested or branched beyond what may cross")
        if claim is None or type(claim) in (bool, int, float, str):
            return _check_width(claim, name)
        ((kind, body),) = claim.items() if isinstance(claim, dict) and len(claim) == 1 else (("other", "?"),)
        if kind == "array" and isinstance(body, list) and len(body) == 3:
            return self._read_free_array(body, name)
        if kind in ("list", "tuple") and isinstance(body, list):
            built = [self._tree(item, f"{name}[{i}]", depth + 1) for i, item in enumerate(body)]
            return tuple(built) if kind == "tuple" else built
        if kind == "dict" and isinstance(body, list) and all(isinstance(p, list) and len(p) == 2 for p in body):
            if any(type(k) not in (str, int) for k, _ in body):
                raise MalformedReply(f"{name}: a key that is neither a string nor an integer")
            return {k: self._tree(v, f"{name}[{k!r:.40}]", depth + 1) for k, v in body}
        raise MalformedReply(f"{name}: {summary(claim)} is not plain data")

    def _read_free_array(self, body: list[Any], name: str) -> Any:
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
    """Return the array in another dtype, or None if that loses more than rounding.

    Numbers may change width or kind if their values stay. Floats may round unless one becomes infinite. Booleans do not
    convert.
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
    """Convert a number to int or float if its value stays; bools do not convert."""
    if type(value) is kind or type(value) not in (int, float) or kind is bool:
        return value
    try:
        made = kind(value)
    except (ValueError, OverflowError):  # no integer is infinite or NaN
        return value
    return made if made == value else value


def _convert(array: NDArray[Any], plan: Array, name: str) -> NDArray[Any]:
    made = converted(array, plan.dtype)
    if made is None:
        raise MalformedReply(f"{name}: dtype {array.dtype.name} instead of {plan.dtype}")
    return made


def _parse_rectangle(claim: Any) -> NDArray[Any] | None:
    if type(claim) in (bool, int, float):
        return np.array(claim)
    items = claim.get("list", claim.get("tuple")) if isinstance(claim, dict) and len(claim) == 1 else None
    if not isinstance(items, list) or not items:
        return None
    parts = [_parse_rectangle(item) for item in items]
    return None if any(part is None for part in parts) else np.array(parts)


def summary(claim: Any) -> str:
    """Describe a claim in a few words."""
    if not isinstance(claim, dict):
        return "None" if claim is None else f"{type(claim).__name__} {claim!r:.40}"
    if len(claim) != 1:
        return "something that is not a value"
    ((kind, body),) = claim.items()
    if kind == "array" and isinstance(body, list) and len(body) == 3:
        return f"{_format_dtype(body[0])} array of shape {_format_shape(body[1])}"
    if kind in ("list", "tuple", "dict") and isinstance(body, list):
        return f"a {kind} of {len(body)}"
    return f"{body}"[:200] if kind == "other" else "something that is not a value"


def _check_width(claim: Any, name: str) -> Any:
    if type(claim) is int and claim not in WHOLE:
        raise MalformedReply(f"{name}: an integer of more than 64 bits")
    return claim


def _is_dtype(text: Any) -> bool:
    return isinstance(text, str) and text in wire.DTYPES


def _is_shape(shape: Any) -> bool:
    """Return whether such an array can exist; NumPy multiplies an empty one's other axes."""
    listed = isinstance(shape, list) and len(shape) <= 16 and all(type(n) is int and n >= 0 for n in shape)
    return listed and prod(max(n, 1) for n in shape) < 2**60


def _format_dtype(text: Any) -> str:
    return np.dtype(text).name if _is_dtype(text) else f"{text}"[:20]


def _format_shape(shape: Any) -> str:
    return str(tuple(shape)) if _is_shape(shape) else "that is no shape"
