"""What runs many grades: the protocol that every executor keeps, and the one way to use it."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import HarnessError
from harness.running.submission_grade import Graded

Progress = Callable[[Path, str], None]


@dataclass(frozen=True)
class NotGraded:
    """A submission that could not be graded at all; the others go on."""

    folder: Path
    error: HarnessError


class Executor(Protocol):
    """Grades submissions, several at a time.

    Only data passes its boundary, so that grades may run in other processes and on other machines: folders go in,
    the names of stages and records come out. Every record is saved before its result is yielded.
    """

    def submit(self, folder: Path) -> None:
        """Queue a submission."""

    def results(self, progress: Progress) -> Iterator[Graded | NotGraded]:
        """One result for each submission queued, as they finish.

        Args:
            progress: called with each stage of each folder as it begins.
        """

    def places(self) -> str:
        """Where grades run now, in a phrase for people; empty where there is nothing to say."""

    def cancel(self) -> None:
        """Stop what runs and drop what waits; finished grades are kept. Does nothing after the last result."""


def grade_all(
    executor: Executor, folders: Sequence[Path], progress: Progress = lambda folder, stage: None
) -> Generator[Graded | NotGraded, None, None]:
    """Grade every folder; what is not finished when the caller stops is cancelled.

    Args:
        executor: where to.
        folders: the submissions.
        progress: called with each stage of each folder as it begins.
    """
    try:
        for folder in folders:
            executor.submit(folder)
        yield from executor.results(progress)
    finally:
        executor.cancel()
