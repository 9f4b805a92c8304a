"""Whether the box holds on this machine, by trying to break out of it before an answer can.

What a tier needs may all be there and still not hold: a mount too many, a kernel that was built otherwise, a rule that
never took effect. So trusted code attacks this process from inside, and this process looks at what came of it: at its
own files, listeners and secrets where they can tell, and else at what the attacker says.
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
from harness.sandbox import scratch
from harness.sandbox.box import Box
from harness.sandbox.reply import CallStatus, Reply
from harness.sandbox.returns import Scalar
from harness.sandbox.worker_spec import WorkerSpec

_ATTACKER = Path(__file__).with_name("attacker.py")
_LIMITS = Limits(start_seconds=30, call_seconds=10, memory_mib=1024, scratch_mib=1)
_VARIABLE = "HARNESS_CANARY"
_SOCKET = "socket"


@dataclass(frozen=True)
class Scene:
    """What there is to attack: everything open to every user, so that only the box can be what stops it.

    Attributes:
        secret: random text; whoever has it got it from here.
        answer: the folder that is the submission.
        canary: a file that holds the secret.
        target: a file that nothing may change.
        tcp: a listener on a port of the loopback device.
        abstract: a listener on a Unix socket without a path.
        unix: a listener on a Unix socket with a path.
    """

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
        function: of the attacker.
        breach: what an answer can do when it works.
        arguments: what the attacker must know.
        worked: whether it did, from the scene, the reply and what was printed.
    """

    function: str
    breach: str
    arguments: Callable[[Scene], tuple[object, ...]]
    worked: Callable[[Scene, Reply, str], bool]


@cache
def breaches(tier: Tier) -> tuple[str, ...]:
    """What an answer held in `tier` could do here, a sentence for each attack that worked; tried once a process.

    Raises:
        BoxError: no box of this tier can be opened, or there is no room for what is to be attacked.
    """
    try:
        with _scene() as scene:
            return tuple(attack.breach for attack in _run(scene, tier))
    except OSError as error:
        raise BoxError(f"the self-attack of tier {tier} cannot be set up: {error}") from error


def assert_holds(tier: Tier) -> None:
    """Attack the box, unless it is one that promises nothing.

    Raises:
        PrerequisiteError: an attack worked.
        BoxError: no box of this tier can be opened.
    """
    if not tier.trusted or not (found := breaches(tier)):
        return
    raise PrerequisiteError(
        f"tier {tier} does not hold on this machine; from inside the box\n"
        + "".join(f"  - {sentence}\n" for sentence in found)
        + "  see what is missing: harness doctor"
    )


def _run(scene: Scene, tier: Tier) -> Iterator[Attack]:
    """Try every attack, in a new box after one that ended it; those that worked."""
    box: Box | None = None
    try:
        for attack in ATTACKS:
            box = box or _opened(scene, tier)
            reply = box.call(attack.function, *attack.arguments(scene), returns=Scalar(str))
            if attack.worked(scene, reply, box.output()):
                yield attack
            if not reply.alive:
                box.close()
                box = None
    finally:
        if box is not None:
            box.close()


def _opened(scene: Scene, tier: Tier) -> Box:
    box = Box(WorkerSpec(scene.answer, _ATTACKER.name, (), _LIMITS, tier))
    try:
        reply = box.open()
        if reply.status is not CallStatus.RETURNED:
            raise BoxError(f"the self-attack did not start in tier {tier}: {reply.text}")
    except BaseException:
        box.close()
        raise
    return box


@contextlib.contextmanager
def _scene() -> Iterator[Scene]:
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
        listeners = (socket.create_server(("127.0.0.1", 0)), _unix(f"\0{secret}"), _unix_in(outside, _SOCKET))
        for listener in listeners:
            listener.setblocking(False)
            stack.enter_context(listener)
        open_file = stack.enter_context(canary.open())
        os.set_inheritable(open_file.fileno(), True)
        os.environ[_VARIABLE] = secret
        stack.callback(os.environ.pop, _VARIABLE, None)
        yield Scene(secret, answer, canary, target, *listeners)


def _unix(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


def _unix_in(folder: Path, name: str) -> socket.socket:
    """A socket with a path, which may be longer than an address can be."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = _unix(f"/proc/self/fd/{fd}/{name}")
    finally:
        os.close(fd)
    (folder / name).chmod(0o777)
    return listener


def _said(scene: Scene, reply: Reply, printed: str) -> bool:
    """Only the attacker can tell, and it has no reason to lie about success."""
    return reply.status is CallStatus.RETURNED


def _told_the_secret(scene: Scene, reply: Reply, printed: str) -> bool:
    return scene.secret in (printed if reply.value is None else str(reply.value))


def _reached(listener: socket.socket) -> bool:
    if not select.select([listener], [], [], 0)[0]:
        return False
    listener.accept()[0].close()
    return True


def _parent(scene: Scene) -> tuple[object, ...]:
    return (os.getpid(),)


def _nothing(scene: Scene) -> tuple[object, ...]:
    return ()


ATTACKS = (
    Attack(
        "read", "an answer can read files it was not given",
        lambda scene: (str(scene.canary), os.getpid()), _told_the_secret,
    ),
    Attack(
        "read", "an answer can read the source of the harness, and with it what lies around it",
        lambda scene: (__file__, os.getpid()),
        lambda scene, reply, _: reply.value == Path(__file__).read_text(encoding="ascii"),
    ),
    Attack(
        "write", "an answer can change files outside the box",
        lambda scene: (str(scene.target), "changed"),
        lambda scene, *_: scene.target.read_text(encoding="ascii") != scene.secret,
    ),
    Attack(
        "plant", "an answer can change its own files after they were hashed",
        lambda scene: ("planted",), lambda scene, *_: (scene.answer / "planted").exists(),
    ),
    Attack(
        "connect_tcp", "an answer can connect to the network",
        lambda scene: (scene.tcp.getsockname()[1],), lambda scene, *_: _reached(scene.tcp),
    ),
    Attack(
        "connect_abstract", "an answer can connect to other programs by Unix sockets without a path",
        lambda scene: (scene.secret,), lambda scene, *_: _reached(scene.abstract),
    ),
    Attack(
        "connect_path", "an answer can connect to other programs by Unix sockets in the file system",
        lambda scene: (str(scene.target.parent), _SOCKET), lambda scene, *_: _reached(scene.unix),
    ),
    Attack("signal_parent", "an answer can kill the grader", _parent, _said),
    Attack("trace_parent", "an answer can stop and steer the grader (ptrace)", _parent, _said),
    Attack("open_memory", "an answer can read and change the grader's memory", _parent, _said),
    Attack("environment", "an answer sees the grader's environment", _nothing, _told_the_secret),
    Attack("descriptors", "an answer inherits files that the grader holds open", _nothing, _told_the_secret),
    Attack("memory_file", "an answer can take memory that its limit does not count", _nothing, _said),
    Attack("fork", "an answer can start processes", _nothing, _said),
    # last: where it works, the worker is gone
    Attack("execute", "an answer can run other programs", lambda scene: (scene.secret,), _told_the_secret),
)  # fmt: skip
