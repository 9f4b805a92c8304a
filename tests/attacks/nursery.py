"""A process with everything loaded that makes a fresh grader for each attack: loading anew would take most of the time.

Graders are its children, each in a session of its own. One that does not end in time is ended, with all of its group.
"""

import contextlib
import json
import os
import pickle
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Self

from harness.timing import exclusive
from tests.attacks.attack import Attack
from tests.attacks.judge import Verdict, judge, without_answer
from tests.attacks.world import ENVIRONMENT

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 90.0
"""Seconds after which a grader may be held up by the attack."""
AGAIN = 4
"""So many times longer a second grader may take: the machine may have been busy."""


class Nursery:
    """The side of whoever wants verdicts.

    Args:
        deadline: seconds that one grader may take.
    """

    def __init__(self, deadline: float = DEADLINE) -> None:
        # an attack that hangs must not keep the graders of other attacks waiting
        self._locks = tempfile.TemporaryDirectory(prefix="harness-locks-")
        more = {exclusive.FOLDER: self._locks.name, "OPENBLAS_NUM_THREADS": "1"}
        secret = {ENVIRONMENT: f"env-{secrets.token_hex(12)}"}
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tests.attacks", "--nursery", str(deadline)), cwd=REPOSITORY,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | more | secret, start_new_session=True,
        )  # fmt: skip

    def verdict_on(self, attack: Attack) -> Verdict:
        """What becomes of one attack."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            pickle.dump(attack, self._process.stdin)
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        return Verdict(**json.loads(line)) if line else without_answer(attack, "it ended what makes the graders")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked again."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._locks.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def serve(deadline: float) -> None:
    """Take pickled attacks from standard input until it ends, and print a line of JSON with the verdict on each."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    while True:
        try:
            attack = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        verdict = _judged(attack, deadline, replies.fileno()) or _judged(attack, AGAIN * deadline, replies.fileno())
        verdict = verdict or without_answer(attack, f"the grader was held up for {AGAIN * deadline:g} s")
        try:
            replies.write(json.dumps(asdict(verdict)) + "\n")
            replies.flush()
        except BrokenPipeError:  # nobody is left to be told
            os._exit(1)


def _judged(attack: Attack, deadline: float, replies: int) -> Verdict | None:
    """The verdict of a grader of its own; None where it has none by the deadline."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        grader = os.fork()
        if grader == 0:
            os.setsid()
            os.close(replies)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(errors.fileno(), 2)
            _grade(attack, said.fileno())
        status = _ended(grader, deadline)
        if status is None:
            return None
        try:
            said.seek(0)
            return Verdict(**json.load(said))
        except ValueError:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
            return without_answer(attack, f"the grader ended with status {status}: {text[-300:]}")


def _grade(attack: Attack, into: int) -> None:
    status = 1
    try:
        os.write(into, json.dumps(asdict(judge(attack, REPOSITORY))).encode())
        status = 0
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.stderr.flush()
    finally:
        os._exit(status)


def _ended(grader: int, deadline: float) -> int | None:
    """The grader's exit status; None when it had to be ended."""
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        done, status = os.waitpid(grader, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(grader, signal.SIGKILL)
        os.kill(grader, signal.SIGKILL)
    os.waitpid(grader, 0)
    return None
