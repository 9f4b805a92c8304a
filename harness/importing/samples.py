"""Files of many replies: JSON lines, an array of JSON, and logs of inspect_ai, read a reply at a time."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import NotFoundError, SpecError, nearest

FIELDS = ("model", "challenge", "attempt", "reply")
"""What is read of each sample."""
MAX_LINE = 8 << 20
"""A longer line is not read."""
MAX_DOCUMENT = 256 << 20
"""A larger file is read by its lines only."""
INSPECT = {
    "challenge": "metadata.challenge", "attempt": "epoch", "reply": "output.choices.0.message.content",
}  # fmt: skip
"""Where a sample of an inspect_ai log keeps the fields; the model is the log's `eval.model`."""
ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True)
class SampleFields:
    """Where the fields of a sample are, and what holds for all of them.

    Attributes:
        paths: by field: names and numbers of the way to it, a dot between them.
        constants: fields that no sample needs to say.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    def path(self, name: str, usual: Mapping[str, str]) -> str:
        """The way to a field: as it was given, as such files usually have it, or its own name."""
        return self.paths.get(name) or usual.get(name, name)


@dataclass(frozen=True)
class ReplySample:
    """One reply of a file.

    Attributes:
        place: where it stands, as "line 3".
        values: what it says, by field; without those it does not say.
    """

    place: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class UnreadSample:
    """A part of a file that is no sample, and why."""

    place: str
    why: str


def parse_fields(given: Iterator[str] | list[str]) -> dict[str, str]:
    """The ways to fields from texts such as `reply=choices.0.message.content`.

    Raises:
        SpecError: one is no such text, or names no field.
    """
    found = {}
    for text in given:
        name, _, path = text.partition("=")
        if name not in FIELDS or not path:
            known = "" if name in FIELDS else f": no field {name!r}{nearest(name, FIELDS)}"
            raise SpecError(
                "--field", f"{text!r} is no NAME=PATH{known}", hint=f"fields are {', '.join(FIELDS)}, as in reply=text"
            )
        found[name] = path
    return found


def read_samples(path: Path, fields: SampleFields) -> Iterator[ReplySample | UnreadSample]:
    """The samples of a file, one after the other; what is broken is told, and the rest goes on.

    Args:
        path: JSON lines, a JSON array of objects, or an inspect_ai log in its JSON form, known by its structure.
        fields: where the fields are.

    Raises:
        NotFoundError: the file cannot be read.
        SpecError: it is no text, or holds nothing.
    """
    try:
        with path.open("rb") as file:
            _refuse_what_is_no_text(path, file.read(1 << 12))
            file.seek(0)
            document = _document(path, file)
            file.seek(0)
            samples = iter(_lines(file, fields)) if document is None else _parts(document, fields)
            first = next(samples, None)
            if first is None:
                raise SpecError(
                    path, "holds no sample", hint="one JSON object a line: model, challenge, attempt, reply"
                )
            yield from chain([first], samples)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None


def value_at(value: Any, path: str, absent: Any = None) -> Any:
    """What lies at the end of a path such as `choices.0.text`; `absent` where the path leads nowhere."""
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return absent
    return value


def _refuse_what_is_no_text(path: Path, head: bytes) -> None:
    if head.startswith(ARCHIVE):
        hint = "of an inspect_ai log in its binary form, make JSON:  inspect log dump FILE.eval > FILE.json"
        raise SpecError(path, "is an archive, not JSON", hint=hint)
    if b"\0" in (line := head.partition(b"\n")[0]):  # in a later line, that line alone is broken
        raise SpecError(path, f"is not text: byte {line.index(0)} is 0", hint="save it as JSON lines in UTF-8")


def _document(path: Path, file: BinaryIO) -> Any:
    """The one JSON value that the file is: a log, or an array of samples; None where it is lines of them."""
    line = file.readline(MAX_LINE)
    first = _parsed(line)
    if isinstance(first, list) or _is_log(first):
        return first
    if isinstance(first, dict) or line.lstrip()[:1] not in (b"{", b"[") or path.stat().st_size > MAX_DOCUMENT:
        return None
    file.seek(0)
    whole = _parsed(file.read(MAX_DOCUMENT))
    return whole if isinstance(whole, list) or _is_log(whole) else None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("samples"), list) and isinstance(value.get("eval"), dict)


def _parts(document: Any, fields: SampleFields) -> Iterator[ReplySample | UnreadSample]:
    log = None if isinstance(document, list) else document
    for number, value in enumerate(log["samples"] if log else document, 1):
        place = f"sample {number}"
        if not isinstance(value, dict):
            yield UnreadSample(place, f"is no JSON object but {type(value).__name__}")
        elif log:
            yield _of_log(place, value, log, fields)
        else:
            yield _sample(place, value, fields, {})


def _of_log(place: str, value: dict[str, Any], log: dict[str, Any], fields: SampleFields) -> ReplySample | UnreadSample:
    choices = value_at(value, "output.choices")
    if "reply" not in fields.paths and isinstance(choices, list) and len(choices) > 1:
        return UnreadSample(place, f"holds {len(choices)} choices; name one:  --field reply={INSPECT['reply']}")
    sample = _sample(place, value, fields, INSPECT)
    if isinstance(sample, UnreadSample):
        return sample
    known = {"model": value_at(log, "eval.model"), "challenge": value.get("id")} | dict(sample.values)
    return ReplySample(place, {name: found for name, found in known.items() if found is not None})


def _lines(file: BinaryIO, fields: SampleFields) -> Iterator[ReplySample | UnreadSample]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        place = f"line {number}"
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield UnreadSample(place, f"is longer than {MAX_LINE >> 20} MiB, the most that is read")
        elif line.strip():
            yield _of_line(place, line, fields)


def _of_line(place: str, line: bytes, fields: SampleFields) -> ReplySample | UnreadSample:
    try:
        value = json.loads(line)
    except UnicodeDecodeError as error:
        return UnreadSample(place, f"is not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        return UnreadSample(place, f"is no JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return UnreadSample(place, f"is no JSON that can be read: {error}")
    if not isinstance(value, dict):
        return UnreadSample(place, f"is no JSON object but {type(value).__name__}")
    return _sample(place, value, fields, {})


def _sample(
    place: str, value: dict[str, Any], fields: SampleFields, usual: Mapping[str, str]
) -> ReplySample | UnreadSample:  # fmt: skip
    """The fields of a sample; a reply that is null, as servers write what a model left unsaid, is an empty one."""
    found = {name: each for name in FIELDS if (each := value_at(value, fields.path(name, usual))) is not None}
    if value_at(value, fields.path("reply", usual), "") is None:
        found["reply"] = ""
    if value.get("error") and not found.get("reply"):
        return UnreadSample(place, "failed in the evaluation and has no reply")
    return ReplySample(place, dict(fields.constants) | found)
