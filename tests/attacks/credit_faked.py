"""Outputs that are not the answer, and look like it to a lax comparison. Each says which comparison it fools."""

from tests.attacks.attack import Attack
from tests.attacks.wrapping import DIGITS, KV_CACHE, LAYER_NORM, VALUES, around, changing

KIND = "faked outputs"

CHANGES = {
    # fools an absolute tolerance above the size of the values
    "zeros": """
def change(output):
    return np.zeros_like(output)
""",
    # fools a comparison of means, or of anything whose variance is small
    "mean of each row": """
def change(output):
    return np.broadcast_to(output.mean(axis=-1, keepdims=True), output.shape).copy()
""",
    # fools a look at the distribution of the values
    "noise with the right mean and deviation": """
def change(output):
    noise = np.random.default_rng(1).normal(output.mean(), output.std(), output.shape)
    return noise.astype(output.dtype)
""",
    # fools a comparison of norms, sums, sorted values or histograms
    "right values in the wrong places": """
def change(output):
    return np.ascontiguousarray(output[..., ::-1])
""",
    # fools a checksum
    "zeros with the right sum": """
def change(output):
    faked = np.zeros_like(output)
    faked.flat[0] = output.sum()
    return faked
""",
    # fools a spot check of the first and the last elements
    "right at both ends only": """
def change(output):
    faked = output.copy()
    faked.flat[1:-1] = 0
    return faked
""",
    # fools a check that looks at the first elements of each row
    "tail of each row left out": """
def change(output):
    faked = output.copy()
    faked[..., -max(1, output.shape[-1] // 4):] = 0
    return faked
""",
    # fools a relative tolerance of 1e-5
    "off by a millionth": """
def change(output):
    return output * output.dtype.type(1 + 4e-6)
""",
    # fools a tolerance made for half precision
    "rounded to half precision": """
def change(output):
    return output.astype(np.float16).astype(output.dtype)
""",
    # fools a comparison in single precision
    "rounded to single precision": """
def change(output):
    return output.astype(np.float32).astype(output.dtype)
""",
    # fools a comparison that converts both sides first
    "returned in half precision": """
def change(output):
    return output.astype(np.float16)
""",
    # fools a check of values alone where the contract names the dtype
    "returned in another precision": """
def change(output):
    return output.astype(np.float64 if output.dtype == np.float32 else np.longdouble)
""",
    # fools `not (error > tolerance)`, and comparisons that count NaN as equal
    "NaN where it is judged": """
def change(output):
    return np.full_like(output, np.nan)
""",
    # fools a largest error that skips what is not finite
    "one NaN among right values": """
def change(output):
    faked = output.copy()
    faked.flat[output.size // 2] = np.nan
    return faked
""",
    # fools a tolerance that grows with the candidate's values
    "infinity": """
def change(output):
    return np.full_like(output, np.inf)
""",
    # fools a comparison that broadcasts
    "one row for all": """
def change(output):
    return output.reshape(-1, output.shape[-1])[:1]
""",
    # fools a comparison that broadcasts to nothing: an empty array has no wrong element
    "no elements": """
def change(output):
    return output[..., :0]
""",
    # fools a comparison of flattened values, whose caller then reads the wrong layout
    "right values, flattened": """
def change(output):
    return output.reshape(1, -1)
""",
    # fools a check of the shape alone, at a row's worth of writes
    "one row seen from everywhere": """
def change(output):
    return np.lib.stride_tricks.as_strided(output, output.shape, (0,) * (output.ndim - 1) + output.strides[-1:])
""",
    # fools a comparison of magnitudes
    "right but for the sign": """
def change(output):
    return np.abs(output)
""",
}

INPUT_COPIED = """
def outcome(function, args):
    def copied(output):
        like = [value for value in inputs_of(args) if value.shape == output.shape]
        return like[0].copy() if like else np.zeros_like(output)
    return on_outputs(copied, function(*args))
"""
"""Fools a comparison on inputs for which the operation does next to nothing."""

CHEAPER = """
def outcome(function, args):
    def cheap(output):
        like = inputs_of(args)[0]
        return np.resize(like * like, output.shape).astype(output.dtype)
    return on_outputs(cheap, function(*args))
"""
"""Fools a check of shape and dtype, and a clock."""

INPUTS_RUINED = """
def outcome(function, args):
    result = function(*args)
    for value in inputs_of(args):
        value[...] = 0
    return on_outputs(np.zeros_like, result)
"""
"""Fools a judge that computes what is right from the same arrays afterwards."""

NOTHING_WRITTEN = """
def outcome(function, args):
    return nothing(function, args, blank=np.empty_like)
"""
"""Fools a judge that computes its own result in the same process and frees it: that memory is handed out again."""

IN_HALF = """
def outcome(function, args):
    rounded = [v.astype(np.float16).astype(v.dtype) if is_output(v) and v.dtype.kind == "f" else v for v in args]
    return function(*rounded)
"""
"""Fools a tolerance made for half precision, with results in the right dtype."""

IN_SINGLE = """
def outcome(function, args):
    rounded = [v.astype(np.float32).astype(v.dtype) if is_output(v) and v.dtype.kind == "f" else v for v in args]
    return function(*rounded)
"""
"""Fools a judge whose right answer is itself made in single precision."""

SAMPLED_STATISTICS = """
def outcome(function, args):
    thinned = [v.copy() if is_output(v) else v for v in args]
    for value in inputs_of(thinned):
        half = value.shape[-1] // 2
        if half:
            value[..., half : 2 * half] = value[..., :half]
    return function(*thinned)
"""
"""Fools inputs whose halves have the same statistics: only the first half of the features is read."""

WRITTEN_OVER = """
def outcome(function, args):
    result = function(*args)
    like = inputs_of(args)[0]
    if like.shape == getattr(result, "shape", None):
        like[...] = result
        return like
    like[...] = 0
    return result
"""
"""Fools a judge that looks at results alone: memory is saved by writing over the caller's."""

SAME_BUFFER = """
BUFFERS = {}
def outcome(function, args):
    def kept(output):
        buffer = BUFFERS.setdefault((output.shape, output.dtype.str), np.empty_like(output))
        buffer[...] = output
        return buffer
    return on_outputs(kept, function(*args))
"""
"""Fools a judge that compares at the end: every call returns the same memory."""

ERRORS_SWALLOWED = """
def outcome(function, args):
    try:
        return function(*args)
    except Exception:
        like = np.zeros_like(inputs_of(args)[0])
        if function.__name__ == "forward":
            return like, {}
        return like if function.__name__ != "backward" else (like, like[0, 0], like[0, 0])
"""
"""Fools a judge that takes silence for success: what fails comes back as zeros."""

STATEFUL = {LAYER_NORM: ("statelessness",), KV_CACHE: ("ownership",)}
ERRORS = {LAYER_NORM: ("argument_errors",), KV_CACHE: ("argument_errors",)}
OF_DIGITS = (
    "off by a millionth",
    "rounded to half precision",
    "rounded to single precision",
    "returned in half precision",
)

ATTACKS: tuple[Attack, ...] = (
    *(
        attack
        for name, code in CHANGES.items()
        for attack in changing(name, KIND, code, DIGITS if name in OF_DIGITS else VALUES)
    ),
    *around("input copied", KIND, INPUT_COPIED),
    *around("cheaper operation", KIND, CHEAPER),
    *around("inputs ruined, zeros returned", KIND, INPUTS_RUINED),
    *around("nothing written", KIND, NOTHING_WRITTEN),
    *around("half precision inside", KIND, IN_HALF, DIGITS),
    *around("single precision inside double", KIND, IN_SINGLE, DIGITS),
    *around("half of the features read", KIND, SAMPLED_STATISTICS),
    *around("written over the inputs", KIND, WRITTEN_OVER, STATEFUL),
    *around("one buffer for all calls", KIND, SAME_BUFFER, STATEFUL),
    *around("errors swallowed", KIND, ERRORS_SWALLOWED, ERRORS),
)
