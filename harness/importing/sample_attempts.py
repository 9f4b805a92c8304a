"""Attempts from the samples of a file."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import SpecError, as_own_error
from harness.importing.reply import lay_out_reply
from harness.importing.samples import ReplySample, UnreadSample
from harness.importing.unanswered import UnansweredReply, importer_in_batch
from harness.model.submissions.name import SubmissionName
from harness.workspace import COLLECTIONS, Workspace
from harness.workspace.submission_folders import attempt_folders

_SEPARATORS = re.compile(r"[/:@+ ]+")
"""Characters of model names that folder names lack."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MOST_ATTEMPTS = 999_999


@dataclass(frozen=True)
class ImportedSample:
    """A sample that became an attempt.

    Attributes:
        place: position in the file.
        unanswered: why the reply holds no submission, or "".
        unread: why the reply is ambiguous, or "".
    """

    place: str
    name: SubmissionName
    folder: Path
    unanswered: str = ""
    unread: str = ""


@dataclass(frozen=True)
class RefusedSample:
    """A sample that failed, with a sentence on where and why."""

    place: str
    why: str


class SampleImport:
    """The import of one file into a workspace.

    Args:
        path: path in messages.
        append: number samples after the highest attempt in the workspace, instead of from 1.
    """

    def __init__(self, workspace: Workspace, path: Path, append: bool = False) -> None:
        self._workspace = workspace
        self._path = path
        self._append = append
        self._places: dict[SubmissionName, str] = {}
        self._highest: dict[str, int] = {}
        self._given: dict[str, str] = {}

    def run(self, samples: Iterable[ReplySample | UnreadSample]) -> Iterator[ImportedSample | RefusedSample]:
        """Make an attempt of each sample, in order; a sample that fails does not stop the others.

        A sample without a number gets the next one of its model and challenge, even if its reply is unusable, so that
        importing a corrected file again adds just the missing attempts.
        """
        for sample in samples:
            if isinstance(sample, UnreadSample):
                yield RefusedSample(sample.place, f"{self._path}, {sample.place}: {sample.why}")
                continue
            try:
                yield self._import_sample(sample)
            except Exception as error:
                where = f"{self._path}, {sample.place}: "
                why = str(as_own_error(error, where.removesuffix(": "))).removeprefix(where)
                yield RefusedSample(sample.place, f"{where}{why}")

    def _import_sample(self, sample: ReplySample) -> ImportedSample:
        where = f"{self._path}, {sample.place}"
        lacking = (name for name in ("model", "challenge") if not sample.values.get(name))
        if missing := [*lacking, *(["reply"] if "reply" not in sample.values else [])]:
            raise SpecError(where, f"has no {' and no '.join(missing)}", hint="say where it is:  --field NAME=PATH")
        name = self._choose_name(where, sample)
        earlier = self._places.setdefault(name, sample.place)
        if earlier != sample.place:
            raise SpecError(where, f"is {name}, as {earlier} is already")
        data = _encode_reply(where, sample.values["reply"])
        challenge = self._workspace.challenge(name.challenge)
        importer = importer_in_batch(where, data, name, challenge)
        folder = self._workspace.submissions_folder.joinpath(*name.parts)
        lay_out_reply(importer, folder)
        if not isinstance(importer, UnansweredReply):
            return ImportedSample(sample.place, name, folder)
        about = importer.submission.about
        return ImportedSample(sample.place, name, folder, about.unanswered or "", about.unread or "")

    def _choose_name(self, where: str, sample: ReplySample) -> SubmissionName:
        model = self._choose_model(where, sample.values["model"])
        challenge = sample.values["challenge"]
        if not isinstance(challenge, str):
            raise SpecError(where, f"must be the id of a challenge, not {challenge!r}", field="challenge")
        self._workspace.challenge_folder(challenge)
        single = SubmissionName(model, challenge)
        number = sample.values.get("attempt")
        if isinstance(number, str) and number.isdecimal():
            number = int(number)
        if number is None:
            number = 1 + self._find_highest(single)
        if type(number) is not int or not 1 <= number <= MOST_ATTEMPTS:
            raise SpecError(where, f"must be a whole number from 1 on, not {number!r}", field="attempt")
        self._highest[str(single)] = max(number, self._highest.get(str(single), 0))
        return SubmissionName(model, challenge, number)

    def _find_highest(self, single: SubmissionName) -> int:
        if str(single) not in self._highest:
            place = self._workspace.submissions_folder.joinpath(*single.parts)
            there = [SubmissionName.of_folder(folder).attempt or 0 for folder in attempt_folders(place)]
            self._highest[str(single)] = max(there, default=0) if self._append else 0
        return self._highest[str(single)]

    def _choose_model(self, where: str, given: Any) -> str:
        text = given if isinstance(given, str) else ""
        # `Vendor/Model-1` becomes `vendor-model-1`
        name = _SEPARATORS.sub("-", text.lower())
        if ".." in text or text.startswith("/") or not _NAME.fullmatch(name) or name == COLLECTIONS:
            raise SpecError(where, f"cannot name a model: {given!r}", field="model")
        other = self._given.setdefault(name, text)
        if other != text:
            raise SpecError(where, f"{given!r} and {other!r} would both be {name}", field="model")
        return name


def _encode_reply(where: str, reply: Any) -> bytes:
    if isinstance(reply, str):
        # replace lone surrogates, which UTF-8 cannot encode
        return reply.encode(errors="replace")
    if isinstance(reply, dict | list):
        return json.dumps(reply).encode()
    raise SpecError(where, f"must be text or the JSON of a chat, not {type(reply).__name__}", field="reply")
