"""Discovery of the machine's CUDA compiler."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from harness import interpreter
from harness.cuda.compilers.host_compiler import host_compiler

DRIVER = Path(__file__).parents[1] / "inside"
_USUAL = Path("/usr/local/cuda")


@dataclass(frozen=True)
class CudaCompiler:
    """A compiler for device code.

    Attributes:
        kind: `nvcc` compiles whole files and links; `nvrtc` compiles device code only.
        command: first words of the command line; `{NAME}` stands for a folder of `folders`.
        version: such as `13.0.88`.
        folders: folders that the sandbox must expose, by name.
    """

    kind: Literal["nvcc", "nvrtc"]
    command: tuple[str, ...]
    version: str
    folders: Mapping[str, Path] = field(default_factory=dict)


@cache
def cuda_compiler() -> CudaCompiler | None:
    """Return a toolkit's nvcc, else the wheels' nvcc, else NVRTC, or None."""
    return nvcc() or nvrtc()


def nvcc() -> CudaCompiler | None:
    """Return the first nvcc that runs, with a host compiler it accepts, or None."""
    host = host_compiler()
    if host is None or host.kind == "zig":  # nvcc accepts gcc and clang only
        return None
    for program in _find_programs():
        root = toolkit(program)
        version = _read_version(program) if root else None
        if root and version:
            # a launcher such as ccache may precede the compiler's name
            named = (word for word in host.command if re.search(r"g\+\+|clang", Path(word).name))
            words = ("{cuda}/bin/nvcc", "-ccbin", next(named, host.command[0]))
            return CudaCompiler("nvcc", words, version, {"cuda": root})
    return None


def nvrtc() -> CudaCompiler | None:
    """Return NVRTC of the wheels or of a toolkit, or None."""
    for library, headers in _find_runtime_compilers():
        version = _read_nvrtc_version(library)
        if version:
            words = ("python", "{driver}/nvrtc.py", f"{{nvrtc}}/{library.name}", "{headers}")
            folders = {"driver": DRIVER, "nvrtc": library.parent, "headers": headers}
            return CudaCompiler("nvrtc", words, version, folders)
    return None


def lacking() -> tuple[str, ...]:
    """Return this package's extras that would supply the missing compilers."""
    host = host_compiler()
    wanted = ("zig",) if host is None else ()
    if cuda_compiler() is not None:
        return wanted
    # nvcc needs gcc or clang beside it, NVRTC does not
    return (*wanted, "nvrtc" if host is None or host.kind == "zig" else "nvcc")


def toolkit(program: Path) -> Path | None:
    """Return the folder above the real nvcc's `bin`, behind wrappers and links, or None."""
    said = _say(program, "-dryrun", "-E", "none.cu")
    found = re.search(r"^#\$ _HERE_=(.+)$", said, re.MULTILINE)
    if found is None:
        return None
    root = Path(found[1].strip()).resolve().parent
    return root if (root / "bin" / "nvcc").is_file() else None


def _find_programs() -> Iterator[Path]:
    on_path = shutil.which("nvcc")
    if on_path:
        yield Path(on_path)
    named = (os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH"))
    for root in (*(Path(n) for n in named if n), _USUAL, *_find_wheel_folders("cu*")):
        program = root / "bin" / "nvcc"
        if os.access(program, os.X_OK):
            yield program


def _find_runtime_compilers() -> Iterator[tuple[Path, Path]]:
    for root in _find_wheel_folders("cu[0-9]*"):
        for library in _find_libraries(root / "lib"):
            yield library, root / "include"
    for root in _find_wheel_folders("cuda_nvrtc"):
        for library in _find_libraries(root / "lib"):
            yield library, root.parent / "cuda_runtime" / "include"
    for library in _find_libraries(_USUAL / "lib64"):
        yield library, _USUAL / "include"


def _find_wheel_folders(pattern: str) -> list[Path]:
    places = dict.fromkeys(Path(entry, "nvidia") for entry in sys.path if entry)
    return [found for place in places for found in sorted(place.glob(pattern), reverse=True) if found.is_dir()]


def _find_libraries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("libnvrtc.so*") if "alt" not in p.name)


def _read_version(program: Path) -> str | None:
    found = re.search(r"release [\d.]+, V([\d.]+)", _say(program, "--version"))
    return found[1] if found else None


def _read_nvrtc_version(library: Path) -> str | None:
    # in a child process, which keeps the library out of this one
    code = (
        "import ctypes, sys; a, b = ctypes.c_int(), ctypes.c_int();"
        "ctypes.CDLL(sys.argv[1]).nvrtcVersion(ctypes.byref(a), ctypes.byref(b)); print(f'{a.value}.{b.value}')"
    )
    said = _say(Path(interpreter.EXECUTABLE), "-I", "-S", "-c", code, str(library)).strip()
    return said if re.fullmatch(r"\d+\.\d+", said) else None


def _say(program: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            [str(program), *words],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).decode(errors="replace")
