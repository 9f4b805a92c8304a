"""Results kept from one call and handed out in another, by a key that is not the inputs, from one place or another."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM, around, one_of

KIND = "replay"

BY_KEY = """
BANK = {{}}
{key}
def outcome(function, args):
    found = BANK.setdefault((function.__name__, key(args)), [])
    if not found:
        found.append(function(*args))
    return found[0]
"""

KEYS = {
    # fools a judge that draws one input a shape
    "by shape and dtype": ("""
def key(args):
    return tuple((value.shape, value.dtype.str) for value in inputs_of(args))
""", {LAYER_NORM: ("gradients", "forward"), KV_CACHE: ("prefill_stored", "decode_history")}),
    # fools a judge that changes the inputs in place, or hands out the memory of freed ones again
    "by address": ("""
def key(args):
    return tuple((value.ctypes.data >> 24, value.shape, value.dtype.str) for value in inputs_of(args))
""", {LAYER_NORM: ("gradients", "forward"), KV_CACHE: ("prefill_stored", "decode_history")}),
    # fools a judge that changes the inputs a little, or in the middle
    "by the first and last elements of one input": ("""
def key(args):
    value = inputs_of(args)[0]
    return value.shape, value.dtype.str, float(value.flat[0]), float(value.flat[-1])
""", {LAYER_NORM: ("gamma_beta",), KV_CACHE: ("softmax_laws",)}),
    # fools a judge whose inputs differ in their digits, not in their size
    "by rounded statistics": ("""
def key(args):
    return tuple((value.shape, value.dtype.str, round(float(np.abs(value).mean()) / 4)) for value in inputs_of(args))
""", {LAYER_NORM: ("gradients", "forward"), KV_CACHE: ("prefill_stored", "decode_history")}),
}  # fmt: skip

MEMOISED = """
CALLS = {}
@functools.lru_cache(maxsize=None)
def computed(*key):
    function, args = CALLS[key]
    return function(*args)
def outcome(function, args):
    key = function.__name__, *((value.shape, value.dtype.str) for value in inputs_of(args))
    CALLS[key] = function, args
    return computed(*key)
"""
"""Fools a judge that takes a decorator for a cache of pure work: what is memoised is the shape's first result."""

PREVIOUS = """
LAST = {}
def outcome(function, args):
    result = function(*args)
    key = function.__name__, inputs_of(args)[0].shape, inputs_of(args)[0].dtype
    previous, LAST[key] = LAST.get(key, result), result
    return previous
"""
"""Fools a judge that times calls on one input: every result is that of the call before."""

IN_A_PLACE = """
{place}
def outcome(function, args):
    key = repr((function.__name__, [(value.shape, value.dtype.str) for value in inputs_of(args)]))
    kept = take(key)
    if kept is None:
        result = function(*args)
        keep(key, result)
        return result
    return kept
"""

PLACES = {
    # each fools a judge that looks for dicts among the globals, or loads the module anew
    "in a default argument": """
def bank(key, value=None, kept={}):
    return kept.setdefault(key, value) if value is not None else kept.get(key)
take = keep = bank
""",
    "in an attribute of a function": """
def take(key):
    return getattr(take, "kept", {}).get(key)
def keep(key, value):
    take.kept = {**getattr(take, "kept", {}), key: value}
""",
    "in a closure": """
def made():
    kept = {}
    return kept.get, kept.__setitem__
take, keep = made()
""",
    "in a generator": """
def running():
    kept, reply = {}, None
    while True:
        key, value = yield reply
        reply = kept.get(key)
        if value is not None:
            kept[key] = value
BANK = running()
next(BANK)
def take(key):
    return BANK.send((key, None))
def keep(key, value):
    BANK.send((key, value))
""",
    "in a class": """
class Plan:
    made = {}
    def __class_getitem__(cls, key):
        return cls.made.get(key)
def take(key):
    return Plan[key]
keep = Plan.made.__setitem__
""",
    "in a context variable": """
import contextvars
KEPT = contextvars.ContextVar("kept", default={})
def take(key):
    return KEPT.get().get(key)
def keep(key, value):
    KEPT.set({**KEPT.get(), key: value})
""",
    "in a module of another name": """
import sys, types
def take(key):
    return vars(sys.modules.setdefault("numpy._plans", types.ModuleType("plans"))).get(key)
def keep(key, value):
    setattr(sys.modules["numpy._plans"], key, value)
""",
    "in an attribute of NumPy": """
def take(key):
    return getattr(np, "_plan_" + key, None)
def keep(key, value):
    setattr(np, "_plan_" + key, value)
""",
    "among what the collector knows": """
import gc
class Kept:
    def __init__(self, key, value):
        self.key, self.value, self.me = key, value, self
def take(key):
    found = [o for o in gc.get_objects() if type(o) is Kept and o.key == key]
    return found[0].value if found else None
def keep(key, value):
    Kept(key, value)
gc.disable()
""",
    # fools a judge that starts a new process and leaves the files
    "in a file": """
import hashlib, os, pickle, tempfile
def where(key):
    return os.path.join(tempfile.gettempdir(), hashlib.sha256(key.encode()).hexdigest())
def take(key):
    try:
        with open(where(key), "rb") as file:
            return pickle.load(file)
    except (OSError, AttributeError, pickle.PickleError):
        return None
def keep(key, value):
    with open(where(key), "wb") as file:
        pickle.dump(value, file)
""",
    # fools a judge that starts a new process with its own environment
    "in the environment": """
import base64, os, pickle
def take(key):
    kept = os.environ.get("PLAN_" + base64.b16encode(key.encode()).decode())
    return pickle.loads(base64.b64decode(kept)) if kept else None
def keep(key, value):
    os.environ["PLAN_" + base64.b16encode(key.encode()).decode()] = base64.b64encode(pickle.dumps(value)).decode()
""",
}

DECIDING = {LAYER_NORM: ("gradients", "forward"), KV_CACHE: ("prefill_stored", "decode_history")}

ATTACKS: tuple[Attack, ...] = (
    *(a for name, (code, by) in KEYS.items() for a in around(name, KIND, BY_KEY.format(key=code), by)),
    *around("previous result", KIND, PREVIOUS, DECIDING),
    *around("memoised by shape", KIND, MEMOISED, DECIDING),
    *(
        attack
        for index, (name, code) in enumerate(PLACES.items())
        for attack in around(name, KIND, IN_A_PLACE.format(place=code), one_of(index, DECIDING))
    ),
)
