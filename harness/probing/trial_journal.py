"""Trials that ended, kept so that a run that was cut off goes on where it was."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import harness
from harness.probing.code import ChallengeCode
from harness.workspace import Workspace


class KeptTrial(Protocol):
    """What became of one answer: a dataclass of plain values."""

    @property
    def number(self) -> int:
        """Which of the run."""

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """What JSON made of the fields of one."""


T = TypeVar("T", bound=KeptTrial)


class TrialJournal(Generic[T]):
    """The trials of one kind, challenge and seed, one a line; other sources of harness or challenge make others.

    Args:
        code: the challenge's.
        seed: of the run.
        kind: of the trials.

    Attributes:
        path: of the file, in the workspace's local folder.
    """

    def __init__(self, code: ChallengeCode, seed: int, kind: type[T]) -> None:
        self._kind = kind
        name = f"{code.challenge.id}-{kind.__name__}-{seed}-{version_of(code)}.jsonl"
        self.path = trials_folder(code.workspace) / name

    def read(self) -> Iterator[T]:
        """The trials kept; a last line that was cut off is none."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").split("\n")[:-1]:
            yield self._kind.of_json(json.loads(line))

    def keep(self, trial: T) -> None:
        """Add a trial."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(trial)) + "\n")


def trials_folder(workspace: Workspace) -> Path:
    """Where the trials of a workspace are kept."""
    return workspace.cache_folder / "trials"


def version_of(code: ChallengeCode) -> str:
    """How the names of a challenge's journals end: changes with everything that a trial's fate depends on."""
    workspace, id = code.workspace, code.challenge.id
    folders = (Path(harness.__file__).parent, workspace.challenge_folder(id), workspace.reference_folder(id))
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
