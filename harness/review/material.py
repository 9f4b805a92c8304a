"""A submission's text as a judge sees it: limited, without model names."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SpecError
from harness.model import Provenance, Quote
from harness.model.submissions.name import SubmissionName
from harness.sandbox import snapshot
from harness.workspace import Workspace

HIDDEN = "anonymous_model"
"""Replacement for a model's name; a valid identifier, so that code stays code."""
MAX_FILE = 64 << 10
"""Most characters of one file."""
MAX_SHOWN = 256 << 10
"""Most characters of all files together."""
SUBMISSION = "submission.toml"
"""File that names the model; no part of the material."""


@dataclass(frozen=True)
class Mask:
    """Hides names in a text, and maps quotes of the masked text back."""

    names: re.Pattern[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> "Mask":
        """Return a mask for `names` in any case and punctuation."""
        spelt = ("[ ._-]?".join(re.findall("[a-z]+|[0-9]+", name.lower())) for name in names if len(name) > 1)
        either = "|".join(sorted(set(spelt), key=len, reverse=True))
        return cls(re.compile(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])" if either else "(?!)", re.IGNORECASE))

    def hide(self, text: str) -> str:
        """Replace every name by `HIDDEN`."""
        return self.names.sub(HIDDEN, text)

    def find(self, words: str, text: str) -> str | None:
        """Return the part of `text` whose masked form is `words`, or None."""
        name = rf"(?i:{HIDDEN}|{self.names.pattern})"
        found = re.search(name.join(map(re.escape, words.split(HIDDEN))), text)
        return found[0] if found else None


@dataclass(frozen=True)
class ShownFile:
    """The visible part of one file, unmasked, with its masked name; `cut` is the reason for an omission, or empty."""

    path: str
    name: str
    text: str
    cut: str = ""


@dataclass(frozen=True)
class Material:
    """Visible files of a submission, and the mask."""

    files: tuple[ShownFile, ...]
    mask: Mask

    def quote(self, name: str, words: str) -> Quote | None:
        """Map a judge's quote back to the submission's text; None if it is not in that file."""
        for file in self.files:
            if file.name == name:
                found = self.mask.find(words, file.text)
                return Quote(file=file.path, text=found) if found else None
        return None


def names_to_hide(workspace: Workspace) -> list[str]:
    """Return the workspace's models, without baselines, whose names are often common words."""
    answers = [folder for folder in workspace.submissions() if not _is_baseline(workspace, folder)]
    return sorted({SubmissionName.of_folder(folder).model for folder in answers})


def gather(folder: Path, mask: Mask) -> Material:
    """Read a submission's text files, up to `MAX_FILE` characters of each and `MAX_SHOWN` of all.

    Raises:
        SpecError: the submission contains forbidden files.
    """
    with snapshot(folder) as copy:
        return Material(tuple(_show_files(copy.path, sorted(copy.hashes), mask)), mask)


def _show_files(place: Path, paths: Iterable[str], mask: Mask) -> Iterator[ShownFile]:
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
        # decode as for looking up quotes: undecodable bytes replaced, line ends as \n
        whole = (place / path).read_text(encoding="utf-8", errors="replace")
        text = _cut_beginning(whole, min(MAX_FILE, left))
        left -= len(text)
        yield ShownFile(path, name, text, _cut(text, whole))


def _cut_beginning(text: str, limit: int) -> str:
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
