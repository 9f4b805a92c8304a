"""The parent's end of `suite_boot/suite_server.py`: a plan of runs goes in, the result of each comes out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import BoxError
from harness.model import Tier
from harness.sandbox.command import CommandLimit
from harness.sandbox.command import run as run_in_box

_BOOT = Path(__file__).with_name("suite_boot")
IDLE_SECONDS = 20.0
"""Wall time within which a run must do something."""
START_SECONDS, EACH_SECONDS = 10.0, 0.2
"""Processor time for the server itself: to start, and to copy files and look on for each run."""


@dataclass(frozen=True)
class Run:
    """One run of a suite that is asked for.

    Attributes:
        files: path and text of the answer's files that are changed, in a copy.
        trace: whether the executed lines are wanted.
        quick: stop at the first failure, print nothing.
        must_pass: end the plan when this run fails.
    """

    files: tuple[tuple[str, str], ...] = ()
    trace: bool = False
    quick: bool = False
    must_pass: bool = False


@dataclass(frozen=True)
class RunResult:
    """The result of one run.

    Attributes:
        end: "exit", "signal", "late" (over its processor time), "idle" (waited without end) or "cut" (undecided: the
            plan's processor time was used up, or the machine gave it too little).
        status: exit status or signal number.
        processor_seconds: processor time of it and all it started.
        word: what the run says about itself; nothing in it is to be trusted. None when it did not come to its end.
        output: the last of what it printed.
    """

    end: str
    status: int | None
    processor_seconds: float
    word: Mapping[str, Any] | None = None
    output: str = ""

    @property
    def decided(self) -> bool:
        """Whether the run says anything: it was not cut."""
        return self.end != "cut"

    @property
    def silent(self) -> bool:
        """Whether nothing failed, by the exit status."""
        return self.end == "exit" and self.status == 0

    @property
    def passed(self) -> bool:
        """Whether the suite came to its end and nothing failed."""
        return self.silent and self.word is not None

    @property
    def collected(self) -> int | None:
        """Tests it says it found, None when it does not say."""
        count = (self.word or {}).get("collected")
        return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 31 else None

    @property
    def digest(self) -> str:
        """What it says about every single test, to compare two runs by."""
        return str((self.word or {}).get("digest"))

    @property
    def lines(self) -> dict[str, frozenset[int]] | None:
        """Lines it says it executed, by path; None when it does not say."""
        found = (self.word or {}).get("lines")
        if not isinstance(found, dict):
            return None
        return {
            path: frozenset(line for line in lines if isinstance(line, int))
            for path, lines in found.items()
            if isinstance(path, str) and isinstance(lines, list)
        }


@dataclass(frozen=True)
class Runs:
    """The results of a plan.

    Attributes:
        results: of the runs that were made, from the first on.
        refused: whether the command is none that can be run.
        broken: what happened instead, when the server ended before its plan did; else empty.
    """

    results: tuple[RunResult, ...]
    refused: bool = False
    broken: str = ""


@dataclass(frozen=True)
class Suite:
    """An answer's own tests and how they are held.

    Attributes:
        folder: the answer's files.
        command: what runs its tests.
        tier: isolation.
        memory_mib: address space of each process.
        idle_seconds: wall time within which a run must do something.
    """

    folder: Path
    command: Sequence[str]
    tier: Tier
    memory_mib: int = 2048
    idle_seconds: float = IDLE_SECONDS

    def runs(self, plan: Sequence[Run], *, run_seconds: float, seconds: float, wall_seconds: float) -> Runs:
        """Make the runs of `plan`, one after the other, in one sandbox.

        Args:
            plan: the runs.
            run_seconds: processor time for one run; three times as much for a traced one.
            seconds: processor time for all of them.
            wall_seconds: wall time for all of them.

        Raises:
            BoxError: the box or the server in it failed.
        """
        text = json.dumps(
            {
                "command": list(self.command),
                "run_seconds": run_seconds,
                "idle_seconds": self.idle_seconds,
                "seconds": seconds,
                "runs": [asdict(run) for run in plan],
            }
        )
        done = run_in_box(
            ["python", "{suite}/suite_server.py", "{boot}"],
            self.folder,
            tier=self.tier,
            seconds=seconds + START_SECONDS + EACH_SECONDS * len(plan),
            wall_seconds=wall_seconds,
            memory_mib=self.memory_mib,
            extra={"suite": _BOOT},
            given=text.encode(),
        )
        if done.returncode == 1 and not done.report:
            # an exception before the first run is over: no line of the answer can raise one in the server
            raise BoxError(f"the server that runs an answer's own tests failed:\n{done.output}")
        broken = ""
        if done.returncode != 0 and done.exceeded is not CommandLimit.WALL_CLOCK:
            how = "took too much processor time" if done.timed_out else f"was ended (status {done.returncode})"
            broken = f"the process that runs the suite {how}"
        return _parsed(done.report, broken)


def _parsed(report: bytes, broken: str) -> Runs:
    results: list[RunResult] = []
    for number, line in enumerate(report.splitlines()):
        try:
            found = json.loads(line)
            if "refused" in found:
                return Runs((), refused=True)
            if found["run"] != number:
                raise ValueError
            results.append(_result(found))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Runs(tuple(results), broken=broken or "the report of the runs is damaged")
    return Runs(tuple(results), broken=broken)


def _result(found: Mapping[str, Any]) -> RunResult:
    word = found.get("word")
    status = found["status"]
    return RunResult(
        end=str(found["end"]),
        status=None if status is None else int(status),
        processor_seconds=float(found["processor_seconds"]),
        word=word if isinstance(word, dict) else None,
        output=str(found.get("output", "")),
    )
