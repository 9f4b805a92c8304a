"""Served functions: the submission holds a stub, and the function runs in another process.

The submission can write anything to their socket, so each message counts as a call, in the serving process.
"""

import importlib
import json
import select
import socket
import threading
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

# a top-level module in the box, part of a package outside
wire = importlib.import_module(f"{__package__}.wire" if __package__ else "wire")

LIMIT = 160_000
"""Longest message in bytes."""
FAULT_LIMIT = 300
"""Longest description of a fault, in characters."""


class Uncarried:
    """Placeholder for an argument that cannot be sent."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class CountedFunction:
    """A trusted function that counts its calls, refused ones too, and keeps the reason for the first refusal."""

    def __init__(self, name: str, function: Callable[..., Any], most: int) -> None:
        self.name, self.function, self.most = name, function, most
        self.calls, self.fault, self.exhausted = 0, "", False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            RuntimeError: the limit is used up.
            ValueError: it refused the arguments.
        """
        self.calls += 1
        if self.calls > self.most:
            self.exhausted = True
            raise RuntimeError(f"`{self.name}` answers {self.most} calls and no more")
        try:
            return self.function(*args, **kwargs)
        except Exception as error:
            self.note_refusal(f"{error}")
            raise ValueError(f"`{self.name}` refuses its arguments: {error}") from None

    def note_refusal(self, why: str) -> None:
        """Keep the reason for the first refusal."""
        self.fault = self.fault or f"call {self.calls}: {why}"[:FAULT_LIMIT]


class Link:
    """The stubs' end of the socket, for one request at a time."""

    def __init__(self, fd: int, read_only: bool) -> None:
        self._socket = socket.socket(fileno=fd)
        self._read_only = read_only
        self._lock = threading.Lock()

    def ask(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function in the serving process.

        Raises:
            RuntimeError: the stub's call has ended, or the limit is used up.
            ValueError: the function refused the arguments.
        """
        message = pack([name, args, kwargs])
        if len(message) > LIMIT:
            message = pack([name, None, f"they take {len(message):,} bytes, and at most {LIMIT:,} can be passed"])
        with self._lock:
            if self._socket.fileno() < 0:
                raise RuntimeError(f"`{name}` is called after the call that it was passed to has ended")
            self._socket.sendall(message)
            reply = self._socket.recv(LIMIT + 1)
        if not reply:
            raise RuntimeError(f"`{name}` answers no more")
        kind, value = unpack(reply, self._read_only)
        if kind == "returned":
            return value
        raise (ValueError if kind == "refused" else RuntimeError)(value)

    def close(self) -> None:
        """Cut the stubs off, at the end of their call."""
        self._socket.close()


class Stub:
    """The submission's view of a function, with the contract's attributes."""

    def __init__(self, link: Link, name: str, attributes: Mapping[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._link, self.__name__ = link, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._link.ask(self.__name__, args, kwargs)


class LocalFunction:
    """A trusted submission's view of a function here."""

    def __init__(self, function: CountedFunction, attributes: Mapping[str, Any], read_only: bool) -> None:
        self.__dict__.update(attributes)
        self._function, self.__name__, self._read_only = function, function.name, read_only

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        value = self._function(*args, **kwargs)
        if isinstance(value, np.ndarray):
            value.flags.writeable = not self._read_only
        return value


def serve(control: socket.socket, fd: int, functions: Mapping[str, CountedFunction]) -> list[list[Any]]:
    """Answer the requests of one call until the parent sends something.

    Returns:
        A list per function: name, calls, fault, exhausted.
    """
    with socket.socket(fileno=fd) as link:
        waiting = select.poll()
        waiting.register(control, select.POLLIN)
        waiting.register(link, select.POLLIN)
        while True:
            # the parent first: a flood on the link must not delay it
            ready = {place for place, _ in waiting.poll()}
            if control.fileno() in ready:
                control.recv(wire.MESSAGE_LIMIT + 1)
                break
            try:
                message = link.recv(LIMIT + 1)
                if message:
                    link.send(_reply(message, functions), socket.MSG_DONTWAIT)
            except OSError:
                message = b""
            if not message:
                waiting.unregister(link)
    return [[name, one.calls, one.fault, one.exhausted] for name, one in functions.items()]


def _reply(message: bytes, functions: Mapping[str, CountedFunction]) -> bytes:
    try:
        if len(message) > LIMIT:
            raise ValueError("a message of more bytes than can be passed")
        name, args, kwargs = unpack(message)
        if args is None:
            raise ValueError(kwargs)
        function, called = functions[name], (list(args), dict(kwargs))
    except Exception as error:  # only a forged message
        function = next(iter(functions.values()))
        function.calls += 1
        function.note_refusal(f"arguments that cannot be read: {error}")
        return pack(["refused", "the arguments cannot be read"])
    try:
        reply = pack(["returned", function(*called[0], **called[1])])
    except RuntimeError as error:
        return pack(["exhausted", str(error)])
    except ValueError as error:
        return pack(["refused", str(error)[:FAULT_LIMIT]])
    if len(reply) > LIMIT:
        function.note_refusal("its result is larger than can be passed")
        return pack(["refused", "the result is larger than can be passed"])
    return reply


def pack(value: Any) -> bytes:
    """Encode a value: the length of its description, the description, its arrays."""
    arena = wire.Arena()
    head = json.dumps(wire.describe(value, arena), separators=(",", ":")).encode()
    body = bytearray(arena.size)
    for offset, array in arena.arrays:
        body[offset : offset + array.nbytes] = array.tobytes()
    return len(head).to_bytes(4, "little") + head + bytes(body)


def unpack(message: bytes, read_only: bool = False) -> Any:
    """Decode a message.

    Raises:
        ValueError: a malformed message; other exceptions are possible.
    """
    size = int.from_bytes(message[:4], "little")
    return _build_value(json.loads(message[4 : 4 + size]), message[4 + size :], read_only)


def _build_value(item: Any, body: bytes, read_only: bool) -> Any:
    if not isinstance(item, dict):
        return item
    ((kind, part),) = item.items()
    if kind == "array":
        dtype, shape, offset = part
        if dtype not in wire.DTYPES or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("not a plain array")
        array = np.frombuffer(body, dtype, prod(shape), offset).reshape(shape)
        return array if read_only else array.copy()
    if kind == "dict":
        return {_build_value(k, body, read_only): _build_value(v, body, read_only) for k, v in part}
    if kind == "other":
        return Uncarried(str(part))
    built = [_build_value(one, body, read_only) for one in part]
    return tuple(built) if kind == "tuple" else built
