"""Kills a grader at many moments of its run, lets the next run go on, and compares with a run that nobody killed.

    python -m tests.running.kill_and_resume --times 200

Exits 1 at the first moment after which anything differs, or anything is left over. The inputs of its challenge are
the same in every run, so that a grade made anew after the kill has the figures of the one that was lost.
"""

import argparse
import collections
import contextlib
import ctypes
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.model import Record
from harness.report.views.board.scoreboard import scoreboard
from harness.report.views.inputs import ReportInputs
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.toy import REFERENCE, add_submission, make_workspace
from tests.written import as_json, as_markdown

PR_SET_CHILD_SUBREAPER = 36
GRACE = 1.0
"""Seconds after which nothing of a killed grader may be left."""
LONG_AGO = 7200.0
"""Seconds: older than what a sweep takes for somebody else's."""

PROBES = """
import numpy as np
from harness.probing import Array, expect, probe
from tests.written import as_json, as_markdown

def ask(answer, x):
    return answer.call("scaled", x, 3.0, returns=Array(x.shape[:1], "float64"))

@probe({"B": 6, "D": 40})
def rows_match_the_oracle(answer, draw, *, B, D):
    x = np.arange(B * D, dtype=float).reshape(B, D)
    return {"error_ratio": expect.close("out", ask(answer, x), 3 * x.sum(axis=-1), 1e-12)}

@probe({"B": 4, "D": 5})
def doubling_doubles(answer, draw, *, B, D):
    x = np.arange(B * D, dtype=float).reshape(B, D)
    expect.same("out", ask(answer, 2 * x), 2 * ask(answer, x), "is not linear", within=1e-12)
"""
ANSWERS = {
    "right": REFERENCE,
    "wrong": REFERENCE.replace("x.sum", "x[:, 1:].sum"),
    "broken": "import nothing_of_that_name\n",
}


def made(root: Path) -> Workspace:
    """A workspace of one challenge and three answers."""
    workspace = make_workspace(root, probes=PROBES, mutants="MUTANTS = ()\n", variants="VARIANTS = ()\n")
    for model, answer in ANSWERS.items():
        add_submission(workspace, model, answer)
    return workspace


def start(workspace: Workspace, scratch: Path, jobs: int) -> subprocess.Popen[bytes]:
    """A run over all answers."""
    environment = {**os.environ, "HARNESS_WORKSPACE": str(workspace.root), "TMPDIR": str(scratch)}
    command = [sys.executable, "-P", "-m", "harness", "grade", "--all", "-j", str(jobs)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def finish(run: subprocess.Popen[bytes]) -> float:
    """Wait for a run that must end well; the seconds that took."""
    begun = time.monotonic()
    _, words = run.communicate(timeout=120)
    assert run.returncode == 0, f"exit code {run.returncode}:\n{words.decode()}"
    return time.monotonic() - begun


def descendants() -> Iterator[tuple[int, str]]:
    """Processes that came from this one and live: as their reaper it inherits those whose parent was killed."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    ours = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= grown
    for pid in ours - {os.getpid()}:
        with contextlib.suppress(OSError):
            yield pid, Path("/proc", str(pid), "cmdline").read_text().replace("\0", " ")


def nothing_survives() -> None:
    """Wait until all is gone that the killed grader had started."""
    deadline = time.monotonic() + GRACE
    while left := list(descendants()):
        assert time.monotonic() < deadline, f"alive {GRACE:g} s after the kill: {left}"
        time.sleep(0.02)


def stored(workspace: Workspace) -> dict[str, bytes]:
    """Every record by its file or its content key; each must be whole."""
    found = {str(path): path.read_bytes() for path in workspace.records_folder.glob("*/[!.]*.json")}
    if Store(workspace).path.exists():
        with contextlib.closing(sqlite3.connect(Store(workspace).path)) as connection:
            made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone()
            count = connection.execute("SELECT COUNT(*) FROM records").fetchone()[0] if made else 0
        kept = {record.key: record.to_json().encode() for record in Store(workspace).records()}
        assert len(kept) == count, "a body in the store cannot be read"
        found |= kept
    for text in found.values():
        Record.from_json(text)
    return found


def plain(value: Any) -> Any:
    """A record without what no two runs share: seeds, and when and how long."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in ("seed", "made", "seconds")}
    return [plain(item) for item in value] if isinstance(value, list) else value


def outcome(workspace: Workspace) -> tuple[str, str, list[Any]]:
    """What must not depend on whether a run was killed: the scoreboard in two forms, and all records."""
    records = workspace.records()
    board = scoreboard(ReportInputs([workspace.challenge("scaled_sum")], records))
    return as_json(board), as_markdown(board), [plain(json.loads(r.to_json())) for r in records]


def killed(workspace: Workspace, scratch: Path, jobs: int, seconds: float) -> tuple[int, float] | None:
    """Kill a run after `seconds` and let the next go on.

    Returns:
        Grades that were finished, and how long the next run took; None when the run ended before its moment.
    """
    run = start(workspace, scratch, jobs)
    with contextlib.suppress(subprocess.TimeoutExpired):
        run.wait(seconds)
    run.send_signal(signal.SIGKILL)  # to the leader alone: the rest must end by itself
    run.communicate()
    nothing_survives()
    if run.returncode != -signal.SIGKILL:
        return None
    before = stored(workspace)
    for folder in scratch.iterdir():
        os.utime(folder, (time.time() - LONG_AGO,) * 2)
    length = finish(start(workspace, scratch, jobs))
    after = stored(workspace)
    assert all(after[name] == text for name, text in before.items()), "a finished grade changed"
    left = [*workspace.root.rglob(".*.json.*"), *scratch.iterdir()]
    assert not left, f"left over: {left}"
    return sum("/" not in name for name in before), length


def spread(times: int, draw: random.Random) -> Iterator[tuple[int, float]]:
    """Grading processes and a share of the run's length, for each kill: 1 and 2 in turn, evenly over the run."""
    moments = [(1 + number % 2, (number // 2 + draw.random()) / (times / 2)) for number in range(times)]
    draw.shuffle(moments)
    yield from moments


def main(times: int, seed: int) -> None:
    """Kill `times` runs, and print how many of them ended as if nobody had."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    begun, draw = time.monotonic(), random.Random(seed)
    finished: collections.Counter[int] = collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place, "scratch")
        scratch.mkdir()
        lengths = {}
        for jobs in (1, 2):
            whole = made(Path(place, f"whole-{jobs}"))
            lengths[jobs] = finish(start(whole, scratch, jobs))
            expected = outcome(whole)
        for jobs, share in spread(times, draw):
            came = None
            while came is None:
                with tempfile.TemporaryDirectory(dir=place) as root:
                    workspace = made(Path(root))
                    came = killed(workspace, scratch, jobs, share * lengths[jobs])
                    assert not came or outcome(workspace) == expected, f"differs: -j {jobs}, {share:.3f} of the run"
                share = draw.random()  # a run that ended before its moment: another is killed instead
            count, length = came
            finished[count] += 1
            if count == 0:  # then the next run was a whole one: as long as runs are while the machine is as it is now
                lengths[jobs] = length
    by_count = ", ".join(f"{n} with {count} finished" for count, n in sorted(finished.items()))
    print(f"{finished.total()} of {times} identical ({by_count}); {time.monotonic() - begun:.0f} s, seed {seed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=200, help="runs to kill")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    main(**vars(parser.parse_args()))
