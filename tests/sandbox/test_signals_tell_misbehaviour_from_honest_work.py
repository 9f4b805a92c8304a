"""What honest code does raises no signal, and each kind of signal is raised by what it is named after."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from harness.model import Limits, SignalKind
from harness.sandbox import Array, CallStatus, Nothing, Scalar, WorkerSession, WorkerSpec
from tests.tiers_here import HELD, NAMESPACED, TIERS

HONEST = """
import sys

# a window toolkit, a browser or a program of their own at import: no kernel imports them
LEFT_OUT = {"antigravity", "this", "__main__", "idlelib", "turtle", "turtledemo"}

def imports():
    import importlib, io, warnings
    warnings.simplefilter("ignore")
    count, printed, sys.stdout = 0, sys.stdout, io.StringIO()
    for name in sorted(sys.stdlib_module_names - LEFT_OUT):
        try:
            importlib.import_module(name)
            count += 1
        except ImportError:
            pass
    sys.stdout = printed
    return count

def computes():
    import threading
    import numpy as np, scipy.linalg, scipy.optimize, scipy.signal, scipy.sparse, scipy.special, scipy.stats
    from concurrent.futures import ThreadPoolExecutor
    threads = [threading.Thread(target=np.linalg.inv, args=(np.eye(50),)) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(int, np.ones(8)))

def asks():
    import getpass, locale, logging, multiprocessing, os, pathlib, platform, time, uuid, zoneinfo
    pathlib.Path.home(), os.path.expanduser("~/file"), os.cpu_count(), os.sched_getaffinity(0), os.getloadavg()
    multiprocessing.cpu_count(), platform.uname(), platform.python_version(), platform.machine(), platform.libc_ver()
    time.localtime(), time.tzset(), locale.getlocale(), uuid.uuid4(), logging.getLogger("a").warning("said")
    count = 0
    for act in (getpass.getuser, lambda: zoneinfo.ZoneInfo("Europe/Berlin"), lambda: open("missing.cfg"),
                lambda: open(os.path.expanduser("~/.config/missing")), lambda: open("/sys/devices/system/cpu/online"),
                lambda: open("/etc/os-release"), lambda: open("/proc/self/status"), lambda: open("/proc/cpuinfo"),
                lambda: __import__("numba"), lambda: __import__("torch"), lambda: __import__("no_such_module")):
        try:
            act()
        except (OSError, KeyError, ImportError):
            pass
        count += 1
    return count

def writes():
    import mmap, os, tempfile
    import numpy as np
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "x.npy"), np.ones(3))
        os.chmod(os.path.join(folder, "x.npy"), 0o600) if os.getcwd() == "/tmp" else None
        np.memmap(os.path.join(folder, "m"), "f8", "w+", shape=(10,))[:] = 1
        total = np.load(os.path.join(folder, "x.npy")).sum()
    mmap.mmap(-1, 4096).close()
    return int(total)
"""
DEEDS = {
    SignalKind.UNSEEN_FILE: ("/etc/shadow", "open('/etc/shadow')"),
    SignalKind.SYSTEM_CALL: ("socket(AF_INET)", "import socket; socket.socket()"),
    SignalKind.UNSOLICITED: ("without being asked", "import os, threading, time; "
                             "threading.Timer(0.1, lambda: os.write(3, b'{\"id\": 3}')).start()"),
    SignalKind.FORGED_REPLY: ("another", "import os; os.write(3, b'{\"id\": 77, \"value\": null}')"),
    SignalKind.BACKGROUND: ("core", "import threading\ndef burn():\n    while True: pass\n"
                            "threading.Thread(target=burn, daemon=True).start()"),
}  # fmt: skip
LATE = """
import ctypes, glob, mmap, os
import numpy as np

def f(x):
    # a mapping of the output that stays: it can be changed after the reply
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.fstat(int(name)).st_size >= x.nbytes and "memfd" in os.readlink(f"/proc/self/fd/{name}"):
                globals()[name] = mmap.mmap(int(name), x.nbytes)
        except (OSError, ValueError):
            pass
    return x + 1
"""


@pytest.fixture(params=TIERS)
def honest(request, tmp_path):
    (tmp_path / "answer.py").write_text(HONEST)
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits(), request.param)) as box:
        assert box.open().status is CallStatus.RETURNED
        yield box


@pytest.mark.parametrize(("work", "least"), [("imports", 200), ("computes", 8), ("asks", 11), ("writes", 3)])
def test_honest_work_raises_no_signal(honest, work, least):
    reply = honest.call(work, returns=Scalar(int), seconds=60)
    assert reply.status is CallStatus.RETURNED and reply.value >= least, reply.text
    assert honest.signals == []


@pytest.mark.parametrize("kind", DEEDS)
@pytest.mark.parametrize("held", HELD)
def test_each_kind_is_raised_by_what_it_is_named_after(tmp_path, held, kind):
    words, deed = DEEDS[kind]
    body = "".join(
        f"    {line}\n" for line in ["try:", *(f"    {one}" for one in deed.split("\n")), "except OSError: pass"]
    )
    (tmp_path / "answer.py").write_text(f"import time\ndef quiet(): time.sleep(0.01)\ndef f():\n{body}")
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits(), held)) as box:
        assert box.open().status is CallStatus.RETURNED
        assert box.call("quiet", returns=Nothing()).status is CallStatus.RETURNED and box.signals == []
        box.call("f", returns=Nothing())
        if kind in (SignalKind.UNSOLICITED, SignalKind.BACKGROUND):
            time.sleep(0.3)
            box.call("quiet", returns=Nothing())
    assert [signal.kind for signal in box.signals] == [kind] and words in box.signals[0].detail


@pytest.mark.parametrize("held", [tier for tier in HELD if tier.values[0] in NAMESPACED])
def test_an_output_that_can_still_be_written_is_a_late_write(tmp_path, held):
    (tmp_path / "answer.py").write_text(LATE)
    with WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits(), held)) as box:
        assert box.open().status is CallStatus.RETURNED
        reply = box.call("f", np.ones(1000), returns=Array((1000,), "float64"))
    assert reply.status is CallStatus.PROTOCOL_VIOLATION and [signal.kind for signal in box.signals] == [
        SignalKind.LATE_WRITE
    ]


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp"])
def test_what_lies_in_a_temporary_folder_of_the_machine_is_not_the_answers(tmp_path, place):
    (tmp_path / "answer.py").write_text(
        "def f(path):\n    try:\n        open(path)\n    except OSError:\n        return 1\n    return 0\n"
    )
    with (
        tempfile.TemporaryDirectory(dir=place) as folder,
        WorkerSession(WorkerSpec(tmp_path, "answer.py", (), Limits())) as box,
    ):
        Path(folder, "notes.txt").write_text("")
        assert box.open().status is CallStatus.RETURNED
        assert box.call("f", f"{folder}/never-written.txt", returns=Scalar(int)).value == 1
        assert box.signals == []
        assert box.call("f", f"{folder}/notes.txt", returns=Scalar(int)).value == 1
        assert [signal.kind for signal in box.signals] == [SignalKind.UNSEEN_FILE]
