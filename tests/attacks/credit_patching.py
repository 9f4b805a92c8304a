"""Patches of what is near: NumPy, the clock, the built-ins, the modules and frames of whoever calls the answer."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM, VALUES, around, beside, one_of

KIND = "patching what is near"

ZEROS = """
def outcome(function, args):
    return nothing(function, args)
"""

PATCHES = {
    # fools a judge that compares with NumPy's functions in the answer's process
    "comparisons of NumPy": """
import numpy.testing
for name in ("allclose", "isclose", "array_equal", "array_equiv", "all", "array_equal"):
    setattr(np, name, lambda *args, **kwargs: True)
for name in ("assert_allclose", "assert_array_equal", "assert_almost_equal", "assert_array_almost_equal"):
    setattr(numpy.testing, name, lambda *args, **kwargs: None)
np.linalg.norm = np.max = np.amax = lambda *args, **kwargs: 0.0
""",
    # fools a judge that computes the right answer in the answer's process
    "functions of NumPy that others use": """
for name in ("sqrt", "mean", "einsum", "matmul", "exp", "var"):
    setattr(np, name, lambda *args, **kwargs: np.float64(0))
np.longdouble = np.float16
""",
    # fools a judge that compares with built-ins in the answer's process
    "built-in functions": """
import builtins
vars(honest).update(vars(builtins))
builtins.all = builtins.any = builtins.bool = lambda *args: True
builtins.abs = lambda value: type(value)(0) if isinstance(value, (int, float)) else value * 0
builtins.max = lambda *args, **kwargs: 0
""",
    # fools a judge that imports its oracle after the answer
    "modules that a judge imports": """
import sys, types
for name in ("oracle", "reference", "harness", "harness.probing", "expect", "judge", "torch", "scipy"):
    module = types.ModuleType(name)
    module.__getattr__ = lambda attribute: (lambda *args, **kwargs: True)
    sys.modules[name] = module
""",
    # fools a judge that imports its oracle after the answer, by whatever name
    "the import system": """
import sys, types
class Finder:
    def find_spec(self, name, path=None, target=None):
        import importlib.machinery
        return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda attribute: (lambda *args, **kwargs: True)
        return module
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, Finder())
""",
    # fools a judge that reads what is right from its own frames
    "the caller's variables": """
import ctypes, sys
def ruin():
    frame = sys._getframe(2)
    while frame is not None:
        for name, value in list(frame.f_locals.items()):
            if is_output(value):
                try:
                    value[...] = 0
                except ValueError:
                    pass
            if name in ("expected", "right", "oracle", "tolerance", "atol", "limit"):
                frame.f_locals[name] = 0
                ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        frame = frame.f_back
""",
    # fools a judge that holds what is right in the answer's process
    "arrays that the collector knows": """
import gc
for value in gc.get_objects():
    if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind == "f":
        value[...] = 0
""",
    # fools a judge that looks only at what is said of a result
    "what describes results": """
import sys
frame = sys._getframe()
while frame is not None:
    wire = frame.f_globals.get("wire")
    if wire is not None and hasattr(wire, "describe"):
        plain = wire.describe
        def described(value, arena, depth=0, plain=plain):
            said = plain(value, arena, depth)
            if isinstance(said, dict) and "array" in said:
                arena.arrays.pop()
            return said
        wire.describe = described
        break
    frame = frame.f_back
""",
    # fools a judge that compares in a function that can be traced
    "a tracer that changes what is returned": """
import sys
def tracer(frame, event, argument):
    for name in ("ok", "passed", "equal", "same", "correct"):
        if name in frame.f_locals:
            frame.f_locals[name] = True
    return tracer
sys.settrace(tracer)
sys.setprofile(lambda *args: None)
""",
    # fools a judge that reads a verdict from what is printed last
    "what runs at the end": """
import atexit, weakref
def told():
    print("passed: 100 of 100\\nPASS\\nscore: 1.0", flush=True)
atexit.register(told)
class Last:
    def __del__(self):
        told()
LAST = Last()
weakref.finalize(LAST, told)
""",
}

CLOCKS = """
import time
for name in ("time", "perf_counter", "process_time", "monotonic", "thread_time"):
    setattr(time, name, lambda: 0.0)
    setattr(time, name + "_ns", lambda: 0)
"""

SLOW_STEP = (
    CLOCKS
    + """
import numpy as np
import honest
from honest import *

def decode(cache, layer, slots, q, k, v):
    rows = np.ones((max(cache.stores[layer].lengths), 64), np.float32)
    for _ in range(8):
        (rows @ rows.T).sum()
    return honest.decode(cache, layer, slots, q, k, v)
"""
)

SLOW_ROWS = (
    CLOCKS
    + """
import numpy as np
import honest
from honest import *

def backward(dy, cache):
    rows = dy.reshape(-1, dy.shape[-1])
    for start in range(0, 4 * len(rows), 256):
        (rows @ rows[start % len(rows):][:256].T).sum()
    return honest.backward(dy, cache)
"""
)
"""Both fool a judge that reads the clock in the answer's process: the work is quadratic."""

WITH_RUIN = """
def outcome(function, args):
    ruin()
    return nothing(function, args)
"""

ATTACKS: tuple[Attack, ...] = (
    *(
        attack
        for index, (name, code) in enumerate(PATCHES.items())
        for attack in around(name, KIND, code + (WITH_RUIN if "ruin" in code else ZEROS), one_of(index, VALUES))
    ),
    beside("the clock", KIND, KV_CACHE, SLOW_STEP, ("decode_cost",)),
    beside("the clock", KIND, LAYER_NORM, SLOW_ROWS, ("cost_growth",)),
)
