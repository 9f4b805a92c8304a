"""A folder laid out like a CUDA toolkit, for CMake and Makefiles."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness import interpreter
from harness.cuda.compilers.host_compiler import MISSING, host_compiler
from harness.cuda.emulator import archive
from harness.errors import NotFoundError, PrerequisiteError

RELEASE = "12.8"
"""CUDA version that the stand-in headers follow."""
VARIABLE = "HARNESS_STAND_IN_NVCC"
"""Environment variable in which the stand-in `nvcc` script passes on its own path."""
_DEVICE = ("libcudart_static.a", "libcudart.so")
# empty archives, for builds that link them by name: the device library holds their symbols
_LIBRARIES = (
    *("libcudadevrt.a", "libcuda.so", "stubs/libcuda.so"),
    *("libcublas.so", "libcublas_static.a", "libcublasLt.so", "libcublasLt_static.a"),
)
_EMPTY = b"!<arch>\n"


def lay_out(folder: Path) -> None:
    """Create the folder: `bin/nvcc`, which runs `harness cuda cc`, headers, and the device as a library.

    Raises:
        NotFoundError: a folder that cannot be written, or that holds other files.
        PrerequisiteError: no C++ compiler.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "bin" / "nvcc").is_file():
        raise NotFoundError(f"{folder}: holds other files; name a new folder")
    try:
        for name in ("bin", "include", "lib64/stubs", "nvvm/libdevice"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        _write_script(folder / "bin" / "nvcc")
        _link_headers(folder / "include")
        for library in _LIBRARIES:
            (folder / "lib64" / library).write_bytes(_EMPTY)
        _gather_device(folder / "lib64")
        version = {"cuda": {"name": "harness", "version": f"{RELEASE}.0"}}
        (folder / "version.json").write_text(json.dumps(version), encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"{folder}: cannot be written ({error.strerror})") from error


def _gather_device(folder: Path) -> None:
    compiler = host_compiler()
    if compiler is None:
        raise PrerequisiteError(MISSING)
    runtime = archive.runtime(compiler)
    objects = [str(runtime / name) for name in archive.objects(runtime, instrumented=True)]
    for name in _DEVICE:
        (folder / name).unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", str(folder / name), *objects], check=True, capture_output=True)


def _write_script(path: Path) -> None:
    words = shlex.join([interpreter.EXECUTABLE, "-P", "-m", "harness", "cuda", "cc"])
    path.write_text(f'#!/bin/sh\n{VARIABLE}="$0" exec {words} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def _link_headers(folder: Path) -> None:
    ours = [*archive.INCLUDE.iterdir(), archive.RUNTIME / "emulator.h"]
    for header in ours:
        place = folder / header.name
        place.unlink(missing_ok=True)
        # a plain C++ compiler sees what host code sees
        if header.name == "cuda_runtime.h":
            place.write_text(f'#define EMU_HOST_CODE 1\n#include "{header}"\n', encoding="utf-8")
        else:
            place.symlink_to(header)


def verbose_lines() -> Iterator[str]:
    """Yield the lines of `nvcc -v` that CMake parses."""
    if not (nvcc := os.environ.get(VARIABLE)):
        return
    root = Path(nvcc).absolute().parents[1]
    yield f"#$ TOP={root}"
    yield f"#$ PATH={root / 'bin'}:{os.environ.get('PATH', '')}"
    yield f'#$ LIBRARIES=  "-L{root / "lib64"}"'
    yield "#$ cicc -arch compute_80"
    yield f'#$ "{root / "bin" / "nvcc"}" -o "a.out" "-L{root / "lib64"}"'
