"""Standalone programs built for the emulated device by a compiler of choice and run in the box."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cuda.compilers.host_compiler import HostCompiler
from harness.cuda.emulator import build as room
from harness.cuda.emulator.build import Built, build
from harness.sandbox import detect
from harness.sandbox.session import command


def built(monkeypatch: pytest.MonkeyPatch, compiler: HostCompiler, file: Path, into: Path, **how: Any) -> Built:
    """`file` and what it includes from its folder, built by `compiler`."""
    monkeypatch.setattr(room, "host_compiler", lambda: compiler)
    into.mkdir(exist_ok=True)
    return build(file.parent, [file.name], into, tier=detect(), **{"instrumented": False, "program": True, **how})


def reported(program: Path, mode: int) -> tuple[int | None, dict[str, Any]]:
    """The exit status of a program, and its report."""
    settings = (f"EMU_MODE={mode}", "EMU_SEED=0", "EMU_REPORT_FD=3")
    done = command.run(
        ("env", *settings, f"{{program}}/{program.name}"), program.parent, tier=detect(), seconds=60, memory_mib=8192,
        extra={"program": program.parent},
    )  # fmt: skip
    return done.returncode, json.loads(done.report) if done.report else {}
