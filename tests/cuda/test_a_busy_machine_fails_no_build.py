"""Compiling is bounded by processor time: a machine that gives the compiler too little fails no answer."""

import fcntl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_rooms import RIGHT, needs_nvcc, put

from harness.cuda.check.verdict import gate
from harness.cuda.compilers import compile_time
from harness.cuda.emulator.build import build
from harness.errors import BusyMachineError
from harness.sandbox import Completed, detect
from harness.sandbox.accounting.wall_bound import wall_bound
from harness.sandbox.session.command import CommandLimit, run
from harness.timing import exclusive

STARVED = Completed(None, "", b"", wall_bound(compile_time.SECONDS) / 2, 0.1, CommandLimit.WALL_CLOCK)
"""As a first try ends: half of the wall bound is left for a second one."""
ENDLESS = Completed(None, "", b"", 700.0, 600.0, CommandLimit.PROCESSOR_TIME)


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of this test's own: no other grade of the machine is waited for."""
    monkeypatch.setenv(exclusive.FOLDER, str(tmp_path))


class Machine:
    """A machine that ends the first commands as it is told to, and runs the rest.

    Attributes:
        asked: how many it was given.
        alone: whether each was run with other grades kept out.
    """

    def __init__(self, *ends: Completed) -> None:
        self.ends, self.asked = list(ends), 0
        self.alone: list[bool] = []

    def run(self, *words: Any, **options: Any) -> Completed:
        self.asked += 1
        self.alone.append(others_wait())
        return self.ends.pop(0) if self.ends else run(*words, **options)


def others_wait() -> bool:
    """Whether the work of another grade would have to wait now."""
    with exclusive._open_lock("gate") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def on(monkeypatch: pytest.MonkeyPatch, *ends: Completed) -> Machine:
    machine = Machine(*ends)
    monkeypatch.setattr(compile_time, "run", machine.run)
    return machine


@needs_nvcc
def test_the_gate_leaves_open_what_the_machine_had_no_time_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile that the wall clock ends twice, the second time alone, says nothing about the answer."""
    machine = on(monkeypatch, STARVED, STARVED)
    said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect())
    assert (said.ok, said.text, machine.alone) == (None, compile_time.TOO_BUSY, [False, True])


@needs_nvcc
def test_the_gate_leaves_open_what_could_not_be_compiled_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other grades do not end, the compile that they starved is not held against the answer."""
    almost_all = wall_bound(compile_time.SECONDS) - compile_time.SECONDS - 0.2
    machine = on(monkeypatch, replace(STARVED, seconds=almost_all))
    code = (
        "from harness.timing.exclusive import beside_others\nwith beside_others():\n    print(flush=True)\n    input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect())
        other.communicate(b"\n")
    assert (said.ok, said.text, machine.asked) == (None, compile_time.TOO_BUSY, 1)


@needs_nvcc
def test_a_starved_compile_is_made_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second try, with nothing beside it, is what counts."""
    machine = on(monkeypatch, STARVED)
    assert gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect()).ok is True
    assert machine.alone[:2] == [False, True] and not any(machine.alone[2:])


@needs_nvcc
def test_processor_time_that_is_used_up_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would take too long on any machine is not said to fail, and is not tried again."""
    machine = on(monkeypatch, ENDLESS)
    said = gate(put(tmp_path, a_cu=RIGHT), ["a.cu"], ["twice"], tier=detect())
    assert (said.ok, said.text, machine.asked) == (None, "not compiled within 600 s of processor time", 1)


def test_a_starved_emulated_build_is_no_finding_about_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build for the emulated device ends in an error of the judge's."""
    folder, into = put(tmp_path / "answer", a_cu=RIGHT), tmp_path / "into"
    into.mkdir()
    build(folder, ["a.cu"], into, tier=detect(), instrumented=False)  # the runtime is there from now on
    on(monkeypatch, STARVED, STARVED, STARVED, STARVED)
    with pytest.raises(BusyMachineError, match="too little time"):
        build(folder, ["a.cu"], into, tier=detect(), instrumented=False)
