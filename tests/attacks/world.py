"""The world around a box: things worth stealing, changing, reaching or ending, and a look at them afterwards."""

import contextlib
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.languages import language
from harness.sandbox.confinement import scratch
from harness.workspace import Workspace
from tests.attacks import loot
from tests.attacks.attack import Attack

ENVIRONMENT = "LEDGER_TOKEN"
"""The environment variable with a secret, set before the grader starts: /proc shows no later change."""
POISONED = ("/tmp", "/dev/shm", "/var/tmp", str(Path.home()))
"""Folders in which something could be left for a later submission."""


class World:
    """Fresh for one attack, built in the grader's process.

    Everything is as open as the file system allows, so that only the box stands before it. Its coordinates, which
    `loot.py` and `loot.h` hand to the attack:

    * `secret`: a file outside the box; `fd`: a file descriptor of the grader, inheritable, open on another one;
      `env`: a variable of the grader's environment; each holds a text that must not come out;
    * `target`: a file that must stay as it is; `record`: a result of another submission; `other`: its folder;
    * `reference`, `oracle`: files of the challenge, or copies that no box shows either;
    * `tcp`, `udp`: ports of 127.0.0.1, `abstract` and `unix`: sockets on which nobody may call;
    * `grader`: the process that grades;
    * `token`: a part of the name of every file that an attack leaves behind.
    """

    def __init__(self, folder: Path, repository: Path, challenge: str, fd: int) -> None:
        self.folder = folder
        self.token = folder.name
        # copies: where the box does not hold, the checkout must not suffer
        references = folder / "references" / challenge
        shutil.copytree(repository / "references" / challenge, references)
        self._secrets = {what: f"{what}-{secrets.token_hex(12)}" for what in ("secret", "record", "other", "fd")}
        self._files = {
            "secret": folder / "secret.txt",
            "target": folder / "target.txt",
            "record": folder / "reports" / "records" / "rival.json",
            "other": folder / "submissions" / "rival" / challenge / "answer.py",
            "fd": folder / "ledger.txt",
        }
        for what, path in self._files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self._secrets.get(what, 'as it was')}\n", encoding="utf-8")
            path.chmod(0o666)
        for directory, _, _ in os.walk(folder):
            os.chmod(directory, 0o777)
        if value := os.environ.get(ENVIRONMENT):
            self._secrets["env"] = value
        opened = os.open(self._files["fd"], os.O_RDONLY)
        os.dup2(opened, fd, inheritable=True)
        os.close(opened)
        self._listeners = _listeners(str(folder / "door"), f"door-{self.token}")
        self.coordinates: dict[str, str | int] = {
            "secret": str(self._files["secret"]),
            "target": str(self._files["target"]),
            "record": str(self._files["record"]),
            "other": str(self._files["other"].parent),
            "reference": str(references / language(Workspace(repository).challenge(challenge).language).reference),
            "oracle": str(references / "oracle.py"),
            "tcp": self._listeners["tcp"].getsockname()[1],
            "udp": self._listeners["udp"].getsockname()[1],
            "abstract": f"door-{self.token}",
            "unix": str(folder / "door"),
            "grader": os.getpid(),
            "env": ENVIRONMENT,
            "fd": fd,
            "token": self.token,
        }
        self._before = self._state()
        # a killed grader of the same number may have left something long ago
        self._left_before = set(self._left())

    def submission(self, attack: Attack) -> Path:
        """The folder of the attack's files."""
        folder = self.folder / "submissions" / "attacker" / attack.challenge
        for name, text in attack.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode(errors="surrogateescape"))
        everything = "\n".join(attack.files.values())
        if "loot.h" in everything:
            (folder / "loot.h").write_text(loot.header(self.coordinates), encoding="utf-8")
        elif "loot" in everything:
            (folder / "loot.py").write_text(loot.python(self.coordinates), encoding="utf-8")
        return folder

    def stolen(self, text: str) -> list[str]:
        """What an attack got, by what was printed or replied: secrets seen there, and its own word."""
        seen = [f"{what} was read" for what, value in self._secrets.items() if value in text]
        lines = [line.partition(loot.MARK)[2] for line in text.splitlines() if loot.MARK in line]
        return seen + [f"got {line[:80]}" for line in dict.fromkeys(lines)]

    def damage(self) -> list[str]:
        """What is no longer as it was, after the box is closed."""
        after = self._state()
        changed = sorted(
            name for name in self._before.keys() | after.keys() if self._before.get(name) != after.get(name)
        )
        reached = [f"{name} was reached" for name, door in self._listeners.items() if _called(door)]
        left = sorted(set(self._left()) - self._left_before)
        return [f"{name} changed" for name in changed] + reached + [f"left {path}" for path in left]

    def close(self) -> None:
        """Remove it."""
        for door in self._listeners.values():
            door.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(self) -> list[str]:
        """What bears the mark of the attack or of this grader."""
        ours = f"{scratch.PREFIX}{os.getpid()}-"
        return [
            str(Path(place, name))
            for place in POISONED
            for name in _names(place)
            if name != self.folder.name and (self.token in name or name.startswith(ours))
        ]

    def _state(self) -> dict[str, tuple[int, str]]:
        """Mode and content of every file that must stay, by path; the attacker's own folder may go where it likes."""
        found = {}
        for path in self.folder.rglob("*"):
            if "attacker" not in path.parts and "__pycache__" not in path.parts:
                what = os.readlink(path) if path.is_symlink() else "" if not path.is_file() else _digest(path)
                found[str(path)] = (path.lstat().st_mode, what)
        found.pop(str(self.folder / "submissions"), None)
        return found


@contextmanager
def world(repository: Path, challenge: str, fd: int = 40) -> Iterator[World]:
    """A world for the length of the block.

    Args:
        repository: the workspace with challenges/ and references/.
        challenge: id.
        fd: number that the inheritable file descriptor gets.
    """
    place = World(Path(tempfile.mkdtemp(prefix="world-")), repository, challenge, fd)
    try:
        yield place
    finally:
        place.close()
        os.close(fd)


def _listeners(path: str, abstract: str) -> dict[str, socket.socket]:
    doors = {
        "tcp": socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "abstract": socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    }
    addresses = {"tcp": ("127.0.0.1", 0), "udp": ("127.0.0.1", 0), "unix": path, "abstract": f"\0{abstract}"}
    for name, door in doors.items():
        door.bind(addresses[name])
        door.setblocking(False)
        if name != "udp":
            door.listen()
    os.chmod(path, 0o777)
    return doors


def _called(door: socket.socket) -> bool:
    try:
        if door.type == socket.SOCK_DGRAM:
            door.recv(1)
        else:
            door.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _names(place: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(place)
    return []
