"""Client of `inside/suite_server.py`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import BoxError
from harness.model import Tier
from harness.sandbox.session.command import CommandLimit
from harness.sandbox.session.command import run as run_in_box

_BOOT = Path(__file__).with_name("inside")
IDLE_SECONDS = 20.0
"""Wall time, in seconds, within which a run must use the processor."""
START_SECONDS, EACH_SECONDS = 10.0, 0.2
"""Processor time of the server, in seconds: to start, and per run."""


@dataclass(frozen=True)
class Run:
    """One planned run of a suite, with changed `files` (path, text).

    Attributes:
        trace: true to record executed lines.
        quick: true to stop at the first failure, without output.
        must_pass: true to end the plan on failure.
    """

    files: tuple[tuple[str, str], ...] = ()
    trace: bool = False
    quick: bool = False
    must_pass: bool = False


@dataclass(frozen=True)
class RunResult:
    """Result of one run.

    Attributes:
        end: "exit", "signal", "late" (over its processor time), "idle" (waiting forever) or "cut" (undecided: the plan
            ran out of processor time, or the machine gave too little).
        status: exit status or signal number.
        processor_seconds: processor time, descendants included.
        word: untrusted report from inside the run; None if unfinished.
    """

    end: str
    status: int | None
    processor_seconds: float
    word: Mapping[str, Any] | None = None
    output: str = ""

    @property
    def decided(self) -> bool:
        """True unless the run was cut."""
        return self.end != "cut"

    @property
    def silent(self) -> bool:
        """True if the exit status is 0."""
        return self.end == "exit" and self.status == 0

    @property
    def passed(self) -> bool:
        """True if the suite finished with status 0."""
        return self.silent and self.word is not None

    @property
    def collected(self) -> int | None:
        """Reported number of tests."""
        count = (self.word or {}).get("collected")
        return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 31 else None

    @property
    def digest(self) -> str:
        """Reported digest of all outcomes."""
        return str((self.word or {}).get("digest"))

    @property
    def lines(self) -> dict[str, frozenset[int]] | None:
        """Reported executed lines by path."""
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
    """Results of a plan.

    Attributes:
        refused: true if the command is not supported.
        broken: early end of the server in words, or empty.
    """

    results: tuple[RunResult, ...]
    refused: bool = False
    broken: str = ""


@dataclass(frozen=True)
class Suite:
    """A submission's own tests and their limits."""

    folder: Path
    command: Sequence[str]
    tier: Tier
    memory_mib: int = 2048
    idle_seconds: float = IDLE_SECONDS

    def runs(self, plan: Sequence[Run], *, run_seconds: float, seconds: float, wall_seconds: float) -> Runs:
        """Run `plan` in order, in one sandbox.

        Args:
            run_seconds: processor time per run; three times as much if traced.
            seconds, wall_seconds: limits for all runs.

        Raises:
            BoxError: the sandbox or its server failed.
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
            # an exception before any result is our fault: the server runs none of the submission's code
            raise BoxError(f"the server that runs an answer's own tests failed:\n{done.output}")
        broken = ""
        if done.returncode != 0 and done.exceeded is not CommandLimit.WALL_CLOCK:
            how = "took too much processor time" if done.timed_out else f"was ended (status {done.returncode})"
            broken = f"the process that runs the suite {how}"
        return _parse(done.report, broken)


def _parse(report: bytes, broken: str) -> Runs:
    results: list[RunResult] = []
    for number, line in enumerate(report.splitlines()):
        try:
            found = json.loads(line)
            if "refused" in found:
                return Runs((), refused=True)
            if found["run"] != number:
                raise ValueError
            results.append(_parse_result(found))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Runs(tuple(results), broken=broken or "the report of the runs is damaged")
    return Runs(tuple(results), broken=broken)


def _parse_result(found: Mapping[str, Any]) -> RunResult:
    word = found.get("word")
    status = found["status"]
    return RunResult(
        end=str(found["end"]),
        status=None if status is None else int(status),
        processor_seconds=float(found["processor_seconds"]),
        word=word if isinstance(word, dict) else None,
        output=str(found.get("output", "")),
    )
