"""An OpenAI-compatible server, asked for one reply at a time."""

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from harness.errors import JudgeError, NotFoundError, PrerequisiteError
from harness.review.prompt import Prompt
from harness.review.reply import Refused

if TYPE_CHECKING:
    import openai

KEYS = ("HARNESS_JUDGE_KEY", "OPENAI_API_KEY")
"""Variables a key is read from; the first that is set."""
MAX_REPLY = 4 << 20
"""Bytes read of one reply."""
_NO_KEY = "no-key"
"""The SDK asks for one; servers that need none pass over it."""
_SECRET = 8
"""Characters from which on a key is taken for a secret: `none` and `EMPTY` are common words."""
_NEXT = {
    401: f"set {KEYS[0]} (or {KEYS[1]}) to a key that this server accepts",
    403: f"set {KEYS[0]} (or {KEYS[1]}) to a key that may use this model",
    404: "see that the URL is that of the API (it often ends in /v1) and that the server has this model",
    413: "the server takes no prompt of this length; take a model with a longer context",
    429: "wait, then run the same command again",
}


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


class Endpoint:
    """A chat model behind a URL.

    Args:
        url: of the API, such as `http://localhost:8000/v1`.
        model: the server's name for the model.
        timeout: seconds the server may be silent, and seconds a reply may take once it has begun.
        environment: where a key is looked for.

    Raises:
        NotFoundError: the URL is none.
        PrerequisiteError: the SDK is not installed, or the key holds what a header cannot.
    """

    def __init__(self, url: str, model: str, *, timeout: float = 120.0, environment: Mapping[str, str] = os.environ):
        self.shown = _shown(url)
        self.model = model
        self._timeout = timeout
        self._key = _key(environment)
        self._structured = True
        self._client = _sdk().OpenAI(api_key=self._key or _NO_KEY, base_url=url, timeout=timeout, max_retries=2)

    def ask(self, prompt: Prompt) -> str:
        """The text of a reply.

        Raises:
            Refused: the server replied, but with nothing that can be used.
            JudgeError: it cannot be asked, after what is worth trying again was tried three times.
        """
        sdk = _sdk()
        try:
            return self._hide(_text(self._post(prompt)))
        except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
            if not self._structured:
                raise JudgeError(self._message(error)) from None
        except sdk.APIStatusError as error:
            raise JudgeError(self._message(error)) from None
        except sdk.APITimeoutError:
            raise JudgeError(self._too_slow()) from None
        except sdk.APIConnectionError as error:
            raise JudgeError(
                f"{self.shown} cannot be reached: {self._hide(str(error.__cause__ or error))}\n"
                "  see that a server runs there, then run the same command again"
            ) from None
        # many servers refuse a form they do not know: asked in words alone
        self._structured = False
        return self.ask(prompt)

    def _post(self, prompt: Prompt) -> bytes:
        form: dict[str, Any] = {"response_format": prompt.response_format} if self._structured else {}
        with self._client.chat.completions.with_streaming_response.create(
            model=self.model,
            messages=[{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            **form,
        ) as response:
            return self._read(response.iter_bytes())

    def _read(self, chunks: Iterable[bytes]) -> bytes:
        end = time.monotonic() + self._timeout
        body = b""
        try:
            for chunk in chunks:
                body += chunk
                if len(body) > MAX_REPLY:
                    raise Refused(f"it is over {MAX_REPLY >> 20} MiB")
                if time.monotonic() > end:
                    raise JudgeError(self._too_slow())
        except (Refused, JudgeError):
            raise
        except Exception as error:  # of the SDK's HTTP library, which is not the same in all its versions
            if time.monotonic() > end:
                raise JudgeError(self._too_slow()) from None
            raise Refused(f"it broke off: {self._hide(str(error))[:200]}") from None
        return body

    def _too_slow(self) -> str:
        return f"{self.shown} did not reply within {self._timeout:g} s\n  --timeout gives it longer"

    def _message(self, error: "openai.APIStatusError") -> str:
        """What the server said, shortened, and what to do next."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else None
        words = " ".join(str(said or error.response.text).split())[:300]
        wait = error.response.headers.get("retry-after")
        after = f" (Retry-After: {wait[:40]})" if wait else ""
        next_step = _NEXT.get(error.status_code, "the server's own log may say more")
        return self._hide(f"{self.shown} answers HTTP {error.status_code}{after}: {words or 'no words'}\n  {next_step}")

    def _hide(self, text: str) -> str:
        """`text` without the key: a server may repeat it."""
        return text.replace(self._key, "***") if len(self._key) >= _SECRET else text


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise PrerequisiteError('no openai package to ask a judge with: pip install -e ".[judge]"') from None
    return openai


def _shown(url: str) -> str:
    """The URL as it may be printed: without user, password and query."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    except ValueError:
        pass
    raise NotFoundError(f"{url[:80]!r} is no URL to ask a judge at\n  try: --judge http://localhost:8000/v1")


def _key(environment: Mapping[str, str]) -> str:
    """The key, or an empty string."""
    name = next((name for name in KEYS if environment.get(name, "").strip()), KEYS[0])
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise PrerequisiteError(f"{name} holds characters that no key has; set it to the key alone")
    return key


def _text(body: bytes) -> str:
    """The text inside a reply.

    Raises:
        Refused: there is none.
    """
    try:
        choice = _Completion.model_validate_json(body).choices[0]
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        begin = " ".join(body[:80].decode(errors="replace").split())
        raise Refused(f"the server sent no chat completion ({first['msg']}): {begin!r}") from None
    if choice.finish_reason == "length":
        raise Refused("it was cut off at the server's limit of tokens")
    if not choice.message.content:
        raise Refused(f"it is empty{f': {choice.message.refusal[:200]}' if choice.message.refusal else ''}")
    return choice.message.content
