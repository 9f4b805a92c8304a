"""Attempts made of the samples of a file: each is laid out whole or refused, and the others go on."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import SpecError, as_own_error
from harness.importing.reply import lay_out_reply
from harness.importing.samples import FIELDS, ReplySample, UnreadSample
from harness.importing.unanswered import UnansweredReply, importer_in_batch
from harness.model.submission_name import SubmissionName
from harness.submission_folders import attempt_folders
from harness.workspace import COLLECTIONS, Workspace

_SEPARATORS = re.compile(r"[/:@+ ]+")
"""What the names of models hold elsewhere and folders do not."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MOST_ATTEMPTS = 999_999


@dataclass(frozen=True)
class ImportedSample:
    """A sample that became an attempt.

    Attributes:
        place: where it stands in the file.
        name: of the attempt.
        folder: of the attempt.
        unanswered: why the reply holds no answer; empty where it holds one.
        unread: why the reply could not be read with certainty; empty where it was.
    """

    place: str
    name: SubmissionName
    folder: Path
    unanswered: str = ""
    unread: str = ""


@dataclass(frozen=True)
class RefusedSample:
    """A sample that became none, and why, in a sentence that names its place."""

    place: str
    why: str


class SampleImport:
    """The import of one file into a workspace.

    Args:
        workspace: where the attempts go.
        path: of the file, for messages.
        append: give samples without a number those after the highest that is there; else from 1 on.
    """

    def __init__(self, workspace: Workspace, path: Path, append: bool = False) -> None:
        self._workspace = workspace
        self._path = path
        self._append = append
        self._places: dict[SubmissionName, str] = {}
        self._highest: dict[str, int] = {}
        self._given: dict[str, str] = {}

    def run(self, samples: Iterable[ReplySample | UnreadSample]) -> Iterator[ImportedSample | RefusedSample]:
        """Make an attempt of each sample, in their order.

        A sample without a number has the one after the highest of its model and challenge so far, whether or not its
        reply can be used: to import a mended file again makes what is missing.
        """
        for sample in samples:
            if isinstance(sample, UnreadSample):
                yield RefusedSample(sample.place, f"{self._path}, {sample.place}: {sample.why}")
                continue
            try:
                yield self._imported(sample)
            except Exception as error:
                where = f"{self._path}, {sample.place}: "
                why = str(as_own_error(error, where.removesuffix(": "))).removeprefix(where)
                yield RefusedSample(sample.place, f"{where}{why}")

    def _imported(self, sample: ReplySample) -> ImportedSample:
        """One attempt.

        Raises:
            HarnessError: it cannot be made; nothing of it is left.
        """
        where = f"{self._path}, {sample.place}"
        missing = [
            name for name in FIELDS
            if name != "attempt" and (name not in sample.values or (name != "reply" and not sample.values[name]))
        ]  # fmt: skip
        if missing:
            raise SpecError(
                where, f"has no {' and no '.join(missing)}", hint="say where it is:  --field NAME=PATH"
            )  # fmt: skip
        name = self._name(where, sample)
        earlier = self._places.setdefault(name, sample.place)
        if earlier != sample.place:
            raise SpecError(where, f"is {name}, as {earlier} is already")
        data = _bytes(where, sample.values["reply"])
        challenge = self._workspace.challenge(name.challenge)
        importer = importer_in_batch(where, data, name, challenge)
        folder = self._workspace.submissions_folder.joinpath(*name.parts)
        lay_out_reply(importer, folder)
        if not isinstance(importer, UnansweredReply):
            return ImportedSample(sample.place, name, folder)
        about = importer.submission.about
        return ImportedSample(sample.place, name, folder, about.unanswered or "", about.unread or "")

    def _name(self, where: str, sample: ReplySample) -> SubmissionName:
        model = self._model(where, sample.values["model"])
        challenge = sample.values["challenge"]
        if not isinstance(challenge, str):
            raise SpecError(where, f"must be the id of a challenge, not {challenge!r}", field="challenge")
        self._workspace.challenge_folder(challenge)
        single = SubmissionName(model, challenge)
        number = sample.values.get("attempt")
        if isinstance(number, str) and number.isdecimal():
            number = int(number)
        if number is None:
            number = 1 + self._so_far(single)
        if type(number) is not int or not 1 <= number <= MOST_ATTEMPTS:
            raise SpecError(where, f"must be a whole number from 1 on, not {number!r}", field="attempt")
        self._highest[str(single)] = max(number, self._highest.get(str(single), 0))
        return SubmissionName(model, challenge, number)

    def _so_far(self, single: SubmissionName) -> int:
        """The highest number of a model's attempts at a challenge, in the file or, to append, in the workspace."""
        if str(single) not in self._highest:
            place = self._workspace.submissions_folder.joinpath(*single.parts)
            there = [SubmissionName.of_folder(folder).attempt or 0 for folder in attempt_folders(place)]
            self._highest[str(single)] = max(there, default=0) if self._append else 0
        return self._highest[str(single)]

    def _model(self, where: str, given: Any) -> str:
        """The folder's name of a model: `Vendor/Model-1` is `vendor-model-1`.

        Raises:
            SpecError: it has none, or another model of the file has it.
        """
        text = given if isinstance(given, str) else ""
        name = _SEPARATORS.sub("-", text.lower())
        if ".." in text or text.startswith("/") or not _NAME.fullmatch(name) or name == COLLECTIONS:
            raise SpecError(where, f"cannot name a model: {given!r}", field="model")
        other = self._given.setdefault(name, text)
        if other != text:
            raise SpecError(where, f"{given!r} and {other!r} would both be {name}", field="model")
        return name


def _bytes(where: str, reply: Any) -> bytes:
    """A reply as a file would hold it: its text, or the JSON of a chat."""
    if isinstance(reply, str):
        # half of a pair of escapes is no character, and no file can hold it
        return reply.encode(errors="replace")
    if isinstance(reply, dict | list):
        return json.dumps(reply).encode()
    raise SpecError(where, f"must be text or the JSON of a chat, not {type(reply).__name__}", field="reply")
