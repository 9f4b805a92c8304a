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
MODES = {"plain": 0, "check": 1, "count": 2, "all": 3}


class Library:
    """One build of the answer, with the device it was linked with."""

    def __init__(self, name: str) -> None:
        self.c = ctypes.CDLL(os.path.join(HERE, name), os.RTLD_NOW | os.RTLD_LOCAL)
        self.c.emu_report.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.c.emu_report.restype = ctypes.c_size_t
        self.c.emu_start.argtypes = [ctypes.c_uint, ctypes.c_uint64]
        self.c.emu_name.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.c.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def allocate(self, size: int) -> int:
        """Device memory of `size` bytes."""
        pointer = ctypes.c_void_p()
        code = self.c.cudaMalloc(ctypes.byref(pointer), size)
        if code or not pointer.value:
            raise MemoryError(f"the emulated device has no {size} bytes left (error {code})")
        return pointer.value

    def stream(self) -> int:
        """A stream that is not the default one."""
        stream = ctypes.c_void_p()
        self.c.cudaStreamCreate(ctypes.byref(stream))
        return stream.value or 0

    def report(self) -> Any:
        """The report since the start as (REPORT_BYTES,) uint8, padded with zeros."""
        out = np.zeros(REPORT_BYTES, np.uint8)
        self.c.emu_report(out.ctypes.data, REPORT_BYTES - 1)
        return out


_libraries: dict[str, Library] = {}


def _library(mode: str) -> Library:
    name = "plain.so" if mode == "plain" else "instrumented.so"
    if name not in _libraries:
        _libraries[name] = Library(name)
    return _libraries[name]


def launch(symbol: str, arguments: list[Any], mode: str = "plain", seed: int = 0) -> tuple[Any, ...]:
    """Call a C function of the answer on the emulated device.

    Args:
        symbol: its name.
        arguments: ints, "stream" for a stream made for this call, and buffers as dicts: `buffer` an array, `shift`
            bytes into it that the pointer points at, `name` for the report, `back` whether to bring it back.
        mode: plain, check, count or all.
        seed: of the schedule; 0 is in order.

    Returns:
        The function's int, the arrays asked back as they are after the call, and the report.
    """
    library = _library(mode)
    library.c.cudaDeviceReset()  # a call of before may have left the device in error
    function = getattr(library.c, symbol)
    passed: list[Any] = []
    placed: list[tuple[dict[str, Any], int]] = []
    for argument in arguments:
        if isinstance(argument, dict):
            placed.append((argument, _place(library, argument)))
            passed.append(ctypes.c_void_p(placed[-1][1] + argument.get("shift", 0)))
        elif argument == "stream":
            passed.append(ctypes.c_void_p(library.stream()))
        else:
            passed.append(ctypes.c_int(argument))
    library.c.emu_start(MODES[mode], seed)
    code = function(*passed)
    report = library.report()
    back = [_fetched(argument["buffer"], address) for argument, address in placed if argument.get("back")]
    return (int(code), *back, report)


def _place(library: Library, argument: dict[str, Any]) -> int:
    array = argument["buffer"]
    address = library.allocate(array.nbytes)
    ctypes.memmove(address, array.ctypes.data, array.nbytes)
    library.c.emu_name(address, argument["name"].encode())
    return address


def _fetched(array: Any, address: int) -> Any:
    after = np.empty_like(array)
    ctypes.memmove(after.ctypes.data, address, array.nbytes)
    return after


def __getattr__(name: str) -> Any:
    """The C functions of the answer, for the parent to know which there are."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_library("plain").c, name)
