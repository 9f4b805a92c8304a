"""What a language is to the grader: the `Language` protocol and the data that its methods return.

A language is one module with one object, registered by name in the entry point group `harness.languages`. Methods with
a body have a default; a language overrides them where it differs.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from harness.languages.changes import GuardCode, SourceChange
from harness.languages.syntax import Syntax
from harness.model import Challenge, Figure, Location, Repair
from harness.sandbox import WorkerSpec, detect


@dataclass(frozen=True)
class AnswerFiles:
    """What an answer consists of.

    Attributes:
        folder: its files.
        entries: those that `entry` names.
        capabilities: optional features it claims.
    """

    folder: Path
    entries: Sequence[str]
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """All files in the folder, relative to it."""
        return tuple(p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())


@dataclass(frozen=True)
class Device:
    """Where answers run; a language may derive a class with what it needs to build for one.

    Attributes:
        name: as records state it.
        passed_over: a better device of this machine that is not used, and why; empty where there is none.
    """

    name: str
    passed_over: str = field(default="", kw_only=True)


CPU = Device("cpu")
"""This machine's processor."""


@dataclass(frozen=True)
class CompilerVerdict:
    """Whether a requirement that the compiler checks is met.

    Attributes:
        met: None when the compiler does not say.
        detail: the reason.
        measured: figures by name.
    """

    met: bool | None
    detail: str = ""
    measured: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class CompilerReport:
    """What the language's own compiler says of an answer.

    Attributes:
        compiler: its name and version; empty when there is none.
        ok: whether the answer compiles and exports its functions; None when nothing here could tell.
        text: the reason when `ok` is not true.
        measured: figures by name.
        verdicts: on further requirements, by the name that a criterion's `compiler` states.
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
    """A copy of an answer that does not build, with what stopped its compiler repaired.

    Attributes:
        repairs: what was changed, in this order; after each one the compiler got past the place it had stopped at.
        detail: why the copy does not build either; empty when it does.
    """

    repairs: tuple[Repair, ...]
    detail: str = ""


@dataclass(frozen=True)
class Runnable:
    """What the sandbox runs of an answer, or why it cannot.

    Attributes:
        target: what the sandbox loads; None when there is nothing to run.
        fault: why the answer does not build, which is its failure; empty when it does.
        unsupported: why this machine cannot run it, which is not its failure; empty when it can.
        launched: whether functions are called through the `launch` of the entry, and not by their own names.
        emulated: the answer on an emulated device, for what real hardware cannot tell: `target` itself where there is
            no such hardware, None where the answer cannot run there.
        not_emulated: why it cannot.
        sources: files of the answer that a device's report may point to.
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
        extra: name of the extra.
        what: the tool in a phrase.
        megabytes: size of the download.
        consequence: what cannot be done without it, and how to get it.
        needed: whether no answer can be run without it.
    """

    extra: str
    what: str
    megabytes: int
    consequence: str
    needed: bool = False


class Language(Protocol):
    """What answers are written in: how they are compiled, opened, measured.

    Attributes:
        name: as challenge.toml and submission.toml state it, and as the entry point is called.
        title: as prose has it.
        suffix: of an answer's entry, of the reference and of the contract.
        syntax: how its source files are read.
        several_entries: whether `entry` may list several files.
        entry_note: what `entry` names, in a phrase.
        exposes: completes "the ... no function 'f'" where an answer lacks one.
        fences: what the code blocks of a Markdown reply call it, besides its name and suffix.
        test_command: what runs tests that are written in it; empty where nothing does.
        builds: times that an answer is compiled at most, each within `build_seconds`.
        runs_in_process: whether the reference and its mutants are Python, so that a failing answer can be compared with
            them call by call in this process.
        traces_lines: whether the sandbox sees which lines of an answer a call executes.
        devices: devices that `--device` may ask for.
        host_device: the device that every machine has.
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
        """Name of an answer's file where nothing else names one."""
        return f"answer{self.suffix}"

    @property
    def reference(self) -> str:
        """The file under references/<id>/ that mutants and variants are edits of."""
        return f"reference{self.suffix}"

    @property
    def contract(self) -> str:
        """The file under challenges/<id>/ that shows what an answer exposes."""
        return f"contract{self.suffix}"

    def entry_problem(self, entry: str | tuple[str, ...]) -> str:
        """What is wrong with the form of `entry`; empty when nothing is."""
        if self.several_entries or (isinstance(entry, str) and entry.endswith(self.suffix)):
            return ""
        return f"must be one {self.suffix} file in a submission in {self.title}"

    def stub(self, contract: str) -> str:
        """An answer to start from, made from the text of the contract."""
        return contract

    def device(self, asked: str) -> Device:
        """Where answers run when `--device` is `asked`: `auto`, one of `devices`, or one of another language's.

        Raises:
            PrerequisiteError: this machine does not have it.
        """
        return self.host_device

    def toolchain(self) -> tuple[tuple[str, str], ...]:
        """Name and version of each tool that an answer meets here, as a record keeps them."""
        return ()

    def missing_tools(self) -> tuple[MissingTool, ...]:
        """Tools this machine lacks that an extra of this package brings."""
        return ()

    def compile(self, files: AnswerFiles, challenge: Challenge, *, brief: bool = False) -> CompilerReport | None:
        """What the language's compiler says of an answer; None where answers are not compiled before they run.

        Args:
            files: what the answer consists of.
            challenge: what it answers.
            brief: whether only `compiles` is asked for: what that takes no time for is left out.
        """
        return None

    def repaired(
        self, files: AnswerFiles, challenge: Challenge, into: Path, spared: Collection[str] = ()
    ) -> RepairedAnswer | None:
        """A copy of an answer that `compile` refused, with the smallest repairs that get its compiler past that.

        Args:
            files: what the answer consists of; they stay as they are.
            challenge: what it answers.
            into: an empty folder for the copy. Its lines have the numbers they have in the answer.
            spared: files that are not the answer's own and are never changed.

        Returns:
            The repairs; None where there are none, or none that is known to help.
        """
        return None

    def changes(self, source: str, spared: Collection[str] = (), called: Collection[str] = ()) -> list[SourceChange]:
        """Faults that may be planted in a source; none where the language has no operators of its own.

        Args:
            source: an answer's text.
            spared: names of functions that stay as they are, with all that only they use.
            called: functions that are called from outside, and so are used whatever the source says.
        """
        return []

    def planted(self, source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
        """The source with a fault that acts where its guard says.

        Args:
            source: an answer's text.
            change: one of `changes`.
            guard: when it acts.
            trapped: end the call in place of acting, to tell whether it would.
        """
        return change.applied(source)

    def shown(self, source: str, change: SourceChange, guard: GuardCode) -> str:
        """The source with a fault as a reader sees it, without what its guard needs besides."""
        return change.applied(source)

    def computed(self, value: int, rng: random.Random) -> str:
        """An expression that is `value` and does not name it."""
        return str(value)

    def open(self, files: AnswerFiles, challenge: Challenge, device: Device) -> AbstractContextManager[Runnable]:
        """Prepare an answer for the sandbox, for the length of the block.

        Args:
            files: what it consists of.
            challenge: what it answers.
            device: as `device` gives it.

        Raises:
            BoxError: a compiler could not be started in the sandbox.
            PrerequisiteError: there is no compiler for the device.
        """
        ...


def target_of(challenge: Challenge, folder: Path, entry: str) -> WorkerSpec:
    """What the sandbox loads: a Python module that has the contract's functions, under the challenge's limits."""
    functions = (*challenge.contract.functions, *challenge.contract.optional)
    return WorkerSpec(folder, entry, functions, challenge.limits, detect())
