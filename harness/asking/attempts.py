"""Storage of finished and unfinished attempts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from harness.asking.attempt_answer import answer_files
from harness.errors import SpecError, StoreError
from harness.importing.reply import lay_out_files
from harness.model import ASKED_FILE, Asked, AskSettings, Challenge
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.name import SubmissionName
from harness.workspace import Workspace
from harness.workspace.stored_files import remedy, write_atomically

_SAME = ("model", "prompt_sha256", "turns", "temperature", "max_tokens", "seed")
"""Settings that all attempts in a folder share; the server's URL may change."""


@dataclass(frozen=True)
class PlannedAttempt:
    """An attempt to ask for.

    Attributes:
        name: model's folder.
        number: from 1.
        folder: its future folder.
        unfinished: file of its turns until it is finished.
        prompt: first message.
    """

    name: str
    challenge: Challenge
    number: int
    folder: Path
    unfinished: Path
    prompt: str
    settings: AskSettings

    def __str__(self) -> str:
        return f"{self.name}/{self.challenge.id}/{self.folder.name}"

    def read_unfinished(self) -> Asked | None:
        """Return the turns of an interrupted run with the same settings, or None."""
        try:
            asked = Asked.from_json(self.unfinished.read_bytes())
        except (OSError, ValidationError):
            return None
        return asked if not _find_difference(asked.settings, self.settings) else None

    def keep(self, asked: Asked) -> None:
        """Store the turns so far."""
        write_atomically(self.unfinished, asked.to_json())

    def finish(self, asked: Asked) -> Asked:
        """Write the attempt: its submission, and how it was asked for.

        Raises:
            StoreError: the folder cannot be written.
        """
        files, asked = answer_files(asked, self.name, self.challenge, self.number)
        lay_out_files({**files, ASKED_FILE: asked.to_json().encode()}, self.folder)
        self.unfinished.unlink(missing_ok=True)
        return asked


def attempt_folder(workspace: Workspace, name: str, challenge: str, number: int) -> Path:
    """Return the folder of an attempt."""
    return workspace.submissions_folder.joinpath(*SubmissionName(name, challenge, number).parts)


def get_unfinished_file(workspace: Workspace, name: str, challenge: str, number: int) -> Path:
    """Return the file of an unfinished attempt."""
    return _get_local_folder(workspace) / name / challenge / f"attempt-{number}.json"


def free_numbers(workspace: Workspace, name: str, challenge: str, count: int, settings: AskSettings) -> list[int]:
    """Return the missing ones of the attempts 1 to `count`.

    Args:
        name: model's folder.
        settings: settings that existing attempts must share.

    Raises:
        SpecError: the folder holds a single submission, or attempts with other settings.
    """
    place = attempt_folder(workspace, name, challenge, 1).parent
    if os.path.lexists(place / SUBMISSION_FILE):
        raise SpecError(
            place, "holds an answer that is no attempt; nothing was asked", hint="take another folder:  --name NAME"
        )
    free = []
    for number in range(1, count + 1):
        folder = attempt_folder(workspace, name, challenge, number)
        if not os.path.lexists(folder):
            free.append(number)
        elif os.path.lexists(folder / ASKED_FILE):
            _refuse_mixture(folder / ASKED_FILE, settings)
    return free


def _refuse_mixture(path: Path, settings: AskSettings) -> None:
    try:
        earlier = Asked.from_json(path.read_bytes()).settings
    except (OSError, ValidationError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.errors(include_input=False)[0]["msg"]
        raise SpecError(path, f"cannot be read: {problem}", hint="take another folder:  --name NAME") from None
    if differs := _find_difference(earlier, settings):
        raise SpecError(
            path,
            f"was {getattr(earlier, differs)!r}, and is {getattr(settings, differs)!r} now; nothing was asked",
            field=f"settings.{differs}",
            hint="attempts of a folder are alike; for others take one:  --name NAME",
        )


def _find_difference(one: AskSettings, other: AskSettings) -> str:
    return next((name for name in _SAME if getattr(one, name) != getattr(other, name)), "")


@contextmanager
def lock_attempts(workspace: Workspace, name: str) -> Iterator[None]:
    """Lock the attempts of a model's folder against other runs.

    Raises:
        StoreError: another run holds the lock, or it cannot be created.
    """
    path = _get_local_folder(workspace) / f"{name}.lock"
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise StoreError(
            f"another harness ask is at work on submissions/{name}; nothing was asked\n"
            "  wait for it, or take another folder:  --name NAME"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be locked: {error.strerror}\n  {remedy(error)}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            lock.release()


def _get_local_folder(workspace: Workspace) -> Path:
    return workspace.cache_folder / "asking"
