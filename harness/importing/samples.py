"""Files of many replies."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import NotFoundError, SpecError, nearest

FIELDS = ("model", "challenge", "attempt", "reply")
"""Fields of a sample."""
MAX_LINE = 8 << 20
"""Bytes of the longest line that is read."""
MAX_DOCUMENT = 256 << 20
"""Bytes of the largest file that is read as one JSON value; others are read by line."""
INSPECT = {"challenge": "metadata.challenge", "attempt": "epoch", "reply": "output.choices.0.message.content"}
"""Paths of the fields in a sample of an inspect_ai log; the model is the log's `eval.model`."""
ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True)
class SampleFields:
    """Paths of the fields in a sample, and constants for fields that samples lack."""

    paths: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    def path(self, name: str, usual: Mapping[str, str]) -> str:
        """Return a field's path: as given, else the file format's usual one, else its name."""
        return self.paths.get(name) or usual.get(name, name)


@dataclass(frozen=True)
class ReplySample:
    """One reply of a file: its position, such as "line 3", and its fields."""

    place: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class UnreadSample:
    """A part of a file that is not a sample, with the reason."""

    place: str
    why: str


def parse_fields(given: Iterator[str] | list[str]) -> dict[str, str]:
    """Return field paths from texts such as `reply=choices.0.message.content`.

    Raises:
        SpecError: a text is malformed or names an unknown field.
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
    """Yield the samples of a file, with an `UnreadSample` for each broken one.

    The file is JSON lines, which are read one at a time, a JSON array, or an inspect_ai log as JSON.

    Raises:
        NotFoundError: the file cannot be read.
        SpecError: the file is binary, or empty.
    """
    try:
        with path.open("rb") as file:
            _refuse_binary(path, file.read(1 << 12))
            file.seek(0)
            document = _read_document(path, file)
            file.seek(0)
            samples = iter(_read_lines(file, fields)) if document is None else _split_document(document, fields)
            first = next(samples, None)
            if first is None:
                hint = "one JSON object a line: model, challenge, attempt, reply"
                raise SpecError(path, "holds no sample", hint=hint)
            yield from chain([first], samples)
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be read: {error.strerror}") from None


def value_at(value: Any, path: str, absent: Any = None) -> Any:
    """Return the value at a path such as `choices.0.text`, or `absent` if it leads nowhere."""
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return absent
    return value


def _refuse_binary(path: Path, head: bytes) -> None:
    if head.startswith(ARCHIVE):
        hint = "of an inspect_ai log in its binary form, make JSON:  inspect log dump FILE.eval > FILE.json"
        raise SpecError(path, "is an archive, not JSON", hint=hint)
    if b"\0" in (line := head.partition(b"\n")[0]):  # only the first line: a zero byte below breaks just its line
        raise SpecError(path, f"is not text: byte {line.index(0)} is 0", hint="save it as JSON lines in UTF-8")


def _read_document(path: Path, file: BinaryIO) -> Any:
    # one JSON value is a log or an array; all else is JSON lines
    line = file.readline(MAX_LINE)
    first = _parse_json(line)
    if isinstance(first, list) or _is_log(first):
        return first
    if isinstance(first, dict) or line.lstrip()[:1] not in (b"{", b"[") or path.stat().st_size > MAX_DOCUMENT:
        return None
    file.seek(0)
    whole = _parse_json(file.read(MAX_DOCUMENT))
    return whole if isinstance(whole, list) or _is_log(whole) else None


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("samples"), list) and isinstance(value.get("eval"), dict)


def _split_document(document: Any, fields: SampleFields) -> Iterator[ReplySample | UnreadSample]:
    log = None if isinstance(document, list) else document
    for number, value in enumerate(log["samples"] if log else document, 1):
        place = f"sample {number}"
        if not isinstance(value, dict):
            yield UnreadSample(place, f"is no JSON object but {type(value).__name__}")
        elif log:
            yield _read_log_sample(place, value, log, fields)
        else:
            yield _build_sample(place, value, fields, {})


def _read_log_sample(
    place: str, value: dict[str, Any], log: dict[str, Any], fields: SampleFields
) -> ReplySample | UnreadSample:
    choices = value_at(value, "output.choices")
    if "reply" not in fields.paths and isinstance(choices, list) and len(choices) > 1:
        return UnreadSample(place, f"holds {len(choices)} choices; name one:  --field reply={INSPECT['reply']}")
    sample = _build_sample(place, value, fields, INSPECT)
    if isinstance(sample, UnreadSample):
        return sample
    known = {"model": value_at(log, "eval.model"), "challenge": value.get("id")} | dict(sample.values)
    return ReplySample(place, {name: found for name, found in known.items() if found is not None})


def _read_lines(file: BinaryIO, fields: SampleFields) -> Iterator[ReplySample | UnreadSample]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        place = f"line {number}"
        if len(line) > MAX_LINE:
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            yield UnreadSample(place, f"is longer than {MAX_LINE >> 20} MiB, the most that is read")
        elif line.strip():
            yield _parse_line(place, line, fields)


def _parse_line(place: str, line: bytes, fields: SampleFields) -> ReplySample | UnreadSample:
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
    return _build_sample(place, value, fields, {})


def _build_sample(
    place: str, value: dict[str, Any], fields: SampleFields, usual: Mapping[str, str]
) -> ReplySample | UnreadSample:
    found = {name: each for name in FIELDS if (each := value_at(value, fields.path(name, usual))) is not None}
    # servers write null for an empty reply
    if value_at(value, fields.path("reply", usual), "") is None:
        found["reply"] = ""
    if value.get("error") and not found.get("reply"):
        return UnreadSample(place, "failed in the evaluation and has no reply")
    return ReplySample(place, dict(fields.constants) | found)
