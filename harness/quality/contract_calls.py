"""Executed lines of a submission, and effects of changes to it, in calls of the challenge's probes.

The submission's worker reports the lines, so a check verifies them: a copy in which all other lines fail must behave
alike. This exposes hidden lines; extra lines gain nothing, as faults there affect no call.
"""

import contextlib
import itertools
import math
import shutil
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import BusyMachineError, HarnessError
from harness.languages import AnswerFiles, literals
from harness.languages.base import target_of
from harness.model.submissions.submission import offers
from harness.probing.answers import Answer, SandboxedAnswer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.diagnosis import TracedAnswer, agrees
from harness.probing.failures import CallTimedOut, ProbeFailure, WorkerLost
from harness.probing.probe import Probe, once
from harness.probing.sizes import SMALLEST_SHARE, Case
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.quality.control_runs import Changed, with_failing_lines
from harness.quality.sources import SourceFile
from harness.sandbox import CallStatus, Plan, Tree, WorkerSpec
from harness.sandbox.confinement import box_user, scratch
from harness.sandbox.confinement.protocol import FileAccess
from harness.sandbox.session.fork_server import ForkServer, WorkerProcess
from harness.sandbox.session.pool import LentForkServer
from harness.sandbox.session.worker_session import PROCESSES
from harness.timing.exclusive import beside_others

TRACER = Path(__file__).with_name("inside") / "line_tracer.py"
LINES_LIMIT = 1 << 20
"""Most bytes of line numbers per case."""
DRAWN = 2
"""Most drawn cases per probe."""
CALL_SECONDS = 5.0
"""Processor time of a call, in seconds; cases with longer calls are ignored."""
FACTOR, ROOM = 4.0, 2.0
"""Processor time of a call of a changed copy: a factor on that of the case, plus seconds."""
Lines = Mapping[str, frozenset[int]]
"""Line numbers by path."""


@dataclass(frozen=True)
class _Seen:
    notes: Sequence[Any]
    seconds: float
    right: bool


@dataclass
class ContractCalls:
    """Caller of a submission and its changed copies, until `deadline` on `clock.now`; a context manager."""

    code: ChallengeCode
    files: AnswerFiles
    seed: int
    deadline: float = math.inf
    _stack: ExitStack = field(default_factory=ExitStack)
    _seen: list[_Seen | None] = field(default_factory=list)
    _lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __enter__(self) -> "ContractCalls":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def trace_lines(self, files: Sequence[SourceFile]) -> Lines | None:
        """Return the executed lines; None if the submission does not load, returns nothing, or hides lines.

        Raises:
            BusyMachineError: the machine gave a call too little time.
        """
        if self._answer is None:
            return None
        seen = [self._get_case(number) for number in range(self._first)]
        if all(isinstance(note, str) for one in seen if one for note in one.notes):
            return None
        lines = {path: frozenset(found) for path, found in self._lines.items()}
        others_fail = with_failing_lines(files, lines)
        return None if others_fail and self._differs(others_fail, range(self._first)) else lines

    def shows(self, changed: Changed) -> bool:
        """Return whether a copy behaves differently, beyond rounding, on a case that the submission gets right.

        Where probes compare values with right ones, a difference counts only if it makes the value wrong, as a
        tolerance promises no further digits. Failing cases are skipped, as tests need not notice changes of a wrong
        result; if all fail, all count.

        Raises:
            BusyMachineError: the machine gave a call too little time.
        """
        every = range(len(self._cases))
        right = filter(self._gets_right, every) if any(map(self._gets_right, every)) else every
        return self._differs(changed, right)

    def _gets_right(self, number: int) -> bool:
        seen = self._get_case(number)
        return seen is not None and seen.right

    def _differs(self, changed: Changed, numbers: Iterable[int]) -> bool:
        with self._open_copy(changed) as copy:
            return copy is None or not all(self._is_same(copy, number) for number in numbers)

    def _is_same(self, copy: SandboxedAnswer, number: int) -> bool:
        """Return whether a copy behaves like the submission on a case; true if unknown."""
        seen = self._get_case(number)
        if seen is None:
            return True
        probe, case = self._cases[number]
        hurried = _Hurried(copy, FACTOR * seen.seconds + ROOM)
        with beside_others():
            if agrees(probe, hurried, self.seed, case, seen.notes):
                return True
            return seen.right and probe.name in self._value_probes and _passes(probe, hurried, self.seed, case)

    def _get_case(self, number: int) -> _Seen | None:
        """Return the result of a case, after all earlier ones; None if it ended the worker."""
        while len(self._seen) <= number:
            with beside_others():
                self._seen.append(self._run(*self._cases[len(self._seen)]))
        return self._seen[number]

    def _run(self, probe: Probe, case: Case) -> _Seen | None:
        answer = self._answer
        assert answer is not None  # callers check this first
        watched = _Watched(answer, self._lines)
        before, around = answer.processor_seconds, TracedAnswer(watched)
        right = False
        try:
            with contextlib.suppress(ProbeFailure):
                once(probe, around, self.seed, case)
                right = True
            watched.collect()
        except HarnessError:
            raise
        except Exception:  # the result breaks the probe
            return None
        return None if watched.lost else _Seen(around.notes, answer.processor_seconds - before, right)

    @cached_property
    def _answer(self) -> SandboxedAnswer | None:
        return self._stack.enter_context(self._open_copy(()))

    @contextmanager
    def _open_copy(self, changed: Changed) -> Iterator[SandboxedAnswer | None]:
        place = self._shown / f"copy-{next(self._numbers)}"
        shutil.copytree(self.files.folder, place, symlinks=True, copy_function=shutil.copyfile)
        for path, text in changed:
            (place / path).write_text(text, encoding="utf-8")
        if box_user.draw_uid() is not None:
            box_user.open_up(place)
        part = _Part(self._fork_server, place.name, self._target.entry)
        copy = SandboxedAnswer(self._target, self.files.capabilities, self._literals, fork_server=part)
        copy.deadline = self.deadline
        try:
            with beside_others():
                loaded = copy.open().status is CallStatus.RETURNED
            yield copy if loaded else None
        finally:
            copy.close()
            scratch.remove(place)

    @cached_property
    def _shown(self) -> Path:
        shown = self._stack.enter_context(scratch.folder()) / "copies"
        shown.mkdir()
        return shown

    @cached_property
    def _target(self) -> WorkerSpec:
        return target_of(self.code.challenge, self._shown, self.files.entries[0])

    @cached_property
    def _fork_server(self) -> ForkServer:
        """Parent of all workers, as a start takes longer than most calls."""
        limits = self._target.limits
        access = FileAccess(self._shown, scratch_mib=limits.scratch_mib)
        return self._stack.enter_context(ForkServer(access, self._target.tier, limits.memory_mib, PROCESSES))

    @cached_property
    def _literals(self) -> frozenset[int]:
        """Integers of the submission, from which copies draw sizes, too."""
        return literals(self.code.language, self.files)

    @cached_property
    def _cases(self) -> list[tuple[Probe, Case]]:
        """Cases to run, the first of every probe first."""
        found = {
            probe.name: (probe, self._list_cases(probe))
            for criterion in self.code.challenge.criteria
            if not criterion.capability or offers(self.files.capabilities, criterion.capability)
            for probe in self.code.probes_of(criterion)
            if probe.traced and not probe.clocked
        }
        rounds = itertools.zip_longest(*([(probe, case) for case in cases] for probe, cases in found.values()))
        return [one for turn in rounds for one in turn if one is not None]

    @cached_property
    def _value_probes(self) -> frozenset[str]:
        kinds = {"value": set[str](), "property": set[str]()}
        for criterion in self.code.challenge.criteria:
            kinds[criterion.judges].update(criterion.probes)
        return frozenset(kinds["value"] - kinds["property"])

    @cached_property
    def _first(self) -> int:
        return len({probe.name for probe, _ in self._cases})

    def _list_cases(self, probe: Probe) -> list[Case]:
        drawn = probe.drawn
        if drawn is None:
            return list(probe.cases)
        name, most, draws = zlib.crc32(probe.name.encode()), drawn.most * SMALLEST_SHARE, range(min(DRAWN, drawn.count))
        small = (drawn.case(n, np.random.default_rng([self.seed, name, n]), self._literals, most) for n in draws)
        return [*probe.cases, *small]


def _passes(probe: Probe, answer: Answer, seed: int, case: Case) -> bool:
    try:
        once(probe, answer, seed, case)
    except HarnessError:
        raise
    except Exception:
        return False
    return True


class _Part(LentForkServer):
    """View of the shared fork server for one copy."""

    def __init__(self, server: ForkServer, name: str, entry: str) -> None:
        self.bytecode = {entry: np.empty(0, np.uint8)}  # not worth caching: a copy has one worker
        self._server, self._name = server, name

    @property
    def folder(self) -> str:
        return f"{self._server.folder}/{self._name}"

    def fork(self, rlimits: Mapping[str, int]) -> WorkerProcess:
        return self._server.fork(rlimits)

    def close(self) -> None:
        """Leave the shared server open."""


class _Hurried(AnswerWrapper):
    """A submission with limited processor time per call; `BusyMachineError` if other work took it."""

    def __init__(self, answer: Answer, seconds: float) -> None:
        super().__init__(answer)
        self.seconds = seconds

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        seconds = min(self.seconds, options.get("seconds") or self.seconds)
        try:
            return super().call(function, *args, returns=returns, **{**options, "seconds": seconds})
        except CallTimedOut as late:
            if late.starved:
                raise BusyMachineError(f"{late.title}, and other work had the processor: {late.detail}") from None
            raise


class _Watched(_Hurried):
    """A submission that adds executed lines to `lines`; `lost` after a call that ended the worker."""

    def __init__(self, answer: SandboxedAnswer, lines: dict[str, set[int]]) -> None:
        super().__init__(answer, CALL_SECONDS)
        self.lost = False
        self._lines, self._called = lines, False
        self._source = f"{TRACER.read_text(encoding='utf-8')}\n\nstart({answer.fork_server().folder!r})\n"

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        try:
            self.load("line_tracer", self._source)
            self._called = True
            return super().call(function, *args, returns=returns, **options)
        except WorkerLost:
            self.lost = True
            raise

    def fresh(self) -> None:
        self.collect()
        super().fresh()

    def collect(self) -> None:
        if not self._called or self.lost:
            return
        self._called = False
        found = self.answer.call("collect_lines", returns=Tree(LINES_LIMIT), module="line_tracer")
        for path, lines in found.items() if isinstance(found, dict) else ():
            if isinstance(lines, np.ndarray):
                self._lines[str(path)].update(lines.ravel().tolist())
