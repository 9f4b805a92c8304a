"""Data sent to a node."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import JudgeError
from harness.model.base import relative
from harness.model.submissions.file_names import find_clash
from harness.sandbox import read_folder

MAX_PATH = 600
"""Longest path in a bundle, in bytes, including the submission's folder."""


@dataclass(frozen=True)
class FileBundle:
    """Files in transit.

    Attributes:
        files: contents by relative path, with slashes.
    """

    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folders: Mapping[str, Path]) -> "FileBundle":
        """Read folders, keyed by their relative path on the node.

        Raises:
            SpecError: a folder cannot be read, or holds a link.
        """
        read = [FileBundle(read_folder(folder)).below(to) for to, folder in folders.items()]
        return cls({name: data for bundle in read for name, data in bundle.files.items()})

    def below(self, place: str) -> "FileBundle":
        """Return the same files below a folder."""
        return FileBundle({f"{place}/{name}": data for name, data in self.files.items()})

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file by path."""
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def id(self) -> str:
        """Hash of all names and contents."""
        return hashlib.sha256(repr(sorted(self.hashes.items())).encode(errors="backslashreplace")).hexdigest()

    def lay_out(self, place: Path) -> None:
        """Write the files below a folder that has no other writer.

        Raises:
            JudgeError: a name leads out of the folder, or clashes with another; nothing was written.
        """
        if clash := find_clash(self._check_name(name) for name in self.files):
            raise JudgeError(f"refused a bundle in which {clash[0]!r} is both a file and a folder")
        for name, data in self.files.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    @staticmethod
    def _check_name(name: object) -> str:
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
    """Order to grade one submission, as plain data for any node.

    Attributes:
        id: hash of all that decides the grade except the machine.
        place: the submission's folder, relative to the node's workspace.
        answer: the submission's files, by path in the workspace.
        surroundings: Ray reference of the challenge's bundle, in a list so that Ray does not resolve it.
        untimed: true to omit criteria that a clock decides.
        seeds: failing seeds of these files, by criterion.
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
