"""What a submission is called, and with it where it and its record lie."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Self

ATTEMPT = re.compile(r"attempt-([1-9][0-9]{0,5})")
"""Name of the folder of one of several answers of a model to a challenge."""


@dataclass(frozen=True)
class SubmissionName:
    """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N` for one of several answers.

    Attributes:
        model: who answered.
        challenge: what was answered.
        attempt: which of several answers it is, from 1; None for the only one.
    """

    model: str
    challenge: str
    attempt: int | None = None

    @classmethod
    def of_folder(cls, folder: PurePath) -> Self:
        """The name of the submission that lies in `folder`, by the last parts of its path."""
        found = ATTEMPT.fullmatch(folder.name)
        if found is None:
            return cls(folder.parent.name, folder.name)
        return cls(folder.parent.parent.name, folder.parent.name, int(found[1]))

    @classmethod
    def of_record(cls, path: PurePath | str) -> Self | None:
        """The name of the submission whose record has this path below the folder of records; None for other files."""
        *folders, file = path.split("/") if isinstance(path, str) else path.parts
        return cls.of_record_file(folders[0], file, *folders[1:]) if 1 <= len(folders) <= 2 else None

    @classmethod
    def of_record_file(cls, challenge: str, file: str, model: str | None = None) -> Self | None:
        """The same by the parts of that path: a file in the folder of a challenge, or in that of a model's attempts."""
        stem, _, ending = file.rpartition(".")
        if not stem or ending != "json":
            return None
        if model is None:
            return cls(stem, challenge)
        found = ATTEMPT.fullmatch(stem)
        return cls(model, challenge, int(found[1])) if found else None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What `str` gives; None for anything else."""
        model, _, rest = text.partition("/")
        challenge, slash, last = rest.partition("/")
        found = ATTEMPT.fullmatch(last)
        if not model or not challenge or (slash and not found):
            return None
        return cls(model, challenge, int(found[1]) if found else None)

    @property
    def parts(self) -> tuple[str, ...]:
        """The folders of the submission, one in the other, the model's first."""
        number = () if self.attempt is None else (f"attempt-{self.attempt}",)
        return (self.model, self.challenge, *number)

    def __str__(self) -> str:
        return "/".join(self.parts)

    @property
    def answer(self) -> str:
        """`MODEL/CHALLENGE`: what all attempts share."""
        return f"{self.model}/{self.challenge}"

    @property
    def record(self) -> str:
        """Path of its record below the folder of records."""
        number = "" if self.attempt is None else f"/attempt-{self.attempt}"
        return f"{self.challenge}/{self.model}{number}.json"

    @property
    def order(self) -> tuple[str, str, int]:
        """Sorts by model, challenge and number."""
        return self.model, self.challenge, self.attempt or 0
