"""Probes of the model's gradients, of answers that offer them: every weight's against the oracle, by error ratio.

Gradients are judged in the order in which they are found on the way back, so that the first wrong one is nearest to the
fault. No entry of a weight is as near to half its scale as honest sums may differ: nothing is open.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import conditioning
from harness.probing import (
    Answer,
    Draw,
    InputUse,
    Keep,
    NotOffered,
    Partial,
    ProbeFailure,
    Tree,
    expect,
    laws,
    probe,
)
from harness.probing.failures import Spared

from . import model_oracle, oracle
from .binding import Floats, Inputs, results
from .bounds import COARSE, require_within
from .texts import PADDING, Bytes, config_of
from .training import ROOM, checked, is_ternary, shapes_of

VOCAB = 9
SAME_BYTES = 3
"""Different bytes of a text in which bytes repeat."""
MANY = 34
"""Windows of which 8, 16 or 32 taken at a time leave some over, without the last, which holds one byte alone."""
DRAWS = 3
"""Perturbations behind a spread: wrong gradients are off by a share, digits lost by a thousand times what passes."""
NEAR = 1e-3
"""How near |w| may be to half its scale, as a share of the scale."""
STRUCTURE = 1e-6
"""Relative difference of gradients in float64, from which on they are others: digits are judged elsewhere."""
LOST = 16
"""Operations of a narrower type whose cost counts as lost digits."""
WRONG = "is wrong"
WAY_BACK = ("w_down", "w_up", "norm2", "wo", "wv", "wk", "wq", "norm1")

ONE = {"layers": 1, "heads": 1, "width": 8, "group": 4, "context": 5, "length": 5, "batch": 1}
TWO = {"layers": 2, "heads": 2, "width": 12, "group": 4, "context": 6, "length": 6, "batch": 2}
LONG = {**ONE, "context": 40, "length": 40, "batch": 2}
"""More bytes than NumPy sorts without exchanging equal ones."""
PLAIN = {"text": "plain", "dtype": "float64"}


@probe(
    {**ONE, **PLAIN},
    {**ONE, **PLAIN, "text": "repeated"},
    {**ONE, **PLAIN, "length": 1, "batch": 3},
    {**ONE, **PLAIN, "length": 3, "batch": 2},
    {**ONE, **PLAIN, "heads": 2, "text": "padded", "batch": 3},
    {**ONE, **PLAIN, "text": "padded", "batch": MANY},
    {**LONG, **PLAIN, "text": "padded"},
    {**TWO, **PLAIN},
    {**TWO, **PLAIN, "group": 5, "text": "padded"},
    {**TWO, "text": "repeated", "dtype": "float32"},
    {**TWO, "group": 5, "text": "padded", "dtype": "float32"},
    fixed=("heads", "width", "group", "context"),
)
def every_gradient_matches_the_oracle(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, text: str, dtype: str,
) -> dict[str, float]:  # fmt: skip
    """Compare the gradients of all weights for one batch: one and two layers, several heads, short windows, bytes that
    repeat within a window, padding inside and around, many and long windows, and groups that do not divide a row."""
    _require_offered(answer)
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    weights, tokens = draw_weights(draw, config, dtype), draw_tokens(draw, text, batch, length)
    try:
        return _judged(answer, draw, weights, tokens, config)
    except ProbeFailure as why:
        if text == "padded" and why.obstacle is None:
            _say_what_padding_does(why, draw, tokens, partial(_right, answer, draw, weights, config=config))
        raise


def _say_what_padding_does(why: ProbeFailure, draw: Draw, tokens: Bytes, right: Callable[[Bytes], bool]) -> None:
    """Add to a failure the condition that other windows show it to need, if they are right."""
    if not right(np.where(tokens < 0, draw.rng.integers(0, VOCAB, tokens.shape), tokens).astype(np.int16)):
        return
    why.detail = f"{why.detail}; with bytes in place of padding all gradients are right"
    lengths = (tokens >= 0).sum(axis=1)
    if len({*lengths.tolist()}) > 1 and all(right(window[None]) for window in tokens[lengths > 1]):
        fewer, wrong = 1, len(tokens)
        while wrong - fewer > 1:
            middle = (fewer + wrong) // 2
            fewer, wrong = (middle, wrong) if right(tokens[:middle]) else (fewer, middle)
        why.title = f"{why.title} where {wrong} windows of different lengths are in one batch"
        why.detail = f"{why.detail}, and so are those of each window alone"
        why.detail += f" and of the first {fewer} in one batch" * (fewer > 1)
    elif right(np.take_along_axis(tokens, np.argsort(tokens < 0, axis=1, kind="stable"), axis=1)):
        why.title = f"{why.title} where padding stands before bytes"
        why.detail = f"{why.detail}, and so are those with all padding behind the bytes"
    else:
        why.title = f"{why.title} where the text is padded"


@probe(**ONE, vocab=256, wide=140, fixed=("heads", "width", "group", "context", "vocab", "wide"))
def many_embeddings_get_their_gradients(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, vocab: int, wide: int,
) -> None:  # fmt: skip
    """Compare the gradient of embeddings that hold more numbers than 16 bits count; the windows hold the last bytes."""
    _require_offered(answer)

    def right(vocab: int, width: int) -> None:
        config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=vocab)
        weights = draw_weights(draw, config, "float64")
        tokens = (draw_tokens(draw, "plain", batch, length) + (vocab - VOCAB)).astype(np.int16)
        _require_like_oracle(answer, weights, tokens, config, ["embed"], f"where that is {vocab} x {width}")

    with expect.only_beside(lambda: right(VOCAB, width)):
        right(vocab, wide)


@probe({**ONE, "times": 300}, {**TWO, "times": 3_000}, fixed=("heads", "width", "group", "context", "times"))
def scores_far_below_zero_leave_bytes_to_come_unseen(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, times: int,
) -> None:  # fmt: skip
    """Compare gradients where a position's score of itself is far below zero: bytes to come have no share all the same.

    Those of wq and wk are left out: they are nearly 0, and large keys and queries multiply what rounding leaves.
    """
    _require_offered(answer)
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    weights, tokens = draw_weights(draw, config, "float64"), draw_tokens(draw, "plain", batch, length)
    queries = {name: w for name, w in weights.items() if name.endswith(".wq")}
    names = [name for name in way_back(layers) if not name.endswith((".wq", ".wk"))]

    def right(times: int) -> None:
        larger = {name: times * w for name, w in queries.items()}
        given = {**weights, **larger, **{f"{name[:-1]}k": -w for name, w in larger.items()}}
        _require_like_oracle(answer, given, tokens, config, names, f"where wq and wk are {times:,} times as large")

    _require_right_where_larger(right, times)


@probe({**ONE, "times": 3_000}, {**TWO, "times": 10_000}, fixed=("heads", "width", "group", "context", "times"))
def gates_far_from_zero_have_their_slope(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, times: int,
) -> None:  # fmt: skip
    """Compare gradients where SiLU is taken of numbers so far from zero, on both sides, that their exp overflows."""
    _require_offered(answer)
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    weights, tokens = draw_weights(draw, config, "float64"), draw_tokens(draw, "plain", batch, length)

    def right(times: int) -> None:
        given = {name: times * w if name.endswith(".w_up") else w for name, w in weights.items()}
        where = f"where w_up is {times:,} times as large"
        _require_like_oracle(answer, given, tokens, config, way_back(layers), where)

    _require_right_where_larger(right, times)


def _require_right_where_larger(right: Callable[[int], None], times: int) -> None:
    """Require what is right of weights to be so where some are larger; what overflows there is `finite_training`'s."""
    try:
        with expect.only_beside(lambda: right(1)):
            right(times)
    except ProbeFailure as why:
        if why.obstacle is None and why.title.endswith("not finite"):
            why.fault_of = "finite_training"
        raise


def _require_like_oracle(
    answer: Answer, weights: dict[str, Floats], tokens: Bytes, config: Mapping[str, Any], names: Sequence[str],
    where: str,
) -> None:  # fmt: skip
    """Require the named gradients to be the oracle's but for their digits."""
    group = config["group_size"]
    used = model_oracle.used_weights(weights, model_oracle.signs_of(weights, group), group)
    wanted, got = model_oracle.gradients(used, tokens, config), run_of(answer, weights, tokens, config)()
    for name in names:
        title = f"the gradient of {name} is wrong {where}"
        expect.same(f"the gradient of {name}", got[name], wanted[name].astype(np.float64), title, within=STRUCTURE)


def _judged(
    answer: Answer, draw: Draw, weights: dict[str, Floats], tokens: Bytes, config: Mapping[str, Any]
) -> dict[str, float]:
    """Compare all gradients of some windows with the oracle's; return the largest error ratio."""
    right, spreads = right_and_spreads(draw, weights, tokens, config)
    room = Tree(ROOM * sum(w.nbytes for w in weights.values()))
    found = answer.call("gradients", weights, tokens, config, returns=room)
    dtype = weights["embed"].dtype.name
    got = checked(found, config, exact=True, dtype=dtype, function="gradients", noun="gradient")
    with expect.apart_from(lambda: _require_layers(answer, draw, weights, config["group_size"])):
        return {"error_ratio": _worst_ratio(got, right, spreads, way_back(config["layers"]))}


def _worst_ratio(
    got: Mapping[str, Floats], right: Mapping[str, Floats], spreads: Mapping[str, float], names: Sequence[str]
) -> float:
    """Return the largest error ratio of the named gradients; where one fails, the first is blamed, or all of them."""
    ratios, failures = list[float](), list[ProbeFailure]()
    for name in names:
        try:
            ratios.append(_ratio(name, got[name], right[name], spreads[name]))
        except ProbeFailure as why:
            failures.append(why)
    if len(failures) == len(names) and all(WRONG in why.title for why in failures):
        failures[0].title = "the gradients of all weights are wrong"
    if failures:
        raise failures[0]
    return max(ratios)


def _right(answer: Answer, draw: Draw, weights: dict[str, Floats], tokens: Bytes, config: Mapping[str, Any]) -> bool:
    """Return whether all gradients of some windows are right."""
    try:
        _judged(answer, draw, weights, tokens, config)
    except (ProbeFailure, Spared):
        return False
    return True


@probe(**ONE, **PLAIN, fixed=tuple(ONE))
def gradients_come_of_their_arguments_alone(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, text: str, dtype: str,
) -> None:  # fmt: skip
    """Equal calls get equal replies, whatever was called between; no call writes to weights or tokens."""
    _require_offered(answer)
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    given, other = ((draw_weights(draw, config, dtype), draw_tokens(draw, text, batch, length)) for _ in range(2))
    run = run_of(answer, *given, config)
    run()
    laws.inputs_stay({**given[0], "tokens": given[1]}, answer.echo)
    laws.inputs_may_be_read_only(run)
    laws.equal_calls_get_equal_replies(answer, run, run_of(answer, *other, config))


@probe(**ONE, **PLAIN, fixed=tuple(ONE))
def gradients_of_views_are_served(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, text: str, dtype: str,
) -> None:  # fmt: skip
    """Views give what contiguous arrays of the same values give, where gradients are offered."""
    if not answer.has("gradients"):
        return
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    weights, tokens = draw_weights(draw, config, dtype), draw_tokens(draw, text, batch, length)
    laws.layouts_do_not_matter(run_of(answer, weights, tokens, config))


def run_of(answer: Answer, weights: dict[str, Floats], tokens: Bytes, config: Mapping[str, Any]) -> laws.ArrayCall:
    """Return a call of `gradients` as the laws make it."""
    dtype, room = weights["embed"].dtype.name, Tree(ROOM * sum(w.nbytes for w in weights.values()))

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        echo = inputs is InputUse.FRESH
        found = answer.call("gradients", weights, tokens, config, returns=room, inputs=inputs, echo=echo)
        return checked(found, config, exact=True, dtype=dtype, function="gradients", noun="gradient")

    return run


@probe(**{**ONE, **PLAIN}, fixed=tuple(ONE), apart=True)
def wrong_windows_raise_value_error(
    answer: Answer, draw: Draw, *, layers: int, heads: int, width: int, group: int, context: int, length: int,
    batch: int, text: str, dtype: str,
) -> Partial:  # fmt: skip
    """Windows that are no matrix, too long, of one byte, or of padding but for one byte are refused."""
    _require_offered(answer)
    config = config_of(layers=layers, heads=heads, width=width, group_size=group, context=context, vocab=VOCAB)
    weights, kept = draw_weights(draw, config, dtype), Keep()
    plain = draw_tokens(draw, text, 2, length)
    call = partial(answer.call, "gradients", weights, returns=kept)
    with expect.only_beside(partial(call, plain, config)):
        call(plain, config)
    alone = np.full_like(plain, PADDING)
    alone[:, 2] = plain[:, 2]
    wrong = {
        "tokens of one axis": plain[0], "windows longer than the context": draw_tokens(draw, text, 2, context + 1),
        "windows of one byte": plain[:, :1].copy(), "windows in which no byte follows another": alone,
    }  # fmt: skip
    return laws.each_refused({what: partial(call, each, config) for what, each in wrong.items()})


def _require_offered(answer: Answer) -> None:
    if not answer.has("gradients"):
        raise NotOffered("`gradients` is not offered")


def _ratio(name: str, got: Floats, right: Floats, spread: float) -> float:
    """Return the error ratio of a gradient, which must pass; the title tells lost digits from a wrong value."""
    slightly = bool(abs(got - right).max() <= LOST * COARSE[got.dtype.name] * abs(right).max())
    with expect.renamed(f"the gradient of {name} {'loses digits' if slightly else WRONG}"):
        return expect.close(f"the gradient of {name}", got, right, spread)


def way_back(layers: int) -> list[str]:
    """Return the names of all weights in the order in which a backward pass finds their gradients."""
    own = [f"layer{i}.{name}" for i in reversed(range(layers)) for name in WAY_BACK]
    return ["norm", *own, "position", "embed"]


def draw_weights(draw: Draw, config: Mapping[str, Any], dtype: str) -> dict[str, NDArray[Any]]:
    """Return weights by name: matrices with entries far beyond their scale and none near half of it, gains about 1."""
    weights = {}
    for name, shape in shapes_of(config).items():
        if len(shape) == 1:
            weights[name] = (1 + 0.5 * draw.uniform(*shape)).astype(dtype)
        elif name == "position":
            weights[name] = (0.5 * draw.normal(*shape)).astype(dtype)
        else:
            weights[name] = _draw_matrix(draw, shape, config["group_size"], dtype)
    return weights


def _draw_matrix(draw: Draw, shape: tuple[int, ...], group: int, dtype: str) -> Floats:
    """Return a matrix of deviation 1/sqrt(in), one entry in ten four times as large."""
    far = np.where(draw.rng.random(shape) < 0.1, 4.0, 1.0)
    w = (draw.normal(*shape) * far / np.sqrt(shape[1])).astype(dtype)
    while (near := abs(oracle.ratios(w, group) - 0.5) < NEAR).any():
        w[near] *= 2
    return w


def draw_tokens(draw: Draw, text: str, batch: int, length: int) -> Bytes:
    """Return windows (batch,length+1): bytes that differ within a window or repeat, or padding among them.

    Of padding windows hold one, two, three, one, ... inside, and every second one more before; of three and more the
    last holds one byte alone.
    """
    count = length + 1
    if text == "plain":
        rows = [draw.rng.permutation(np.resize(draw.rng.permutation(VOCAB), count)) for _ in range(batch)]
        return np.array(rows, np.int16)
    bytes_used = draw.rng.permutation(VOCAB)[:SAME_BYTES]
    tokens = bytes_used[draw.rng.integers(0, SAME_BYTES, (batch, count))].astype(np.int16)
    tokens[:, 0] = tokens[:, min(1, length - 1)]
    if text == "padded":
        for i, row in enumerate(tokens):
            row[1 + draw.rng.permutation(count - 2)[: 1 + i % 3]] = PADDING
            row[0] = PADDING if i % 2 else row[0]
        if batch > 2:
            tokens[-1, 1:] = PADDING
    return tokens


def right_and_spreads(
    draw: Draw, weights: Mapping[str, Floats], tokens: Bytes, config: Mapping[str, Any]
) -> tuple[dict[str, Floats], dict[str, float]]:
    """Return the oracle's gradients, and how far each moves where weights are rounded, the signs t held.

    That of queries and keys moves as far as that of values at least: where each position sees itself alone it is 0,
    and what rounding leaves of two equal sums is honest.
    """
    names, group = [*weights], config["group_size"]
    signs = model_oracle.signs_of(weights, group)

    def of(*values: Floats) -> list[Floats]:
        used = model_oracle.used_weights(dict(zip(names, values, strict=True)), signs, group)
        return [*model_oracle.gradients(used, tokens, config).values()]

    values = [weights[name] for name in names]
    right = dict(zip(names, of(*values), strict=True))
    spreads = dict(zip(names, conditioning(of, values, draw.rng, DRAWS), strict=True))
    for name in names:
        if name.endswith((".wq", ".wk")):
            spreads[name] = max(spreads[name], spreads[f"{name[:-1]}v"])
    return right, spreads


def _require_layers(answer: Answer, draw: Draw, weights: Mapping[str, Floats], group: int) -> None:
    """Require that the answer projects every matrix right, and that its linear layer is right with it."""
    for name, w in weights.items():
        if is_ternary(name, w):
            rows = [draw.normal(2, size).astype(w.dtype) for size in (w.shape[1], len(w))]
            given = Inputs(w, *rows, group)
            require_within(results(answer, given), given, f"the matrix {name}")
