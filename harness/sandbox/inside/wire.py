"""The wire format between parent and worker: JSON for structure, raw bytes for arrays.

Without pickle, no message can name code to run. Scalars and strings stand for themselves. Everything else is a one-key
object: `{"array": [dtype, shape, offset]}`, `{"list": [...]}`, `{"tuple": [...]}`, `{"dict": [[key, value], ...]}`,
`{"kept": id}` for an object in the worker, `{"function": [module, name]}` for a function loaded there,
`{"served": [name, attributes]}` for one in another process, `{"other": text}` for anything else.
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
    """Reference to an object in the worker."""

    def __init__(self, id: int) -> None:
        self.id = id

    def __repr__(self) -> str:
        return f"RemoteObject({self.id})"


class RemoteFunction:
    """Reference to a function loaded into the worker."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __repr__(self) -> str:
        return f"RemoteFunction({self.module}.{self.name})"


@dataclass(frozen=True)
class ServedFunction:
    """A function argument that runs in another process; the submission only gets a stub.

    Attributes:
        source: trusted source, limited to the standard library and NumPy.
        factory: function in that source that creates this one.
        arguments: the factory's plain arguments, and lists of them.
        attributes: the stub's plain attributes.
        most: call limit.
    """

    name: str
    source: str
    factory: str
    arguments: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    most: int = 10_000


class InputUse(StrEnum):
    """What a caller does with the arrays that it passes."""

    FRESH = "fresh"
    """Passes new arrays to every call, and leaves them alone afterwards."""
    READ_ONLY = "read-only"
    """Passes read-only arrays."""
    OVERWRITTEN = "overwritten"
    """Overwrites them after the call: floats with NaN, integers with their maximum."""
    REUSED = "reused"
    """Passes an earlier call's arrays in the same places, with new contents; a change of shape or dtype gets new arrays
    in the same memory."""
    SLICED = "sliced"
    """Passes a block of larger arrays, contiguous along the last axis only."""
    STRIDED = "strided"
    """Passes every other entry of larger arrays, with the last axis reversed."""
    STEPPED = "stepped"
    """Passes every other entry along the last axis of larger arrays."""
    TRANSPOSED = "transposed"
    """Passes arrays in column-major order."""
    UNLIKE = "differently laid out"
    """Passes arrays in row-major and column-major order in turn; the next time it begins with the other one."""
    BROADCAST = "broadcast"
    """Passes read-only arrays that store one entry along each axis with all entries equal."""
    ALIASED = "aliased"
    """Passes one array for all that are equal."""


class CallerArrays:
    """A caller's arrays, kept to be passed again."""

    def __init__(self) -> None:
        self._memory: dict[int, np.ndarray[Any, Any]] = {}
        self._lent: dict[int, np.ndarray[Any, Any]] = {}
        self._aliased: list[np.ndarray[Any, Any]] = []
        self._in_turn = self._rounds = 0

    def pass_array(self, array: np.ndarray[Any, Any], use: InputUse, place: int) -> np.ndarray[Any, Any]:
        """Lay a private `array` out for `use`, as the call's number `place`."""
        if use is InputUse.READ_ONLY:
            array.flags.writeable = False
        if use is InputUse.UNLIKE:
            self._in_turn += 1
            use = InputUse.TRANSPOSED if (self._in_turn + self._rounds) % 2 else InputUse.FRESH
        elif self._in_turn:
            self._in_turn, self._rounds = 0, self._rounds + 1
        if use is InputUse.ALIASED:
            return self._alias(array, place)
        return self._reuse(array, place) if use is InputUse.REUSED else _lay_out(array, use)

    @staticmethod
    def end_call(arrays: list[np.ndarray[Any, Any]], use: InputUse) -> None:
        """Treat a finished call's arrays as their caller does."""
        if use is InputUse.OVERWRITTEN:
            for array in arrays:
                array[...] = _make_sentinel(array)

    def _alias(self, array: np.ndarray[Any, Any], place: int) -> np.ndarray[Any, Any]:
        self._aliased = [*(self._aliased if place else ()), array]
        return next(one for one in self._aliased if one.dtype == array.dtype and np.array_equal(one, array, True))

    def _reuse(self, array: np.ndarray[Any, Any], place: int) -> np.ndarray[Any, Any]:
        lent = self._lent.get(place)
        if lent is None or (lent.shape, lent.dtype, lent.flags.writeable) != (array.shape, array.dtype, True):
            memory = self._memory.get(place)
            if memory is None or memory.size < array.nbytes:
                memory = self._memory[place] = np.empty(2 * array.nbytes, np.uint8)
            lent = self._lent[place] = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        lent[...] = array
        return lent


def _lay_out(array: np.ndarray[Any, Any], use: InputUse) -> np.ndarray[Any, Any]:
    if use is InputUse.TRANSPOSED:
        return np.array(array, order="F")
    if use is InputUse.BROADCAST and array.size:
        equal = [bool((array == array.take([0], axis)).all()) for axis in range(array.ndim)]
        return np.broadcast_to(array[tuple(slice(1) if same else slice(None) for same in equal)], array.shape)
    if use is InputUse.SLICED and array.ndim:
        around = np.full([n + 1 for n in array.shape], _make_sentinel(array), array.dtype)
        view = around[tuple(slice(n) for n in array.shape)]
    elif use is InputUse.STEPPED and array.ndim:
        around = np.full([*array.shape[:-1], 2 * array.shape[-1]], _make_sentinel(array), array.dtype)
        view = around[..., ::2]
    elif use is InputUse.STRIDED and array.ndim:
        around = np.full([2 * n for n in array.shape], _make_sentinel(array), array.dtype)
        view = around[tuple(slice(None, None, 2) for _ in array.shape)][..., ::-1]
    else:
        return array
    view[...] = array
    return view


def _make_sentinel(array: np.ndarray[Any, Any]) -> Any:
    kind = array.dtype.kind
    return np.nan if kind == "f" else kind == "b" or np.iinfo(array.dtype).max


class Arena:
    """A layout of aligned arrays in a memory file."""

    def __init__(self) -> None:
        self.size = 0
        self.arrays: list[tuple[int, np.ndarray[Any, Any]]] = []

    def place(self, nbytes: int) -> int:
        """Reserve `nbytes` and return their offset."""
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.size = offset + nbytes
        return offset

    def add(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Reserve room for `array`, which must not change before `write`, and describe it."""
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
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def read_array(fd: int, dtype: str, shape: list[int], offset: int) -> np.ndarray[Any, Any]:
    """Copy an array out of a memory file."""
    array = np.empty(tuple(shape), np.dtype(dtype))
    view = _bytes(array)
    while view:
        done = os.preadv(fd, [view], offset)
        if not done:
            raise ValueError("memory file ends early")
        view, offset = view[done:], offset + done
    return array


def describe(value: Any, arena: Arena, depth: int = 0) -> Any:
    """Describe `value`, and reserve room in `arena` for its arrays.

    It calls no methods of the submission's classes: the clock has stopped.
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
    """Return the items of a list or any tuple, else None.

    Only its own methods may know the items of a list subclass.
    """
    if type(value) is list:
        return tuple(value)
    return tuple(tuple.__iter__(value)) if issubclass(type(value), tuple) else None


def encode(message: dict[str, Any]) -> bytes:
    """Encode one message.

    Raises:
        ValueError: it exceeds `MESSAGE_LIMIT`.
    """
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) > MESSAGE_LIMIT:
        raise ValueError(f"message of {len(data)} bytes; at most {MESSAGE_LIMIT} may cross")
    return data
