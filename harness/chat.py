"""A client for OpenAI-compatible chat servers; its key comes from the environment and is never printed."""

import datetime
import email.utils
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, FailFast, Field, ValidationError
from pydantic_core import from_json

from harness.errors import ChatError, NotFoundError, PrerequisiteError

if TYPE_CHECKING:
    from harness.bounded_http import ExchangeError, HttpResponse

MAX_REPLY = 4 << 20
"""Most bytes read per reply, including headers and everything else the server sends."""
MAX_CHOICES = 16
"""Most choices in a reply, of which one is requested."""
MAX_TOKENS = 10**12
"""Largest credible token count."""
BUSY = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 that may be temporary; those from 500 on count too."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before the first retry, and the longest pause that a server may request without losing its retry."""
_NO_KEY = "no-key"
"""Placeholder key, as many servers require one."""
_SECRET = 8
"""Shortest key treated as a secret; `none` and `EMPTY` are common words."""
_NEXT = {
    401: "set {keys} to a key that this server accepts",
    403: "set {keys} to a key that may use this model",
    404: "see that the URL is that of the API (it often ends in /v1) and that the server has this model",
    413: "the server takes no prompt of this length; take a model with a longer context",
    429: "wait, then run the same command again",
}
_ELSEWHERE = "nothing was sent there; if that is the right server, give its URL: {option} {place}"

T = TypeVar("T", bound=BaseModel)
Message = Mapping[str, str]
"""One message of a chat: `role` and `content`."""


class ChatProblem(StrEnum):
    """The reason for a missing reply."""

    STATUS = "it answers with an error"
    TIMEOUT = "it does not reply in time"
    UNREACHABLE = "it cannot be reached"
    BROKE_OFF = "the reply broke off"
    TOO_LARGE = "the reply is too large"
    NO_COMPLETION = "it sends something else than a chat completion"


_RETRIED = (ChatProblem.STATUS, ChatProblem.TIMEOUT, ChatProblem.UNREACHABLE)
"""Problems retried here; unusable replies are left to the caller."""


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS)
    completion_tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS)


class _Refusal(BaseModel):
    message: str | None = None
    error: "_Refusal | str | None" = None


class _Completion(BaseModel):
    # an error for each of millions of choices would take gigabytes
    choices: Annotated[list[_Choice], FailFast()] = Field(min_length=1, max_length=MAX_CHOICES)
    model: str | None = None
    usage: _Usage | None = None


@dataclass(frozen=True)
class ChatReply:
    """The reply of a server.

    Attributes:
        text: may be empty.
        refusal: server's refusal in place of a text.
        finish: server's reason for the end of the text, such as `stop`, or `length` if cut off.
        model: server's name for the model, or empty.
        prompt_tokens, completion_tokens: server's counts, or None.
        seconds: wall time from the request to the reply's last byte.
    """

    text: str
    refusal: str = ""
    finish: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0

    @property
    def cut_off(self) -> bool:
        """True if the reply ends at a token limit."""
        return self.finish == "length"


class ChatServer:
    """A thread-safe client of a server with OpenAI's chat protocol.

    Args:
        url: URL of the API, such as `http://localhost:8000/v1`.
        option: command line option with the URL, for messages.
        keys: environment variables with the key, in order of precedence.
        timeout: seconds from a request to the last byte of its reply.
        retries: most retries of temporary failures.

    Raises:
        NotFoundError: invalid URL.
        PrerequisiteError: missing HTTP library, or a key that no header can hold.
    """

    def __init__(
        self,
        url: str,
        *,
        option: str,
        keys: Sequence[str],
        timeout: float,
        retries: int = 0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.shown = _format_url(url, option)
        self._place = _http().ascii_url(url, "/chat/completions")
        self._option = option
        self._timeout = timeout
        self._retries = retries
        self._keys = keys
        self._key = _key(keys, environment)

    def complete(self, model: str, messages: Sequence[Message], **settings: Any) -> ChatReply:
        """Return the reply to a chat.

        Args:
            model: server's name for the model.
            settings: further fields of the request, without those that are None.

        Raises:
            ChatError: there is no reply.
        """
        stated = {name: value for name, value in settings.items() if value is not None}
        body = json.dumps({"model": model, "messages": [dict(message) for message in messages], **stated}).encode()
        for number in range(self._retries):
            try:
                return self._complete(body)
            except ChatError as error:
                pause = FIRST_PAUSE * 2**number if error.wait is None else error.wait
                if error.problem not in _RETRIED or not may_pass(error) or pause > LONGEST_PAUSE:
                    raise
            time.sleep(pause)
        return self._complete(body)

    def _complete(self, body: bytes) -> ChatReply:
        http = _http()
        headers = {
            "authorization": f"Bearer {self._key or _NO_KEY}",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "connection": "close",
            "user-agent": "kernel-harness",
        }
        began = time.monotonic()
        try:
            response = http.post(self._place, headers, body, seconds=self._timeout, limit=MAX_REPLY)
        except http.ExchangeError as error:
            raise self._failure(error) from None
        if not response.successful:
            raise self._refusal(response)
        if _is_encoded(response):
            raise ChatError(ChatProblem.NO_COMPLETION, "the server sent a compressed reply, which it was not asked for")
        return self._reply(response.body, time.monotonic() - began)

    def _failure(self, error: "ExchangeError") -> ChatError:
        kinds = _http().ExchangeProblem
        if error.problem is kinds.LATE:
            words = f"{self.shown} did not reply within {self._timeout:g} s"
            return ChatError(ChatProblem.TIMEOUT, words, hint="--timeout gives it longer")
        if error.problem is kinds.TOO_LARGE:
            return ChatError(ChatProblem.TOO_LARGE, f"it is over {MAX_REPLY >> 20} MiB")
        if error.problem is kinds.BROKE_OFF:
            return ChatError(ChatProblem.BROKE_OFF, f"it broke off: {self._quote(error.words)}")
        return ChatError(
            ChatProblem.UNREACHABLE,
            f"{self.shown} cannot be reached: {self._quote(error.words)}",
            hint="see that a server runs there, then run the same command again",
        )

    def _reply(self, body: bytes, seconds: float) -> ChatReply:
        try:
            found = _read(_Completion, body)
        except ValueError as error:
            why = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else str(error)
            begin = self._quote(body[:1000].decode(errors="replace"), 80)
            raise ChatError(
                ChatProblem.NO_COMPLETION, f"the server sent no chat completion ({why}): {begin!r}"
            ) from None
        choice, usage = found.choices[0], found.usage or _Usage()
        return ChatReply(
            self._hide(choice.message.content or ""),
            self._quote(choice.message.refusal or ""),
            self._quote(choice.finish_reason or "", 40),
            self._quote(found.model or ""),
            usage.prompt_tokens,
            usage.completion_tokens,
            seconds,
        )

    def _refusal(self, response: "HttpResponse") -> ChatError:
        status, headers = response.status, response.headers
        words = "" if _is_encoded(response) else self._quote(_extract_error(response.body), 300)
        after = f" (Retry-After: {self._quote(headers['retry-after'], 40)})" if headers.get("retry-after") else ""
        keys = f"{self._keys[0]} (or {', '.join(self._keys[1:])})"
        hint = _NEXT.get(status, "the server's own log may say more").format(keys=keys)
        if status // 100 == 3:
            place = self._quote(headers.get("location", ""))
            words = f"go to {place or 'nowhere'}"
            hint = _ELSEWHERE.format(option=self._option, place=place.removesuffix("/chat/completions") or "URL")
        return ChatError(
            ChatProblem.STATUS,
            f"{self.shown} answers HTTP {status}{after}: {words or 'no words'}",
            hint=hint,
            status=status,
            wait=_wait(headers),
        )

    def _quote(self, text: str, most: int = 200) -> str:
        plain = "".join(sign if sign.isprintable() else " " for sign in self._hide(text))
        return " ".join(plain.split())[:most]

    def _hide(self, text: str) -> str:
        """Mask the key in `text`, since a server may echo it."""
        return text.replace(self._key, "***") if len(self._key) >= _SECRET else text


def may_pass(error: ChatError) -> bool:
    """Return whether the error may be temporary, judged by its status."""
    return error.status is None or error.status in BUSY or error.status >= 500


def _http() -> Any:
    try:
        from harness import bounded_http
    except ImportError:
        raise PrerequisiteError('no httpx2 to ask a model with: pip install -e ".[judge]"') from None
    return bounded_http


def _read(kind: type[T], body: bytes) -> T:
    """Parse a body; in two steps, since an error of a single step would hold a second copy of a large body.

    Raises:
        ValueError: the body is invalid.
    """
    return kind.model_validate(from_json(body))


def _is_encoded(response: "HttpResponse") -> bool:
    return response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")


def _extract_error(body: bytes) -> str:
    try:
        found = _read(_Refusal, body)
    except ValueError:
        return body.decode(errors="replace")
    inner = found.error.message if isinstance(found.error, _Refusal) else found.error
    return inner or found.message or body.decode(errors="replace")


def _format_url(url: str, option: str) -> str:
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            parts.hostname.encode("idna")
            return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    except ValueError:
        pass
    raise NotFoundError(f"{url[:80]!r} is no URL to ask a model at\n  try: {option} http://localhost:8000/v1")


def _key(names: Sequence[str], environment: Mapping[str, str]) -> str:
    name = next((name for name in names if environment.get(name, "").strip()), names[0])
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise PrerequisiteError(f"{name} holds characters that no key has; set it to the key alone")
    return key


def _wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, 10.2.3), or None."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        pass
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return None
    try:  # by the server's own clock if it states one, as ours may differ
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        now = datetime.datetime.now(datetime.UTC)
    return max(0.0, (_add_zone(until) - _add_zone(now)).total_seconds())


def _add_zone(time: datetime.datetime) -> datetime.datetime:
    return time.replace(tzinfo=time.tzinfo or datetime.UTC)
