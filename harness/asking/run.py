"""A run of `harness ask`."""

import hashlib
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from harness.asking.attempts import PlannedAttempt, attempt_folder, free_numbers, get_unfinished_file
from harness.asking.conversation import Conversation, Questioner
from harness.asking.patience import Interrupted, Patience
from harness.asking.task import task_prompt
from harness.chat import ChatProblem, ChatServer, may_pass
from harness.errors import ChatError, HarnessError, JudgeError
from harness.grading.options import Options
from harness.grading.retry import grade_with_retries
from harness.model import Asked, AskSettings, Record
from harness.workspace import Workspace

KEYS = ("HARNESS_API_KEY", "OPENAI_API_KEY")
"""Environment variables of the API key, by precedence."""
MOST_LOST = 3
"""Consecutive lost attempts that end a run."""

Progress = Callable[[PlannedAttempt, str], None]


@dataclass(frozen=True)
class Sampling:
    """Model and sampling settings of a run.

    Attributes:
        model: the server's name of the model.
        turns: replies per attempt.
        temperature, max_tokens, seed: None leaves them to the server.
    """

    model: str
    turns: int = 1
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Plan:
    """The missing attempts, the first of every challenge first, and the number of existing ones by challenge."""

    attempts: tuple[PlannedAttempt, ...]
    there: Mapping[str, int]


@dataclass(frozen=True)
class Lost:
    """A failed attempt, which the next run asks for again."""

    attempt: PlannedAttempt
    error: HarnessError


Result = tuple[PlannedAttempt, Asked] | Lost


def plan(
    workspace: Workspace, name: str, challenges: Sequence[str], count: int, server: ChatServer, how: Sampling
) -> Plan:
    """Plan `count` attempts per challenge, in the model's folder `name`.

    Raises:
        NotFoundError: a challenge is unknown.
        SpecError: existing attempts have other settings.
    """
    attempts: list[PlannedAttempt] = []
    there = {}
    for id in dict.fromkeys(challenges):
        challenge, prompt = workspace.challenge(id), task_prompt(workspace, id)
        prompt_sha256 = hashlib.sha256(prompt.encode()).hexdigest()
        settings = AskSettings(server=server.shown, prompt_sha256=prompt_sha256, **asdict(how))
        free = free_numbers(workspace, name, id, count, settings)
        there[id] = count - len(free)
        attempts += [
            PlannedAttempt(
                name,
                challenge,
                number,
                attempt_folder(workspace, name, id, number),
                get_unfinished_file(workspace, name, id, number),
                prompt,
                settings,
            )
            for number in free
        ]
    # so an interrupted run has attempts at every challenge
    return Plan(tuple(sorted(attempts, key=lambda attempt: attempt.number)), there)


class AskRun:
    """Asks for planned attempts, several at a time.

    Args:
        jobs: concurrent requests.
        prices: as for `Conversation`.
    """

    def __init__(
        self,
        workspace: Workspace,
        server: ChatServer,
        jobs: int = 1,
        prices: tuple[float | None, float | None] = (None, None),
    ) -> None:
        self._workspace = workspace
        self._jobs = jobs
        self._prices = prices
        self._stop = threading.Event()
        self._ended = False
        self._lost_in_a_row = 0
        self._questioner = Questioner(server, Patience(self._stop.wait))
        self._at_work = threading.Lock()
        self.written: list[Result] = []
        """Finished attempts on disk; after an interrupt the caller may not have received the last ones."""

    def results(self, attempts: Sequence[PlannedAttempt], progress: Progress) -> Iterator[Result]:
        """Yield the result of each attempt as it finishes; an error that would hit all ends the run.

        A caller that stops early ends the run too. Writing and grading under way finish first, pending replies are
        dropped.
        """
        todo: queue.SimpleQueue[PlannedAttempt] = queue.SimpleQueue()
        for attempt in attempts:
            todo.put(attempt)
        done: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        workers = min(self._jobs, len(attempts))
        for _ in range(workers):
            # daemon: a thread waiting for the server must not keep the process alive
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
                done.put(self._run_attempt(todo.get_nowait(), progress))
        except (queue.Empty, Interrupted):
            pass
        finally:
            done.put(None)

    def _run_attempt(self, attempt: PlannedAttempt, progress: Progress) -> Result:
        try:
            asked = self._ask(attempt, partial(progress, attempt))
        except Interrupted:
            raise
        except HarnessError as error:
            lost = Lost(attempt, error)
        except Exception as error:  # a bug of ours must not leave the caller waiting for this thread
            lost = Lost(attempt, JudgeError(f"{attempt}: {type(error).__name__}: {error}"))
        else:
            self._lost_in_a_row = 0
            return attempt, asked
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MOST_LOST or not _concerns_one(lost.error):
            self._stop.set()
        return lost

    def _ask(self, attempt: PlannedAttempt, notify: Callable[[str], None]) -> Asked:
        asked = Conversation(attempt, self._questioner, self._grade, notify, self._prices).hold()
        with self._at_work:
            self._assert_open()
            finished = attempt.finish(asked)
            self.written.append((attempt, finished))
            return finished

    def _grade(self, folder: Path) -> Record:
        # one at a time, so that timings stay undisturbed
        with self._at_work:
            self._assert_open()
            return grade_with_retries(self._workspace, folder, Options(publish=False)).record

    def _assert_open(self) -> None:
        # checked before work that the process's exit would cut short
        if self._ended:
            raise Interrupted


def _concerns_one(error: HarnessError) -> bool:
    """Return whether other attempts may succeed."""
    if isinstance(error, ChatError):
        return may_pass(error) and error.problem != ChatProblem.UNREACHABLE
    return isinstance(error, JudgeError)
