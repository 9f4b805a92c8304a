"""One server: its socket, its graders, and how it begins and ends."""

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
from harness.stored_files import remedy
from harness.workspace import Workspace

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
"""Connections that the system takes before the server does; files and pipes besides connections."""
CLOSE_SECONDS = 5
"""For responses that are being sent when the server ends."""
_log = logging.getLogger("harness.serving")


@dataclass(frozen=True)
class ServiceSettings:
    """How a server runs.

    Attributes:
        host, port: where it listens; port 0 is any free one.
        executor: name of what runs the grades.
        jobs: grades at a time; one a processor by default, of this machine or of the cluster.
        address: of the cluster.
        tokens: the file with the tokens; that of the workspace by default.
        no_auth: whether nobody is asked for a token, on a loopback address.
        drain_seconds: for grades that run when it is told to end; what takes longer waits for the next start.
        limits: how much is taken.
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
        """What runs the grades, and how many of them: one for a cluster, else one for each grade at a time."""
        if GraderSettings(self.executor).clustered:
            return GraderSettings(self.executor, self.jobs, self.address), 1
        return GraderSettings(self.executor, 1, self.address), self.jobs or len(os.sched_getaffinity(0))


def queue_path(workspace: Workspace) -> Path:
    """Where the queue of a workspace's server is."""
    return workspace.cache_folder / "service.sqlite"


def serve(workspace: Workspace, settings: ServiceSettings, tell: Callable[[str], None]) -> None:
    """Serve until told to end: by SIGTERM or Ctrl-C, once to finish what is graded, twice to break that off.

    Args:
        workspace: where the challenges are.
        settings: how to run.
        tell: says to people what happens.

    Raises:
        SpecError: the address is none, or there are no tokens where there must be some.
        StoreError: the queue cannot be written, or another server uses it.
        PrerequisiteError: answers cannot be held on this machine.
    """
    tokens = TokenFile(settings.tokens or token_path(workspace))
    _check_door(settings, tokens)
    _allow_files(settings.limits)
    with _only_one(workspace), contextlib.closing(_listening(settings)) as listener:
        queue = JobQueue(queue_path(workspace), settings.limits.queue)
        waiting = queue.open()
        metrics = ServiceMetrics()
        graders, slots = settings.graders
        service = GradingService(workspace, queue, settings.limits, metrics, graders, slots)
        tier = service.dispatcher.start()
        app = RequestGuard(make_app(service), tokens, settings.limits, metrics, settings.no_auth)
        server = _DrainingServer(_configured(app, settings.limits), service, settings.drain_seconds, tell)
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
    """Refuse to start where nobody could use the server, or everybody could without its owner having said so.

    Raises:
        SpecError: it does not start.
        StoreError: the tokens cannot be read.
    """
    local, some = is_local(settings.host), bool(tokens.entries())
    if settings.no_auth and not local:
        raise SpecError(
            "--no-auth", f"{settings.host} can be reached from other machines",
            hint="leave it out, and make a token: harness serve token add NAME --scope grade",
        )  # fmt: skip
    if settings.no_auth and some:
        raise SpecError(
            "--no-auth", f"{tokens.path} holds tokens, which nobody would be asked for", hint="leave it out"
        )
    if not settings.no_auth and not some:
        here = "; for whoever can log in on this machine, without one: harness serve --no-auth" if local else ""
        raise SpecError(
            "--tokens", f"{tokens.path} holds no token, so that nobody could use the server",
            hint=f"harness serve token add NAME --scope grade{here}",
        )  # fmt: skip


def _allow_files(limits: ServiceLimits) -> None:
    """Let this process open a file for every connection, those included that it closes as soon as they are made."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + BACKLOG + OTHER_FILES
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    Raises:
        SpecError: it is none.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise SpecError("--host", f"{host!r} is no address", hint="give an IP address, such as 127.0.0.1") from None


@contextlib.contextmanager
def _only_one(workspace: Workspace) -> Iterator[None]:
    """Keep a second server away: both would grade what is in the queue.

    Raises:
        StoreError: there is one, or the folder cannot be written.
    """
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


def _listening(settings: ServiceSettings) -> socket.socket:
    """The socket, bound.

    Raises:
        SpecError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SpecError(
            "--port", f"{settings.host}:{settings.port} cannot be had: {error.strerror}",
            hint="take another one, or --port 0 for any that is free",
        ) from None  # fmt: skip


def _configured(app: RequestGuard, limits: ServiceLimits) -> "uvicorn.Config":
    """Uvicorn's settings: nothing that a client or a proxy says of itself is believed."""
    connection = type("BoundedConnection", (TimedConnection,), {"limits": limits})
    return uvicorn.Config(
        app, http=connection, ws="none", lifespan="on", log_config=None, access_log=False, proxy_headers=False,
        server_header=False, timeout_keep_alive=limits.idle_seconds, timeout_graceful_shutdown=CLOSE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES, backlog=BACKLOG,
    )  # fmt: skip


class _DrainingServer(uvicorn.Server):
    """Uvicorn's server, which goes on answering while what is graded is finished.

    Args:
        config: of uvicorn.
        service: what is served.
        drain_seconds: for grades that run.
        tell: says to people what happens.
    """

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
        """Take the signals that end a server."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        if self._ending is not None:  # the second time: at once
            self._service.dispatcher.break_off()
            self.should_exit = True
            return
        self._tell("ending: what is graded is finished; what waits is graded after the next start")
        self._service.drain()
        self._ending = asyncio.ensure_future(self._drained())

    async def _drained(self) -> None:
        whole = await asyncio.to_thread(self._service.dispatcher.stop, self._drain_seconds)
        if not whole:
            self._tell("some grades were broken off, and are made after the next start")
        self.should_exit = True
