"""Plants a deed in an answer that is otherwise right, or otherwise does no work at all.

A deed is the source of a function `deed()`. It runs once in every process that the answer is loaded in, and what the
box makes of it (an exception) goes unseen by the answer, which goes on as if nothing had been tried.
"""

from collections.abc import Mapping
from pathlib import Path

from harness.box.signals import SignalKind
from tests.attacks.attack import Attack, Expect

LAYER_NORM, KV_CACHE = "layernorm_backward", "kv_cache"
CHALLENGES = (LAYER_NORM, KV_CACHE)
REFERENCES = Path(__file__).parents[2] / "references"
FUNCTIONS = {
    LAYER_NORM: ("forward", "backward", "check_gradients"),
    KV_CACHE: ("create_cache", "prefill", "decode", "release", "fork", "memory_bytes"),
}

TOOLS = '''
import ctypes, errno, fcntl, mmap, os, pathlib, signal, socket, stat, struct, sys, threading, time
from loot import WORLD, got

libc = ctypes.CDLL(None, use_errno=True)

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

PLANTED = """
import functools
import honest
from deed import deed

@functools.cache
def once():
    try:
        deed()
    except Exception:
        pass

def planted(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        once()
        return function(*args, **kwargs)
    return call

for name in {functions}:
    globals()[name] = planted(getattr(honest, name)) if {in_calls} else getattr(honest, name)
if not {in_calls}:
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
    challenges: tuple[str, ...] = CHALLENGES,
    criteria: Mapping[str, tuple[str, ...]] | None = None,
    more: Mapping[str, str] | None = None,
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
        challenges: where to plant it.
        criteria: those that decide, by challenge; the anchor alone by default.
        more: further files.
    """
    return tuple(
        Attack(
            name=name,
            kind=kind,
            challenge=challenge,
            files={
                "answer.py": PLANTED.format(functions=FUNCTIONS[challenge], in_calls=not at_import),
                "honest.py": IDLE[challenge] if idle else (REFERENCES / challenge / "reference.py").read_text(),
                "deed.py": TOOLS + deed,
                **(more or {}),
            },
            criteria=(criteria or {}).get(challenge, ()),
            expect=expect,
            signals=signals,
            tiers=tiers,
        )
        for challenge in challenges
    )
