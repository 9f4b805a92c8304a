"""Compiling is bounded by processor time: a machine that gives the compiler too little fails no answer."""

from pathlib import Path
from typing import Any

import pytest
from gate_rooms import RIGHT, needs_nvcc, put

from harness.cuda import compiling
from harness.cuda.build import build
from harness.cuda.gate import gate
from harness.errors import JudgeError
from harness.sandbox import Completed, detect
from harness.sandbox.command import CommandLimit, run

STARVED = Completed(None, "", b"", 1800.0, 0.1, CommandLimit.WALL_CLOCK)
ENDLESS = Completed(None, "", b"", 700.0, 600.0, CommandLimit.PROCESSOR_TIME)


class Machine:
    """A machine that ends the first commands as it is told to, and runs the rest."""

    def __init__(self, *ends: Completed) -> None:
        self.ends, self.asked = list(ends), 0

    def run(self, *words: Any, **options: Any) -> Completed:
        self.asked += 1
        return self.ends.pop(0) if self.ends else run(*words, **options)


def on(monkeypatch: pytest.MonkeyPatch, *ends: Completed) -> Machine:
    machine = Machine(*ends)
    monkeypatch.setattr(compiling, "run", machine.run)
    return machine


@needs_nvcc
def test_the_gate_leaves_open_what_the_machine_had_no_time_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile that the wall clock ends twice says nothing about the answer."""
    machine = on(monkeypatch, STARVED, STARVED)
    said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect())
    assert (said.ok, said.text, machine.asked) == (None, compiling.TOO_BUSY, 2)


@needs_nvcc
def test_a_starved_compile_is_made_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second try is what counts."""
    on(monkeypatch, STARVED)
    assert gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect()).ok is True


@needs_nvcc
def test_processor_time_that_is_used_up_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would take too long on any machine does not build, and is not tried again."""
    machine = on(monkeypatch, ENDLESS)
    said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect())
    assert (said.ok, said.text, machine.asked) == (False, "not compiled within 600 s of processor time", 1)


def test_a_starved_emulated_build_is_no_finding_about_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build for the emulated device ends in an error of the judge's, which is tried again."""
    folder, into = put(tmp_path / "answer", a_cu=RIGHT), tmp_path / "into"
    into.mkdir()
    build(folder, ["a.cu"], into, tier=detect(), instrumented=False)  # the runtime is there from now on
    on(monkeypatch, STARVED, STARVED, STARVED, STARVED)
    with pytest.raises(JudgeError, match="too little time"):
        build(folder, ["a.cu"], into, tier=detect(), instrumented=False)
