"""Handling of admitted requests."""

import asyncio
import hashlib
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError

from harness.errors import HarnessError, NotFoundError, StoreError
from harness.model import Challenge
from harness.serving.dispatcher import Dispatcher, FinishedWork
from harness.serving.guard import RefusedRequest
from harness.serving.job_queue import AcceptedAnswer, JobQueue, JobState, KeyReused, QueuedJob, QueueFull
from harness.serving.limits import ServiceLimits
from harness.serving.metrics import ServiceMetrics
from harness.serving.requests import BatchRequest, GradeRequest
from harness.serving.slot_process import GraderSettings
from harness.serving.tokens import Scope, TokenEntry
from harness.workspace import Workspace

R = TypeVar("R", GradeRequest, BatchRequest)
T = TypeVar("T")

FAILED_WRITE_WAIT = 10.0
"""Seconds to retry after, when the queue cannot be used or the server drains."""
READINESS_SECONDS = 1.0
"""Seconds to cache whether the queue is writable: /readyz is open to everyone, and each test writes."""
MAX_WAIT = 60.0
"""Longest retry time in seconds that a full queue suggests."""
MAX_KEY = 200

_log = logging.getLogger("harness.serving")


class GradingService:
    """Operations behind the routes of one server."""

    def __init__(
        self,
        workspace: Workspace,
        queue: JobQueue,
        limits: ServiceLimits,
        metrics: ServiceMetrics,
        graders: GraderSettings,
        slots: int,
    ) -> None:
        self.workspace = workspace
        self.queue = queue
        self.limits = limits
        self.metrics = metrics
        self.at_once = slots * (graders.jobs or 1)
        self.draining = False
        self.dispatcher = Dispatcher(workspace.root, queue, graders, slots, self._record_finished)
        self._waiting: defaultdict[int, set[asyncio.Future[None]]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mean_seconds = 1.0
        self._tried_writing = 0.0
        self._writable = True
        self._challenges: dict[str, Challenge] = {}

    def attach(self) -> None:
        """Remember the event loop, so that slot threads can wake requests."""
        self._loop = asyncio.get_running_loop()

    def drain(self) -> None:
        """Accept no more submissions, and answer waiting requests now."""
        self.draining = True
        self.dispatcher.stop_taking()
        for number in list(self._waiting):
            self._wake(number)

    async def accept(
        self, requests: Sequence[GradeRequest], token: TokenEntry | None, key: str | None, batch: bool
    ) -> list[QueuedJob]:
        """Accept submissions, all or none; on return they are on disk.

        Args:
            key: idempotency key; a repeated key returns the same jobs.

        Raises:
            RefusedRequest: no room, or an invalid submission.
        """
        if self.draining:
            raise RefusedRequest(503, "draining", "the server is about to stop", FAILED_WRITE_WAIT)
        for place, request in enumerate(requests):
            self._check(request, f"answers.{place}." if batch else "")
        owner = _get_owner(token)
        group = _make_id(owner, key)
        ids = [f"{group}-{place}" if batch else group for place in range(len(requests))]
        answers = [
            AcceptedAnswer(
                id, r.content, r.options.to_json(), r.challenge, r.profile.value, r.model_dump_json().encode()
            )
            for id, r in zip(ids, requests, strict=True)
        ]
        try:
            jobs = await asyncio.to_thread(self.queue.accept, answers, owner, group if batch else None)
        except QueueFull as full:
            # in this time a tenth of the queue should finish
            wait = min(MAX_WAIT, max(1.0, 0.1 * full.waiting * self._mean_seconds / self.at_once))
            raise RefusedRequest(429, "queue_full", str(full), wait) from None
        except KeyReused as error:
            raise RefusedRequest(409, "key_reused", str(error)) from None
        except StoreError as error:
            raise _build_queue_error(error) from None
        self.metrics.count_submissions(len(jobs))
        self.dispatcher.announce()
        for job in jobs:
            facts = {"job": job.id, "work": job.work, "challenge": job.challenge, "profile": job.profile}
            _log.info("accepted", extra={"facts": {**facts, "token": token.name if token else ""}})
        return jobs

    async def wait(self, id: str, batch: bool, seconds: float, gone: Callable[[], Awaitable[Any]]) -> list[QueuedJob]:
        """Return jobs with their records, once they finish or the time is up.

        Args:
            id: id of the batch if `batch` is true, else of the job.
            gone: coroutine function that returns when the client disconnects.

        Raises:
            RefusedRequest: the queue cannot be read.
        """
        deadline = time.monotonic() + min(seconds, self.limits.wait_seconds)
        states = partial(self.queue.jobs, id, batch=batch, records=False)
        leaving = asyncio.ensure_future(gone())
        try:
            while (left := deadline - time.monotonic()) > 0 and not self.draining and not leaving.done():
                work = _find_unfinished(await self._read(states))
                if work is None:
                    break
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting[work].add(future)
                try:
                    # it may have finished before the future was registered
                    if _find_unfinished(await self._read(states)) == work:
                        await asyncio.wait({future, leaving}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    self._forget(work, future)
        finally:
            leaving.cancel()
        return await self._read(partial(self.queue.jobs, id, batch=batch))

    async def readable(self, id: str, batch: bool, token: TokenEntry | None) -> None:
        """Refuse jobs that do not exist or belong to another token, without telling which.

        Raises:
            RefusedRequest: the token may not read the jobs.
        """
        jobs = await self._read(partial(self.queue.jobs, id, batch=batch, records=False))
        reads_all = token is not None and Scope.READ in token.scopes
        if not jobs or not (reads_all or all(job.owner == _get_owner(token) for job in jobs)):
            raise RefusedRequest(404, "not_found", "no such grade, or it was sent with another token")

    async def metrics_text(self) -> str:
        """Return the metrics as Prometheus text.

        Raises:
            RefusedRequest: the queue cannot be read.
        """
        waiting, running = await self._read(self.queue.counts)
        return self.metrics.text(waiting, running)

    async def readiness(self) -> dict[str, bool]:
        """Return whether the server accepts, grades, and can write its queue."""
        if time.monotonic() > self._tried_writing + READINESS_SECONDS:
            self._tried_writing = time.monotonic()
            try:
                await asyncio.to_thread(self.queue.try_writing)
                self._writable = True
            except StoreError:
                self._writable = False
        return {"accepting": not self.draining, "grading": self.dispatcher.ready, "writable": self._writable}

    async def keep_house(self) -> None:
        """Delete old finished jobs hourly."""
        while True:
            try:
                await asyncio.to_thread(self.queue.forget, time.time() - self.limits.keep_days * 86_400)
            except StoreError as error:
                _log.error("queue", extra={"facts": {"error": str(error).partition("\n")[0]}})
            await asyncio.sleep(3600)

    def _check(self, request: GradeRequest, place: str) -> None:
        try:
            challenge = self._challenges.get(request.challenge) or self.workspace.challenge(request.challenge)
        except NotFoundError as error:
            words = str(error).partition("\n")[0]
            raise RefusedRequest(422, "unknown_challenge", f"{place}challenge: {words}") from None
        except HarnessError:
            raise RefusedRequest(422, "unusable_challenge", f"{place}challenge: its file cannot be read") from None
        self._challenges[request.challenge] = challenge
        runnable = {criterion.id for criterion in challenge.criteria if not criterion.review}
        if unknown := [id for id in request.criteria if id not in runnable]:
            words = f"{place}criteria: {challenge.id} has no criterion {unknown[0]!r} that is run"
            raise RefusedRequest(422, "unknown_criterion", words)

    async def _read(self, read: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(read)
        except StoreError as error:
            raise _build_queue_error(error) from None

    def _record_finished(self, work: FinishedWork) -> None:
        self.metrics.count_grade(work.status, work.seconds, work.waited, work.reused)
        if not work.reused:
            self._mean_seconds += (work.seconds - self._mean_seconds) / 20
        facts = {"work": work.number, "status": work.status, "seconds": round(work.seconds, 3)}
        waited = round(work.waited, 3)
        _log.info("graded", extra={"facts": {**facts, "waited": waited, "reused": work.reused}})
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, work.number)

    def _wake(self, number: int) -> None:
        for future in self._waiting.pop(number, ()):
            if not future.done():
                future.set_result(None)

    def _forget(self, number: int, future: "asyncio.Future[None]") -> None:
        if number in self._waiting:
            self._waiting[number].discard(future)
            if not self._waiting[number]:
                del self._waiting[number]


def _find_unfinished(jobs: Sequence[QueuedJob]) -> int | None:
    return next((job.work for job in jobs if job.state is not JobState.FINISHED), None)


def read_request(body: bytes, kind: type[R]) -> R:
    """Parse a request body without coercion.

    Raises:
        RefusedRequest: the body is malformed; the message quotes no submission.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        # a client chooses file names, of any length
        where = ".".join(str(part)[:60] for part in first["loc"][:4])
        problem = "json_invalid" if first["type"] == "json_invalid" else "invalid"
        words = f"{where}: {first['msg']}" if where else first["msg"]
        raise RefusedRequest(422, problem, words[:300]) from None


def read_wait(given: str | None) -> float:
    """Parse the `wait` parameter, in seconds.

    Raises:
        RefusedRequest: it is not between 0 and 86,400.
    """
    try:
        seconds = float(given or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise RefusedRequest(422, "invalid", "wait: give a number of seconds")
    return seconds


def read_key(given: str | None) -> str | None:
    """Return a valid idempotency key; None if absent.

    Raises:
        RefusedRequest: its length or characters are wrong.
    """
    if given is not None and (not 8 <= len(given) <= MAX_KEY or not (given.isascii() and given.isprintable())):
        raise RefusedRequest(422, "invalid", f"Idempotency-Key: give 8 to {MAX_KEY} printable characters")
    return given


def _get_owner(token: TokenEntry | None) -> str:
    return token.id if token else ""


def _make_id(owner: str, key: str | None) -> str:
    """Return an id that other clients cannot guess."""
    if key is None:
        return uuid.uuid4().hex
    return hashlib.sha256(f"{owner}\0{key}".encode()).hexdigest()[:32]


def _build_queue_error(error: StoreError) -> RefusedRequest:
    """Log a store error, but hide our paths from clients."""
    _log.error("queue", extra={"facts": {"error": str(error).partition("\n")[0]}})
    return RefusedRequest(503, "queue_unusable", "the server cannot use its queue now", FAILED_WRITE_WAIT)
