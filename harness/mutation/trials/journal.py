"""Storage of finished trials, from which an interrupted run resumes."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter

import harness
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace


class KeptTrial(Protocol):
    """The result of a trial: a dataclass of plain values."""

    @property
    def number(self) -> int:
        """Number of the trial in its run."""


T = TypeVar("T", bound=KeptTrial)


class TrialJournal(Generic[T]):
    """The file of the trials of one kind, challenge and seed, one per line.

    Changed sources of the harness or the challenge start another file.
    """

    def __init__(self, code: ChallengeCode, seed: int, kind: type[T]) -> None:
        self._kind = TypeAdapter(kind)
        name = f"{code.challenge.id}-{kind.__name__}-{seed}-{version_of(code)}.jsonl"
        self.path = trials_folder(code.workspace) / name

    def read(self) -> Iterator[T]:
        """Yield the stored trials, without a cut-off last line."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").split("\n")[:-1]:
            yield self._kind.validate_json(line)

    def keep(self, trial: T) -> None:
        """Append a trial."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(trial)) + "\n")


def trials_folder(workspace: Workspace) -> Path:
    """Return the folder of a workspace's trials."""
    return workspace.cache_folder / "trials"


def version_of(code: ChallengeCode) -> str:
    """Return a hash of all that a trial's result depends on."""
    folders = (Path(harness.__file__).parent, *code.workspace.folders_of_challenge(code.challenge.id).values())
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
