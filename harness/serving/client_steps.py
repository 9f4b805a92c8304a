"""Protocol of a client without I/O.

Generators yield calls, or seconds to sleep, and receive replies.
"""

import json
import random
import time
import tomllib
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import ServiceError, SpecError
from harness.model import Record
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import IGNORED
from harness.replies.text import MAX_BYTES as MAX_REPLY
from harness.serving.requests import GradeRequest

T = TypeVar("T")

MAX_ANSWERS = 64
"""Submissions per request."""
MAX_BYTES = 2 << 20
"""Bytes of submissions per request; half the server's limit, to leave room for JSON."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0
"""First and longest pause between retries, in seconds; the server's Retry-After wins if longer."""
AGAIN = frozenset({0, 408, 429, 500, 502, 503, 504})
"""Statuses worth a retry; 0 means that the server did not answer."""


@dataclass(frozen=True)
class HttpCall:
    """A request to send."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpReply:
    """A response; status 0 without one, with the reason as its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Steps = Generator[HttpCall | float, HttpReply | None, T]


def reply_request(reply: str, challenge: str, options: Mapping[str, Any]) -> GradeRequest:
    """Make a request of a model's raw reply.

    Raises:
        SpecError: the request would be invalid.
    """
    # replace lone surrogates, which JSON cannot carry; one byte over the limit shows that it is too large
    text = reply.encode(errors="replace")[: MAX_REPLY + 1].decode(errors="replace")
    return _build_request("reply", challenge=challenge, reply=text, **options)


def folder_request(folder: Path, challenge: str | None, entry: str | None, options: Mapping[str, Any]) -> GradeRequest:
    """Make a request of a folder.

    Raises:
        SpecError: it names no challenge, or holds more than text files.
    """
    if not folder.is_dir():
        raise SpecError(folder, "is no folder")
    files = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if IGNORED.intersection(place.parts) or path.suffix == ".pyc" or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.is_file():
            raise SpecError(path, "is a link or a special file; a submission holds regular files only")
        try:
            files[place.as_posix()] = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError) as error:
            raise SpecError(path, f"cannot be sent: {error}", hint="a service takes text files in UTF-8") from None
    if challenge is None:
        challenge = _read_challenge(folder, files)
    return _build_request(str(folder), challenge=challenge, files=files, entry=entry, **options)


def grade_requests(requests: Sequence[GradeRequest], patience: float, wait: float) -> Steps[list[Record]]:
    """Return the records of requests, in their order.

    Args:
        patience: seconds in which a call must succeed, retries included.
        wait: seconds that one call waits for a record.

    Raises:
        ServiceError: the server refuses or does not answer.
    """
    accepted: list[tuple[str, Any]] = []
    for chunk in _split_into_chunks(requests):
        # with a key, a retry cannot create a second job
        headers = {"content-type": "application/json", "idempotency-key": uuid.uuid4().hex}
        if len(requests) == 1:
            text = chunk[0].model_dump_json().encode()
            shown = yield from _call_until_success(
                HttpCall("POST", f"/v1/grades?wait={wait:g}", text, headers), patience
            )
            accepted.append((f"/v1/grades/{shown['id']}", shown))
        else:
            text = b'{"answers":[' + b",".join(r.model_dump_json().encode() for r in chunk) + b"]}"
            shown = yield from _call_until_success(HttpCall("POST", "/v1/batches", text, headers), patience)
            accepted.append((f"/v1/batches/{shown['id']}", shown))
    records: list[Record] = []
    for path, shown in accepted:
        while shown["state"] != "finished":
            shown = yield from _call_until_success(HttpCall("GET", f"{path}?wait={wait:g}"), patience)
        records += map(_parse_record, shown.get("grades", [shown]))
    return records


def _call_until_success(call: HttpCall, patience: float) -> Steps[Any]:
    deadline, pause = time.monotonic() + patience, FIRST_PAUSE
    while True:
        reply = yield call
        assert reply is not None
        if reply.status in (200, 202):
            try:
                return json.loads(reply.body)
            except ValueError:
                raise ServiceError(reply.status, "the server sent something else than JSON") from None
        error = _build_error(reply)
        wait = max(_read_retry_after(reply), pause * random.uniform(0.5, 1.5))
        if reply.status not in AGAIN or time.monotonic() + wait > deadline:
            raise error
        yield wait
        pause = min(2 * pause, LONGEST_PAUSE)


def _split_into_chunks(requests: Sequence[GradeRequest]) -> Generator[list[GradeRequest], None, None]:
    chunk: list[GradeRequest] = []
    size = 0
    for request in requests:
        own = len(request.reply or "") + sum(map(len, (request.files or {}).values()))
        if chunk and (len(chunk) == MAX_ANSWERS or size + own > MAX_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(request)
        size += own
    if chunk:
        yield chunk


def _parse_record(grade: Mapping[str, Any]) -> Record:
    try:
        return Record.from_json(json.dumps(grade["record"]))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ServiceError(
            200,
            f"the server's record cannot be read ({where}: {first['msg']})",
            hint="client and server should be of the same version of the harness",
        ) from None


def _build_error(reply: HttpReply) -> ServiceError:
    if reply.status == 0:
        words = reply.body.decode(errors="replace")[:200]
        return ServiceError(0, f"the server cannot be reached: {words}", hint="see that `harness serve` runs there")
    try:
        said = json.loads(reply.body)
        words = f"{said['message']} ({said['error']})"
    except (ValueError, KeyError, TypeError):
        words = "no words"
    hint = "set HARNESS_TOKEN, or pass token=" if reply.status == 401 else ""
    return ServiceError(reply.status, f"the server answers HTTP {reply.status}: {words[:300]}", hint=hint)


def _read_retry_after(reply: HttpReply) -> float:
    try:
        return min(max(float(reply.headers.get("retry-after", 0)), 0.0), 3600.0)
    except ValueError:
        return 0.0


def _read_challenge(folder: Path, files: Mapping[str, str]) -> str:
    path = folder / SUBMISSION_FILE
    try:
        stated = tomllib.loads(files[SUBMISSION_FILE])["submission"]["challenge"]
    except KeyError:
        raise SpecError(path, "says nowhere which challenge is answered", hint="name it: challenge=...") from None
    except (ValueError, TypeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None
    return str(stated)


def _build_request(what: str, **values: Any) -> GradeRequest:
    try:
        return GradeRequest(**values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise SpecError(what, first["msg"], field=".".join(map(str, first["loc"]))) from None
