"""The driver beside a submission for the emulated device in the sandbox.

The parent trusts none of it: it compares arrays with its own draws, and bounds the report.
"""

import ctypes
import os
from typing import Any

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT_BYTES = 1 << 18
"""Bytes for a report; a longer one is cut and no longer parses."""
MODES = {"plain": 0, "check": 1, "count": 2, "all": 3, "sample": 4}
"""Mode bits by name; `sample` runs only some blocks of large grids, without watching accesses."""
FILLS = {"nan": 0, "mixed": 1, "left": 2, "zeros": 3}
"""Contents of uninitialised memory: NaN bytes, several values in turn, previous contents, or zeros."""


class Library:
    """One build of the submission."""

    def __init__(self, name: str) -> None:
        self.c = ctypes.CDLL(os.path.join(HERE, name), os.RTLD_NOW | os.RTLD_LOCAL)
        self.c.emu_report.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.c.emu_report.restype = ctypes.c_size_t
        self.c.emu_start.argtypes = [ctypes.c_uint, ctypes.c_uint64]
        self.c.emu_fill.argtypes = [ctypes.c_uint, ctypes.c_uint64]
        self.c.emu_allocate.argtypes = [ctypes.c_size_t, ctypes.c_char_p]
        self.c.emu_allocate.restype = ctypes.c_void_p
        self.c.emu_free.argtypes = [ctypes.c_void_p]
        self.c.emu_write.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.c.emu_read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.c.emu_stream.argtypes = [ctypes.c_void_p]
        self.c.emu_stream.restype = ctypes.c_void_p
        self.stream = self.c.emu_stream(None)
        """A stream other than the default one."""

    def allocate(self, size: int, name: str) -> int:
        """Allocate device memory, called `name` in the report.

        Raises:
            MemoryError: too little memory left on the device.
        """
        address = self.c.emu_allocate(size, name.encode())
        if not address:
            raise MemoryError(f"the emulated device has no {size} bytes left")
        return int(address)

    def report(self) -> Any:
        """Return the report since the start as (REPORT_BYTES,) uint8, padded with zeros."""
        out = np.zeros(REPORT_BYTES, np.uint8)
        self.c.emu_report(out.ctypes.data, REPORT_BYTES - 1)
        return out


_libraries: dict[str, Library] = {}


def _load_library(mode: str) -> Library:
    name = "plain.so" if mode in ("plain", "sample") else "instrumented.so"
    if name not in _libraries:
        _libraries[name] = Library(name)
    return _libraries[name]


def launch(
    symbol: str, arguments: list[Any], mode: str = "plain", seed: int = 0, fill: str = "nan", turn: int = 0
) -> tuple[Any, ...]:
    """Call a C function of the submission on the emulated device.

    Args:
        arguments: ints, floats (as C floats), "stream" for a stream of its own, and buffers as dicts: `buffer` the
            array, `shift` the pointer's offset in bytes, `name` for the report, `back` whether to return the array,
            `moved` whether to change its address.
        mode: one of `MODES`.
        seed: schedule seed; 0 is in order.
        fill: contents of uninitialised memory, one of `FILLS`.
        turn: index at which `mixed` values begin.

    Returns:
        The function's int, the arrays marked `back` after the call, and the report.
    """
    library = _load_library(mode)
    function = getattr(library.c, symbol)
    library.c.emu_fill(FILLS[fill], turn)
    buffers = [argument for argument in arguments if isinstance(argument, dict)]
    usual = [library.allocate(each["buffer"].nbytes, each["name"]) for each in buffers]
    places = [_write_buffer(library, *each) for each in zip(buffers, usual, strict=True)]
    passed: list[Any] = []
    following = iter(places)
    for argument in arguments:
        if isinstance(argument, dict):
            passed.append(ctypes.c_void_p(next(following) + argument.get("shift", 0)))
        elif argument == "stream":
            passed.append(ctypes.c_void_p(library.stream))
        else:
            passed.append((ctypes.c_float if isinstance(argument, float) else ctypes.c_int)(argument))
    library.c.emu_start(MODES[mode], seed)
    code = function(*passed)
    report = library.report()
    back = [_fetch(library, each["buffer"], at) for each, at in zip(buffers, places, strict=True) if each.get("back")]
    for address in {*usual, *places}:
        library.c.emu_free(address)
    return (int(code), *back, report)


def _write_buffer(library: Library, argument: dict[str, Any], usual: int) -> int:
    array = argument["buffer"]
    # buffers of the same sizes keep their addresses between calls, unless moved
    address = library.allocate(array.nbytes, argument["name"]) if argument.get("moved") else usual
    library.c.emu_write(address, array.ctypes.data, array.nbytes)
    return address


def _fetch(library: Library, array: Any, address: int) -> Any:
    after = np.empty_like(array)
    library.c.emu_read(after.ctypes.data, address, array.nbytes)
    return after


def __getattr__(name: str) -> Any:
    # the parent looks up which C functions the submission has
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_load_library("plain").c, name)
