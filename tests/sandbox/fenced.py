"""Runs a piece of Python behind the fence, in a process of its own."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.inside import landlock_rules, seccomp

BOOT = Path(landlock_rules.__file__).parent
INTERPRETER = ("/usr", "/lib", "/lib64", "/bin", "/etc", sys.base_prefix, sys.prefix)
OTHER_UID = 61234

needs_landlock = pytest.mark.skipif(landlock_rules.abi() == 0, reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not seccomp.available(), reason="no filter of system calls can be installed here")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user, or make device nodes")

_PRELUDE = """
import ctypes, errno, fcntl, json, mmap, os, resource, select, signal, socket, struct, subprocess, sys, tempfile, \
threading, time
sys.path.insert(0, sys.argv[1])
import confine, syscalls
WORLD, PLAN = json.loads(sys.argv[2]), json.loads(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = syscalls.numbers(os.uname().machine)

def call(name, *arguments):
    ctypes.set_errno(0)
    number = NUMBERS[name] if isinstance(name, str) else name
    result = libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), str(name))
    return result

def attempt(action, *arguments, **options):
    try:
        action(*arguments, **options)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def apart(action):
    mine, its = os.pipe()
    if not (child := os.fork()):
        try:
            os.write(its, action().encode())
        except BaseException as error:
            os.write(its, repr(error).encode())
        os._exit(0)
    os.close(its)
    with open(mine, "rb", buffering=0) as answers:
        answer = answers.read(4096).decode()
    return answer or f"signal {os.WTERMSIG(os.waitpid(child, 0)[1])}"

def tell(value):
    print(json.dumps(value), flush=True)
"""


def plan(profile: str = seccomp.RUN, scratch: Path | None = None, **changes: Any) -> dict[str, Any]:
    """A plan with every layer on; `changes` replaces parts of it."""
    shown = {"readable": INTERPRETER, "writable": [str(scratch)] if scratch else [], "devices": ["/dev/null"]}
    whole = {"profile": profile, "rlimits": {"RLIMIT_CORE": 0}, "uid": None, "landlock": shown, "seccomp": True}
    return whole | {"notify": False, "allow": []} | changes


def command(
    body: str, plan: Mapping[str, Any] | None, world: Mapping[str, Any] | None = None, before: str = ""
) -> list[str]:
    """The command line that encloses itself as `plan` says (None: not at all) and then runs `body`.

    `before` runs outside the fence, in the same process.
    """
    enclose = "" if plan is None else "listener = confine.enclose(PLAN)"
    source = "\n".join((_PRELUDE, textwrap.dedent(before), enclose, textwrap.dedent(body)))
    words = (str(BOOT), json.dumps(world or {}), json.dumps(plan))
    return [sys.executable, "-I", "-B", "-c", source, *words]


def answers(
    actions: Mapping[str, str], plan: Mapping[str, Any] | None, world: Mapping[str, Any] | None = None, before: str = ""
) -> dict[str, str]:
    """How each action ends, each in a process of its own behind the fence: "done", or the error's name.

    `before` runs outside the fence, in the same process.
    """
    body = f"""
BEFORE, ACTIONS = {before!r}, {dict(actions)!r}

def behind_the_fence(text):
    exec(BEFORE, globals())
    if PLAN:
        confine.enclose(PLAN)
    return attempt(lambda: eval(text, globals()))

if PLAN and PLAN["uid"] is None:
    confine.enclose({{}})  # a parent with privileges of its own would be out of reach for that alone
tell({{name: apart(lambda: behind_the_fence(text)) for name, text in ACTIONS.items()}})
"""
    words = command(body, None, world)
    return dict(told(finish([*words[:-1], json.dumps(plan)])))


def run(
    body: str, plan: Mapping[str, Any] | None, world: Mapping[str, Any] | None = None, before: str = "",
    pass_fds: Sequence[int] = (), environment: Mapping[str, str] | None = None,
) -> Any:  # fmt: skip
    """What `body` told in its last line, having ended well."""
    return told(finish(command(body, plan, world, before), pass_fds, environment))


def told(done: subprocess.CompletedProcess[str]) -> Any:
    """The value in the last line of a process that ended well."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def finish(
    words: Sequence[str], pass_fds: Sequence[int] = (), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The process after its end, which comes within a minute."""
    surroundings = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", **(environment or {})}
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        pass_fds=pass_fds, env=surroundings,
    )  # fmt: skip
