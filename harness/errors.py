"""Everything the harness raises on its own behalf.

HarnessError
├── SpecError            a challenge, submission or record file is malformed
│   └── FilesError       a submission's files, or their names, are not what can be graded
├── ReplyError           a model's raw reply holds no submission that can be told
│   ├── NoAnswerError    it holds no answer at all: an attempt that meets nothing
│   └── AmbiguousReplyError  its blocks may be meant in several ways: nothing is graded before somebody chooses
├── NotFoundError        a name or a path that nothing answers to
├── PrerequisiteError    something the machine must offer is missing
├── JudgeError           our side failed: never the answer's fault, never a verdict
│   ├── BoxError         the isolation could not be set up or broke on our side
│   ├── BusyMachineError other work kept the processor from an answer
│   ├── LostGraderError  the process that graded ended on the way
│   └── ChatError        a model's server gave no reply
├── ServiceError         a grading service gave no record
└── StoreError           a record cannot be read or written

What an answer does wrong is data (`harness.model.Evidence`), never one of these.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path


class HarnessError(Exception):
    """Base of all errors meant for the person at the keyboard; shown without a traceback."""


class SpecError(HarnessError):
    """A file of the workspace or of a submission is malformed.

    Attributes:
        path: the file, as the user knows it.
        field: dotted name of the field at fault, empty when it is the whole file.
    """

    def __init__(self, path: Path | str, problem: str, *, field: str = "", hint: str = "") -> None:
        self.path = Path(path)
        self.field = field
        where = f"{path}: {field}" if field else str(path)
        super().__init__(f"{where}: {problem}" + (f"\n  {hint}" if hint else ""))

    @classmethod
    def rebuilt(cls, path: str, message: str) -> "SpecError":
        """Rebuild what another process raised from its `path` and its whole message."""
        error = cls(path, "")
        error.args = (message,)
        return error


class FilesError(SpecError):
    """A submission's files cannot be graded for what they are: a link, too many bytes, a name that no file can have."""


class ReplyError(HarnessError):
    """A model's raw reply from which no submission can be taken; nothing was written.

    Attributes:
        path: the reply, as the user knows it.
        problem: the kind of problem.
        message: what is wrong with it.
        found: what the reply holds, a line each.
    """

    def __init__(self, path: str, problem: str, message: str, *, found: Sequence[str] = (), hint: str) -> None:
        self.path = path
        self.problem = problem
        self.message = message
        self.found = tuple(found)
        listed = "".join(f"\n  {line}" for line in found)
        super().__init__(f"{path}: {message}{listed}\n  try: {hint}")


class NoAnswerError(ReplyError):
    """A raw reply that gives nothing to grade: it is empty, a refusal, prose, cut off, or code for something else."""


class AmbiguousReplyError(ReplyError):
    """A raw reply whose files may be meant in several ways: none is taken before somebody chooses."""


class NotFoundError(HarnessError):
    """A name or path that nothing answers to; the message carries the nearest that does."""


class PrerequisiteError(HarnessError):
    """Something the machine must offer is missing; the message says how to get it."""


class JudgeError(HarnessError):
    """Our side failed while grading; the answer is neither praised nor blamed for it."""


class BoxError(JudgeError):
    """The isolation could not be set up, or broke in a way the boxed code cannot cause."""


class BusyMachineError(JudgeError):
    """Other work kept the processor from an answer in all the wall time that a grade waits for it."""


class LostGraderError(JudgeError):
    """The process that graded ended on the way.

    Attributes:
        status: its exit status; negative for the signal that ended it.
    """

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class ChatError(JudgeError):
    """A model's server gave no reply.

    Attributes:
        problem: the kind of problem.
        words: what happened, in a line.
        status: of HTTP, where it is what went wrong.
        wait: seconds after which the server asks to be tried again, where it does.
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
        status: of HTTP; 0 where the server did not answer.
    """

    def __init__(self, status: int, words: str, *, hint: str = "") -> None:
        self.status = status
        super().__init__(f"{words}\n  {hint}" if hint else words)


class StoreError(HarnessError):
    """A record cannot be read or written."""


CLOSE = 0.5
"""How alike a name and what it is taken for must be, from 0 to 1."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?`, or nothing.

    Of names with parts, as MODEL/CHALLENGE, every part must be close: another model's answer is no slip of the pen.
    """
    parts = name.split("/")
    alike = [one for one in known if len(parts) == one.count("/") + 1 and all(map(_close, parts, one.split("/")))]
    close = difflib.get_close_matches(name, alike, n=1, cutoff=CLOSE)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_own_error(error: Exception, what: object) -> HarnessError:
    """Return an exception that concerns one submission as one of these, so that it concerns no other.

    Args:
        error: whatever escaped while the submission was read, laid out or graded; one of these is returned as it is.
        what: the submission, for the message.
    """
    if isinstance(error, HarnessError):
        return error
    return JudgeError(f"{what}: {type(error).__name__}: {error}".encode(errors="replace").decode())


def _close(part: str, other: str) -> bool:
    return bool(difflib.get_close_matches(part, [other], cutoff=CLOSE))
