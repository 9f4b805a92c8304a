"""Grading at a service, with the types of the local functions: `harness.Client` and `harness.AsyncClient`.

Both send what `harness.serving.client_steps` says; only how they send and how they sleep differs.
"""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from harness.errors import PrerequisiteError, SpecError, nearest
from harness.model import GradeProfile, Record
from harness.serving.client_steps import HttpCall, HttpReply, Steps, folder_request, graded, reply_request
from harness.serving.requests import GradeRequest

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

TOKEN = "HARNESS_TOKEN"
"""Environment variable with the token, where none is given."""
DEFAULT_URL = "http://127.0.0.1:8321"
WAIT_SECONDS = 30.0
"""For which one request waits for a record before it asks again."""
MARGIN_SECONDS = 30.0
"""After which a server that says nothing is taken for gone."""


class RemoteOptions(TypedDict, total=False):
    """How to grade at a service.

    Attributes:
        profile: "full", "correctness" or "reward".
        criteria: ids of the criteria to run in place of the profile's own.
        seconds: wall time after which a grade is cut off; its reward is then None.
        model: who answered, as records will say; "candidate" by default.
    """

    profile: str
    criteria: Sequence[str]
    seconds: float | None
    model: str


def _options(options: RemoteOptions) -> dict[str, Any]:
    found: dict[str, Any] = {**options}
    profile = found.get("profile", GradeProfile.FULL)
    if profile not in list(GradeProfile):
        known = ", ".join(GradeProfile)
        problem = f"is {profile!r}{nearest(str(profile), map(str, GradeProfile))}"
        raise SpecError("profile", problem, hint=f"profiles are {known}")
    return found | {"profile": GradeProfile(profile), "criteria": tuple(found.get("criteria", ()))}


def _replies(replies: Iterable[str], challenge: str | Sequence[str], options: RemoteOptions) -> list[GradeRequest]:
    texts = list(replies)
    challenges = [challenge] * len(texts) if isinstance(challenge, str) else list(challenge)
    if len(challenges) != len(texts):
        raise SpecError(
            "challenge", f"names {len(challenges)} for {len(texts)} replies", hint="give one, or one for each"
        )
    return [reply_request(text, id, _options(options)) for text, id in zip(texts, challenges, strict=True)]


def _folders(
    folders: Iterable[str | os.PathLike[str]], challenge: str | None, entry: str | None, options: RemoteOptions
) -> list[GradeRequest]:
    return [folder_request(Path(folder), challenge, entry, _options(options)) for folder in folders]


def _library() -> Any:
    try:
        import httpx2
    except ImportError:
        raise PrerequisiteError("no httpx2 to reach a server with: pip install 'kernel-harness[serve]'") from None
    return httpx2


class _Connection:
    """What both clients know of a server.

    Args:
        url: of the server.
        token: for it; that of the environment variable HARNESS_TOKEN by default.
        patience: seconds in which a server that is busy, restarts or cannot be reached must answer.
    """

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None, *, patience: float = 600.0) -> None:
        self._patience = patience
        self._token = os.environ.get(TOKEN, "") if token is None else token
        self._library = _library()
        self._settings: dict[str, Any] = {
            "base_url": url.rstrip("/"), "timeout": WAIT_SECONDS + MARGIN_SECONDS,
            # neither a proxy nor a password of the environment gets between this and its server
            "trust_env": False, "follow_redirects": False,
        }  # fmt: skip
        if self._token:
            self._settings["headers"] = {"authorization": f"Bearer {self._token}"}

    def _steps(self, requests: Sequence[GradeRequest]) -> Steps[list[Record]]:
        return graded(requests, self._patience, WAIT_SECONDS)

    @staticmethod
    def _arguments(call: HttpCall) -> dict[str, Any]:
        return {"method": call.method, "url": call.path, "content": call.body, "headers": dict(call.headers)}

    @staticmethod
    def _reply(response: "httpx2.Response") -> HttpReply:
        return HttpReply(response.status_code, response.headers, response.content)


class Client(_Connection):
    """Grades at a service. Several threads may use one client.

    Args:
        url: of the server; `http://127.0.0.1:8321` by default.
        token: for it; that of the environment variable HARNESS_TOKEN by default.
        patience: seconds in which a server that is busy, restarts or cannot be reached must answer.

    Raises:
        PrerequisiteError: httpx2 is not installed.
    """

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None, *, patience: float = 600.0) -> None:
        super().__init__(url, token, patience=patience)
        self._http = self._library.Client(**self._settings)

    def grade(
        self, folder: str | os.PathLike[str], challenge: str | None = None, *, entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> Record:  # fmt: skip
        """Grade one folder, as `harness.grade` does.

        Args:
            folder: the answer's files, all of them text.
            challenge: what it answers; what its submission.toml says by default.
            entry: the module with the contract's functions, for a folder without submission.toml.
            **options: see `RemoteOptions`.

        Raises:
            ServiceError: the server gave no record; `status` says which HTTP status it gave instead, 0 for none.
            SpecError: the folder cannot be sent.
        """
        return self._run(self._steps(_folders([folder], challenge, entry, options)))[0]

    def grade_many(
        self, folders: Iterable[str | os.PathLike[str]], challenge: str | None = None, *, entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> list[Record]:  # fmt: skip
        """One record for each folder, in their order; otherwise as `grade`."""
        return self._run(self._steps(_folders(folders, challenge, entry, options)))

    def grade_reply(self, reply: str, challenge: str, **options: Unpack[RemoteOptions]) -> Record:
        """Grade a model's raw reply; one that holds no answer has a record with a reward of 0.

        Raises:
            ServiceError: as `grade`.
        """
        return self.grade_replies([reply], challenge, **options)[0]

    def grade_replies(
        self, replies: Iterable[str], challenge: str | Sequence[str], **options: Unpack[RemoteOptions]
    ) -> list[Record]:
        """One record for each reply, in their order.

        Args:
            replies: models' raw texts.
            challenge: what all of them answer, or one for each.
            **options: see `RemoteOptions`.

        Raises:
            ServiceError: as `grade`.
        """
        return self._run(self._steps(_replies(replies, challenge, options)))

    def close(self) -> None:
        """Close its connections."""
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
                        reply = self._reply(self._http.request(**self._arguments(step)))
                    except self._library.HTTPError as error:
                        reply = HttpReply(0, {}, str(error).encode())
                else:
                    time.sleep(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class AsyncClient(_Connection):
    """As `Client`, for an event loop.

    Args:
        url, token, patience: as for `Client`.

    Raises:
        PrerequisiteError: httpx2 is not installed.
    """

    def __init__(self, url: str = DEFAULT_URL, token: str | None = None, *, patience: float = 600.0) -> None:
        super().__init__(url, token, patience=patience)
        self._http = self._library.AsyncClient(**self._settings)

    async def grade(
        self, folder: str | os.PathLike[str], challenge: str | None = None, *, entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> Record:  # fmt: skip
        """As `Client.grade`."""
        return (await self._run(self._steps(_folders([folder], challenge, entry, options))))[0]

    async def grade_many(
        self, folders: Iterable[str | os.PathLike[str]], challenge: str | None = None, *, entry: str | None = None,
        **options: Unpack[RemoteOptions],
    ) -> list[Record]:  # fmt: skip
        """As `Client.grade_many`."""
        return await self._run(self._steps(_folders(folders, challenge, entry, options)))

    async def grade_reply(self, reply: str, challenge: str, **options: Unpack[RemoteOptions]) -> Record:
        """As `Client.grade_reply`."""
        return (await self.grade_replies([reply], challenge, **options))[0]

    async def grade_replies(
        self, replies: Iterable[str], challenge: str | Sequence[str], **options: Unpack[RemoteOptions]
    ) -> list[Record]:
        """As `Client.grade_replies`."""
        return await self._run(self._steps(_replies(replies, challenge, options)))

    async def close(self) -> None:
        """Close its connections."""
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
                        reply = self._reply(await self._http.request(**self._arguments(step)))
                    except self._library.HTTPError as error:
                        reply = HttpReply(0, {}, str(error).encode())
                else:
                    await asyncio.sleep(step)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
