"""All errors of the harness itself.

HarnessError
├── SpecError
│   └── FilesError
├── ReplyError
│   ├── NoAnswerError
│   └── AmbiguousReplyError
├── NotFoundError
├── PrerequisiteError
├── JudgeError
│   ├── BoxError
│   ├── BusyMachineError
│   ├── LostGraderError
│   └── ChatError
├── ServiceError
└── StoreError

Faults of a submission are data (`harness.model.Evidence`), not errors.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


class HarnessError(Exception):
    """Base of all errors for the user; printed without a traceback."""


class SpecError(HarnessError):
    """A challenge, submission or record file is malformed.

    Attributes:
        path: the file, as the user knows it.
        field: dotted name of the field; empty for the whole file.
    """

    def __init__(self, path: Path | str, problem: str, *, field: str = "", hint: str = "") -> None:
        self.path = Path(path)
        self.field = field
        where = f"{path}: {field}" if field else str(path)
        super().__init__(f"{where}: {problem}" + (f"\n  {hint}" if hint else ""))

    @classmethod
    def rebuilt(cls, path: str, message: str) -> "SpecError":
        """Rebuild another process's error from its `path` and full message."""
        error = cls(path, "")
        error.args = (message,)
        return error


class FilesError(SpecError):
    """A submission's files cannot be graded: a link, too many bytes, an impossible name."""


class ReplyError(HarnessError):
    """No submission can be taken from a model's raw reply; no file was written.

    Attributes:
        path: the reply, as the user knows it.
        found: content of the reply, in lines.
    """

    def __init__(self, path: str, problem: str, message: str, *, found: Sequence[str] = (), hint: str) -> None:
        self.path = path
        self.problem = problem
        self.message = message
        self.found = tuple(found)
        listed = "".join(f"\n  {line}" for line in found)
        super().__init__(f"{path}: {message}{listed}\n  try: {hint}")


class NoAnswerError(ReplyError):
    """A raw reply without a submission (empty, a refusal, prose, cut off, other code): a failed attempt."""


class AmbiguousReplyError(ReplyError):
    """A raw reply with several readings, which is not graded until the user chooses one."""


class NotFoundError(HarnessError):
    """An unknown name or path, with the nearest known one in the message."""


class PrerequisiteError(HarnessError):
    """The machine lacks a requirement; the message tells how to get it."""


class JudgeError(HarnessError):
    """Our side failed while grading: neither a fault of the submission nor a verdict."""


class BoxError(JudgeError):
    """The isolation could not be set up, or broke in a way that boxed code cannot cause."""


class BusyMachineError(JudgeError):
    """Other work kept a submission from the processor for a grade's whole wall time."""


class LostGraderError(JudgeError):
    """The grading process ended early.

    Attributes:
        status: exit status; negative for a signal.
    """

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class ChatError(JudgeError):
    """A model's server gave no reply.

    Attributes:
        words: description in a line.
        status: HTTP status, if that is the problem.
        wait: seconds after which the server wants a retry, if stated.
    """

    def __init__(
        self, problem: str, words: str, *, hint: str = "", status: int | None = None, wait: float | None = None
    ) -> None:
        self.problem = problem
        self.words = words
        self.status = status
        self.wait = wait
        super().__init__(f"{words}\n  {hint}" if hint else words)


class ServiceError(HarnessError):
    """A grading service gave no record.

    Attributes:
        status: HTTP status; 0 without a response.
    """

    def __init__(self, status: int, words: str, *, hint: str = "") -> None:
        self.status = status
        super().__init__(f"{words}\n  {hint}" if hint else words)


class StoreError(HarnessError):
    """A record cannot be read or written."""


CLOSE = 0.5
"""Least similarity between a name and its suggestion, from 0 to 1."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?`, or the empty string.

    Every part of a MODEL/CHALLENGE must be close, as another model's submission is unlikely to be meant.
    """
    parts = name.split("/")
    alike = [one for one in known if len(parts) == one.count("/") + 1 and all(map(_close, parts, one.split("/")))]
    close = difflib.get_close_matches(name, alike, n=1, cutoff=CLOSE)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_own_error(error: Exception, what: object) -> HarnessError:
    """Return an exception as a `HarnessError` that concerns one submission only.

    Args:
        error: a `HarnessError` is returned unchanged.
        what: the submission, for the message.
    """
    if isinstance(error, HarnessError):
        return error
    return JudgeError(f"{what}: {type(error).__name__}: {error}".encode(errors="replace").decode())


def _close(part: str, other: str) -> bool:
    return bool(difflib.get_close_matches(part, [other], cutoff=CLOSE))
