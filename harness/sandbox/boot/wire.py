"""How values cross between the parent and the worker: JSON for the shape, raw bytes for arrays.

Both sides load this file: the parent as `harness.sandbox.boot.wire`, the worker, which sees nothing else of the
harness, as `wire`. Nothing is ever pickled, and nothing here runs code that a message names.

A value is described as JSON. Scalars and strings stand for themselves; the rest are one-key objects:
`{"array": [dtype, shape, offset]}`, `{"list": [...]}`, `{"tuple": [...]}`, `{"dict": [[key, value], ...]}`,
`{"kept": id}` for an object that stays in the worker, `{"function": [module, name]}` for one loaded there,
`{"served": [name, attributes]}` for one that another process serves, `{"other": text}` for anything that cannot cross.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

ALIGNMENT = 64
MESSAGE_LIMIT = 60_000
NAME_LIMIT = 80
TEXT_LIMIT = 2000
PATH_LIMIT = 400
DTYPES = frozenset(np.dtype(name).str for name in ("float16", "float32", "float64", "bool")) | frozenset(
    np.dtype(f"{sign}int{bits}").str for sign in ("", "u") for bits in (8, 16, 32, 64)
)


class RemoteObject:
    """Names an object that lives in the worker; the parent never sees more of it than this number."""

    def __init__(self, id: int) -> None:
        self.id = id

    def __repr__(self) -> str:
        return f"RemoteObject({self.id})"


class RemoteFunction:
    """Names a function of a module that the parent loaded into the worker."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __repr__(self) -> str:
        return f"RemoteFunction({self.module}.{self.name})"


@dataclass(frozen=True)
class ServedFunction:
    """A function that a call is given and that runs in a process of its own: the answer holds no more than a stub.

    Attributes:
        name: what the contract calls it.
        source: trusted source, which imports nothing but the standard library and NumPy.
        factory: the function of that source which makes it.
        arguments: of the factory; plain values, and lists of them.
        attributes: plain values that the stub has as attributes.
        most: calls that it answers; a further one is a fault.
    """

    name: str
    source: str
    factory: str
    arguments: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    most: int = 10_000


class InputUse(StrEnum):
    """What the caller of a function does with the arrays that it passes."""

    FRESH = "fresh"
    """Every call gets arrays of its own, and nobody touches them afterwards."""
    READ_ONLY = "read-only"
    """They cannot be written to."""
    OVERWRITTEN = "overwritten"
    """They are overwritten once the call has ended: floats with NaN, integers with the largest there is."""
    REUSED = "reused"
    """They are the arrays that a call before was passed, each in its place, with other contents; where a shape or dtype
    is another, new arrays in the same memory."""
    SLICED = "sliced"
    """They are a block of larger arrays, contiguous along the last axis alone."""
    STRIDED = "strided"
    """They are every other entry of larger arrays, and the last axis runs backwards."""
    TRANSPOSED = "transposed"
    """Their memory runs along the first axis first."""
    BROADCAST = "broadcast"
    """Along each axis on which all entries are equal they hold one; they cannot be written to."""


class CallerArrays:
    """The arrays that a caller passes, and those that it passes again."""

    def __init__(self) -> None:
        self._memory: dict[int, np.ndarray[Any, Any]] = {}
        self._lent: dict[int, np.ndarray[Any, Any]] = {}

    def passed(self, array: np.ndarray[Any, Any], use: InputUse, place: int) -> np.ndarray[Any, Any]:
        """Return a private `array` as it is passed, `place` arrays after the first of the call."""
        if use is InputUse.READ_ONLY:
            array.flags.writeable = False
        return self._reused(array, place) if use is InputUse.REUSED else _laid_out(array, use)

    @staticmethod
    def ended(arrays: list[np.ndarray[Any, Any]], use: InputUse) -> None:
        """Do to the arrays of a call that has ended what their caller does."""
        if use is InputUse.OVERWRITTEN:
            for array in arrays:
                array[...] = _absent(array)

    def _reused(self, array: np.ndarray[Any, Any], place: int) -> np.ndarray[Any, Any]:
        lent = self._lent.get(place)
        if lent is None or (lent.shape, lent.dtype, lent.flags.writeable) != (array.shape, array.dtype, True):
            memory = self._memory.get(place)
            if memory is None or memory.size < array.nbytes:
                memory = self._memory[place] = np.empty(2 * array.nbytes, np.uint8)
            lent = self._lent[place] = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        lent[...] = array
        return lent


def _laid_out(array: np.ndarray[Any, Any], use: InputUse) -> np.ndarray[Any, Any]:
    """Return the view that a use asks for; what lies between its entries is no entry."""
    if use is InputUse.TRANSPOSED:
        return np.array(array, order="F")
    if use is InputUse.BROADCAST and array.size:
        equal = [bool((array == array.take([0], axis)).all()) for axis in range(array.ndim)]
        return np.broadcast_to(array[tuple(slice(1) if same else slice(None) for same in equal)], array.shape)
    if use is InputUse.SLICED and array.ndim:
        around = np.full([n + 1 for n in array.shape], _absent(array), array.dtype)
        view = around[tuple(slice(n) for n in array.shape)]
    elif use is InputUse.STRIDED and array.ndim:
        around = np.full([2 * n for n in array.shape], _absent(array), array.dtype)
        view = around[tuple(slice(None, None, 2) for _ in array.shape)][..., ::-1]
    else:
        return array
    view[...] = array
    return view


def _absent(array: np.ndarray[Any, Any]) -> Any:
    """Return what no entry of an array is: NaN, the largest integer, True."""
    kind = array.dtype.kind
    return np.nan if kind == "f" else kind == "b" or np.iinfo(array.dtype).max


class Arena:
    """Lays arrays one behind the other, each aligned, and remembers where they go."""

    def __init__(self) -> None:
        self.size = 0
        self.arrays: list[tuple[int, np.ndarray[Any, Any]]] = []

    def place(self, nbytes: int) -> int:
        """Reserve `nbytes` and return their offset."""
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.size = offset + nbytes
        return offset

    def add(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Reserve room for `array`, which must not change until it is written, and describe it."""
        plain = array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)
        offset = self.place(plain.nbytes)
        self.arrays.append((offset, plain))
        return {"array": [plain.dtype.str, list(plain.shape), offset]}

    def write(self, fd: int) -> None:
        """Write every array at its offset."""
        for offset, array in self.arrays:
            view = _bytes(array)
            while view:
                done = os.pwrite(fd, view, offset)
                view, offset = view[done:], offset + done


def _bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """The array's memory as bytes; an empty array has none."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def read_array(fd: int, dtype: str, shape: list[int], offset: int) -> np.ndarray[Any, Any]:
    """Copy one array out of a memory file into private memory."""
    array = np.empty(tuple(shape), np.dtype(dtype))
    view = _bytes(array)
    while view:
        done = os.preadv(fd, [view], offset)
        if not done:
            raise ValueError("memory file ends early")
        view, offset = view[done:], offset + done
    return array


def describe(value: Any, arena: Arena, depth: int = 0) -> Any:
    """Describe `value`, reserving room in `arena` for its arrays.

    It calls no method that a class of the answer defines: such code would run after the clock has stopped.
    """
    cls = type(value)
    if value is None or cls in (bool, int, float, str):
        return value
    if issubclass(cls, np.ndarray):
        plain = np.asarray(value)
        return arena.add(plain) if plain.dtype.str in DTYPES else {"other": f"array of dtype {plain.dtype}"}
    if issubclass(cls, RemoteObject):
        return {"kept": value.id}
    if issubclass(cls, RemoteFunction):
        return {"function": [value.module, value.name]}
    if issubclass(cls, ServedFunction):
        return {"served": [value.name, dict(value.attributes)]}
    if issubclass(cls, (np.bool_, np.integer, np.floating)):
        number = np.generic.item(value)
        if type(number) in (bool, int, float):
            return number
    if depth < 8:
        if (items := items_of(value)) is not None:
            return {"list" if cls is list else "tuple": [describe(item, arena, depth + 1) for item in items]}
        if issubclass(cls, dict):
            return {"dict": [[describe(k, arena, 8), describe(v, arena, depth + 1)] for k, v in dict.items(value)]}
    return {"other": cls.__name__[:NAME_LIMIT]}


def items_of(value: Any) -> tuple[Any, ...] | None:
    """Return the items of a list or of any tuple; None for all else.

    A list of another class is all else: its own methods alone may know what it holds.
    """
    if type(value) is list:
        return tuple(value)
    return tuple(tuple.__iter__(value)) if issubclass(type(value), tuple) else None


def encode(message: dict[str, Any]) -> bytes:
    """One message as bytes.

    Raises:
        ValueError: it is longer than a message may be.
    """
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) > MESSAGE_LIMIT:
        raise ValueError(f"message of {len(data)} bytes; at most {MESSAGE_LIMIT} may cross")
    return data
