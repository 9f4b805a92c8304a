"""A judge at an OpenAI-compatible server."""

import os
from collections.abc import Mapping
from typing import Any

from harness.chat import ChatProblem, ChatServer
from harness.errors import ChatError
from harness.review.judge_prompt import Prompt
from harness.review.judge_reply import Refused

KEYS = ("HARNESS_JUDGE_KEY", "OPENAI_API_KEY")
"""Environment variables with the key, in order of precedence."""
_RETRIES = 2
_UNUSABLE = (ChatProblem.BROKE_OFF, ChatProblem.TOO_LARGE, ChatProblem.NO_COMPLETION)
_NO_SUCH_FORM = (400, 422)


class Endpoint:
    """A chat model behind a URL.

    Args:
        url: URL of the API, such as `http://localhost:8000/v1`.
        timeout: seconds from a request to the last byte of its reply.

    Raises:
        NotFoundError: invalid URL.
        PrerequisiteError: missing HTTP library, or a key that no header can hold.
    """

    def __init__(self, url: str, model: str, *, timeout: float = 120.0, environment: Mapping[str, str] = os.environ):
        self._server = ChatServer(
            url, option="--judge", keys=KEYS, timeout=timeout, retries=_RETRIES, environment=environment
        )
        self._model = model
        self._structured = True

    def ask(self, prompt: Prompt) -> str:
        """Return the text of a reply.

        Raises:
            Refused: the reply is unusable.
            JudgeError: the server failed, after three tries if repeatable.
        """
        messages = ({"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user})
        form: dict[str, Any] = {"response_format": prompt.response_format} if self._structured else {}
        try:
            reply = self._server.complete(self._model, messages, **form)
        except ChatError as error:
            if error.problem in _UNUSABLE:
                raise Refused(error.words) from None
            if error.status not in _NO_SUCH_FORM or not self._structured:
                raise
            # many servers refuse an unknown response format, so rely on the prompt alone
            self._structured = False
            return self.ask(prompt)
        if reply.cut_off:
            raise Refused("it was cut off at the server's limit of tokens")
        if not reply.text:
            raise Refused(f"it is empty{f': {reply.refusal}' if reply.refusal else ''}")
        return reply.text
