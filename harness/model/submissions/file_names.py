"""Valid file names in submissions: portable, and distinct from the harness's own."""

import errno
from collections.abc import Iterable, Iterator

from harness.model.submissions.asked import ASKED_FILE
from harness.model.base import relative
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.name import ATTEMPT

REPLY_FILE = "reply.md"
"""Raw reply of the model, beside a submission taken from it."""
IGNORED = frozenset({"__pycache__", ".git", ".pytest_cache", ".ruff_cache", ".mypy_cache", "reviews"})
"""Folders outside the submission."""
MAX_NAME = 200
"""Longest path of a file in a submission that arrives as text, in bytes; file systems limit one part to 255."""
NAME_ERRORS = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL})
"""Errors with which a file system refuses a name."""
_KEPT = IGNORED | {SUBMISSION_FILE, REPLY_FILE, ASKED_FILE}


def name_problem(name: str) -> str:
    """Return why a submission's file cannot have this name, as a phrase; empty for a valid name."""
    parts = name.split("/")
    try:
        size = len(name.encode())
        relative(name)
    except UnicodeEncodeError:
        return "is no text"
    except ValueError as error:
        return str(error)
    if size > MAX_NAME:
        return f"is longer than {MAX_NAME} bytes"
    if "." in parts or "\\" in name or not name.isprintable():
        return "holds a part '.', a backslash or a character that cannot be printed"
    if name.startswith("-") or any(part != part.strip() for part in parts):
        return "begins with '-', or a part of it begins or ends with a space"
    return ""


def is_reserved(name: str) -> bool:
    """Return whether a path is reserved, lies in a reserved folder, or would turn a folder into an attempt."""
    *folders, file = name.lower().split("/")
    if not folders:
        return file in _KEPT
    attempt = file == SUBMISSION_FILE and len(folders) == 1 and ATTEMPT.fullmatch(folders[0]) is not None
    return attempt or not _KEPT.isdisjoint(folders)


def find_clash(names: Iterable[str]) -> tuple[str, str] | None:
    """Find a name that is also a folder of another name."""
    known = set(names)
    return next(((above, name) for name in sorted(known) for above in folders_of(name) if above in known), None)


def folders_of(name: str) -> Iterator[str]:
    """Yield the folders above a relative path, outermost first."""
    parts = name.split("/")
    yield from ("/".join(parts[:count]) for count in range(1, len(parts)))
