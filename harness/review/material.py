"""What a judge is shown of a submission: its text, bounded, with the names of models hidden."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SpecError
from harness.model import Provenance, Quote
from harness.model.submission_name import SubmissionName
from harness.sandbox import snapshot
from harness.workspace import Workspace

HIDDEN = "anonymous_model"
"""Stands for a model's name; a valid identifier, so that code which carries a name stays code."""
MAX_FILE = 64 << 10
"""Characters shown of one file."""
MAX_SHOWN = 256 << 10
"""Characters shown of all files together."""
SUBMISSION = "submission.toml"
"""Says who answered; no part of the answer."""


@dataclass(frozen=True)
class Mask:
    """Hides names in a text, and finds words of the hidden text in the real one."""

    names: re.Pattern[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> "Mask":
        """A mask for `names`, whatever their case and the signs between their letters and digits."""
        spelt = ("[ ._-]?".join(re.findall("[a-z]+|[0-9]+", name.lower())) for name in names if len(name) > 1)
        either = "|".join(sorted(set(spelt), key=len, reverse=True))
        return cls(re.compile(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])" if either else "(?!)", re.IGNORECASE))

    def hide(self, text: str) -> str:
        """`text` with every name replaced by `HIDDEN`."""
        return self.names.sub(HIDDEN, text)

    def find(self, words: str, text: str) -> str | None:
        """`words`, quoted from the hidden form of `text`, as they stand in `text`; None when they do not."""
        name = rf"(?i:{HIDDEN}|{self.names.pattern})"
        found = re.search(name.join(map(re.escape, words.split(HIDDEN))), text)
        return found[0] if found else None


@dataclass(frozen=True)
class ShownFile:
    """One file of a submission, as far as it is shown.

    Attributes:
        path: in the submission.
        name: the path as the judge sees it.
        text: what is shown, before names are hidden; empty when nothing is.
        cut: why it is not shown whole; empty when it is.
    """

    path: str
    name: str
    text: str
    cut: str = ""


@dataclass(frozen=True)
class Material:
    """All a judge sees of a submission."""

    files: tuple[ShownFile, ...]
    mask: Mask

    def shown(self, file: ShownFile) -> str:
        """What the judge reads of a file."""
        return self.mask.hide(file.text)

    def quote(self, name: str, words: str) -> Quote | None:
        """Words the judge read, as they stand in the submission; None when they are not in that file."""
        for file in self.files:
            if file.name == name:
                found = self.mask.find(words, file.text)
                return Quote(file=file.path, text=found) if found else None
        return None


def names_to_hide(workspace: Workspace) -> list[str]:
    """Names of the models in the workspace; a baseline is no model, and its name often a plain word."""
    answers = [folder for folder in workspace.submissions() if not _is_baseline(workspace, folder)]
    return sorted({SubmissionName.of_folder(folder).model for folder in answers})


def gather(folder: Path, mask: Mask) -> Material:
    """Read a submission's text files, at most `MAX_FILE` characters of one and `MAX_SHOWN` of all.

    Raises:
        SpecError: the submission holds what none may hold.
    """
    with snapshot(folder) as copy:
        return Material(tuple(_shown_files(copy.path, sorted(copy.hashes), mask)), mask)


def _shown_files(place: Path, paths: Iterable[str], mask: Mask) -> Iterator[ShownFile]:
    left = MAX_SHOWN
    taken: set[str] = set()
    for path in paths:
        if path == SUBMISSION:
            continue
        name = mask.hide(path if path.isprintable() else repr(path))
        while name in taken:
            name += "_"
        taken.add(name)
        if b"\0" in (place / path).read_bytes():
            yield ShownFile(path, name, "", "not shown: no text")
            continue
        # as quotes are looked up: undecodable bytes replaced, line ends as \n
        whole = (place / path).read_text(encoding="utf-8", errors="replace")
        text = _beginning(whole, min(MAX_FILE, left))
        left -= len(text)
        yield ShownFile(path, name, text, _cut(text, whole))


def _beginning(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, whole lines where there are any."""
    return text if len(text) <= limit else text[: text.rfind("\n", 0, limit) + 1] or text[:limit]


def _cut(text: str, whole: str) -> str:
    if text == whole:
        return ""
    lines = len(text.splitlines())
    return f"shown up to line {lines} of {len(whole.splitlines())}" if text else "not shown: there is too much text"


def _is_baseline(workspace: Workspace, folder: Path) -> bool:
    try:
        return workspace.submission(folder).about.provenance is Provenance.BASELINE
    except SpecError:
        return False
