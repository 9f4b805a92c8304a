"""What a task of Harbor runs as its verifier: has an answer graded, and writes the reward last of all.

Two processes. The one that grades reads the answer's files and runs them in the sandbox. This one starts it, never
opens a file of the answer, waits until it and everything it started is dead, and writes the reward then. Where nothing
can be said of the answer there is no reward: Harbor reports such a trial as an error, not as a zero.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import interpreter
from harness.errors import HarnessError, JudgeError, StoreError
from harness.grading.process_hardening import make_undumpable
from harness.model import GradeProfile, Record
from harness.sandbox.confinement import scratch
from harness.sandbox.inside import process_control
from harness.workspace.stored_files import remedy

REWARD_FILES = ("reward.txt", "reward.json")
"""Reward files in the order of writing; both hold the reward, since readers differ in which they prefer."""
RECORD_FILE = "record.json"
"""File of the whole record, beside the reward."""
NO_REWARD = 3
"""Exit code of a failure on our side, such as a judge error."""
_MOST_BYTES = 64 << 20
_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


@dataclass(frozen=True)
class HarborVerdict:
    """Result of a submission.

    Attributes:
        reward: 0 to 1.
        record: None without a folder to grade.
        said: summary in one line, for the log.
    """

    reward: float
    record: Record | None
    said: str


def verify(workspace: Path, challenge: str, answer: Path, profile: GradeProfile, seconds: float) -> HarborVerdict:
    """Grade a submission in another process, which is dead on return, with all its descendants.

    Args:
        seconds: wall time after which the grade counts as a judge error.

    Raises:
        JudgeError: the grade failed, or gave no reward.
    """
    if not answer.is_dir() or answer.resolve() != Path(os.path.abspath(answer)):
        return HarborVerdict(0.0, None, f"{answer} is no folder of an answer")
    process_control.prctl(process_control.SET_CHILD_SUBREAPER, 1)
    command = [interpreter.EXECUTABLE, "-I", "-m", "harness.integrations.harbor_grading"]
    with tempfile.TemporaryFile() as found:
        grading = subprocess.Popen(
            [*command, str(workspace), challenge, str(answer), profile],
            stdin=subprocess.DEVNULL,
            stdout=found,
            start_new_session=True,
        )
        try:
            code: int | None = grading.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_all_below()
            scratch.sweep()  # the killed processes can no longer remove their scratch folders
        found.seek(0)
        told = found.read(_MOST_BYTES)
    if code is None:
        raise JudgeError(f"the grade took longer than {seconds:g} s")
    if code:
        raise JudgeError(f"the grading process ended with {code}")
    record = Record.from_json(told)
    if record.reward is None:
        raise JudgeError(record.error or "the anchor could not be assessed")
    return HarborVerdict(record.reward, record, f"{record.status}, {len(record.findings)} findings")


def _end_all_below() -> None:
    # as a subreaper, this process inherits orphans
    while True:
        for pid in map(int, _CHILDREN.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, 0):
                pass
        except ChildProcessError:
            return


def clear(folder: Path) -> None:
    """Clear the paths of reward and record.

    Raises:
        StoreError: they cannot be cleared.
    """
    try:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*REWARD_FILES, RECORD_FILE):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be cleared: {error.strerror}\n  {remedy(error)}") from error


def write(folder: Path, verdict: HarborVerdict) -> None:
    """Write the record and then the reward, as new files and without following links.

    Raises:
        StoreError: a file cannot be written.
    """
    texts = {} if verdict.record is None else {RECORD_FILE: json.dumps(verdict.record.to_json_values(), indent=1)}
    texts |= dict(zip(REWARD_FILES, (f"{verdict.reward}", json.dumps({"reward": verdict.reward})), strict=True))
    clear(folder)
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name, text in texts.items():
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(name, flags, 0o644, dir_fd=place), "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
        finally:
            os.close(place)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    make_undumpable()
    parser = argparse.ArgumentParser(prog="harbor_verifier", description=__doc__)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--challenge", required=True)
    parser.add_argument("--profile", type=GradeProfile, choices=list(GradeProfile), required=True)
    parser.add_argument("--answer", type=Path, required=True)
    parser.add_argument("--rewards", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args(arguments)
    try:
        clear(given.rewards)
        verdict = verify(given.workspace, given.challenge, given.answer, given.profile, given.seconds)
        print(f"reward {verdict.reward:.3g}: {verdict.said}", flush=True)
        write(given.rewards, verdict)
    except HarnessError as error:
        print(f"no reward: {error}", file=sys.stderr)
        return NO_REWARD
    return 0


if __name__ == "__main__":
    sys.exit(main())
