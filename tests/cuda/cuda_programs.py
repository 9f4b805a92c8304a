"""Standalone programs of this folder, built and run on the emulated device."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from harness.cuda.programs.program import Mode, ProgramLimits, ProgramRun, ProgramSource, build_program, run_program
from harness.sandbox import detect


def ran(file: Path, *modes: Mode, seeds: tuple[int, ...] = (0,), seconds: float = 60) -> list[ProgramRun]:
    """One run of the program for each mode and seed."""
    return ran_each(file, [(mode, seed) for mode in modes for seed in seeds], seconds)


def ran_each(file: Path, runs: Iterable[tuple[Mode, int]], seconds: float = 60) -> list[ProgramRun]:
    """A run of the program for each of these modes and seeds."""
    source = ProgramSource.of([file])
    with tempfile.TemporaryDirectory() as folder:
        built = build_program(source, Path(folder), tier=detect())
        assert built.path is not None, f"{built.unsupported}\n{built.errors}"
        return [
            run_program(source, built.path, tier=detect(), mode=mode, seed=seed, limits=ProgramLimits(seconds))
            for mode, seed in runs
        ]
