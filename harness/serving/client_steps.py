"""What a client says to a server, and what it makes of the replies; how that is sent is its caller's.

A generator yields a call or seconds to sleep, and is sent the reply to a call.
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
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import IGNORED
from harness.replies.text import MAX_BYTES as MAX_REPLY
from harness.serving.requests import GradeRequest

T = TypeVar("T")

MAX_ANSWERS = 64
"""Answers of one request."""
MAX_BYTES = 2 << 20
"""Bytes of answers of one request; half of what a server takes, for the JSON around them."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 20.0
"""Seconds before trying again: the first time, and at most. A server that states some is believed."""
AGAIN = frozenset({0, 408, 429, 500, 502, 503, 504})
"""Statuses after which trying again may help; 0 is a server that did not answer."""


@dataclass(frozen=True)
class HttpCall:
    """A request to be sent."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpReply:
    """What came back; of status 0 where nothing did, with the reason as its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Steps = Generator[HttpCall | float, HttpReply | None, T]


def reply_request(reply: str, challenge: str, options: Mapping[str, Any]) -> GradeRequest:
    """A model's raw reply as a request.

    Raises:
        SpecError: it cannot be one.
    """
    # half of a pair of escapes is no character, and no request can hold it; what is too large is told by its begin
    text = reply.encode(errors="replace")[: MAX_REPLY + 1].decode(errors="replace")
    return _made("reply", challenge=challenge, reply=text, **options)


def folder_request(folder: Path, challenge: str | None, entry: str | None, options: Mapping[str, Any]) -> GradeRequest:
    """A folder as a request.

    Raises:
        SpecError: it cannot be one: it says nowhere what it answers, or holds what is no text.
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
        challenge = _stated_challenge(folder, files)
    return _made(str(folder), challenge=challenge, files=files, entry=entry, **options)


def graded(requests: Sequence[GradeRequest], patience: float, wait: float) -> Steps[list[Record]]:
    """The records of some answers, in their order.

    Args:
        requests: the answers.
        patience: seconds in which a call must succeed, however often it is made.
        wait: seconds for which one call waits for a record.

    Raises:
        ServiceError: the server refuses, or does not answer.
    """
    accepted: list[tuple[str, Any]] = []
    for chunk in _chunks(requests):
        # the key makes this one request, however often it is sent
        headers = {"content-type": "application/json", "idempotency-key": uuid.uuid4().hex}
        if len(requests) == 1:
            text = chunk[0].model_dump_json().encode()
            shown = yield from _asked(HttpCall("POST", f"/v1/grades?wait={wait:g}", text, headers), patience)
            accepted.append((f"/v1/grades/{shown['id']}", shown))
        else:
            text = b'{"answers":[' + b",".join(r.model_dump_json().encode() for r in chunk) + b"]}"
            shown = yield from _asked(HttpCall("POST", "/v1/batches", text, headers), patience)
            accepted.append((f"/v1/batches/{shown['id']}", shown))
    records: list[Record] = []
    for path, shown in accepted:
        while shown["state"] != "finished":
            shown = yield from _asked(HttpCall("GET", f"{path}?wait={wait:g}"), patience)
        records += map(_record, shown.get("grades", [shown]))
    return records


def _asked(call: HttpCall, patience: float) -> Steps[Any]:
    """The JSON of a successful reply.

    Raises:
        ServiceError: there is none.
    """
    deadline, pause = time.monotonic() + patience, FIRST_PAUSE
    while True:
        reply = yield call
        assert reply is not None
        if reply.status in (200, 202):
            try:
                return json.loads(reply.body)
            except ValueError:
                raise ServiceError(reply.status, "the server sent something else than JSON") from None
        error = _refusal(reply)
        wait = max(_stated_wait(reply), pause * random.uniform(0.5, 1.5))
        if reply.status not in AGAIN or time.monotonic() + wait > deadline:
            raise error
        yield wait
        pause = min(2 * pause, LONGEST_PAUSE)


def _chunks(requests: Sequence[GradeRequest]) -> Generator[list[GradeRequest], None, None]:
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


def _record(grade: Mapping[str, Any]) -> Record:
    try:
        return Record.from_json(json.dumps(grade["record"]))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ServiceError(
            200, f"the server's record cannot be read ({where}: {first['msg']})",
            hint="client and server should be of the same version of the harness",
        ) from None  # fmt: skip


def _refusal(reply: HttpReply) -> ServiceError:
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


def _stated_wait(reply: HttpReply) -> float:
    try:
        return min(max(float(reply.headers.get("retry-after", 0)), 0.0), 3600.0)
    except ValueError:
        return 0.0


def _stated_challenge(folder: Path, files: Mapping[str, str]) -> str:
    path = folder / SUBMISSION_FILE
    try:
        stated = tomllib.loads(files[SUBMISSION_FILE])["submission"]["challenge"]
    except KeyError:
        raise SpecError(path, "says nowhere which challenge is answered", hint="name it: challenge=...") from None
    except (ValueError, TypeError) as error:
        raise SpecError(path, f"cannot be read: {error}") from None
    return str(stated)


def _made(what: str, **values: Any) -> GradeRequest:
    try:
        return GradeRequest(**values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise SpecError(what, first["msg"], field=".".join(map(str, first["loc"]))) from None
