"""What travels to a node: files as bytes by relative path, and one answer with what its grade needs."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import JudgeError
from harness.model.base import relative
from harness.model.file_names import find_clash
from harness.sandbox import read_folder

MAX_PATH = 600
"""Bytes of a file's path in a bundle: that of a submission's file, and the folder it is put into."""


@dataclass(frozen=True)
class FileBundle:
    """Files as they travel.

    Attributes:
        files: their bytes by relative path, with slashes.
    """

    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folders: Mapping[str, Path]) -> "FileBundle":
        """The files of some folders.

        Args:
            folders: each by the relative path that it is to have at the other end.

        Raises:
            SpecError: one cannot be read, or holds a link.
        """
        read = [FileBundle(read_folder(folder)).below(to) for to, folder in folders.items()]
        return cls({name: data for bundle in read for name, data in bundle.files.items()})

    def below(self, place: str) -> "FileBundle":
        """The same files in a folder."""
        return FileBundle({f"{place}/{name}": data for name, data in self.files.items()})

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file by its path."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def id(self) -> str:
        """Hash of all names and bytes."""
        return hashlib.sha256(repr(sorted(self.hashes.items())).encode(errors="backslashreplace")).hexdigest()

    def lay_out(self, place: Path) -> None:
        """Write the files below a folder that nobody else writes to.

        Raises:
            JudgeError: a name leads out of it, or two names are in each other's way; nothing was written.
        """
        if clash := find_clash(self._checked(name) for name in self.files):
            raise JudgeError(f"refused a bundle in which {clash[0]!r} is both a file and a folder")
        for name, data in self.files.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    @staticmethod
    def _checked(name: object) -> str:
        try:
            if not isinstance(name, str) or "\0" in name or "\\" in name or len(os.fsencode(name)) > MAX_PATH:
                raise ValueError("is no path of a file")
            if any(part == "." for part in name.split("/")):
                raise ValueError("has a part '.'")
            return relative(name)
        except ValueError as error:
            raise JudgeError(f"refused a bundle: the name {str(name)[:80]!r} {error}") from None


@dataclass(frozen=True)
class GradeTask:
    """One answer to be graded on a node: data alone, so that it may be sent again, and to another node.

    Attributes:
        id: hash of all that the grade depends on but the machine.
        place: relative path of the answer's folder in the node's workspace.
        answer: the files of that folder, by their path in the workspace.
        surroundings: what `ray.get` finds the challenge by, in a list so that Ray does not fetch it itself.
        surroundings_id: hash of it.
        untimed: whether the criteria that a clock decides are left out.
        seeds: those that once failed these files, by criterion.
        challenge: id of the challenge.
        hashes: SHA-256 of the answer's files by relative path.
    """

    id: str
    place: str
    answer: FileBundle
    surroundings: list[Any]
    surroundings_id: str
    untimed: bool
    challenge: str
    hashes: Mapping[str, str]
    seeds: Mapping[str, int] = field(default_factory=dict)
