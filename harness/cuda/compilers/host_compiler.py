"""Discovery of the C++ compiler for the emulated device."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from harness import interpreter
from harness.errors import PrerequisiteError

VARIABLE = "HARNESS_CXX"
"""Environment variable that names the compiler to use, with its first options."""
MISSING = "no C++ compiler: install g++ or clang++, or `pip install ziglang`"
_SECONDS = 30


@dataclass(frozen=True)
class HostCompiler:
    """A C++ compiler; `kind` is the family of its options."""

    kind: Literal["gcc", "clang", "zig"]
    command: tuple[str, ...]
    version: str


@cache
def host_compiler() -> HostCompiler | None:
    """Return the compiler named by HARNESS_CXX, else g++, clang++ or the wheel ziglang, or None.

    Raises:
        PrerequisiteError: a HARNESS_CXX that is no C++ compiler.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return next(filter(None, map(recognise, _find_candidates())), None)
    words = shlex.split(named)
    program = shutil.which(words[0])
    found = recognise((program, *words[1:])) if program else None
    if found is None:
        raise PrerequisiteError(f"{VARIABLE}={named}: is no g++, clang++ or zig c++; unset it, or name one that runs")
    return found


def recognise(command: tuple[str, ...]) -> HostCompiler | None:
    """Identify the compiler behind a command by its version text; None if unknown."""
    try:
        words = (*command, "--version")
        done = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False, start_new_session=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode(errors="replace")
    number = re.search(r"\d+\.\d+(?:\.\d+)?", said.partition("\n")[0].rpartition(")")[2] or said)
    if done.returncode or number is None:
        return None
    if any(Path(word).name in ("zig", "ziglang") for word in command):
        return HostCompiler("zig", command, number.group())
    if "clang" in said:
        number = re.search(r"clang version (\d+\.\d+(?:\.\d+)?)", said) or number
        return HostCompiler("clang", command, number[1] if number.groups() else number.group())
    return HostCompiler("gcc", command, number.group()) if "Free Software Foundation" in said else None


def _find_candidates() -> Iterator[tuple[str, ...]]:
    for name in ("g++", "clang++"):
        if path := shutil.which(name):
            yield (path,)
    numbered = (p for f in os.get_exec_path() for p in Path(f).glob("clang++-*") if p.name[8:].isdigit())
    for place in sorted(numbered, key=lambda p: -int(p.name[8:])):
        yield (str(place),)
    if importlib.util.find_spec("ziglang") is not None:
        yield (interpreter.EXECUTABLE, "-m", "ziglang", "c++")
