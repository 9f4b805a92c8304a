"""Probes of several sequences in one cache: rows, slots, lengths and layers do not mix."""

import functools
from collections.abc import Sequence

import numpy as np

from harness.probing import Answer, Draw, FaultElsewhere, ProbeFailure, expect, probe

from .binding import SLOT, Cache, Floats, Tokens, agree, alike, exact, normal, returned, right_or_like

MIXES = "a sequence sees tokens of another"
MIXES_ROWS = "a row depends on the other rows of its call"
MIXES_SLOTS = "a slot shows other values than its own"
MIXES_LAYERS = "a layer's output is wrong where another layer is used"
PADDING_KEPT = "a token after a padded prompt sees more than real tokens"
PADDING = "a real position of a padded prompt sees more than real tokens"
NOT_FINITE = "what is not finite in padding reaches real positions"
NAN, INF = float("nan"), float("inf")
SMALL = {"B": 2, "S": 2, "H": 1, "D": 4, "dtype": "float64"}
WIDE = {"B": 4, "S": 6, "H": 2, "D": 8, "dtype": "float64"}
WIDE_32 = {"B": 4, "S": 5, "H": 2, "D": 8, "dtype": "float32"}
ORDER = (2, 0, 3, 1)
"""Slots in an order that is neither theirs nor its reverse."""


@probe({"B": 2, "steps": 1, "H": 1, "D": 4, "dtype": "float64"},
       {"B": 4, "steps": 2, "H": 2, "D": 8, "dtype": "float32"}, floors={"B": 2, "D": 2})  # fmt: skip
def other_sequences_leave_no_trace(
    answer: Answer, draw: Draw, *, B: int, steps: int, H: int, D: int, dtype: str
) -> None:
    """K04, K05: exchange every token of the other slots, and a sequence comes to the same.

    Begun one after the other, then decoded in turns; the first to begin is watched, then the last.
    """
    own, *others = (normal(draw, B, H, steps + 1, D, dtype) for _ in range(3))
    slots = ORDER[:B]
    for watched in (0, B - 1):
        seen: list[list[Floats]] = []
        for other in others:
            tokens = [own.rows(row) if row == watched else other.rows(row) for row in range(B)]
            cache, outs = Cache(answer, own), []
            for at in range(steps + 1):
                for row, slot in enumerate(slots):
                    call = cache.decode if at else cache.prefill
                    out = call([slot], tokens[row].part(at, at + 1))
                    outs += [out] * (row == watched)
            seen.append(outs)
        spread = exact(own.rows(watched), draw)[1]
        if watched == 0:
            expect.alive("out", seen[0][-1], own.q[[watched], :, -1:])
        for at, (once, again) in enumerate(zip(*seen, strict=True)):
            doing = f"every token of the other slots exchanged (B = {B}), token {at} of slot {slots[watched]}"
            agree(answer, MIXES, "out", again, once, spread, doing)


@probe(SMALL, WIDE, WIDE_32, floors={"B": 2})
def rows_together_equal_rows_alone(answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str) -> None:
    """K05, K20: a row comes to the same in a batch as in a cache of its own; two of the rows are identical."""
    tokens = normal(draw, B - 1, H, S + 1, D, dtype).rows(*range(B - 1), 0)
    slots = ORDER[:B]
    batch = Cache(answer, tokens)
    prompts = batch.prefill(slots, tokens.part(0, S))
    expect.alive("out", prompts, *tokens.part(0, S))
    decoded = batch.decode(slots, tokens.part(S))
    for row in range(B):
        own = tokens.rows(row)
        alone, spread = Cache(answer, own), exact(own, draw)[1]
        wanted = alone.prefill([slots[row]], own.part(0, S))
        agree(answer, MIXES_ROWS, "out", prompts[[row]], wanted, spread, f"a prompt in a batch of {B} and alone")
        wanted = alone.decode([slots[row]], own.part(S))
        agree(answer, MIXES_ROWS, "out", decoded[[row]], wanted, spread, f"a decode in a batch of {B} and alone")


@probe({"B": 2, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"B": 4, "S": 7, "H": 2, "D": 8, "dtype": "float32"},
       floors={"B": 2, "S": 2})  # fmt: skip
def rows_of_other_lengths_equal_rows_alone(
    answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str
) -> None:
    """K05: rows that hold different numbers of tokens decode together as each does alone, in this order and back."""
    lengths = _ragged(B, S, 1)
    for each in (lengths, lengths[::-1]):
        _decode_as_alone(answer, draw, each, H, D, dtype)


@probe(SMALL, WIDE, floors={"B": 2})
def the_order_of_rows_does_not_matter(
    answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str
) -> None:
    """K04: rows in another order, with their slots, come to the same in that order."""
    tokens, slots = normal(draw, B, H, S + 1, D, dtype), np.array(ORDER[:B])
    order = [int(i) for i in draw.permutation(B)]
    outs = []
    for rows in (list(range(B)), order):
        cache, moved = Cache(answer, tokens), tokens.rows(*rows)
        outs.append((cache.prefill(slots[rows], moved.part(0, S)), cache.decode(slots[rows], moved.part(S))))
    expect.alive("out", outs[0][0], *tokens.part(0, S))
    spread = max(exact(tokens.rows(row), draw)[1] for row in range(B))
    for name, plain, moved_out in zip(("prompts", "decodes"), *outs, strict=True):
        doing = f"{name}, rows in the order {order}"
        agree(answer, "the order of rows matters", "out", moved_out, plain[order], spread, doing)


@probe({"S": 3, "n": 1, "B": 1, "how": "prefill"}, {"S": 3, "n": 1, "B": 1, "how": "decode"},
       {"S": 6, "n": 2, "B": 3, "how": "prefill"}, {"S": 6, "n": 2, "B": 3, "how": "decode"},
       floors={"S": 2}, H=2, D=4, dtype="float64")  # fmt: skip
def padding_has_no_weight_later(
    answer: Answer, draw: Draw, *, S: int, n: int, B: int, how: str, H: int, D: int, dtype: str
) -> None:
    """K06, K17: after a padded prompt all real values are alike, and what a later token sees is that value.

    Padding holds other numbers, so that it shows whether it was stored as it is or as zeros. Of several rows, which may
    see each other for another reason, it is asked whether what padding holds makes a difference.
    """
    _same_for_finite_padding(answer, draw, PADDING_KEPT, how, B, H, S, n, D, dtype)


@probe({"S": 3, "n": 2, "B": 1}, {"S": 7, "n": 3, "B": 3}, floors={"S": 2}, H=2, D=4, dtype="float64")
def padding_has_no_weight_in_its_prompt(
    answer: Answer, draw: Draw, *, S: int, n: int, B: int, H: int, D: int, dtype: str
) -> None:
    """K06: what padding holds does not reach the real positions of its prompt."""
    _same_for_finite_padding(answer, draw, PADDING, "", B, H, S, n, D, dtype)


@probe({"S": 3, "n": 2, "B": 1, "how": "", "fill": NAN}, {"S": 3, "n": 2, "B": 1, "how": "decode", "fill": INF},
       {"S": 5, "n": 3, "B": 1, "how": "prefill", "fill": NAN}, {"S": 7, "n": 3, "B": 3, "how": "", "fill": INF},
       {"S": 6, "n": 2, "B": 3, "how": "prefill", "fill": INF}, {"S": 6, "n": 2, "B": 3, "how": "decode", "fill": NAN},
       {"S": 70, "n": 40, "B": 2, "how": "", "fill": NAN}, {"S": 70, "n": 40, "B": 2, "how": "decode", "fill": INF},
       floors={"S": 3, "n": 2}, H=2, D=4, dtype="float64")  # fmt: skip
def padding_may_hold_anything(
    answer: Answer, draw: Draw, *, S: int, n: int, B: int, how: str, fill: float, H: int, D: int, dtype: str
) -> None:
    """K06, K17: infinities and NaN as padding give what numbers give there, in the prompt and after it.

    Where numbers there matter as well, that is `ragged_lengths`'s.
    """
    prompt, token = normal(draw, B, H, S, D, dtype), normal(draw, B, H, 1, D, dtype)
    lengths = _ragged(B, S, min(n, S - 1))

    def padded(number: float) -> list[Floats]:
        return _with_padding(answer, _filled(prompt, lengths, number, "qkv"), lengths, token, how)

    finite = padded(-3.0)
    expect.alive("out", finite[0], *(token.rows(0) if how else prompt.rows(0).part(0, lengths[0])))

    def same(number: float, title: str) -> None:
        with expect.works("a call fails where padding is not finite"):
            outs = padded(number)
        for row, (length, out) in enumerate(zip(lengths, outs, strict=True)):
            real = prompt.rows(row).part(0, length)
            spread = exact(real.then(token.rows(row)) if how else real, draw)[1]
            agree(answer, title, "out", out, finite[row], spread, _doing(length, S, number, how))

    with expect.only_beside(lambda: same(1000.0, PADDING_KEPT if how else PADDING)):
        same(fill, NOT_FINITE)


@probe({"B": 2, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"B": 3, "S": 7, "H": 2, "D": 8, "dtype": "float64"},
       floors={"B": 2, "S": 2})  # fmt: skip
def ragged_rows_decode_as_alone(answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str) -> None:
    """K17: rows of different lengths, prompted and decoded in one call, decode as each does alone.

    Where rows of equal lengths do not either, that is `batch_isolation`'s.
    """
    tokens, last = normal(draw, B, H, S, D, dtype), normal(draw, B, H, 1, D, dtype)
    lengths, slots = _ragged(B, S, 1), ORDER[:B]
    cache = Cache(answer, tokens)
    cache.store(slots, tokens, lengths)
    together = cache.decode(slots, last)
    expect.alive("out", together, *last)
    if not _rows_apart(answer, draw, B, S, H, D, dtype):
        return
    for row, length in enumerate(lengths):
        own = tokens.rows(row).part(0, length)
        alone = Cache(answer, own)
        alone.store([slots[row]], own)
        wanted = alone.decode([slots[row]], last.rows(row))
        spread = exact(own.then(last.rows(row)), draw, length)[1]
        doing = f"a row of length {length} among lengths {lengths}"
        agree(answer, "a row's length is not honoured", "out", together[[row]], wanted, spread, doing)


@probe({"B": 2, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"B": 3, "S": 7, "H": 2, "D": 8, "dtype": "float64"},
       floors={"B": 2, "S": 2})  # fmt: skip
def ragged_chunks_follow_ragged_prompts(
    answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str
) -> None:
    """K07, K17: prompts of different lengths in one call, then chunks of other lengths: every position comes to what
    it does alone. Where rows of equal lengths do not, that is `batch_isolation`'s, and `causality`'s where a chunk
    alone sees later tokens as well."""
    prompts, chunks = (normal(draw, B, H, S, D, dtype) for _ in range(2))
    lengths, slots = _ragged(B, S, 1), ORDER[:B]
    cache, more = Cache(answer, prompts), lengths[::-1]
    cache.store(slots, prompts, lengths)
    together = cache.prefill(slots, chunks, more)
    expect.alive("out", together[0, :, : more[0]], *chunks)
    if not _rows_apart(answer, draw, B, S, H, D, dtype):
        return
    for row, (first, second) in enumerate(zip(lengths, more, strict=True)):
        parts = [prompts.rows(row).part(0, first), chunks.rows(row).part(0, second)]
        out = together[[row], :, :second]
        doing = f"a chunk of {second} behind a prompt of {first}, among prompts of {lengths} in one call"
        alone = functools.partial(_chunks_alone, answer, parts)
        title = "a chunk behind a prompt of another length than its neighbours' is wrong"
        right_or_like(answer, title, out, parts[0].then(parts[1]), draw, alone, doing)


@probe({"S": 3, "n": 1, "H": 1, "D": 4, "dtype": "float64"}, {"S": 7, "n": 3, "H": 2, "D": 4, "dtype": "float32"},
       floors={"S": 2})  # fmt: skip
def padding_takes_no_room(answer: Answer, draw: Draw, *, S: int, n: int, H: int, D: int, dtype: str) -> None:
    """K17: a slot counts its real tokens only, so as many more fit as max_length says. Too many are `capacity`'s."""
    n = min(n, S - 1)
    tokens = normal(draw, 1, H, S, D, dtype)
    cache = Cache(answer, tokens, room=S)
    cache.store([SLOT], tokens, [n])
    for at in range(n, S):
        cache.decode([SLOT], tokens.part(at, at + 1))


@probe({"B": 2, "by": "", "H": 1, "D": 4, "dtype": "float64"}, {"B": 3, "by": "", "H": 2, "D": 4, "dtype": "float32"},
       {"B": 4, "by": "swap", "H": 1, "D": 4, "dtype": "float64"},
       {"B": 3, "by": "outsider", "H": 1, "D": 4, "dtype": "float64"},
       {"B": 5, "by": "outsider", "H": 2, "D": 4, "dtype": "float32"}, floors={"B": 2})  # fmt: skip
def rows_go_to_the_slots_they_name(answer: Answer, draw: Draw, *, B: int, by: str, H: int, D: int, dtype: str) -> None:
    """K04: any subset of the slots in any order; all values of a sequence are alike, and come back from its slot.

    `by` is what tells slots whose ends are those of a range from that range: two are swapped, or one is of others.
    """
    tokens, value = alike(draw, B, H, 4, D, dtype)
    slots = {"": (5, 1, 4, 0, 2), "swap": (1, 3, 2, 4, 5), "outsider": (0, 5, *range(2, B))}[by][:B]
    cache = Cache(answer, tokens, slots=7)
    out = cache.prefill(slots, tokens.part(0, 1))
    returned(answer, MIXES_SLOTS, "out", out, value, f"first tokens for the slots {slots}")
    for at, rows in ((1, [B - 1, 0]), (2, list(range(B))), (3, [0]), (3, [B - 1])):
        named = [slots[row] for row in rows]
        out = cache.decode(named, tokens.rows(*rows).part(at, at + 1))
        returned(answer, MIXES_SLOTS, "out", out, value[rows], f"slots {slots} filled, slots {named} decode")


@probe({"layers": 2, "H": 1, "D": 4, "dtype": "float64"}, {"layers": 4, "H": 2, "D": 4, "dtype": "float32"},
       floors={"layers": 2})  # fmt: skip
def tokens_of_other_layers_stay_out(answer: Answer, draw: Draw, *, layers: int, H: int, D: int, dtype: str) -> None:
    """K18: one slot, all values of a layer alike: a prompt and a decode in each give what they give alone."""
    tokens, _ = alike(draw, layers, H, 2, D, dtype)
    cache = Cache(answer, tokens, layers=layers)
    for at in (0, 1):
        for layer in range(layers):
            call = cache.decode if at else cache.prefill
            own = tokens.rows(layer)
            out = call([SLOT], own.part(at, at + 1), layer=layer)
            alone = functools.partial(_alone, answer, [own.part(each, each + 1) for each in range(at + 1)])
            doing = f"layer {layer} of {layers}, its token {at}"
            right_or_like(answer, MIXES_LAYERS, out, own.part(0, at + 1), draw, alone, doing)


@probe({"calls": 12, "H": 1, "D": 4, "dtype": "float64"}, {"calls": 40, "H": 2, "D": 6, "dtype": "float64"},
       floors={"D": 2}, layers=1)  # fmt: skip
def a_busy_cache_equals_fresh_ones(
    answer: Answer, draw: Draw, *, calls: int, layers: int, H: int, D: int, dtype: str
) -> None:
    """K04, K15: prompts, decodes and releases in any order; each sequence gives the same result as alone.

    Where the oracle is not met, a cache that sees the calls of that sequence only says whether the others matter.
    """
    cache = Cache(answer, normal(draw, 1, H, 1, D, dtype), layers=layers, room=calls + 3)
    lives: dict[tuple[int, int], list[Tokens]] = {}
    for _ in range(calls):
        layer, slots = draw.integer(0, layers - 1), [int(slot) for slot in draw.permutation(4)[: draw.integer(1, 2)]]
        if draw.integer(0, 4) == 0:
            cache.release(slots[0])
            lives = {place: life for place, life in lives.items() if place[1] != slots[0]}
            continue
        begun = [bool(lives.get((layer, slot))) for slot in slots]
        n = 1 if any(begun) else draw.integer(1, 3)
        tokens = normal(draw, len(slots), H, n, D, dtype)
        out = (cache.decode if any(begun) else cache.prefill)(slots, tokens, layer=layer)
        for row, slot in enumerate(slots):
            life = lives.setdefault((layer, slot), [])
            life.append(tokens.rows(row))
            whole, doing = functools.reduce(Tokens.then, life), f"slot {slot} of layer {layer}, its call {len(life)}"
            alone = functools.partial(_alone, answer, life)
            title = "a sequence in a used cache differs from the same one in a fresh cache"
            right_or_like(answer, title, out[[row], :, -1:], whole, draw, alone, doing)


def _alone(answer: Answer, life: list[Tokens]) -> Floats:
    """What the last call of a sequence comes to in a cache of its own: a prompt, then decodes."""
    first, *steps = life
    cache = Cache(answer, first, room=first.length + len(steps))
    out: Floats = cache.prefill([SLOT], first)[:, :, -1:]
    for step in steps:
        out = cache.decode([SLOT], step)
    return out


def _chunks_alone(answer: Answer, parts: Sequence[Tokens]) -> Floats:
    """What the last of some chunks comes to in a cache of its own."""
    cache = Cache(answer, parts[0])
    return [cache.prefill([SLOT], part) for part in parts][-1]


def _same_for_finite_padding(
    answer: Answer, draw: Draw, title: str, how: str, B: int, H: int, S: int, n: int, D: int, dtype: str
) -> None:
    """Require a padded prompt, or the tokens after it where `how` names their call, to be the same for two fillings.

    Raises:
        FaultElsewhere: real tokens of the prompt change nothing either, so that padding shows nothing.
    """
    tokens, value = alike(draw, B, H, S, D, dtype)
    token, lengths = normal(draw, B, H, 1, D, dtype).but(v=value), _ragged(B, S, min(n, S - 1))
    outs, others = (
        _with_padding(answer, _filled(tokens, lengths, number, "v"), lengths, token, how) for number in (1000.0, -3.0)
    )
    if B == 1:
        doing = f"a prompt of length {lengths[0]} padded to {S}" + (f", then a {how} of one token" if how else "")
        returned(answer, title, "out", outs[0], value, doing)
    for out, other, length in zip(outs, others, lengths, strict=True):
        spread = float(np.finfo(dtype).eps * np.abs(value).max()) / 2
        agree(answer, title, "out", out, other, spread, _doing(length, S, 1000.0, how))
    if how:
        before = [length - 1 for length in lengths]
        changed = _with_padding(answer, _filled(tokens, before, 1000.0, "v"), lengths, token, how)
        if any(map(np.array_equal, outs, changed)):
            detail = f"a {how} behind a prompt of {lengths[0]} tokens gives the same with another value of its last one"
            raise FaultElsewhere("a token does not see the prompt before it", detail)


def _with_padding(answer: Answer, prompt: Tokens, lengths: list[int], token: Tokens, how: str) -> list[Floats]:
    """Return the outputs of each row of a padded prompt, or of the token after it where `how` names its call."""
    cache, slots = Cache(answer, prompt, room=prompt.length + 40), ORDER[: len(lengths)]
    if not how:
        out = cache.prefill(slots, prompt, lengths)
        return [out[[row], :, :length] for row, length in enumerate(lengths)]
    cache.store(slots, prompt, lengths)
    out = (cache.prefill if how == "prefill" else cache.decode)(slots, token)
    return [out[[row]] for row in range(len(lengths))]


def _doing(length: int, S: int, number: float, how: str) -> str:
    then = f", then a {how}" if how else ""
    return f"a prompt of length {length} padded to {S} with {number:g} instead of -3{then}"


def _rows_apart(answer: Answer, draw: Draw, B: int, S: int, H: int, D: int, dtype: str) -> bool:
    """Whether rows of equal lengths decode together as each does alone, and those of others that no padding had."""
    try:
        for lengths in ([S] * B, _ragged(B, S, 1)):
            _decode_as_alone(answer, draw, lengths, H, D, dtype)
    except ProbeFailure:
        return False
    return True


def _decode_as_alone(answer: Answer, draw: Draw, lengths: Sequence[int], H: int, D: int, dtype: str) -> None:
    """Require rows, prompted in one call if their lengths are equal, to decode together as each does alone."""
    B, longest = len(lengths), max(lengths)
    tokens, last, slots = normal(draw, B, H, longest, D, dtype), normal(draw, B, H, 1, D, dtype), ORDER[:B]
    prompts = [tokens.rows(row).part(0, length) for row, length in enumerate(lengths)]
    batch = Cache(answer, tokens)
    if min(lengths) == longest:
        batch.store(slots, tokens)
    else:
        for slot, prompt in zip(slots, prompts, strict=True):
            batch.store([slot], prompt)
    together = batch.decode(slots, last)
    for row, prompt in enumerate(prompts):
        own, alone = last.rows(row), Cache(answer, tokens)
        alone.store([slots[row]], prompt)
        spread = exact(prompt.then(own), draw, lengths[row])[1]
        doing = f"a decode of rows behind {list(lengths)} tokens and alone"
        agree(answer, MIXES_ROWS, "out", together[[row]], alone.decode([slots[row]], own), spread, doing)


def _ragged(B: int, S: int, shortest: int) -> list[int]:
    """Lengths of B rows: the last the shortest, the second of three or more the longest: never the first."""
    between = [min(S, shortest + 2 * (B - 2 - i)) for i in range(max(B - 2, 0))]
    return [*between[:1], *[S] * (B > 1), *between[1:], min(shortest, S)]


def _filled(tokens: Tokens, lengths: list[int], number: float, parts: str) -> Tokens:
    """The tokens with a number at padding, in those of q, k and v that `parts` names."""
    padded = (np.arange(tokens.length) >= np.array(lengths)[:, None])[:, None, :, None]
    return tokens.but(**{part: np.where(padded, number, getattr(tokens, part)) for part in parts})
