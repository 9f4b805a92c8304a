"""Clients of a grading service, typed as the local functions."""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from harness.errors import PrerequisiteError, SpecError, nearest
from harness.model import GradeProfile, Record
from harness.serving.client_steps import HttpCall, HttpReply, Steps, folder_request, grade_requests, reply_request
from harness.serving.requests import GradeRequest

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

TOKEN = "HARNESS_TOKEN"
"""Environment variable with the default token."""
DEFAULT_URL = "http://127.0.0.1:8321"
WAIT_SECONDS = 30.0
"""Seconds that one request waits for a record before the client polls again."""
MARGIN_SECONDS = 30.0
"""Further seconds of silence after which the server counts as gone."""


class RemoteOptions(TypedDict, total=False):
    """Grading options of a service.

    Attributes:
        profile: "full", "correctness" or "reward".
        criteria: ids to run in place of the profile's.
        seconds: wall time after which a grade is cut off, with a reward of None.
        model: model's name in the records; "candidate" by default.
    """

    profile: str
    criteria: Sequence[str]
    seconds: float | None
    model: str


def _check_options(options: RemoteOptions) -> dict[str, Any]:
    found: dict[str, Any] = {**options}
    profile = found.get("profile", GradeProfile.FULL)
    if profile not in list(GradeProfile):
        known = ", ".join(GradeProfile)
        problem = f"is {profile!r}{nearest(str(profile), map(str, GradeProfile))}"
        raise SpecError("profile", problem, hint=f"profiles are {known}")
    return found | {"profile": GradeProfile(profile), "criteria": tuple(found.get("criteria", ()))}


def _build_reply_requests(
    replies: Iterable[str], challenge: str | Sequence[str], options: RemoteOptions
) -> list[GradeRequest]:
    texts = list(replies)
    challenges = [challenge] * len(texts) if isinstance(challenge, str) else list(challenge)
    if len(challenges) != len(texts):
        raise SpecError(
            "challenge", f"names {len(challenges)} for {len(texts)} replies", hint="give one, or one for each"
        )
    return [reply_request(text, id, _check_options(options)) for text, id in zip(texts, challenges, strict=True)]


def _build_folder_requests(
    folders: Iterable[str | os.PathLike[str]], challenge: str | None, entry: str | None, options: RemoteOptions
) -> list[GradeRequest]:
    return [folder_request(Path(folder), challenge, entry, _check_options(options)) for folder in folders]


class _Connection:
    _kind = "Client"

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None, *, patience: float = 600.0) -> None:
        try:
            import httpx2
        except ImportError:
            raise PrerequisiteError("no httpx2 to reach a server with: pip install 'kernel-harness[serve]'") from None
        self._library: Any = httpx2
        self._patience = patience
        settings: dict[str, Any] = {
            "base_url": url.rstrip("/"),
            "timeout": WAIT_SECONDS + MARGIN_SECONDS,
            # keep proxies and passwords of the environment out of it
            "trust_env": False,
            "follow_redirects": False,
        }
        if token := os.environ.get(TOKEN, "") if token is None else token:
            settings["headers"] = {"authorization": f"Bearer {token}"}
        self._http = getattr(self._library, self._kind)(**settings)

    def _plan_steps(self, requests: Sequence[GradeRequest]) -> Steps[list[Record]]:
        return grade_requests(requests, self._patience, WAIT_SECONDS)

    @staticmethod
    def _to_arguments(call: HttpCall) -> dict[str, Any]:
        return {"method": call.method, "url": call.path, "content": call.body, "headers": dict(call.headers)}

    @staticmethod
    def _to_reply(response: "httpx2.Response") -> HttpReply:
        return HttpReply(response.status_code, response.headers, response.content)


class Client(_Connection):
    """Client of a grading service. Threads may share one.

    Args:
        token: bearer token; the environment variable HARNESS_TOKEN by default.
        patience: seconds in which a busy or unreachable server must answer.

    Raises:
        PrerequisiteError: httpx2 is not installed.
    """

    def grade(
        self,
        folder: str | os.PathLike[str],
        challenge: str | None = None,
        *,
        entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> Record:
        """Grade one folder, as `harness.grade` does.

        Args:
            folder: submission of text files.
            challenge: id; by default the one in submission.toml.
            entry: module with the contract's functions, for a folder without submission.toml.

        Raises:
            ServiceError: the server returned no record; `status` is its HTTP status, or 0 without a response.
            SpecError: the folder cannot be sent.
        """
        return self._run(self._plan_steps(_build_folder_requests([folder], challenge, entry, options)))[0]

    def grade_many(
        self,
        folders: Iterable[str | os.PathLike[str]],
        challenge: str | None = None,
        *,
        entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> list[Record]:
        """Grade folders as `grade` does, and return the records in their order."""
        return self._run(self._plan_steps(_build_folder_requests(folders, challenge, entry, options)))

    def grade_reply(self, reply: str, challenge: str, **options: Unpack[RemoteOptions]) -> Record:
        """Grade a raw reply; one without a submission has reward 0. See `grade` for errors."""
        return self.grade_replies([reply], challenge, **options)[0]

    def grade_replies(
        self, replies: Iterable[str], challenge: str | Sequence[str], **options: Unpack[RemoteOptions]
    ) -> list[Record]:
        """Grade raw replies, and return the records in their order.

        Args:
            challenge: id of the challenge, or one id per reply.
        """
        return self._run(self._plan_steps(_build_reply_requests(replies, challenge, options)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        reply: HttpReply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, HttpCall):
                    try:
                        reply = self._to_reply(self._http.request(**self._to_arguments(step)))
                    except self._library.HTTPError as error:
                        reply = HttpReply(0, {}, str(error).encode())
                else:
                    time.sleep(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class AsyncClient(_Connection):
    """`Client` for an event loop, with the same arguments and errors."""

    _kind = "AsyncClient"

    async def grade(
        self,
        folder: str | os.PathLike[str],
        challenge: str | None = None,
        *,
        entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> Record:
        """See `Client.grade`."""
        return (await self._run(self._plan_steps(_build_folder_requests([folder], challenge, entry, options))))[0]

    async def grade_many(
        self,
        folders: Iterable[str | os.PathLike[str]],
        challenge: str | None = None,
        *,
        entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> list[Record]:
        """See `Client.grade_many`."""
        return await self._run(self._plan_steps(_build_folder_requests(folders, challenge, entry, options)))

    async def grade_reply(self, reply: str, challenge: str, **options: Unpack[RemoteOptions]) -> Record:
        """See `Client.grade_reply`."""
        return (await self.grade_replies([reply], challenge, **options))[0]

    async def grade_replies(
        self, replies: Iterable[str], challenge: str | Sequence[str], **options: Unpack[RemoteOptions]
    ) -> list[Record]:
        """See `Client.grade_replies`."""
        return await self._run(self._plan_steps(_build_reply_requests(replies, challenge, options)))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        reply: HttpReply | None = None
        try:
            while True:
                step = steps.send(reply)
                reply = None
                if isinstance(step, HttpCall):
                    try:
                        reply = self._to_reply(await self._http.request(**self._to_arguments(step)))
                    except self._library.HTTPError as error:
                        reply = HttpReply(0, {}, str(error).encode())
                else:
                    await asyncio.sleep(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
