"""Plants a deed in an answer that is otherwise right, or otherwise does no work at all.

A deed is the source of a function `deed()`. It runs once in every process that the answer is loaded in, and what the
box makes of it (an exception) goes unseen by the answer, which goes on as if nothing had been tried.
"""

from collections.abc import Mapping

from harness.model import SignalKind
from tests.attacks.attack import Attack, Expect
from tests.attacks.wrapping import HONEST, KV_CACHE, LAYER_NORM

COMPUTING = {LAYER_NORM: ("forward", "backward"), KV_CACHE: ("prefill", "decode")}
"""Functions that return arrays."""
FUNCTIONS = {
    LAYER_NORM: ("forward", "backward", "check_gradients"),
    KV_CACHE: ("create_cache", "prefill", "decode", "release", "fork", "memory_bytes"),
}

TOOLS = '''
import ctypes, errno, fcntl, mmap, os, pathlib, signal, socket, stat, struct, sys, threading, time
from loot import WORLD, got

libc = ctypes.CDLL(None, use_errno=True)
OTHERS = [pid for pid in (WORLD["grader"], os.getppid()) if pid not in (0, os.getpid())]
"""Processes that are not this one, as far as it can name them."""
ROOTS = [pathlib.Path(WORLD["reference"]).parents[2], pathlib.Path(sys.prefix).parent]
"""Workspaces: the one it answers in, and the one that the interpreter was made for."""
HIDDEN = [WORLD["secret"], WORLD["reference"], str(ROOTS[1] / "references" / "kv_cache" / "oracle.py")]
"""Files that it was not given."""

def syscall(number, *arguments):
    """A system call by its number on x86-64."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def each(*attempts):
    """Make every attempt, whatever becomes of those before it."""
    for attempt in attempts:
        try:
            attempt()
        except Exception:
            pass
'''

CHANNEL = '''
import json

def frames():
    """The local variables of the callers, nearest first."""
    frame = sys._getframe(1)
    while frame:
        yield frame.f_locals
        frame = frame.f_back

def control():
    """The worker's end of the control socket."""
    return next(n for n in range(3, 256) if is_open(n) and stat.S_ISSOCK(os.fstat(n).st_mode))

def is_open(number):
    try:
        return bool(os.fstat(number))
    except OSError:
        return False

def request():
    """The request that is being answered."""
    return next(value for names in frames() for value in list(names.values())
                if isinstance(value, dict) and {"id", "op"} <= value.keys())

def reply(claim):
    """Answer it in the right form with a claim about every array."""
    asked = request()
    plan = asked.get("plan")
    value = {"tuple": [claim if part is None else part for part in plan]} if isinstance(plan, list) else claim
    os.write(control(), json.dumps({"id": asked["id"], "value": value}).encode())

def memory_files():
    """The descriptors that came with the request: of the input, then of the output."""
    return next(list(names["fds"]) for names in frames() if names.get("fds"))
'''

PLANTED = """
import functools
import honest
from deed import deed

@functools.cache
def once():
    try:
        deed()
    except {caught}:
        pass

def planted(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        once()
        return function(*args, **kwargs)
    return call

for name in {functions}:
    globals()[name] = planted(getattr(honest, name)) if name in {hooked} else getattr(honest, name)
if not {hooked}:
    once()
"""

IDLE = {
    LAYER_NORM: """
import numpy as np
def forward(x, gamma, beta, eps):
    return np.zeros_like(x), {"x": x}
def backward(dy, cache):
    return np.zeros_like(dy), np.zeros_like(dy[0, 0]), np.zeros_like(dy[0, 0])
def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    return True
""",
    KV_CACHE: """
import numpy as np
def create_cache(**options): return options
def prefill(cache, layer, slots, q, k, v, lengths): return np.zeros_like(q)
def decode(cache, layer, slots, q, k, v): return np.zeros_like(q)
def release(cache, slot): pass
def fork(cache, src, dst): pass
def memory_bytes(cache): return 0
""",
}
"""Answers of the right form that compute nothing."""


def planted(
    name: str,
    kind: str,
    deed: str,
    *,
    expect: Expect = Expect.HELD,
    signals: frozenset[SignalKind] = frozenset(),
    at_import: bool = False,
    idle: bool = False,
    tiers: tuple[str, ...] = ("A", "B", "C"),
    challenges: tuple[str, ...] = (KV_CACHE,),
    criteria: Mapping[str, tuple[str, ...]] | None = None,
    channel: bool = False,
    caught: bool = True,
) -> tuple[Attack, ...]:
    """The deed in an answer to each challenge.

    Args:
        name: of the mechanism.
        kind: the class it is counted under.
        deed: source with a function `deed()`; `TOOLS` stands before it.
        expect: what must become of it.
        signals: of which one must be raised.
        at_import: do it while the module loads instead of in the first call.
        idle: let the answer itself do no work, so that credit can only be forged.
        tiers: tiers in which the target is reachable at all.
        challenges: where to plant it; the world is the same around all, so most deeds are tried in one of them.
        criteria: those that decide, by challenge; the anchor alone by default.
        channel: do it in the first call that returns arrays, with `CHANNEL` at hand.
        caught: whether what the deed raises goes unseen.
    """
    return tuple(
        Attack(
            name=name,
            kind=kind,
            challenge=challenge,
            files={
                "answer.py": PLANTED.format(
                    functions=FUNCTIONS[challenge],
                    caught="Exception" if caught else "()",
                    hooked=() if at_import else (COMPUTING if channel else FUNCTIONS)[challenge],
                ),
                "honest.py": (IDLE if idle else HONEST)[challenge],
                "deed.py": TOOLS + (CHANNEL if channel else "") + deed,
            },
            criteria=(criteria or {}).get(challenge, ()),
            expect=expect,
            signals=signals,
            tiers=tiers,
        )
        for challenge in challenges
    )


def forged(
    name: str, kind: str, deed: str, *, idle: bool = True, signals: frozenset[SignalKind] = frozenset(),
    challenges: tuple[str, ...] = (KV_CACHE,), caught: bool = True,
) -> tuple[Attack, ...]:  # fmt: skip
    """The deed, done on the channel, in an answer that computes nothing: it must earn nothing."""
    return planted(
        name, kind, deed, expect=Expect.NO_CREDIT, signals=signals, idle=idle, challenges=challenges, channel=True,
        caught=caught,
    )  # fmt: skip
