"""How the probes of `kv_cache` draw tokens, drive a cache through the contract, and judge what it returns.

Faults hide one another, so most probes draw tokens that show one of them and are blind to the others:

* labelled tokens: the value of token t is the t-th unit vector, so an output is the row of weights it was made with;
* stepped tokens: every later token scores so low that it weighs nothing, whatever the mask does;
* alike tokens: all values of a sequence are one vector, which comes back whichever of its own tokens are seen, and
  only those.

Numbers are judged by their error over the oracle's movement under half an ulp of its inputs. Two results of the answer
that should be equal may differ by twice what one may be off. Lost digits are charged as `accuracy` alone: elsewhere an
answer whose plain results have lost some is judged as coarsely as these are exact.

The docstrings of the probes name the relations K01 to K24. Every relation between results of the answer itself starts
from a result that is neither constant nor a copy of an input.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import PASS, conditioning, error_ratio, instead, judge
from harness.probing import Answer, Array, Draw, Keep, ProbeFailure, Scalar, expect, laws, offers
from harness.probing.diagnosis import TracedAnswer
from harness.probing.failures import FaultElsewhere, NotOffered, Spared

from .oracle import attention

Floats = NDArray[Any]
Long = NDArray[np.longdouble]

SLOT = 2
"""The slot of probes that need one: neither the first nor the last of the four there are."""
HIDDEN_SCORE = -1000.0
"""exp of it is 0 in both dtypes."""
STRUCTURE = laws.DIGITS["float64"]
"""Error at float64, over the largest entry, up to which no token is missing, and none too many."""
HALF = laws.DIGITS["float16"]
"""The same where half precision has lost the digits: what is wrong in more has lost more than digits."""
BEYOND_DIGITS = "a result is wrong in more than its digits"
SHARPNESS = 16.0
"""Score of a needle's key over sqrt(D): others, of random direction, stay some 48 below it."""


@dataclass(frozen=True)
class Tokens:
    """Positions of some sequences: q (B, H, n, D); k and v (B, Hkv, n, D)."""

    q: Floats
    k: Floats
    v: Floats

    @property
    def dtype(self) -> str:
        return str(self.q.dtype.name)

    @property
    def length(self) -> int:
        return int(self.q.shape[2])

    def part(self, start: int, stop: int | None = None) -> "Tokens":
        """Positions start .. stop - 1."""
        return Tokens(*(np.ascontiguousarray(a[:, :, start:stop]) for a in (self.q, self.k, self.v)))

    def rows(self, *order: int) -> "Tokens":
        """Some of the sequences."""
        return Tokens(*(a[list(order)] for a in (self.q, self.k, self.v)))

    def then(self, other: "Tokens") -> "Tokens":
        """Both, one behind the other."""
        return Tokens(*(np.concatenate(pair, axis=2) for pair in zip(self, other, strict=True)))

    def but(self, **changes: Any) -> "Tokens":
        """The same with other numbers in some places, in this dtype and shape."""
        fitted = {n: np.broadcast_to(a, getattr(self, n).shape).astype(self.dtype) for n, a in changes.items()}
        return replace(self, **fitted)

    def __iter__(self) -> Any:
        return iter((self.q, self.k, self.v))


def normal(draw: Draw, B: int, H: int, n: int, D: int, dtype: str, kv_heads: int | None = None) -> Tokens:
    """Standard normal tokens."""
    kv = (B, kv_heads or H, n, D)
    return Tokens(draw.normal(B, H, n, D, dtype=dtype), draw.normal(*kv, dtype=dtype), draw.normal(*kv, dtype=dtype))


def labelled(draw: Draw, H: int, n: int, dtype: str) -> Tokens:
    """One sequence of n tokens in n dimensions; the value of token t is the t-th unit vector."""
    return normal(draw, 1, H, n, n, dtype).but(v=np.eye(n))


def stepped(draw: Draw, H: int, n: int, dtype: str) -> Tokens:
    """One sequence of n tokens in n dimensions whose scores are normal up to the own position and hidden after it."""
    later = np.triu(np.ones((n, n), bool), 1)
    scores = np.where(later, HIDDEN_SCORE, draw.normal(1, H, n, n))
    return normal(draw, 1, H, n, n, dtype).but(q=scores, k=np.eye(n) * np.sqrt(n))


def alike(draw: Draw, B: int, H: int, n: int, D: int, dtype: str) -> tuple[Tokens, Floats]:
    """B sequences, each of one value a head; and these values (B, H, 1, D)."""
    value = draw.normal(B, H, 1, D, dtype=dtype)
    return normal(draw, B, H, n, D, dtype).but(v=value), value


def needles(
    draw: Draw, n: int, D: int, dtype: str, *, keys: float = 1.0, values: float = 1.0, even: bool = False
) -> Tokens:
    """One sequence of n tokens and a last one, with n heads; the last query of head h finds token h and no other.

    Args:
        draw: the source.
        n: tokens to be found.
        D: head dimension; at 32 random directions are far enough apart.
        dtype: of the arrays.
        keys: root mean square of a key.
        values: values lie in [-values, values].
        even: whether the numbers of the first token's key are equal, and those of its value.
    """
    tokens = normal(draw, 1, n, n + 1, D, dtype)
    k = tokens.k / np.sqrt((tokens.k**2).mean(axis=-1, keepdims=True)) * keys
    q, v = tokens.q.copy(), draw.uniform(1, n, n + 1, D, low=-values, high=values)
    if even:
        k[:, :, 0], v[:, :, 0] = keys, values
    q[0, :, n] = k[0, range(n), range(n)] * (SHARPNESS / keys**2)
    return tokens.but(q=q, k=k, v=v)


class Cache:
    """A cache of the answer, made for tokens like the ones given."""

    def __init__(
        self, answer: Answer, like: Tokens, *, layers: int = 1, slots: int = 4, room: int = 40, **options: Any
    ) -> None:
        self.answer = answer
        _, heads, _, head_dim = like.q.shape
        self.handle = answer.call(
            "create_cache", num_layers=layers, num_heads=heads, num_kv_heads=like.k.shape[1], head_dim=head_dim,
            max_batch=slots, max_length=room, dtype=like.dtype, returns=Keep(), **options,
        )  # fmt: skip

    def prefill(
        self, slots: Sequence[int], tokens: Tokens, lengths: Sequence[int] | None = None, *, layer: int = 0, **how: Any
    ) -> Any:
        """What `prefill` returns, (B, H, n, D)."""
        how = {"returns": Array(tokens.q.shape, tokens.dtype), **how}
        return self._call("prefill", slots, tokens, self._lengths(tokens, lengths), layer=layer, **how)

    def store(
        self, slots: Sequence[int], tokens: Tokens, lengths: Sequence[int] | None = None, *, layer: int = 0
    ) -> None:
        """`prefill` for what it stores; what it returns is another probe's matter."""
        self._call("prefill", slots, tokens, self._lengths(tokens, lengths), layer=layer, returns=Keep())

    def decode(self, slots: Sequence[int], tokens: Tokens, *, layer: int = 0, **how: Any) -> Any:
        """What `decode` returns, (B, H, 1, D)."""
        how = {"returns": Array(tokens.q.shape, tokens.dtype), **how}
        return self._call("decode", slots, tokens, layer=layer, **how)

    def release(self, slot: int) -> None:
        self.answer.call("release", self.handle, slot, returns=Keep())

    def fork(self, src: int, dst: int) -> None:
        self.answer.call("fork", self.handle, src, dst, returns=Keep())

    def truncate(self, slot: int, length: int) -> None:
        self.answer.call("truncate", self.handle, slot, length, returns=Keep())

    def bytes(self) -> int:
        """What the answer says it holds."""
        return int(self.answer.call("memory_bytes", self.handle, returns=Scalar(int)))

    def _call(
        self, function: str, slots: Sequence[int], tokens: Tokens, *lengths: Any, layer: int, returns: Any, **how: Any
    ) -> Any:
        named = np.array(slots, np.int64)
        return self.answer.call(function, self.handle, layer, named, *tokens, *lengths, returns=returns, **how)

    @staticmethod
    def _lengths(tokens: Tokens, lengths: Sequence[int] | None) -> NDArray[np.int64]:
        return np.array(lengths if lengths is not None else [tokens.length] * len(tokens.q), np.int64)


def claimed(answer: Answer, capability: str) -> bool:
    """Whether the answer claims an option, `name` or `name:value`; one that claims nothing is asked for everything."""
    return not answer.capabilities or offers(answer.capabilities, capability)


def require_offered(answer: Answer, function: str) -> None:
    """Require a function of an option.

    Raises:
        NotOffered: the answer has none.
    """
    if not answer.has(function):
        raise NotOffered(f"`{function}` is not offered")


def exact(tokens: Tokens, draw: Draw, start: int = 0, window: int | None = None) -> tuple[Long, float]:
    """The oracle's outputs (1, H, n - start, D) at positions start .. n - 1 of one sequence, and their spread."""

    def attended(q: Floats, k: Floats, v: Floats) -> Long:
        return attention(q, k, v, start, window)[None]

    inputs = (tokens.q[0, :, start:], tokens.k[0], tokens.v[0])
    return attended(*inputs), conditioning(attended, inputs, draw.rng)[0]


def right(
    answer: Answer, title: str, name: str, got: Floats, oracle: Floats, spread: float, doing: str = "", *,
    digits: bool = False,
) -> float:  # fmt: skip
    """Return the error ratio of `got`, which must pass, or be wrong in digits alone that plain results have lost, too.

    Args:
        answer: whose result it is.
        title: the fault in a phrase, if it does not.
        name: what `got` is.
        got: of the answer.
        oracle: long double.
        spread: of the oracle.
        doing: what was done to get it.
        digits: whether lost digits are the question; what is wrong in more is then another criterion's matter.
    """
    try:
        return expect.close(name, got, oracle, spread)
    except ProbeFailure as why:
        ratio = float(why.measured.get("error_ratio", np.inf))
        if not digits and (
            (got.dtype == np.float64 and is_near(got, oracle, STRUCTURE))
            or ratio <= PASS * measure_lost_digits(answer, got.dtype.name)
        ):
            return ratio
        detail = f"{doing}: {why.detail}" if doing else why.detail
        seen = {"where": why.where, "expected": why.expected, "got": why.got}
        if not digits:
            raise ProbeFailure(title, detail, **seen) from None
        if not is_near(got, oracle, HALF):
            raise FaultElsewhere(BEYOND_DIGITS, detail, **seen) from None
        kept = int(-np.log10(np.abs(got - oracle).max() / np.abs(oracle).max()))
        precision = np.finfo(got.dtype).precision
        raise ProbeFailure(title, f"{detail}; {kept} of {precision} digits are right", **seen) from None


def figures(**ratios: float) -> dict[str, float]:
    """Return error ratios as figures, by what they are of; one that does not pass is of lost digits, and left out."""
    return {f"{name}_error_ratio": ratio for name, ratio in ratios.items() if ratio <= PASS}


def is_near(got: Floats, oracle: Floats, within: float) -> bool:
    """Return whether no entry is off by more than `within` of the largest one."""
    off = np.abs(got - oracle).max(initial=0.0)
    return bool(off <= within * np.abs(oracle).max(initial=0.0))


def plain_results(answer: Answer, draw: Draw, dtype: str) -> Iterator[tuple[str, Floats, Long, float]]:
    """Yield plain results (1, H, 1, D), each with what was done to get it, the oracle's values and their spread."""
    tokens = normal(draw, 1, 4, 4, 16, dtype)
    for prompt, length in ((1, 1), (3, 3), (3, 4)):
        seen, cache = tokens.part(0, length), Cache(answer, tokens)
        out = cache.prefill([SLOT], seen.part(0, prompt))[:, :, -1:]
        doing = f"the last position of a prompt of {prompt}"
        if length > prompt:
            out, doing = cache.decode([SLOT], seen.part(prompt)), f"a decode behind a prompt of {prompt}"
        yield doing, out, *exact(seen, draw, length - 1)


def measure_lost_digits(answer: Answer, dtype: str) -> float:
    """Return the error ratio of the least exact plain result that has lost digits alone; 1 where all pass.

    Results that are wrong in more, and calls that are not to be made, tell nothing of digits. No call enters a trace:
    which known fault the answer behaves like is a question of the calls that a probe makes.
    """
    lost = 1.0
    while isinstance(answer, TracedAnswer):
        answer = answer.answer
    try:
        for _, out, oracle, spread in plain_results(answer, Draw(0, "plain"), dtype):
            ratio = judge(out, oracle, spread).ratio
            if ratio > PASS and is_near(out, oracle, HALF):
                lost = max(lost, ratio)
    except (ProbeFailure, Spared):
        pass
    return lost


def agree(
    answer: Answer, title: str, name: str, got: Floats, wanted: Floats, spread: float, doing: str = ""
) -> None:
    """Require two results of an answer to be equal but for digits, or for rounding, by which each may be off.

    Args:
        answer: whose results they are.
        title: the fault in a phrase, if they differ.
        name: what they are.
        got: one.
        wanted: the other.
        spread: of the oracle there.
        doing: what was done to get the two.
    """
    if not laws.only_digits_apart(got, wanted):
        right(answer, title, name, got, wanted.astype(np.longdouble), 2 * spread, doing)


def right_or_like(
    answer: Answer, title: str, out: Floats, seen: Tokens, draw: Draw, other: Callable[[], Floats], doing: str
) -> None:
    """Require what the last of some tokens come to to be right, or as wrong as elsewhere, where that is judged.

    Args:
        answer: whose result it is.
        title: the fault in a phrase, if it is neither.
        out: (1, H, n, D), of the answer.
        seen: one sequence, the n tokens that ask last.
        draw: for the spread.
        other: what the answer makes of the same tokens in the plainest way; asked for only where `out` is wrong.
        doing: what was done to get `out`.
    """
    first = seen.length - out.shape[2]
    plain_oracle = attention(seen.q[0, :, first:], seen.k[0], seen.v[0], first)[None]
    if error_ratio(out, plain_oracle, 0.0) <= PASS:  # so it is by any spread, which takes ten times as long to find
        return
    oracle, spread = exact(seen, draw, first)
    try:
        right(answer, title, "out", out, oracle, spread, doing)
    except ProbeFailure as wrong:
        plain = other()
        expect.alive("out", plain, seen.q[:, :, first:])
        try:
            agree(answer, title, "out", out, plain, spread)
        except ProbeFailure:
            raise wrong from None


def returned(
    answer: Answer, title: str, name: str, got: Floats, value: Floats, doing: str = "", *, digits: bool = False
) -> None:
    """Require `got` to be `value`, the one value of every token seen, but for rounding, or lost digits as in `right`.

    A weighted mean of equal numbers is off by a few half ulps of them at most, so that is its spread.
    """
    wanted = np.broadcast_to(value, got.shape).astype(np.longdouble)
    spread = float(np.finfo(got.dtype).eps * np.abs(value).max()) / 2
    right(answer, title, name, got, wanted, spread, doing, digits=digits)


def within(answer: Answer, title: str, name: str, got: Floats, values: Floats, doing: str = "") -> None:
    """Require every output (1, H, n, D) to lie within the smallest and largest of the values (1, Hkv, m, D).

    Rounding, and digits that plain results have lost, too, may take it beyond.
    """
    low, high = (np.repeat(f(values, axis=2, keepdims=True), got.shape[1] // values.shape[1], axis=1)
                 for f in (np.min, np.max))  # fmt: skip
    unit, least = PASS * float(np.finfo(got.dtype).eps), STRUCTURE * (got.dtype == np.float64)

    def lies_inside(slack: float) -> NDArray[np.bool_]:
        beyond = slack * np.abs(values).max()
        return np.asarray((got >= low - beyond) & (got <= high + beyond))

    inside = lies_inside(max(unit, least))
    if not inside.all():
        inside = lies_inside(max(unit * measure_lost_digits(answer, got.dtype.name), least))
    if not inside.all():
        index = tuple(int(i) for i in np.argwhere(~inside)[0])
        place = f"{name}[{', '.join(map(str, index))}]"
        bounds = f"[{float(low[(*index[:2], 0, index[3])]):.9g}, {float(high[(*index[:2], 0, index[3])]):.9g}]"
        seen = f"{place} is {float(got[index]):.9g}; the values seen lie in {bounds}"
        raise ProbeFailure(title, f"{doing}: {seen}" if doing else seen, where=place, got=float(got[index]))


def weighed(
    answer: Answer, out: Floats, tokens: Tokens, draw: Draw, among: slice, missed: str, wrong: str
) -> None:  # fmt: skip
    """Require the last of some labelled tokens to give those `among` them weights, in the right proportion.

    Args:
        answer: whose result it is.
        out: (1, H, 1, D), what the last token's query came to.
        tokens: labelled; everything in the slot, and last the token that asks.
        draw: for the spread.
        among: the tokens in question.
        missed: the fault in a phrase, if some have no weight.
        wrong: the fault in a phrase, if the proportions are off.
    """

    def weights(q: Floats, k: Floats, v: Floats) -> Long:
        return attention(q, k, v, tokens.length - 1)[:, 0, among]

    def shares(q: Floats, k: Floats, v: Floats) -> Long:
        row = weights(q, k, v)
        return row / row.sum(axis=-1, keepdims=True)

    inputs = (tokens.q[0, :, -1:], tokens.k[0], tokens.v[0])
    got, oracle = out[0, :, 0, among], weights(*inputs)
    blind = np.argwhere(~(got > oracle / 1000))
    if len(blind):
        head, token = (int(i) for i in blind[0])
        place = f"weight[{head}, {token + among.start}]"
        seen = f"{place} is {instead(got[head, token], oracle[head, token])}"
        raise ProbeFailure(
            missed, f"{seen}; weights missing: {len(blind)} of {got.size}", where=place,
            expected=float(oracle[head, token]), got=float(got[head, token]),
        )  # fmt: skip
    spread = conditioning(shares, inputs, draw.rng)[0]
    right(answer, wrong, "share", got / got.sum(axis=-1, keepdims=True), shares(*inputs), spread)
