"""A run of `harness ask`: which attempts are missing, and several of them asked for at a time."""

import hashlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.asking.attempts import PlannedAttempt, attempt_folder, free_numbers, unfinished_file
from harness.asking.conversation import Conversation, Questioner
from harness.asking.patience import Interrupted, Patience
from harness.asking.task import task_prompt
from harness.chat import ChatProblem, ChatServer, may_pass
from harness.errors import ChatError, HarnessError, JudgeError
from harness.model import Asked, AskSettings, Record
from harness.running.options import Options
from harness.running.retry import grade_with_retries
from harness.workspace import Workspace

KEYS = ("HARNESS_API_KEY", "OPENAI_API_KEY")
"""Variables a key is read from; the first that is set."""
MOST_LOST = 3
"""Attempts lost one after the other, after which a server is asked no more."""

Progress = Callable[[PlannedAttempt, str], None]


@dataclass(frozen=True)
class Sampling:
    """How all attempts of a run are asked for.

    Attributes:
        model: by the server's name.
        turns: replies the model is allowed.
        temperature, max_tokens, seed: of sampling; None leaves it to the server.
    """

    model: str
    turns: int = 1
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Plan:
    """What a run asks for.

    Attributes:
        attempts: those that are missing, the first of every challenge first.
        there: how many are there already, by challenge.
    """

    attempts: tuple[PlannedAttempt, ...]
    there: Mapping[str, int]


@dataclass(frozen=True)
class Lost:
    """An attempt that could not be asked for: nothing of it counts, and the next run asks for it again."""

    attempt: PlannedAttempt
    error: HarnessError


Result = tuple[PlannedAttempt, Asked] | Lost


def plan(
    workspace: Workspace, name: str, challenges: Sequence[str], count: int, server: ChatServer, how: Sampling
) -> Plan:
    """What is missing.

    Args:
        workspace: where attempts belong.
        name: of the model's folder.
        challenges: ids.
        count: attempts there are to be of each.
        server: that is to be asked.
        how: how.

    Raises:
        NotFoundError: there is no such challenge.
        SpecError: what is there was asked for in another way.
    """
    attempts: list[PlannedAttempt] = []
    there = {}
    for id in dict.fromkeys(challenges):
        challenge, prompt = workspace.challenge(id), task_prompt(workspace, id)
        settings = AskSettings(
            server=server.shown, model=how.model, prompt_sha256=hashlib.sha256(prompt.encode()).hexdigest(),
            turns=how.turns, temperature=how.temperature, max_tokens=how.max_tokens, seed=how.seed,
        )  # fmt: skip
        free = free_numbers(workspace, name, id, count, settings)
        there[id] = count - len(free)
        attempts += [
            PlannedAttempt(
                name, challenge, number, attempt_folder(workspace, name, id, number),
                unfinished_file(workspace, name, id, number), prompt, settings,
            )
            for number in free
        ]  # fmt: skip
    # what is interrupted early has something of every challenge
    return Plan(tuple(sorted(attempts, key=lambda attempt: attempt.number)), there)


class AskRun:
    """Asks for planned attempts, `jobs` at a time.

    Args:
        workspace: where they belong.
        server: that is asked.
        jobs: requests under way at a time.
        prices: of a million tokens of prompts and of replies, where they are stated.
    """

    def __init__(
        self, workspace: Workspace, server: ChatServer, jobs: int = 1,
        prices: tuple[float | None, float | None] = (None, None),
    ) -> None:  # fmt: skip
        self._workspace = workspace
        self._jobs = jobs
        self._prices = prices
        self._stop = threading.Event()
        self._ended = False
        self._lost_in_a_row = 0
        self._questioner = Questioner(server, Patience(self._stop.wait))
        self._at_work = threading.Lock()
        self.written: list[Result] = []
        """Attempts that are on disk; whoever is interrupted may not have heard of the last ones."""

    def results(self, attempts: Sequence[PlannedAttempt], progress: Progress) -> Iterator[Result]:
        """What came of each attempt, as they finish; after an error that would hit all, of those under way only.

        A caller that stops early ends the run: what is being written or graded is finished first, replies that have
        not come are given up.
        """
        todo: queue.SimpleQueue[PlannedAttempt] = queue.SimpleQueue()
        for attempt in attempts:
            todo.put(attempt)
        done: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        workers = min(self._jobs, len(attempts))
        for _ in range(workers):
            # a thread that waits for a server must not keep the process alive
            threading.Thread(target=self._work, args=(todo, done, progress), daemon=True).start()
        try:
            while workers:
                result = done.get()
                if result is None:
                    workers -= 1
                else:
                    yield result
        finally:
            self._stop.set()
            with self._at_work:
                self._ended = True

    def _work(
        self, todo: "queue.SimpleQueue[PlannedAttempt]", done: "queue.SimpleQueue[Result | None]", progress: Progress
    ) -> None:
        try:
            while not self._stop.is_set():
                done.put(self._result(todo.get_nowait(), progress))
        except (queue.Empty, Interrupted):
            pass
        finally:
            done.put(None)

    def _result(self, attempt: PlannedAttempt, progress: Progress) -> Result:
        """What came of an attempt; where others would fare no better, nothing further is begun."""
        try:
            asked = self._asked(attempt, partial(progress, attempt))
        except Interrupted:
            raise
        except HarnessError as error:
            lost = Lost(attempt, error)
        except Exception as error:  # a mistake of ours must not leave the others waiting for this thread
            lost = Lost(attempt, JudgeError(f"{attempt}: {type(error).__name__}: {error}"))
        else:
            self._lost_in_a_row = 0
            return attempt, asked
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MOST_LOST or not _concerns_one(lost.error):
            self._stop.set()
        return lost

    def _asked(self, attempt: PlannedAttempt, notify: Callable[[str], None]) -> Asked:
        asked = Conversation(attempt, self._questioner, self._grade, notify, self._prices).hold()
        with self._at_work:
            self._assert_open()
            finished = attempt.finish(asked)
            self.written.append((attempt, finished))
            return finished

    def _grade(self, folder: Path) -> Record:
        """Grade one reply at a time: several would disturb each other's measurements."""
        with self._at_work:
            self._assert_open()
            return grade_with_retries(self._workspace, folder, Options(publish=False)).record

    def _assert_open(self) -> None:
        """Begin nothing that the end of the process would cut short.

        Raises:
            Interrupted: the run has ended.
        """
        if self._ended:
            raise Interrupted


def _concerns_one(error: HarnessError) -> bool:
    """Whether other attempts may fare better."""
    if isinstance(error, ChatError):
        return may_pass(error) and error.problem != ChatProblem.UNREACHABLE
    return isinstance(error, JudgeError)
