"""An OpenAI-compatible server, sent one chat at a time; its key comes from the environment and is never shown."""

import datetime
import email.utils
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from harness.errors import ChatError, NotFoundError, PrerequisiteError

if TYPE_CHECKING:
    import openai

MAX_REPLY = 4 << 20
"""Bytes read of one reply."""
_NO_KEY = "no-key"
"""The SDK asks for one; servers that need none pass over it."""
_SECRET = 8
"""Characters from which on a key is taken for a secret: `none` and `EMPTY` are common words."""
_NEXT = {
    401: "set {keys} to a key that this server accepts",
    403: "set {keys} to a key that may use this model",
    404: "see that the URL is that of the API (it often ends in /v1) and that the server has this model",
    413: "the server takes no prompt of this length; take a model with a longer context",
    429: "wait, then run the same command again",
}

Message = Mapping[str, str]
"""One message of a chat: `role` and `content`."""


class ChatProblem(StrEnum):
    """Why a server gave no reply."""

    STATUS = "it answers with an error"
    TIMEOUT = "it does not reply in time"
    UNREACHABLE = "it cannot be reached"
    BROKE_OFF = "the reply broke off"
    TOO_LARGE = "the reply is too large"
    NO_COMPLETION = "it sends something else than a chat completion"


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    usage: _Usage | None = None


@dataclass(frozen=True)
class ChatReply:
    """What a server replied.

    Attributes:
        text: what the model said; empty where it said nothing.
        refusal: what the server says in place of a text, where it does.
        finish: why the text ends, as the server says it: `stop`, or `length` where it was cut off.
        model: the model as the server names it; empty where it does not.
        prompt_tokens, completion_tokens: as the server counts them; None where it does not.
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
        """Whether it ends at a limit of tokens."""
        return self.finish == "length"


class ChatServer:
    """A server that speaks OpenAI's chat protocol. It may be asked from several threads.

    Args:
        url: of the API, such as `http://localhost:8000/v1`.
        option: of the command line that gave the URL, for messages.
        keys: variables a key is read from; the first that is set.
        timeout: seconds the server may be silent, and seconds a reply may take once it has begun.
        retries: how often the SDK itself asks again where that may help.
        environment: where a key is looked for.

    Raises:
        NotFoundError: the URL is none.
        PrerequisiteError: the SDK is not installed, or the key holds what a header cannot.
    """

    def __init__(
        self, url: str, *, option: str, keys: Sequence[str], timeout: float, retries: int = 0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        self.shown = _shown(url, option)
        self._timeout = timeout
        self._keys = keys
        self._key = _key(keys, environment)
        self._client = _sdk().OpenAI(api_key=self._key or _NO_KEY, base_url=url, timeout=timeout, max_retries=retries)

    def complete(self, model: str, messages: Sequence[Message], **settings: Any) -> ChatReply:
        """The reply to a chat.

        Args:
            model: by the server's name.
            messages: the chat so far.
            settings: further fields of the request; those that are None are left out.

        Raises:
            ChatError: there is none.
        """
        sdk = _sdk()
        began = time.monotonic()
        try:
            body = self._post(model, messages, {name: value for name, value in settings.items() if value is not None})
        except sdk.APIStatusError as error:
            raise self._refusal(error) from None
        except sdk.APITimeoutError:
            raise self._too_slow() from None
        except sdk.APIConnectionError as error:
            raise ChatError(
                ChatProblem.UNREACHABLE, f"{self.shown} cannot be reached: {self._hide(str(error.__cause__ or error))}",
                hint="see that a server runs there, then run the same command again",
            ) from None  # fmt: skip
        return self._reply(body, time.monotonic() - began)

    def _post(self, model: str, messages: Sequence[Message], settings: Mapping[str, Any]) -> bytes:
        with self._client.chat.completions.with_streaming_response.create(
            model=model, messages=[dict(message) for message in messages], **settings
        ) as response:
            return self._read(response.iter_bytes())

    def _read(self, chunks: Iterable[bytes]) -> bytes:
        end = time.monotonic() + self._timeout
        body = bytearray()
        try:
            for chunk in chunks:
                body += chunk
                if len(body) > MAX_REPLY:
                    raise ChatError(ChatProblem.TOO_LARGE, f"it is over {MAX_REPLY >> 20} MiB")
                if time.monotonic() > end:
                    raise self._too_slow()
        except ChatError:
            raise
        except Exception as error:  # of the SDK's HTTP library, which is not the same in all its versions
            if time.monotonic() > end:
                raise self._too_slow() from None
            raise ChatError(ChatProblem.BROKE_OFF, f"it broke off: {self._hide(str(error))[:200]}") from None
        return bytes(body)

    def _reply(self, body: bytes, seconds: float) -> ChatReply:
        try:
            found = _Completion.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            begin = self._hide(" ".join(body[:80].decode(errors="replace").split()))
            raise ChatError(
                ChatProblem.NO_COMPLETION, f"the server sent no chat completion ({first['msg']}): {begin!r}"
            ) from None
        choice, usage = found.choices[0], found.usage or _Usage()
        return ChatReply(
            self._hide(choice.message.content or ""), self._hide(choice.message.refusal or "")[:200],
            self._hide(choice.finish_reason or "")[:40], self._hide(found.model or "")[:200],
            usage.prompt_tokens, usage.completion_tokens, seconds,
        )  # fmt: skip

    def _too_slow(self) -> ChatError:
        words = f"{self.shown} did not reply within {self._timeout:g} s"
        return ChatError(ChatProblem.TIMEOUT, words, hint="--timeout gives it longer")

    def _refusal(self, error: "openai.APIStatusError") -> ChatError:
        """What the server said, shortened, and what to do next."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else None
        words = " ".join(str(said or error.response.text).split())[:300]
        wait = error.response.headers.get("retry-after")
        after = f" (Retry-After: {wait[:40]})" if wait else ""
        hint = _NEXT.get(error.status_code, "the server's own log may say more")
        return ChatError(
            ChatProblem.STATUS,
            self._hide(f"{self.shown} answers HTTP {error.status_code}{after}: {words or 'no words'}"),
            hint=hint.format(keys=f"{self._keys[0]} (or {', '.join(self._keys[1:])})"),
            status=error.status_code, wait=_wait(error.response.headers),
        )  # fmt: skip

    def _hide(self, text: str) -> str:
        """`text` without the key: a server may repeat it."""
        return text.replace(self._key, "***") if len(self._key) >= _SECRET else text


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise PrerequisiteError('no openai package to ask a model with: pip install -e ".[judge]"') from None
    return openai


def _shown(url: str, option: str) -> str:
    """The URL as it may be printed: without user, password and query."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    except ValueError:
        pass
    raise NotFoundError(f"{url[:80]!r} is no URL to ask a model at\n  try: {option} http://localhost:8000/v1")


def _key(names: Sequence[str], environment: Mapping[str, str]) -> str:
    """The key, or an empty string."""
    name = next((name for name in names if environment.get(name, "").strip()), names[0])
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise PrerequisiteError(f"{name} holds characters that no key has; set it to the key alone")
    return key


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to be left alone, as RFC 9110 (10.2.3) states them; None where it does not."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        pass
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    try:  # by the server's own clock, where it tells it: ours may be another
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        now = datetime.datetime.now(datetime.UTC)
    return max(0.0, (_zoned(until) - _zoned(now)).total_seconds())


def _zoned(time: datetime.datetime) -> datetime.datetime:
    return time.replace(tzinfo=time.tzinfo or datetime.UTC)
