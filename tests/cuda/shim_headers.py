"""C++ that includes the shim headers alone, without the runtime: as a library to call, and as the hooks it has."""

import ctypes
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import harness.cuda
from harness.cuda.compilers.host_compiler import HostCompiler, recognise
from harness.cuda.emulator.flags import LANGUAGE, compile_flags

ROOM = Path(harness.cuda.__file__).parent
INCLUDES = (f"-I{ROOM / 'include'}", f"-I{ROOM / 'runtime'}")
_CALL = re.compile(r"^\s+(?:call|jmp)q?\s+(?:__tsan_(?:unaligned_)?(\w+?)|(mem\w+))(?:@PLT)?\s*$")


def compilers() -> Iterator[HostCompiler]:
    """The C++ compilers here that the emulated device can use."""
    for name in ("g++", "clang++", "clang++-14"):
        path = shutil.which(name)
        if path and (found := recognise((path,))):
            yield found


def compiled(text: str, output: Path, compiler: HostCompiler, *options: str, instrumented: bool = False) -> None:
    """`text` compiled as the answers' code is."""
    source = output.with_suffix(".cpp")
    source.write_text(text, encoding="utf-8")
    words = (*compiler.command, *LANGUAGE, *compile_flags(compiler, instrumented=instrumented), *INCLUDES)
    done = subprocess.run((*words, *options, source, "-o", output), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def library(text: str, folder: Path) -> ctypes.CDLL:
    """The `extern "C"` functions of `text`."""
    output = folder / "functions.so"
    compiled(text, output, next(compilers()), "-shared")
    return ctypes.CDLL(str(output))


def hooks(text: str, folder: Path, compiler: HostCompiler) -> dict[str, Counter[str]]:
    """For each `extern "C"` function, which accesses it tells the device of, as `read16`, and calls such as memcpy."""
    output = folder / "functions.s"
    compiled(text, output, compiler, "-S", "-g0", instrumented=True)
    found: dict[str, Counter[str]] = {}
    function = ""
    for line in output.read_text(encoding="utf-8").splitlines():
        if label := re.match(r"(\w+):", line):
            function = label[1]
        elif call := _CALL.match(line):
            found.setdefault(function, Counter())[call[1] or call[2]] += 1
    return found
