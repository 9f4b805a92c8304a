"""The `Language` protocol and the data of its methods.

A language is one object, registered by name under the entry point group `harness.languages`. All methods but `open`
have defaults.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.model import Challenge, Figure, Location, Repair
from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.sandbox import WorkerSpec, detect
from harness.source.syntax import Syntax


@dataclass(frozen=True)
class AnswerFiles:
    """The files of a submission.

    Attributes:
        capabilities: claimed optional features.
    """

    folder: Path
    entries: Sequence[str]
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Relative paths of all files."""
        return tuple(p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())


@dataclass(frozen=True)
class Device:
    """A device that runs submissions; languages may subclass it to add build data.

    Attributes:
        passed_over: better device that is not used, with the reason.
    """

    name: str
    passed_over: str = field(default="", kw_only=True)


CPU = Device("cpu")
"""Processor of this machine."""


@dataclass(frozen=True)
class CompilerVerdict:
    """The compiler's verdict on a requirement; `met` is None if the compiler does not say."""

    met: bool | None
    detail: str = ""
    measured: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class CompilerReport:
    """A compiler's report on a submission.

    Attributes:
        compiler: name and version; empty without one.
        ok: true if the submission compiles and exports its functions; None if unknown.
        text: reason if `ok` is not true.
        verdicts: verdicts by the name in a criterion's `compiler`.
        locations: places that `text` names.
    """

    compiler: str
    ok: bool | None
    text: str = ""
    measured: Mapping[str, Figure] = field(default_factory=dict)
    verdicts: Mapping[str, CompilerVerdict] = field(default_factory=dict)
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True)
class RepairedAnswer:
    """A repaired copy of a submission that does not build.

    Attributes:
        repairs: in order; each gets the compiler past an error.
        detail: reason if the copy does not build either.
    """

    repairs: tuple[Repair, ...]
    detail: str = ""


@dataclass(frozen=True)
class Runnable:
    """A submission prepared for the sandbox, or the reason why it cannot run.

    Attributes:
        fault: reason if the submission does not build.
        unsupported: reason if this machine cannot run it, which is not its fault.
        launched: true to call functions through the entry's `launch` instead of by name.
        emulated: the submission on an emulated device, for checks that hardware cannot make; `target` itself without
            such hardware.
        not_emulated: reason if `emulated` is None.
        sources: files that a device's report may mention.
    """

    target: WorkerSpec | None
    fault: str = ""
    unsupported: str = ""
    launched: bool = False
    emulated: WorkerSpec | None = None
    not_emulated: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingTool:
    """A tool that this machine lacks and an extra of this package installs.

    Attributes:
        megabytes: size of the download.
        consequence: effect of its lack, and how to install it.
        needed: true if no submission runs without it.
    """

    extra: str
    what: str
    megabytes: int
    consequence: str
    needed: bool = False


class Language(Protocol):
    """A language of submissions.

    Attributes:
        name: name in challenge.toml, submission.toml and of the entry point.
        title: name in prose.
        entry_note: meaning of `entry`, in a phrase.
        exposes: completion of "the ... no function 'f'" for a missing function.
        fences: further names of its code blocks in Markdown.
        builds: most compilations of a submission, each within `build_seconds`.
        runs_in_process: true if mutants are Python, which this process can compare with a submission call by call.
        traces_lines: true if the sandbox can trace executed lines.
        devices: devices that `--device` may ask for.
        host_device: device that every machine has.
    """

    name: str
    title: str
    suffix: str
    syntax: Syntax
    several_entries: bool = False
    entry_note: str = "the file with the contract's functions"
    exposes: str = "entry has"
    fences: frozenset[str] = frozenset()
    test_command: tuple[str, ...] = ()
    builds: int = 0
    runs_in_process: bool = False
    traces_lines: bool = False
    devices: tuple[str, ...] = ()
    host_device: Device = CPU

    @property
    def entry(self) -> str:
        """Default name of a submission's file."""
        return f"answer{self.suffix}"

    @property
    def reference(self) -> str:
        """File under references/<id>/ that mutants and variants edit."""
        return f"reference{self.suffix}"

    @property
    def contract(self) -> str:
        """File under challenges/<id>/ with the functions to expose."""
        return f"contract{self.suffix}"

    def entry_problem(self, entry: str | tuple[str, ...]) -> str:
        """Return the problem with the form of `entry`, or an empty string."""
        if self.several_entries or (isinstance(entry, str) and entry.endswith(self.suffix)):
            return ""
        return f"must be one {self.suffix} file in a submission in {self.title}"

    def stub(self, contract: str) -> str:
        """Return a first submission, made from the contract."""
        return contract

    def device(self, asked: str) -> Device:
        """Return the device for `--device asked`: `auto`, one of `devices`, or one of another language's.

        Raises:
            PrerequisiteError: this machine does not have it.
        """
        return self.host_device

    def toolchain(self) -> tuple[tuple[str, str], ...]:
        """Return the name and version of each tool."""
        return ()

    def missing_tools(self) -> tuple[MissingTool, ...]:
        """Return the tools that this machine lacks."""
        return ()

    def compile(self, files: AnswerFiles, challenge: Challenge, *, brief: bool = False) -> CompilerReport | None:
        """Return the compiler's report, or None for an uncompiled language.

        Args:
            brief: skip work beyond the criterion `compiles`.
        """
        return None

    def repaired(
        self, files: AnswerFiles, challenge: Challenge, into: Path, spared: Collection[str] = ()
    ) -> RepairedAnswer | None:
        """Copy a submission that `compile` refused, with the smallest repairs; None if none is known to help.

        Args:
            into: empty folder for the copy, whose lines keep their numbers.
            spared: files of the harness, which stay unchanged.
        """
        return None

    def changes(self, source: str, spared: Collection[str] = (), called: Collection[str] = ()) -> list[SourceChange]:
        """Return the faults that can be planted in a source.

        Args:
            spared: functions that stay unchanged, with everything that only they use.
            called: functions that other files use.
        """
        return []

    def planted(self, source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
        """Return the source with a fault that acts under its guard.

        Args:
            trapped: end the call where the fault would act.
        """
        return change.apply(source)

    def shown(self, source: str, change: SourceChange, guard: GuardCode) -> str:
        """Return the source with a fault for display, without the guard's code."""
        return change.apply(source)

    def computed(self, value: int, rng: random.Random) -> str:
        """Return an expression for `value` that does not contain it."""
        return str(value)

    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> AbstractContextManager[Runnable]:
        """Prepare a submission for the sandbox within the block.

        Raises:
            BoxError: the sandbox could not start a compiler.
            PrerequisiteError: the device has no compiler.
        """
        ...


def target_of(challenge: Challenge, folder: Path, entry: str) -> WorkerSpec:
    """Return a worker for a Python module with the contract's functions, under the challenge's limits."""
    functions = (*challenge.contract.functions, *challenge.contract.optional)
    return WorkerSpec(folder, entry, functions, challenge.limits, detect())
