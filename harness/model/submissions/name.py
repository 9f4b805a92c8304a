"""Names of submissions, which determine the paths of their folders and records."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Self

ATTEMPT = re.compile(r"attempt-([1-9][0-9]{0,5})")
"""Folder name of one of a model's several attempts at a challenge."""


@dataclass(frozen=True)
class SubmissionName:
    """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N` for one of several attempts.

    Attributes:
        attempt: number from 1; None for a single submission.
    """

    model: str
    challenge: str
    attempt: int | None = None

    @classmethod
    def of_folder(cls, folder: PurePath) -> Self:
        """Return the name of the submission in `folder`, from the last parts of its path."""
        found = ATTEMPT.fullmatch(folder.name)
        if found is None:
            return cls(folder.parent.name, folder.name)
        return cls(folder.parent.parent.name, folder.parent.name, int(found[1]))

    @classmethod
    def of_record(cls, path: PurePath | str) -> Self | None:
        """Return the name for a path below the folder of records; None for other files."""
        *folders, file = path.split("/") if isinstance(path, str) else path.parts
        return cls.of_record_file(folders[0], file, *folders[1:]) if 1 <= len(folders) <= 2 else None

    @classmethod
    def of_record_file(cls, challenge: str, file: str, model: str | None = None) -> Self | None:
        """Return the name for a record file in a challenge's folder, or in that of a model's attempts."""
        stem, _, ending = file.rpartition(".")
        if not stem or ending != "json":
            return None
        if model is None:
            return cls(stem, challenge)
        found = ATTEMPT.fullmatch(stem)
        return cls(model, challenge, int(found[1])) if found else None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse the output of `str`; None for other text."""
        model, _, rest = text.partition("/")
        challenge, slash, last = rest.partition("/")
        found = ATTEMPT.fullmatch(last)
        if not model or not challenge or (slash and not found):
            return None
        return cls(model, challenge, int(found[1]) if found else None)

    @property
    def parts(self) -> tuple[str, ...]:
        """Folder names, outermost first."""
        number = () if self.attempt is None else (f"attempt-{self.attempt}",)
        return (self.model, self.challenge, *number)

    def __str__(self) -> str:
        return "/".join(self.parts)

    @property
    def answer(self) -> str:
        """`MODEL/CHALLENGE`, shared by all attempts."""
        return f"{self.model}/{self.challenge}"

    @property
    def record(self) -> str:
        """Path of its record below the folder of records."""
        number = "" if self.attempt is None else f"/attempt-{self.attempt}"
        return f"{self.challenge}/{self.model}{number}.json"

    @property
    def order(self) -> tuple[str, str, int]:
        """Sort key: model, challenge and number."""
        return self.model, self.challenge, self.attempt or 0
