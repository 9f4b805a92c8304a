"""The self-attack: trusted code tries to break out of the box before a submission can.

A tier whose prerequisites are all there may still leak. This process checks its own files, listeners and secrets, and
takes the attacker's word only for the rest.
"""

import contextlib
import os
import select
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.errors import BoxError, PrerequisiteError
from harness.model import Limits, Tier
from harness.sandbox.confinement import scratch
from harness.sandbox.session.reply import CallStatus, Reply
from harness.sandbox.session.returns import Scalar
from harness.sandbox.session.worker_session import WorkerSession
from harness.sandbox.session.worker_spec import WorkerSpec

_ATTACKER = Path(__file__).with_name("inside") / "attacker.py"
_LIMITS = Limits(start_seconds=30, call_seconds=10, memory_mib=1024, scratch_mib=1)
_VARIABLE = "HARNESS_CANARY"
_SOCKET = "socket"


@dataclass(frozen=True)
class Scene:
    """Targets open to every user, so that only the box can protect them; the random `secret` is known only here."""

    secret: str
    answer: Path
    canary: Path
    target: Path
    tcp: socket.socket
    abstract: socket.socket
    unix: socket.socket


@dataclass(frozen=True)
class Attack:
    """One way out of the box.

    Attributes:
        breach: consequence of success.
        worked: test of success.
    """

    function: str
    breach: str
    arguments: Callable[[Scene], tuple[object, ...]]
    worked: Callable[[Scene, Reply, str], bool]


@cache
def breaches(tier: Tier) -> tuple[str, ...]:
    """Return a sentence for each attack that works in `tier`.

    Raises:
        BoxError: a box or the scene could not be set up.
    """
    try:
        with _set_scene() as scene:
            return tuple(attack.breach for attack in _run(scene, tier))
    except OSError as error:
        raise BoxError(f"the self-attack of tier {tier} cannot be set up: {error}") from error


def assert_holds(tier: Tier) -> None:
    """Attack the box, if its tier promises isolation.

    Raises:
        PrerequisiteError: an attack worked.
        BoxError: a box could not be opened.
    """
    if not tier.trusted or not (found := breaches(tier)):
        return
    raise PrerequisiteError(
        f"tier {tier} does not hold on this machine; from inside the box\n"
        + "".join(f"  - {sentence}\n" for sentence in found)
        + "  see what is missing: harness doctor"
    )


def _run(scene: Scene, tier: Tier) -> Iterator[Attack]:
    box: WorkerSession | None = None
    try:
        for attack in ATTACKS:
            box = box or _open_box(scene, tier)
            reply = box.call(attack.function, *attack.arguments(scene), returns=Scalar(str))
            if attack.worked(scene, reply, box.output()):
                yield attack
            if not reply.alive:
                box.close()
                box = None
    finally:
        if box is not None:
            box.close()


def _open_box(scene: Scene, tier: Tier) -> WorkerSession:
    box = WorkerSession(WorkerSpec(scene.answer, _ATTACKER.name, (), _LIMITS, tier))
    try:
        reply = box.open()
        if reply.status is not CallStatus.RETURNED:
            raise BoxError(f"the self-attack did not start in tier {tier}: {reply.text}")
    except BaseException:
        box.close()
        raise
    return box


@contextlib.contextmanager
def _set_scene() -> Iterator[Scene]:
    with scratch.folder() as folder, contextlib.ExitStack() as stack:
        secret = os.urandom(16).hex()
        answer, outside = folder / "answer", folder / "outside"
        for place, mode in ((answer, 0o777), (outside, 0o777), (folder, 0o755)):
            place.mkdir(exist_ok=True)
            place.chmod(mode)
        shutil.copy(_ATTACKER, answer)
        canary, target = outside / "canary", outside / "target"
        for file in (canary, target):
            file.write_text(secret, encoding="ascii")
            file.chmod(0o666)
        tcp = socket.create_server(("127.0.0.1", 0))
        listeners = (tcp, _listen_unix(f"\0{secret}"), _listen_unix_in(outside, _SOCKET))
        for listener in listeners:
            listener.setblocking(False)
            stack.enter_context(listener)
        open_file = stack.enter_context(canary.open())
        os.set_inheritable(open_file.fileno(), True)
        os.environ[_VARIABLE] = secret
        stack.callback(os.environ.pop, _VARIABLE, None)
        yield Scene(secret, answer, canary, target, *listeners)


def _listen_unix(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


def _listen_unix_in(folder: Path, name: str) -> socket.socket:
    """Bind a path that may exceed the length of an address."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = _listen_unix(f"/proc/self/fd/{fd}/{name}")
    finally:
        os.close(fd)
    (folder / name).chmod(0o777)
    return listener


def _trust_reply(scene: Scene, reply: Reply, printed: str) -> bool:
    """Trust the attacker, which has no reason to lie about success."""
    return reply.status is CallStatus.RETURNED


def _reveals_secret(scene: Scene, reply: Reply, printed: str) -> bool:
    return scene.secret in (printed if reply.value is None else str(reply.value))


def _was_reached(listener: socket.socket) -> bool:
    if not select.select([listener], [], [], 0)[0]:
        return False
    listener.accept()[0].close()
    return True


def _make_parent_arguments(scene: Scene) -> tuple[object, ...]:
    return (os.getpid(),)


def _nothing(scene: Scene) -> tuple[object, ...]:
    return ()


ATTACKS = (
    Attack(
        "read",
        "an answer can read files it was not given",
        lambda scene: (str(scene.canary), os.getpid()),
        _reveals_secret,
    ),
    Attack(
        "read",
        "an answer can read the source of the harness, and with it what lies around it",
        lambda scene: (__file__, os.getpid()),
        lambda scene, reply, _: reply.value == Path(__file__).read_text(encoding="ascii"),
    ),
    Attack(
        "write",
        "an answer can change files outside the box",
        lambda scene: (str(scene.target), "changed"),
        lambda scene, *_: scene.target.read_text(encoding="ascii") != scene.secret,
    ),
    Attack(
        "plant",
        "an answer can change its own files after they were hashed",
        lambda scene: ("planted",),
        lambda scene, *_: (scene.answer / "planted").exists(),
    ),
    Attack(
        "connect_tcp",
        "an answer can connect to the network",
        lambda scene: (scene.tcp.getsockname()[1],),
        lambda scene, *_: _was_reached(scene.tcp),
    ),
    Attack(
        "connect_abstract",
        "an answer can connect to other programs by Unix sockets without a path",
        lambda scene: (scene.secret,),
        lambda scene, *_: _was_reached(scene.abstract),
    ),
    Attack(
        "connect_path",
        "an answer can connect to other programs by Unix sockets in the file system",
        lambda scene: (str(scene.target.parent), _SOCKET),
        lambda scene, *_: _was_reached(scene.unix),
    ),
    Attack("signal_parent", "an answer can kill the grader", _make_parent_arguments, _trust_reply),
    Attack("trace_parent", "an answer can stop and steer the grader (ptrace)", _make_parent_arguments, _trust_reply),
    Attack("open_memory", "an answer can read and change the grader's memory", _make_parent_arguments, _trust_reply),
    Attack("environment", "an answer sees the grader's environment", _nothing, _reveals_secret),
    Attack("descriptors", "an answer inherits files that the grader holds open", _nothing, _reveals_secret),
    Attack("memory_file", "an answer can take memory that its limit does not count", _nothing, _trust_reply),
    Attack("fork", "an answer can start processes", _nothing, _trust_reply),
    # last: where it works, the worker is gone
    Attack("execute", "an answer can run other programs", lambda scene: (scene.secret,), _reveals_secret),
)
