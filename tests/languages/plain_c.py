"""Plain C as a language: the host compiler makes a shared library, and a Python module beside it calls that.

A function takes arrays of doubles, each followed by its dimensions, then whole and real numbers as they come, and last
where to write its result: one double for each row of the first array.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.cuda.compilers.host_compiler import HostCompiler, host_compiler
from harness.languages import AnswerFiles, CompilerReport, Device, Language, Runnable, target_of
from harness.model import Challenge
from harness.sandbox import detect, run
from harness.sandbox.confinement import scratch
from harness.source.c.syntax import C_FAMILY

LIBRARY = "answer.so"
DRIVER = f"""
import ctypes, os
import numpy as np

_C = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "{LIBRARY}"))

def _passed(value):
    if isinstance(value, np.ndarray):
        return [ctypes.c_void_p(value.ctypes.data), *map(ctypes.c_long, value.shape)]
    return [ctypes.c_double(value) if isinstance(value, float) else ctypes.c_long(value)]

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    function = getattr(_C, name)
    function.restype = ctypes.c_int

    def call(*arguments):
        out = np.full(arguments[0].shape[:1], np.nan)
        if function(*(word for value in arguments for word in _passed(value)), ctypes.c_void_p(out.ctypes.data)):
            raise ValueError("refused")
        return out

    return call
"""


class PlainC(Language):
    """Answers that are C files exporting functions."""

    name = "plain_c"
    title = "C"
    suffix = ".c"
    syntax = C_FAMILY
    several_entries = True
    entry_note = "the files to compile; headers may lie beside them"
    exposes = "library exports"

    def toolchain(self) -> tuple[tuple[str, str], ...]:
        """The compiler."""
        return (("c compiler", _named(host_compiler())),)

    def compile(self, files: AnswerFiles, challenge: Challenge, *, brief: bool = False) -> CompilerReport:
        """Whether it compiles without a warning."""
        if host_compiler() is None:
            return CompilerReport("", None, "no C compiler here")
        with scratch.folder() as into:
            fault = _build(files, challenge, into)
        return CompilerReport(_named(host_compiler()), not fault, fault)

    @contextmanager
    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> Iterator[Runnable]:
        """The library, and the module that calls it."""
        with scratch.folder() as into:
            if host_compiler() is None:
                yield Runnable(None, unsupported="no C compiler here")
            elif fault := _build(files, challenge, into):
                yield Runnable(None, fault=fault)
            else:
                (into / "driver.py").write_text(DRIVER, encoding="utf-8")
                yield Runnable(target_of(challenge, into, "driver.py"))


def _build(files: AnswerFiles, challenge: Challenge, into: Path) -> str:
    """Make the library; the compiler's words where it cannot."""
    compiler = host_compiler()
    assert compiler is not None
    out = into / "out"
    out.mkdir()
    words = ("-x", "c", "-std=c11", "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-o", f"{{out}}/{LIBRARY}")
    done = run(
        (*compiler.command, *words, *files.entries, "-lm"), files.folder, tier=detect(),
        seconds=challenge.limits.start_seconds, writable={"out": out},
    )  # fmt: skip
    if done.returncode != 0:
        return done.output.strip() or "the compiler failed"
    os.replace(out / LIBRARY, into / LIBRARY)
    return ""


def _named(compiler: HostCompiler | None) -> str:
    return f"{compiler.kind} {compiler.version}" if compiler else "missing"


PLAIN_C = PlainC()
