"""Runs in the box beside an answer built for the emulated device: arrays to the device, one call, arrays back.

The parent believes none of it: it compares the arrays with what it drew, and reads the report with bounds.
"""

import ctypes
import os
from typing import Any

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT_BYTES = 1 << 18
"""Room for a report; a longer one is cut and no longer parses."""
MODES = {"plain": 0, "check": 1, "count": 2, "all": 3, "sample": 4}
"""Bits by name; `sample` runs only some blocks of large grids, and watches no access."""
FILLS = {"nan": 0, "mixed": 1, "left": 2, "zeros": 3}
"""What memory holds that nobody has written: NaN bytes, several values in turn, or what was there before."""


class Library:
    """One build of the answer, with the device it was linked with."""

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
        """One that is not the default stream."""

    def allocate(self, size: int, name: str) -> int:
        """Device memory of `size` bytes, called `name` in the report."""
        address = self.c.emu_allocate(size, name.encode())
        if not address:
            raise MemoryError(f"the emulated device has no {size} bytes left")
        return int(address)

    def report(self) -> Any:
        """The report since the start as (REPORT_BYTES,) uint8, padded with zeros."""
        out = np.zeros(REPORT_BYTES, np.uint8)
        self.c.emu_report(out.ctypes.data, REPORT_BYTES - 1)
        return out


_libraries: dict[str, Library] = {}


def _library(mode: str) -> Library:
    name = "plain.so" if mode in ("plain", "sample") else "instrumented.so"
    if name not in _libraries:
        _libraries[name] = Library(name)
    return _libraries[name]


def launch(
    symbol: str, arguments: list[Any], mode: str = "plain", seed: int = 0, fill: str = "nan", turn: int = 0
) -> tuple[Any, ...]:
    """Call a C function of the answer on the emulated device.

    Args:
        symbol: its name.
        arguments: ints, floats (a C float each), "stream" for one that is not the default stream, and buffers as dicts:
            `buffer` an array, `shift` bytes into it that the pointer points at, `name` for the report, `back` whether
            to bring it back, `moved` whether it lies elsewhere than in the call before.
        mode: plain, check, count, all or sample.
        seed: of the schedule; 0 is in order.
        fill: what memory holds that nobody has written, one of `FILLS`.
        turn: where the values of `mixed` begin.

    Returns:
        The function's int, the arrays asked back as they are after the call, and the report.
    """
    library = _library(mode)
    function = getattr(library.c, symbol)
    library.c.emu_fill(FILLS[fill], turn)
    buffers = [argument for argument in arguments if isinstance(argument, dict)]
    usual = [library.allocate(each["buffer"].nbytes, each["name"]) for each in buffers]
    places = [_place(library, *each) for each in zip(buffers, usual, strict=True)]
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
    back = [_fetched(library, each["buffer"], at) for each, at in zip(buffers, places, strict=True) if each.get("back")]
    for address in {*usual, *places}:
        library.c.emu_free(address)
    return (int(code), *back, report)


def _place(library: Library, argument: dict[str, Any], usual: int) -> int:
    """Write a buffer where it lay in the call before, if that had buffers of these sizes, or elsewhere."""
    array = argument["buffer"]
    address = library.allocate(array.nbytes, argument["name"]) if argument.get("moved") else usual
    library.c.emu_write(address, array.ctypes.data, array.nbytes)
    return address


def _fetched(library: Library, array: Any, address: int) -> Any:
    after = np.empty_like(array)
    library.c.emu_read(after.ctypes.data, address, array.nbytes)
    return after


def __getattr__(name: str) -> Any:
    """The C functions of the answer, for the parent to know which there are."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_library("plain").c, name)
