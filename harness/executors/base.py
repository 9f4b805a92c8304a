"""Protocol of executors, and the function that drives them."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import HarnessError
from harness.grading.submission_grade import Graded

Progress = Callable[[Path, str], None]


@dataclass(frozen=True)
class NotGraded:
    """A submission that could not be graded."""

    folder: Path
    error: HarnessError


class Executor(Protocol):
    """Grader of many submissions, perhaps on other machines.

    Every record is saved before its result is yielded.
    """

    def submit(self, folder: Path) -> None:
        """Queue a submission."""

    def results(self, progress: Progress) -> Iterator[Graded | NotGraded]:
        """Yield results in order of completion.

        Args:
            progress: callback with the folder and name of each stage as it begins.
        """

    def places(self) -> str:
        """Describe where grades run now; may be empty."""

    def drain(self) -> None:
        """Drop queued submissions, so that `results` ends after the running grades; callable in a signal handler."""

    def cancel(self) -> None:
        """Stop running grades and drop queued ones; keep finished grades."""


def grade_all(
    executor: Executor, folders: Sequence[Path], progress: Progress = lambda folder, stage: None
) -> Generator[Graded | NotGraded, None, None]:
    """Grade every folder; if the caller stops early, cancel the rest."""
    try:
        for folder in folders:
            executor.submit(folder)
        yield from executor.results(progress)
    finally:
        executor.cancel()
