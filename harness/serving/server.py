"""One server: socket, graders, start and shutdown."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import PrerequisiteError, SpecError, StoreError
from harness.serving.guard import MAX_HEADER_BYTES, RequestGuard
from harness.serving.job_queue import JobQueue
from harness.serving.limits import ServiceLimits
from harness.serving.metrics import ServiceMetrics
from harness.serving.service import GradingService
from harness.serving.slot_process import GraderSettings
from harness.serving.tokens import TokenFile, token_path
from harness.workspace import Workspace
from harness.workspace.stored_files import remedy

try:
    import uvicorn

    from harness.serving.app import make_app
    from harness.serving.connections import TimedConnection
except ImportError:
    raise PrerequisiteError(
        "no fastapi and uvicorn to serve with: pip install 'kernel-harness[serve]'\n"
        "  in a checkout: .venv/bin/python -m pip install -e '.[serve]'"
    ) from None

BACKLOG, OTHER_FILES = 512, 512
"""Pending connections of the listening socket; open files besides connections."""
CLOSE_SECONDS = 5
"""Seconds for responses under way at shutdown."""
_log = logging.getLogger("harness.serving")


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of a server.

    Attributes:
        host, port: address to listen on; port 0 picks a free one.
        jobs: grades at a time; None for one per processor, of this machine or the cluster.
        address: cluster's address.
        tokens: token file; None for the workspace's.
        no_auth: true to ask for no tokens, on a loopback address only.
        drain_seconds: time for running grades at shutdown; longer ones wait for the next start.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    executor: str = "local"
    jobs: int | None = None
    address: str | None = None
    tokens: Path | None = None
    no_auth: bool = False
    drain_seconds: float = 60.0
    limits: ServiceLimits = field(default_factory=ServiceLimits)

    @property
    def graders(self) -> tuple[GraderSettings, int]:
        """Settings and number of graders: one for a cluster, else one per concurrent grade."""
        if GraderSettings(self.executor).clustered:
            return GraderSettings(self.executor, self.jobs, self.address), 1
        return GraderSettings(self.executor, 1, self.address), self.jobs or len(os.sched_getaffinity(0))


def queue_path(workspace: Workspace) -> Path:
    """Return the path of the queue."""
    return workspace.cache_folder / "service.sqlite"


def serve(workspace: Workspace, settings: ServiceSettings, tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C. The first lets running grades finish, a second breaks them off.

    Args:
        tell: callback that prints a message for people.

    Raises:
        SpecError: the address is invalid, or tokens are missing or unused.
        StoreError: the queue cannot be written, or another server uses it.
        PrerequisiteError: this machine cannot isolate submissions.
    """
    tokens = TokenFile(settings.tokens or token_path(workspace))
    _check_door(settings, tokens)
    _allow_files(settings.limits)
    with _lock_queue(workspace), contextlib.closing(_listen(settings)) as listener:
        queue = JobQueue(queue_path(workspace), settings.limits.queue)
        waiting = queue.open()
        metrics = ServiceMetrics()
        graders, slots = settings.graders
        service = GradingService(workspace, queue, settings.limits, metrics, graders, slots)
        tier = service.dispatcher.start()
        app = RequestGuard(make_app(service), tokens, settings.limits, metrics, settings.no_auth)
        server = _DrainingServer(_configure(app, settings.limits), service, settings.drain_seconds, tell)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        if waiting:
            tell(f"{waiting} answers were accepted before and are graded now")
        open_now = "no tokens: whoever can log in here may use it; " if settings.no_auth else ""
        many = "as many as the cluster has processors" if graders.jobs is None else f"{slots * graders.jobs}"
        tell(f"{open_now}answers are held in tier {tier}, {many} graded at a time")
        tell(f"serving on http://{host}:{listener.getsockname()[1]}")
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            service.dispatcher.stop(0)


def _check_door(settings: ServiceSettings, tokens: TokenFile) -> None:
    """Refuse a server that is useless, or open without its owner's consent."""
    local, some = is_local(settings.host), bool(tokens.entries())
    if settings.no_auth and not local:
        raise SpecError(
            "--no-auth",
            f"{settings.host} can be reached from other machines",
            hint="leave it out, and make a token: harness serve token add NAME --scope grade",
        )
    if settings.no_auth and some:
        raise SpecError(
            "--no-auth", f"{tokens.path} holds tokens, which nobody would be asked for", hint="leave it out"
        )
    if not settings.no_auth and not some:
        here = "; for whoever can log in on this machine, without one: harness serve --no-auth" if local else ""
        raise SpecError(
            "--tokens",
            f"{tokens.path} holds no token, so that nobody could use the server",
            hint=f"harness serve token add NAME --scope grade{here}",
        )


def _allow_files(limits: ServiceLimits) -> None:
    """Raise the limit of open files for all connections, also those closed at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + BACKLOG + OTHER_FILES
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Raises:
        SpecError: it is not an address.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise SpecError("--host", f"{host!r} is no address", hint="give an IP address, such as 127.0.0.1") from None


@contextlib.contextmanager
def _lock_queue(workspace: Workspace) -> Iterator[None]:
    """Lock the queue: two servers would grade the same works."""
    path = queue_path(workspace).with_suffix(".lock")
    lock = FileLock(path, timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise StoreError(f"{path}: another server serves this workspace\n  find it: fuser -v {path}") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}\n  {remedy(error)}") from error
    try:
        yield
    finally:
        lock.release()


def _listen(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SpecError(
            "--port",
            f"{settings.host}:{settings.port} cannot be had: {error.strerror}",
            hint="take another one, or --port 0 for any that is free",
        ) from None


def _configure(app: RequestGuard, limits: ServiceLimits) -> "uvicorn.Config":
    connection = type("BoundedConnection", (TimedConnection,), {"limits": limits})
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=CLOSE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        backlog=BACKLOG,
    )


class _DrainingServer(uvicorn.Server):
    """Uvicorn server that keeps answering while running grades finish."""

    def __init__(
        self, config: "uvicorn.Config", service: GradingService, drain_seconds: float, tell: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service = service
        self._drain_seconds = drain_seconds
        self._tell = tell
        self._ending: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Route SIGTERM and SIGINT to the shutdown."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        if self._ending is not None:  # second signal: end now
            self._service.dispatcher.break_off()
            self.should_exit = True
            return
        self._tell("ending: what is graded is finished; what waits is graded after the next start")
        self._service.drain()
        self._ending = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        whole = await asyncio.to_thread(self._service.dispatcher.stop, self._drain_seconds)
        if not whole:
            self._tell("some grades were broken off, and are made after the next start")
        self.should_exit = True
