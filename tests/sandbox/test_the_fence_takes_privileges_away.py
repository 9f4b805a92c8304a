"""What was root outside is nobody inside, cannot become root again, and dies with its parent all the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sandbox import fenced

_STATUS = """
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
"""


def status(plan: dict[str, object]) -> dict[str, str]:
    body = _STATUS + "tell(status)"
    said = fenced.run(body, plan)
    return {name: value.strip() for name, value in said.items()}


def test_no_capability_is_left_nor_can_be_won_back() -> None:
    left = status(fenced.plan(landlock=None, seccomp=False))
    assert {left[kind] for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert left["NoNewPrivs"] == "1"


@fenced.needs_root
def test_the_bounding_set_is_empty_and_root_is_a_user_like_another() -> None:
    plan = fenced.plan(landlock=None, seccomp=False)
    assert status(plan)["CapBnd"] == "0" * 16
    # a program started as root would have root's capabilities back, were it not for the locked bits
    inner = "print([line for line in open('/proc/self/status') if line.startswith('CapEff')][0].split()[1])"
    said = fenced.run(f"tell(subprocess.run([sys.executable, '-I', '-c', {inner!r}], capture_output=True,"
                      " text=True).stdout.strip())", plan)  # fmt: skip
    assert said == "0" * 16


@fenced.needs_root
def test_another_user_is_become_for_good() -> None:
    plan = fenced.plan(uid=fenced.OTHER_UID, landlock=None, seccomp=False)
    left = status(plan)
    assert left["Uid"].split() == left["Gid"].split() == [str(fenced.OTHER_UID)] * 4
    assert left["Groups"] == ""
    assert left["CapBnd"] == left["CapPrm"] == "0" * 16
    back = {"user": "os.setuid(0)", "group": "os.setgid(0)", "groups": "os.setgroups([0])"}
    assert fenced.answers(back, plan) == dict.fromkeys(back, "EPERM")


@fenced.needs_root
def test_no_group_of_the_user_before_is_kept() -> None:
    plan = fenced.plan(uid=fenced.OTHER_UID, landlock=None, seccomp=False)
    said = fenced.run("tell([BEFORE, os.getgroups()])", plan, before="os.setgroups([4, 24]); BEFORE = os.getgroups()")
    assert said == [[4, 24], []]


def test_a_limit_is_lowered_and_never_raised() -> None:
    body = "tell({name: resource.getrlimit(getattr(resource, name)) for name in PLAN['rlimits']})"
    limits = {"RLIMIT_NOFILE": 1 << 20, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CORE": 0, "RLIMIT_MEMLOCK": 0}
    before = "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 64))"
    said = fenced.run(body, fenced.plan(rlimits=limits, landlock=None, seccomp=False), before=before)
    assert said == {
        "RLIMIT_NOFILE": [64, 64], "RLIMIT_FSIZE": [1 << 20] * 2, "RLIMIT_CORE": [0, 0], "RLIMIT_MEMLOCK": [0, 0],
    }  # fmt: skip


@pytest.mark.parametrize("uid", [None, pytest.param(fenced.OTHER_UID, marks=fenced.needs_root)])
def test_it_dies_with_its_parent_although_a_change_of_user_forgets_that(uid: int | None, tmp_path: Path) -> None:
    """The kernel clears the wish to die with the parent when a process changes its user."""
    before = "libc.prctl(1, signal.SIGKILL)"
    inner = fenced.command("print(os.getpid(), flush=True); time.sleep(60)", fenced.plan(uid=uid), before=before)
    parent = f"import subprocess; subprocess.Popen({inner!r}).wait()"
    with subprocess.Popen([sys.executable, "-I", "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        os.kill(child, 0)
        process.kill()
    deadline = time.monotonic() + 10
    while alive(child):
        assert time.monotonic() < deadline, "it outlived its parent"
        time.sleep(0.01)


@fenced.needs_root
def test_without_asking_again_it_would_outlive_its_parent() -> None:
    body = "before = asked(); os.setresuid(61234, 61234, 61234); tell([before, asked()])"
    ask = """
        libc.prctl(1, signal.SIGKILL)
        def asked():
            answer = ctypes.c_int()
            libc.prctl(2, ctypes.byref(answer))
            return answer.value
    """
    assert fenced.run(body, None, before=ask) == [signal.SIGKILL, 0]


@fenced.needs_root
def test_a_limit_on_processes_counts_all_of_the_users_so_each_run_needs_a_user_of_its_own() -> None:
    """Threads of one box would otherwise use up the number that another box was given."""
    threads = """
        def start(count):
            go = threading.Event()
            started = []
            try:
                for _ in range(count):
                    thread = threading.Thread(target=go.wait)
                    thread.start()
                    started.append(thread)
            except RuntimeError:
                pass
            go.set()
            for thread in started:
                thread.join()
            return len(started)
    """
    busy = fenced.command(
        "threads = [threading.Thread(target=time.sleep, args=(30,)) for _ in range(3)]\n"
        "for t in threads: t.start()\nprint(flush=True); time.sleep(30)",
        fenced.plan(uid=fenced.OTHER_UID),
    )
    with subprocess.Popen(busy, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        limits = {"RLIMIT_NPROC": 4}
        same = fenced.run("tell(start(3))", fenced.plan(uid=fenced.OTHER_UID, rlimits=limits), before=threads)
        own = fenced.run("tell(start(3))", fenced.plan(uid=fenced.OTHER_UID + 1, rlimits=limits), before=threads)
        process.kill()
    assert (same, own) == (0, 3)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # ended, and not yet waited for
