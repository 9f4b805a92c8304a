"""A judge behind a URL: an OpenAI-compatible server, asked for one reply at a time."""

import os
from collections.abc import Mapping
from typing import Any

from harness.chat import ChatProblem, ChatServer
from harness.errors import ChatError
from harness.review.judge_prompt import Prompt
from harness.review.judge_reply import Refused

KEYS = ("HARNESS_JUDGE_KEY", "OPENAI_API_KEY")
"""Variables a key is read from; the first that is set."""
_RETRIES = 2
_UNUSABLE = (ChatProblem.BROKE_OFF, ChatProblem.TOO_LARGE, ChatProblem.NO_COMPLETION)
_NO_SUCH_FORM = (400, 422)


class Endpoint:
    """A chat model behind a URL.

    Args:
        url: of the API, such as `http://localhost:8000/v1`.
        model: the server's name for the model.
        timeout: seconds from a request to the last byte of its reply.
        environment: where a key is looked for.

    Raises:
        NotFoundError: the URL is none.
        PrerequisiteError: there is no HTTP library, or the key holds what a header cannot.
    """

    def __init__(self, url: str, model: str, *, timeout: float = 120.0, environment: Mapping[str, str] = os.environ):
        self._server = ChatServer(
            url, option="--judge", keys=KEYS, timeout=timeout, retries=_RETRIES, environment=environment
        )
        self._model = model
        self._structured = True

    def ask(self, prompt: Prompt) -> str:
        """The text of a reply.

        Raises:
            Refused: the server replied, but with nothing that can be used.
            JudgeError: it cannot be asked, after what is worth trying again was tried three times.
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
            # many servers refuse a form they do not know: asked in words alone
            self._structured = False
            return self.ask(prompt)
        if reply.cut_off:
            raise Refused("it was cut off at the server's limit of tokens")
        if not reply.text:
            raise Refused(f"it is empty{f': {reply.refusal}' if reply.refusal else ''}")
        return reply.text
