"""Trials of generated mutants that ended, kept so that a run that was cut off goes on where it was."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import harness
from harness.probing.code import ChallengeCode
from harness.probing.trials import Fate, MutantTrial


class TrialJournal:
    """The trials of one challenge and seed, one a line; those of other sources of the harness or challenge are others.

    Attributes:
        path: of the file, in the workspace's local folder.
    """

    def __init__(self, code: ChallengeCode, seed: int) -> None:
        name = f"{code.challenge.id}-{seed}-{_digest(code)[:16]}.jsonl"
        self.path = code.workspace.cache_folder / "generated" / name

    def read(self) -> Iterator[MutantTrial]:
        """The trials kept; a last line that was cut off is none."""
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").split("\n")[:-1]:
            stored = json.loads(line)
            lists = {name: tuple(stored[name]) for name in ("unjudged", "not_run")}
            yield MutantTrial(**stored | lists | {"fate": Fate(stored["fate"])})

    def keep(self, trial: MutantTrial) -> None:
        """Add a trial."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(trial)) + "\n")


def _digest(code: ChallengeCode) -> str:
    """Of everything that a trial's fate depends on."""
    workspace, id = code.workspace, code.challenge.id
    folders = (Path(harness.__file__).parent, workspace.challenge_folder(id), workspace.reference_folder(id))
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
