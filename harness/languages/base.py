"""The `Language` protocol and the data that its methods return.

A language is one object, registered by name under the entry point group `harness.languages`. Methods with a body are
defaults to override.
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
        entries: files that `entry` names.
        capabilities: optional features that it claims.
    """

    folder: Path
    entries: Sequence[str]
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """Files in the folder, relative to it."""
        return tuple(p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())


@dataclass(frozen=True)
class Device:
    """A device that runs submissions; languages may derive classes with what they need to build for it.

    Attributes:
        name: name in records.
        passed_over: better device of this machine that is not used, with the reason.
    """

    name: str
    passed_over: str = field(default="", kw_only=True)


CPU = Device("cpu")
"""Processor of this machine."""


@dataclass(frozen=True)
class CompilerVerdict:
    """The compiler's verdict on a requirement.

    Attributes:
        met: true or false; None if the compiler does not say.
        measured: figures by name.
    """

    met: bool | None
    detail: str = ""
    measured: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class CompilerReport:
    """The report of the language's own compiler on a submission.

    Attributes:
        compiler: name and version; empty without one.
        ok: true if the submission compiles and exports its functions; None if unknown.
        text: reason if `ok` is not true.
        measured: figures by name.
        verdicts: verdicts on further requirements, by the name in a criterion's `compiler`.
        locations: places in the submission that `text` names.
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
        repairs: repairs in order, each of which got the compiler past the place where it had stopped.
        detail: reason why the copy does not build either; empty if it does.
    """

    repairs: tuple[Repair, ...]
    detail: str = ""


@dataclass(frozen=True)
class Runnable:
    """The part of a submission that the sandbox runs, or the reason why it cannot.

    Attributes:
        target: module for the sandbox to load, or None.
        fault: reason why the submission does not build; empty if it does.
        unsupported: reason why this machine cannot run it, which is not its fault; empty if it can.
        launched: true if functions are called through the entry's `launch` instead of by name.
        emulated: the submission on an emulated device, for what real hardware cannot tell: `target` itself without such
            hardware, None if it cannot run there.
        not_emulated: reason why it cannot.
        sources: files of the submission that a device's report may mention.
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
    """A tool that this machine lacks and an extra of this package brings.

    Attributes:
        what: the tool in a phrase.
        megabytes: size of the download.
        consequence: what cannot be done without it, and how to get it.
        needed: true if no submission runs without it.
    """

    extra: str
    what: str
    megabytes: int
    consequence: str
    needed: bool = False


class Language(Protocol):
    """A language of submissions: how they are compiled, opened and measured.

    Attributes:
        name: name in challenge.toml and submission.toml, and of the entry point.
        title: name in prose.
        suffix: suffix of entry, reference and contract.
        several_entries: true if `entry` may list several files.
        entry_note: meaning of `entry`, in a phrase.
        exposes: completion of "the ... no function 'f'" for a missing function.
        fences: further names of its code blocks in Markdown.
        test_command: command that runs its tests; empty without one.
        builds: most compilations of a submission, each within `build_seconds`.
        runs_in_process: true if mutants are Python, so that this process can compare them with a failing submission
            call by call.
        traces_lines: true if the sandbox sees the lines that a call executes.
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
        """Return the name and version of each tool that submissions meet here."""
        return ()

    def missing_tools(self) -> tuple[MissingTool, ...]:
        """Return the missing tools that an extra of this package brings."""
        return ()

    def compile(self, files: AnswerFiles, challenge: Challenge, *, brief: bool = False) -> CompilerReport | None:
        """Return the compiler's report, or None if the language does not compile before a run.

        Args:
            brief: leave out whatever takes time beyond the criterion `compiles`.
        """
        return None

    def repaired(
        self, files: AnswerFiles, challenge: Challenge, into: Path, spared: Collection[str] = ()
    ) -> RepairedAnswer | None:
        """Copy a submission that `compile` refused, with the smallest repairs that help its compiler.

        Args:
            into: empty folder for the copy, whose lines keep their numbers.
            spared: files of the harness, which never change.

        Returns:
            The repairs, or None if none is known to help.
        """
        return None

    def changes(self, source: str, spared: Collection[str] = (), called: Collection[str] = ()) -> list[SourceChange]:
        """Return the faults that may be planted in a source, if the language has operators.

        Args:
            spared: functions that stay unchanged, with everything that only they use.
            called: functions with callers elsewhere, which count as used.
        """
        return []

    def planted(self, source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
        """Return the source with a fault that acts under its guard.

        Args:
            trapped: end the call instead of acting, to tell whether the fault would act.
        """
        return change.applied(source)

    def shown(self, source: str, change: SourceChange, guard: GuardCode) -> str:
        """Return the source with a fault as readers see it, without the guard's support code."""
        return change.applied(source)

    def computed(self, value: int, rng: random.Random) -> str:
        """Return an expression for `value` that does not contain it."""
        return str(value)

    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> AbstractContextManager[Runnable]:
        """Prepare a submission for the sandbox, for the length of the block.

        Raises:
            BoxError: a compiler could not be started in the sandbox.
            PrerequisiteError: there is no compiler for the device.
        """
        ...


def target_of(challenge: Challenge, folder: Path, entry: str) -> WorkerSpec:
    """Return the worker that loads a Python module with the contract's functions, under the challenge's limits."""
    functions = (*challenge.contract.functions, *challenge.contract.optional)
    return WorkerSpec(folder, entry, functions, challenge.limits, detect())
