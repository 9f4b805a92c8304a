"""Values that lie about what they are: to `isinstance`, to `==`, to NumPy, to `len`."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import KV_CACHE, LAYER_NORM, beside, changing

KIND = "lies about types"

CHANGES = {
    # fools np.allclose and its like, which ask the candidate's class
    "array that answers NumPy's comparisons": """
class Agreeable(np.ndarray):
    def __array_function__(self, func, types, args, kwargs):
        return True
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.zeros(self.shape)
def change(output):
    return np.zeros_like(output).view(Agreeable)
""",
    # fools `result == expected`
    "array that equals everything": """
class Equal(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)
    def __sub__(self, other):
        return np.zeros(self.shape)
    __rsub__ = __sub__
    __hash__ = None
def change(output):
    return np.zeros_like(output).view(Equal)
""",
    # fools a comparison that skips what is masked
    "masked array of nothing": """
def change(output):
    return np.ma.masked_array(np.zeros_like(output), mask=True)
""",
    # fools a judge that compares element by element, after the clock has stopped
    "list that computes when it is read": """
class Lazy(list):
    def __getitem__(self, index):
        return self.made()[index]
def change(output):
    lazy = Lazy(output.tolist())
    lazy.made = lambda: output
    return lazy
""",
    # fools a judge that converts what it gets, after the clock has stopped
    "object that becomes an array when it is asked": """
class Later:
    def __init__(self, made):
        self.shape, self.dtype, self.made = made.shape, made.dtype, made
    def __array__(self, dtype=None, copy=None):
        return self.made
def change(output):
    return Later(output)
""",
    # fools a judge that takes whatever can be iterated
    "generator": """
def change(output):
    return (row for row in output)
""",
    # fools `isinstance`
    "object that claims the class of arrays": """
class Claimed:
    __class__ = np.ndarray
    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim, self.size = shape, dtype, len(shape), int(np.prod(shape))
    def __array__(self, dtype=None, copy=None):
        return np.zeros(self.shape, self.dtype)
    def __eq__(self, other):
        return True
def change(output):
    return Claimed(output.shape, output.dtype)
""",
    # fools `==` element by element
    "array of agreeable objects": """
class Same(float):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
    __hash__ = float.__hash__
def change(output):
    return np.full(output.shape, Same(0), object)
""",
    # fools a comparison that looks at real parts
    "complex numbers": """
def change(output):
    return output + 1j * output
""",
    # fools a look at the class and the shape alone
    "array whose shape is a property": """
class Shaped(np.ndarray):
    @property
    def shape(self):
        return self.said
    @property
    def size(self):
        return int(np.prod(self.said))
def change(output):
    shaped = output.ravel()[:1].copy().view(Shaped)
    shaped.said = output.shape
    return shaped
""",
    # fools a judge that reads the array's own word for its dtype
    "records with the name of numbers": """
def change(output):
    return np.zeros(output.shape, [("f", output.dtype)])
""",
}

TUPLES = """
from honest import *
import honest

class Three(tuple):
    def __len__(self):
        return 3
    def __eq__(self, other):
        return True
    __hash__ = None

def backward(dy, cache):
    return Three(honest.backward(dy, cache)[:1])
"""
"""Fools a judge that counts the results and compares the tuples."""

LATER = """
import numpy as np
from honest import *
import honest

class Later(tuple):
    def __iter__(self):
        return iter(honest.backward(*self.asked))

def backward(dy, cache):
    later = Later(np.zeros(shape, dy.dtype) for shape in (dy.shape, dy.shape[-1:], dy.shape[-1:]))
    later.asked = dy.copy(), cache
    return later
"""
"""Fools a judge that reads the results as their class wants it, after the clock has stopped."""

BYTES = """
from honest import *

class Fewer(int):
    def __eq__(self, other):
        return True
    def __lt__(self, other):
        return True
    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = int.__hash__

def memory_bytes(cache):
    return Fewer(1)
"""
"""Fools a judge that compares a figure which answers for itself."""

VERDICTS = """
from honest import *

class Either:
    def __bool__(self):
        return True
    def __eq__(self, other):
        return True
    def __invert__(self):
        return self
    __hash__ = None

def check_gradients(*args):
    return Either()
"""
"""Fools a judge that compares a verdict with the one it wants, whichever that is."""

ATTACKS: tuple[Attack, ...] = (
    *(attack for name, code in CHANGES.items() for attack in changing(name, KIND, code)),
    beside("tuple of another length", KIND, LAYER_NORM, TUPLES, ("gradients",)),
    beside("tuple that computes when it is read", KIND, LAYER_NORM, LATER, ("gradients",)),
    beside("number that agrees with every bound", KIND, KV_CACHE, BYTES, ("memory_report",)),
    beside("verdict that is both", KIND, LAYER_NORM, VERDICTS, ("accepts_correct", "catches_planted")),
)
