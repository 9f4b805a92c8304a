"""Trials in several processes."""

import itertools
import multiprocessing
import queue
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from harness.errors import JudgeError
from harness.mutation.trials.journal import KeptTrial
from harness.probing.challenge_code.code import ChallengeCode
from harness.sandbox.inside import process_control
from harness.workspace import Workspace

LOOK_SECONDS = 2.0
END_SECONDS = 60.0
"""Longest wait in seconds for a process to finish its trial."""

T_co = TypeVar("T_co", bound=KeptTrial, covariant=True)


class Trier(Protocol[T_co]):
    """A maker of trials for a challenge and a seed."""

    def trial(self, number: int) -> T_co:
        """Make one trial."""


MakeTrier = Callable[[ChallengeCode, int], AbstractContextManager[Trier[T_co]]]
"""Factory called with the challenge's code and the seed; a class or function of a module that other processes
import."""


def iter_trials(
    make: MakeTrier[T_co], code: ChallengeCode, seed: int, numbers: Iterator[int], jobs: int
) -> Generator[T_co]:
    """Yield trials in the order in which they end.

    Raises:
        JudgeError: a process ended by itself.
    """
    if jobs == 1:
        with make(code, seed) as trier:
            yield from map(trier.trial, numbers)
        return
    context = multiprocessing.get_context("spawn")
    asked, told, ended = context.Queue(), context.Queue(), context.Event()
    given = (make, code.workspace, code.challenge.id, seed, asked, told, ended)
    workers = [context.Process(target=_work, args=given, daemon=True) for _ in range(jobs)]
    try:
        for worker in workers:
            worker.start()
        under_way = 0
        for number in itertools.islice(numbers, 2 * jobs):
            asked.put(number)
            under_way += 1
        while under_way:
            yield _get_next(told, workers)
            under_way -= 1
            for number in itertools.islice(numbers, 1):
                asked.put(number)
                under_way += 1
    finally:
        ended.set()
        for _ in workers:
            asked.put(None)
        for worker in workers:
            worker.join(END_SECONDS)
            worker.terminate()


def _get_next(told: Any, workers: Sequence[Any]) -> Any:
    while True:
        try:
            return told.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            if not all(worker.is_alive() for worker in workers):
                raise JudgeError("a process that makes trials ended by itself") from None


def _work(
    make: MakeTrier[KeptTrial], workspace: Workspace, challenge: str, seed: int, asked: Any, told: Any, ended: Any
) -> None:
    process_control.prctl(process_control.SET_PDEATHSIG, signal.SIGKILL)  # its boxes end with it
    code = ChallengeCode(workspace, workspace.challenge(challenge))
    told.cancel_join_thread()  # unread results must not keep this process alive
    with make(code, seed) as trier:
        for number in iter(asked.get, None):
            if ended.is_set():
                return
            told.put(trier.trial(number))
