"""Many processes share the store; where it cannot be used, it names the file, the problem and the next command."""

import contextlib
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one, keep_all
from harness.model import GradeProfile, Record, Status
from harness.store import database
from harness.store.database import network_file_system
from harness.store.record_store import SCHEMA, Store
from harness.workspace import Workspace

WRITERS, EACH = 8, 10


@pytest.fixture
def record(graded_toy) -> Record:
    """A record of a graded answer, which the toy workspace's store holds already."""
    return graded_toy.workspace.record("right/scaled_sum")


@pytest.fixture
def store(toy) -> Store:
    return Store(toy.workspace)


def keyed(record: Record, key: str) -> Record:
    return record.model_copy(update={"key": key})


WRITE_AT_ONCE = f"""
import os, sys
from pathlib import Path
from harness.model import Record
from harness.store.record_store import SCHEMA, Store
from harness.workspace import Workspace
record = Record.from_json(sys.stdin.read())
for writer in range({WRITERS}):
    if os.fork() == 0:
        store = Store(Workspace(Path(sys.argv[1])))
        for number in range({EACH}):
            store.add(record.model_copy(update={{"key": f"{{writer}}-{{number}}"}}))
        os._exit(0)
sys.exit(sum(os.wait()[1] != 0 for _ in range({WRITERS})))
"""


def test_eight_processes_write_at_once_and_every_record_is_kept(toy, record):
    """All start on a file that none of them has made yet."""
    Store(toy.workspace).path.unlink()
    command = [sys.executable, "-P", "-c", WRITE_AT_ONCE, str(toy.workspace.root)]
    assert subprocess.run(command, input=record.to_json(), text=True, timeout=120, check=False).returncode == 0
    names = [f"{n}-{number}" for n in range(WRITERS) for number in range(EACH)]
    assert [Store(toy.workspace).find(name) for name in names] == [keyed(record, name) for name in names]


WRITE_FOREVER = """
import sys
from pathlib import Path
from harness.model import Record
from harness.store.record_store import SCHEMA, Store
from harness.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]))
record = Record.from_json(sys.stdin.read())
number = 0
while True:
    changed = record.model_copy(update={"key": str(number), "model": f"m{number % 7}"})
    Store(workspace).add(changed)
    Store(workspace).publish(changed)
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("seconds", [0.05, 0.11, 0.23])
def test_a_writer_killed_in_the_middle_loses_nothing_it_had_finished(toy, record, store, seconds):
    """What it reported as kept is there and whole; the file is sound, and the next writer goes on."""
    command = [sys.executable, "-P", "-c", WRITE_FOREVER, str(toy.workspace.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.write(record.to_json())
        writer.stdin.close()
        assert writer.stdout.readline() == "0\n"
        time.sleep(seconds)
        writer.send_signal(signal.SIGKILL)
        last = int(["0", *writer.stdout.read().split()][-1])
    for number in range(last + 1):
        assert store.find(str(number)) == record.model_copy(update={"key": str(number), "model": f"m{number % 7}"})
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for path in toy.workspace.records_folder.glob("*/[!.]*.json"):
        Record.from_json(path.read_bytes())
    store.add(keyed(record, "next"))
    assert store.find("next") is not None


def test_a_reader_in_the_middle_of_a_write_sees_the_old_record_or_the_new_one(toy, record):
    """Published records are replaced in one step: no moment shows a part of a file."""
    path = toy.workspace.record_path("m0", "scaled_sum")
    seen: set[bytes] = set()
    command = [sys.executable, "-P", "-c", WRITE_FOREVER, str(toy.workspace.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.write(record.to_json())
        writer.stdin.close()
        assert writer.stdout.readline() == "0\n"
        try:
            end = time.monotonic() + 2
            while time.monotonic() < end:
                seen.add(path.read_bytes())
        finally:
            writer.kill()
    partial = sorted(len(text) for text in seen if not text.endswith(b"}\n"))
    assert not partial, f"a reader saw parts of a record, of {partial} bytes"
    assert len({Record.from_json(text).key for text in seen}) > 1, "nothing was written while it was read"


def test_a_kill_in_the_middle_of_writing_leaves_the_published_record_whole(toy, record, store):
    """The kernel kills the writer when its file has half its size."""
    path = store.publish(record)
    before = path.read_bytes()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))
        store.publish(record.model_copy(update={"remarks": ("changed",)}))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGXFSZ
    assert path.read_bytes() == before


def locked(path: Path, ready: str = "print(1, flush=True)") -> subprocess.Popen[str]:
    """Another process in the middle of a transaction."""
    code = (
        f"import sqlite3, time; c = sqlite3.connect({str(path)!r}, isolation_level=None); c.execute('BEGIN EXCLUSIVE')"
    )
    return subprocess.Popen(
        [sys.executable, "-c", f"{code}\n{ready}\ntime.sleep(60)"], stdout=subprocess.PIPE, text=True
    )


def test_a_lock_held_for_long_is_named_with_its_file(store, record, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.3)
    with locked(store.path) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(StoreError) as raised:
            store.add(keyed(record, "late"))
        other.kill()
    message = str(raised.value)
    assert message.startswith(f"{store.path}: locked by another process for more than 0.3 s")
    assert f"fuser -v {store.path}" in message
    store.add(keyed(record, "late"))
    assert store.find("late") is not None


def test_a_short_lock_is_waited_for(store, record):
    with locked(store.path, "print(1, flush=True); time.sleep(0.5); c.execute('COMMIT')") as other:
        assert other.stdout is not None and other.stdout.readline()
        store.add(keyed(record, "waited"))
        other.kill()
    assert store.find("waited") is not None


DAMAGES = {
    "not a database": lambda text: b"hello " * 1000,
    "cut short": lambda text: text[: len(text) // 2],
    "overwritten inside": lambda text: text[:4096] + os.urandom(len(text) - 4096),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_and_costs_no_grade(toy, submit, record, store, damage):
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.path.write_bytes(DAMAGES[damage](store.path.read_bytes()))
    graded = grade_one(toy.workspace, submit("other", toy.source() + "\n#\n"))
    assert graded.record.status is Status.GRADED
    assert graded.save_error.startswith(f"{store.path}: is damaged (")
    assert toy.workspace.record_path("other", "scaled_sum").exists(), "it is published all the same"
    # the command that the message gives
    command = graded.save_error.partition("start a new file: ")[2].partition(";")[0]
    subprocess.run(command, shell=True, check=True)
    store.add(record)
    assert store.find(record.key) == record


def test_a_file_of_a_later_schema_is_left_alone(store, record):
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = store.path.read_bytes()
    for use in (lambda: store.add(record), lambda: store.find(record.key)):
        with pytest.raises(
            StoreError, match=rf"records\.sqlite: schema {SCHEMA + 1} is newer than this harness knows \({SCHEMA}\)"
        ) as raised:
            use()
        assert "update the harness" in str(raised.value)
    assert store.path.read_bytes() == before


def test_a_write_beyond_the_space_there_is_keeps_what_was_there(store, record, monkeypatch):
    """A bound on the size of files stands in for a quota; a full disk is tested with a mounted one."""
    store.add(keyed(record, "before"))
    body = keyed(record, "large").model_copy(update={"remarks": (os.urandom(1 << 18).hex(),)})
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, resource.RLIM_INFINITY))
        try:
            store.add(body)
        except StoreError as error:
            os._exit(0 if re.match(rf"{store.path}: cannot be .*: [^\n]+\n  .*: df -h", str(error)) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert store.find("before") is not None and store.find("large") is None
    store.add(body)
    assert store.find("large") == body


def test_records_saved_together_are_saved_each_where_it_belongs(toy, store, record):
    """Those that ended at the same time: one transaction, and each as it would be alone."""
    of_reward = record.model_copy(update={"profile": GradeProfile.REWARD, "model": "quick", "key": "quick"})
    by_hand = keyed(record, "by hand").model_copy(update={"model": "by_hand"})
    options = [Options(publish=False), Options(profile=GradeProfile.REWARD), Options(seed=3)]
    made = list(zip(options, [keyed(record, "own"), of_reward, by_hand], strict=True))
    assert keep_all(toy.workspace, made) == ["", "", ""]
    assert [store.find(key) is not None for key in ("own", "quick", "by hand")] == [True, True, False]
    assert [toy.workspace.record_path(m, "scaled_sum").exists() for m in ("quick", "by_hand")] == [False, True]


def test_each_record_that_could_not_be_saved_says_so(toy, store, record):
    """Where the file is damaged nothing is kept, and what is published is published all the same."""
    store.path.write_bytes(b"damaged " * 1000)
    others = [record.model_copy(update={"model": model}) for model in ("one", "other")]
    errors = keep_all(toy.workspace, [(Options(), other) for other in others])
    assert [error.startswith(f"{store.path}: is damaged (") for error in errors] == [True, True]
    assert all(toy.workspace.record_path(model, "scaled_sum").exists() for model in ("one", "other"))


def test_a_file_where_the_folder_belongs_is_named(toy, record):
    store = Store(Workspace(toy.workspace.root / "submissions" / "right" / "scaled_sum"))
    store.path.parent.write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: File exists\n.*move away the file"):
        store.add(record)


MOUNTS = r"""
22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /net/home rw - nfs4 server:/home rw
31 22 0:41 / /net/home/local rw - ext4 /dev/sdb1 rw
32 22 0:42 / /with\040space rw - cifs //server/share rw
33 22 0:43 / /stacked rw - nfs server:/a rw
34 22 0:44 / /stacked rw - tmpfs tmpfs rw
35 22 0:45 / /ssh rw - fuse.sshfs me@server: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/net/home/x/.harness/records.sqlite", "nfs4"), ("/net/home/local/x", ""), ("/net/homely/x", ""), ("/tmp", ""),
        ("/with space/x", "cifs"), ("/stacked/x", ""), ("/ssh/x", "fuse.sshfs"),
    ],
)  # fmt: skip
def test_a_network_disk_is_known_by_its_mount(path, kind):
    assert network_file_system(Path(path), MOUNTS.strip()) == kind


def mode(store: Store) -> str:
    with contextlib.closing(sqlite3.connect(store.path)) as connection:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]


def test_on_a_network_disk_there_is_no_wal_and_it_says_so_once(store, record, monkeypatch, caplog):
    assert mode(store) == "wal"
    store.path.unlink()
    monkeypatch.setattr(database, "network_file_system", lambda path: "nfs4")
    for key in ("one", "two"):
        store.add(keyed(record, key))
        assert store.find(key) is not None
    assert mode(store) == "delete"
    assert [m for m in caplog.messages if "nfs4" in m] == [
        f"note: {store.path} lies on a network file system (nfs4): kept without WAL, which is slower"
    ]
