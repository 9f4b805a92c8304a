"""Probes of what a slot remembers: one sequence, a prompt and the decodes that follow it."""

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from harness.probing import (
    Answer,
    ArgumentsRejected,
    Array,
    Draw,
    InputUse,
    Keep,
    ProbeFailure,
    RemoteFunction,
    expect,
    laws,
    probe,
)

from .binding import (
    SHARPNESS,
    SLOT,
    Cache,
    Floats,
    Tokens,
    agree,
    exact,
    figures,
    labelled,
    needles,
    normal,
    returned,
    right,
    right_or_like,
    stepped,
    weighed,
)
from .probes_attention import LESS_EXACT

CALLER = """
KEPT = {}


def call(function, cache, layer, *arrays):
    kept = [KEPT.setdefault((place, array.shape), array.copy()) for place, array in enumerate(arrays)]
    for mine, numbers in zip(kept, arrays):
        mine[...] = numbers
    return function(cache, layer, *kept)
"""
"""Calls a function with the same arrays again and again, one for each place and shape, and other numbers in them."""
SAME = 1e-4
"""What two replies may be apart where the arrays lie elsewhere; other numbers in them are far more."""
DIFFERS = "a decode differs from attention over the whole history"
MISSED_PROMPT, WEIGHED_PROMPT = "a decode misses prompt tokens", "a decode weighs prompt tokens wrongly"
MISSED_DECODED, WEIGHED_DECODED = "a decode misses tokens decoded before it", "a decode weighs past decodes wrongly"


@probe({"S": 2, "steps": 2, "H": 1, "dtype": "float64"}, {"S": 13, "steps": 6, "H": 3, "dtype": "float64"},
       {"S": 13, "steps": 6, "H": 3, "dtype": "float32"}, floors={"S": 2})  # fmt: skip
def stepping_equals_recomputing(
    answer: Answer, draw: Draw, *, S: int, steps: int, H: int, dtype: str
) -> dict[str, float]:
    """K01: a prompt, then one token at a time, equals attention over the whole history, at every position.

    Scores of a prompt's later tokens are hidden by the inputs, so that only `causality` depends on the mask.
    """
    prompt = stepped(draw, H, S, dtype)
    tokens = prompt.then(normal(draw, 1, H, steps, S, dtype))
    return _stepped_through(answer, draw, tokens, S)


@probe({"S": 3, "steps": 1, "H": 1, "D": 4, "dtype": "float64"},
       {"S": 7, "steps": 12, "H": 2, "D": 8, "dtype": "float64"},
       {"S": 29, "steps": 5, "H": 4, "D": 24, "dtype": "float32"}, floors={"D": 2})  # fmt: skip
def any_history_is_attended(
    answer: Answer, draw: Draw, *, S: int, steps: int, H: int, D: int, dtype: str
) -> dict[str, float]:
    """K01 on normal tokens: a prompt's last position and every decode after it."""
    return _stepped_through(answer, draw, normal(draw, 1, H, S + steps, D, dtype), S, judged=S - 1)


@probe({"S": 2, "H": 1, "dtype": "float64"}, {"S": 5, "H": 2, "dtype": "float64"},
       {"S": 19, "H": 2, "dtype": "float32"})  # fmt: skip
def a_decode_weighs_every_prompt_token(answer: Answer, draw: Draw, *, S: int, H: int, dtype: str) -> None:
    """K03: the first decode after a prompt gives each of its tokens weight, in proportion."""
    tokens = labelled(draw, H, S + 1, dtype)
    cache = Cache(answer, tokens)
    cache.store([SLOT], tokens.part(0, S))
    out = cache.decode([SLOT], tokens.part(S))
    weighed(answer, out, tokens, draw, slice(0, S), MISSED_PROMPT, WEIGHED_PROMPT)


@probe({"S": 2, "D": 32, "dtype": "float64"}, {"S": 11, "D": 32, "dtype": "float32"}, fixed=("D",))
def a_decode_finds_every_prompt_token(answer: Answer, draw: Draw, *, S: int, D: int, dtype: str) -> None:
    """K13: a query that matches one prompt token gets that token's value; one head for each."""
    tokens = needles(draw, S, D, dtype)
    cache = Cache(answer, tokens)
    cache.store([SLOT], tokens.part(0, S))
    out = cache.decode([SLOT], tokens.part(S))
    title = "a decode does not find a prompt token"
    right(answer, title, "out", out, *exact(tokens, draw, S), "head h asks for token h")


@probe({"steps": 4, "H": 1, "dtype": "float64"}, {"steps": 14, "H": 2, "dtype": "float64"},
       {"steps": 9, "H": 2, "dtype": "float32"}, floors={"steps": 2})  # fmt: skip
def a_decode_weighs_every_token_decoded_before(answer: Answer, draw: Draw, *, steps: int, H: int, dtype: str) -> None:
    """K03 over decoded tokens: each of them has weight in every later decode, in proportion."""
    tokens = labelled(draw, H, steps + 1, dtype)
    cache = Cache(answer, tokens)
    cache.store([SLOT], tokens.part(0, 1))
    for at in range(1, steps + 1):
        out = cache.decode([SLOT], tokens.part(at, at + 1))
        if at > 1:
            weighed(answer, out, tokens.part(0, at + 1), draw, slice(1, at), MISSED_DECODED, WEIGHED_DECODED)


@probe({"steps": 4, "D": 32, "dtype": "float64"}, {"steps": 9, "D": 32, "dtype": "float32"},
       floors={"steps": 2}, fixed=("D",))  # fmt: skip
def a_decode_finds_every_decoded_token(answer: Answer, draw: Draw, *, steps: int, D: int, dtype: str) -> None:
    """K13 over decoded tokens: the last of some decodes finds each of the others; one head for each."""
    tokens = needles(draw, steps, D, dtype)
    cache = Cache(answer, tokens)
    for at in range(steps):
        cache.decode([SLOT], tokens.part(at, at + 1))
    out = cache.decode([SLOT], tokens.part(steps))
    title = "a decode does not find a decoded token"
    right(answer, title, "out", out, *exact(tokens, draw, steps), "head h asks for token h")


@probe({"room": 2, "H": 1, "D": 3, "dtype": "float64"}, {"room": 9, "H": 2, "D": 4, "dtype": "float32"},
       floors={"room": 2})  # fmt: skip
def a_slot_holds_exactly_max_length(answer: Answer, draw: Draw, *, room: int, H: int, D: int, dtype: str) -> None:
    """K16: max_length tokens fit, by decodes or prompts, and one more is a ValueError."""
    tokens, prompt = normal(draw, 1, H, room + 1, D, dtype), room // 2
    single, full, small = (Cache(answer, tokens, room=room) for _ in range(3))
    expect.alive("out", single.prefill([SLOT], tokens.part(0, prompt)), tokens.part(0, prompt).q)
    for at in range(prompt, room):
        single.decode([SLOT], tokens.part(at, at + 1))
    _refused(single, tokens.part(room), lambda: single.decode([SLOT], tokens.part(room)), "a decode beyond max_length")
    full.store([SLOT], tokens.part(0, room))
    _refused(full, tokens.part(room), lambda: full.store([SLOT], tokens.part(room)), "a prompt beyond max_length")
    _refused(small, tokens.part(room), lambda: small.store([SLOT], tokens), "a prompt longer than max_length")


@probe({"room": 2, "H": 1, "D": 3, "dtype": "float64"}, {"room": 9, "H": 2, "D": 4, "dtype": "float32"},
       floors={"room": 2})  # fmt: skip
def a_released_slot_takes_max_length(answer: Answer, draw: Draw, *, room: int, H: int, D: int, dtype: str) -> None:
    """K15, K16: a prompt of max_length fits a slot that is released, where all slots were filled in turns as well."""
    tokens = normal(draw, 1, H, room, D, dtype)

    def refill(slots: Sequence[int]) -> None:
        cache = Cache(answer, tokens, slots=2, room=room)
        for at, slot in itertools.product(range(room), slots):
            cache.decode([slot], tokens.part(at, at + 1))
        cache.release(0)
        cache.store([0], tokens)

    try:
        refill([0])
    except ArgumentsRejected:  # whether a release empties a slot is another criterion's matter
        return
    try:
        refill([0, 1])
    except ArgumentsRejected as why:
        raise ProbeFailure("a call that fits is refused where slots were filled in turns", why.detail) from None


@probe({"room": 3, "B": 1, "H": 1, "D": 4, "dtype": "float64"}, {"room": 3, "B": 2, "H": 1, "D": 4, "dtype": "float64"},
       {"room": 8, "B": 3, "H": 2, "D": 4, "dtype": "float64"}, floors={"room": 2})  # fmt: skip
def a_call_that_does_not_fit_is_refused(
    answer: Answer, draw: Draw, *, room: int, B: int, H: int, D: int, dtype: str
) -> None:
    """K16: a prompt, or a decode, of which a part fits is a ValueError, whichever row has no room.

    What such a call leaves behind is judged in `a_refused_call_changes_nothing`. An answer whose rows cannot be of
    different lengths fails elsewhere, not here.
    """
    held, extra, last = (normal(draw, B, H, n, D, dtype) for n in (room, 2, 1))
    slots, lengths = [2, 0, 3][:B], [room - 1] * (B - 1) + [room]
    if B == 1:
        cache = Cache(answer, held, room=room)
        cache.store(slots, held, [room - 1])
        expect.refused(lambda: cache.store(slots, extra), "a prompt beyond max_length")
        return
    plain, cache = (Cache(answer, held, room=room) for _ in range(2))
    plain.store(slots, held, lengths)
    try:
        for row in range(B - 1):
            plain.decode([slots[row]], last.rows(row))
    except ArgumentsRejected:
        return
    cache.store(slots, held, lengths)
    expect.refused(lambda: cache.store(slots, last), "a prompt with a row that has no room")
    expect.refused(lambda: cache.decode(slots, last), "a decode with a row that has no room")


@probe({"S": 2, "H": 1, "D": 4, "dtype": "float64"}, {"S": 6, "H": 2, "D": 4, "dtype": "float32"}, layers=2)
def a_released_slot_is_empty(answer: Answer, draw: Draw, *, S: int, layers: int, H: int, D: int, dtype: str) -> None:
    """K15: after release a slot begins anew, in every layer, with a prompt or with a decode.

    Each in a cache of its own, so that only the release can matter, and not what another layer was asked since.
    """
    tokens = normal(draw, 1, H, S, D, dtype)
    for layer, function in itertools.product(range(layers), ("prefill", "decode")):
        cache, first = Cache(answer, tokens, layers=layers), normal(draw, 1, H, 1, D, dtype)
        for each in range(layers):
            cache.store([SLOT], tokens, layer=each)
        cache.release(SLOT)
        out = getattr(cache, function)([SLOT], first, layer=layer)
        anew = functools.partial(getattr(Cache(answer, first), function), [SLOT], first)
        right_or_like(answer, "a released slot is not empty", out, first, draw, anew, f"layer {layer} after release")


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 2, "D": 5, "dtype": "float32"})
def a_decode_on_an_empty_slot_sees_itself(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> None:
    """K15: a slot that was never used takes a decode as its first token."""
    token = normal(draw, 1, H, 1, D, dtype)
    out = Cache(answer, token).decode([SLOT], token)
    returned(answer, "a decode on an empty slot does not return its value", "out", out, token.v)


@probe({"S": 2, "H": 1, "D": 4, "dtype": "float64"}, {"S": 6, "H": 2, "D": 4, "dtype": "float64"}, floors={"D": 2})
def release_spares_the_other_slots(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K15: a decode gives the same whether or not another slot was released before."""
    tokens = normal(draw, 2, H, S + 1, D, dtype)
    kept, outs = tokens.rows(0), []
    for releases in (False, True):
        cache = Cache(answer, tokens)
        cache.store([SLOT, 0], tokens.part(0, S))
        if releases:
            cache.release(0)
        outs.append(cache.decode([SLOT], kept.part(S)))
    expect.alive("out", outs[0], *kept.part(S))
    agree(answer, "a release changes another slot", "out", outs[1], outs[0], exact(kept, draw, S)[1], "slot 0 released")


@probe({"S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 5, "H": 2, "D": 4, "dtype": "float32"})
def earlier_outputs_stay(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K21: what a call returned is not changed by later calls."""
    tokens = normal(draw, 1, H, S + 3, D, dtype)
    cache, held = Cache(answer, tokens), []
    for start, stop in ((0, S), (S, S + 1), (S + 1, S + 2)):
        call = cache.prefill if stop == S else cache.decode
        held.append(call([SLOT], tokens.part(start, stop), hold=True))
    expect.alive("out", held[0][0], *tokens.part(0, S))
    cache.decode([SLOT], tokens.part(S + 2))
    cache.store([0], tokens.part(0, S))
    for out, kept in held:
        now = answer.fetch(kept, Array(out.shape, dtype))
        expect.same("out", now, out, "a later call changes an earlier result", "looked at again after two more calls")


@probe({"B": 1, "S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"B": 3, "S": 5, "H": 2, "D": 4, "dtype": "float32"},
       {"B": 64, "S": 2, "H": 16, "D": 64, "dtype": "float32"}, floors={"S": 2}, slow_fails=False)  # fmt: skip
def inputs_stay_as_they_were(answer: Answer, draw: Draw, *, B: int, S: int, H: int, D: int, dtype: str) -> None:
    """K21: neither prefill nor decode writes to its arguments, integers and arrays of 65,536 numbers included.

    How long an answer takes that works on one number after the other is not asked here.
    """
    tokens, lengths = normal(draw, B, H, S + 1, D, dtype), [(S, S - 1, 1)[row % 3] for row in range(B)]
    slots = [SLOT, 0, *range(3, B + 1)][:B]
    cache = Cache(answer, tokens, slots=max(B + 1, 4), room=max(40, B * (S + 1)))
    for call, part, more in (
        (cache.prefill, tokens.part(0, S), {"lengths": lengths}), (cache.decode, tokens.part(S), {}),
    ):  # fmt: skip
        out = call(slots, part, *more.values(), echo=True)
        expect.alive("out", out[:1], part.q)
        given = {"slots": slots, "q": part.q, "k": part.k, "v": part.v, **more}
        laws.inputs_stay({name: np.asarray(array) for name, array in given.items()}, answer.echo[: len(given)])


@probe({"S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 6, "H": 2, "D": 5, "dtype": "float32"}, floors={"S": 2},
       apart=True)  # fmt: skip
def the_same_arrays_may_hold_other_tokens(
    answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str
) -> None:
    """K21 turned round: a caller that keeps its arrays, and writes other numbers into them, gets what others get."""
    prompts = [normal(draw, 2, H, S + 3, D, dtype) for _ in range(2)]
    answer.load("caller", CALLER)
    outs: list[list[Floats]] = [[], []]
    for keeps, seen in enumerate(outs):
        cache = Cache(answer, prompts[0])
        for slots, tokens in zip(((SLOT, 0), (1, 3)), prompts, strict=True):
            for start, stop in itertools.pairwise((0, S, S + 1, S + 2, S + 3)):
                function, part = "decode" if start else "prefill", tokens.part(start, stop)
                given = (cache.handle, 0, np.array(slots), *part, *(() if start else (np.array([S, S - 1]),)))
                how = {"returns": Array(part.q.shape, dtype)}
                again = functools.partial(answer.call, "call", RemoteFunction("submission", function), module="caller")
                out = (again if keeps else functools.partial(answer.call, function))(*given, **how)
                seen.append(out if start else out[:, :, : S - 1])
    expect.alive("out", outs[0][0], prompts[0].q[:, :, : S - 1])
    title = "the same arrays with other numbers in them get another reply than new arrays"
    for number, (plain, kept) in enumerate(zip(*outs, strict=True)):
        doing = f"call {number + 1} of two prompts with three decodes each"
        expect.same("out", kept, plain, title, doing, within=SAME)


@probe({"S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 5, "H": 2, "D": 4, "dtype": "float32"})
def inputs_may_be_read_only(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K21: neither prefill nor decode writes to its arguments, not even for a while."""
    tokens = normal(draw, 1, H, S + 1, D, dtype)

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        cache = Cache(answer, tokens)
        prompt = cache.prefill([SLOT], tokens.part(0, S), inputs=inputs)
        expect.alive("out", prompt, *tokens.part(0, S))
        return {"a prompt": prompt, "a decode": cache.decode([SLOT], tokens.part(S), inputs=inputs)}

    laws.inputs_may_be_read_only(run)


@probe({"S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 1, "H": 2, "D": 4, "dtype": "float32"})
def results_belong_to_the_caller(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """K21: a caller may write to what was returned: it shares memory with no argument, no result and nothing held.

    Arguments are looked at, and written to, after the last call: what writing to them changes is no matter of results.
    """
    tokens = normal(draw, 2, H, S + 2, D, dtype)

    def program(caller: laws.Caller) -> laws.Arrays:
        cache, taken, passed = Cache(answer, tokens), {}, {}
        for start, stop in itertools.pairwise((0, S, S + 1, S + 2)):
            function, part = "decode" if start else "prefill", tokens.part(start, stop)
            given = caller.keeps(np.array([SLOT, 0]), *part, *(() if start else (np.array([S, S]),)))
            out = answer.call(function, cache.handle, 0, *given, returns=Keep())
            taken[f"result of call {start}"] = caller.takes(out, part.q.shape, dtype)
            named = zip("qkv", given[1:4], strict=True)
            passed |= {f"{name} of call {start}": (it, part.q.shape) for name, it in named}
        return taken | {name: caller.takes(it, shape, dtype) for name, (it, shape) in passed.items()}

    laws.results_belong_to_the_caller(answer, program)


@probe({"H": 1, "D": 4, "dtype": "float64"}, {"H": 1, "D": 4, "dtype": "float32"}, {"H": 3, "D": 7, "dtype": "float64"},
       {"H": 3, "D": 7, "dtype": "float32"})  # fmt: skip
def stored_values_keep_their_precision(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> dict[str, float]:
    """K13 for one token held: a decode that asks for it gets its value with every digit of the dtype.

    Only where the same value comes back exactly if the decode itself brings it, the other token then being held: else
    what loses digits is not shown to be what is held.
    """
    tokens = normal(draw, 1, H, 2, D, dtype)
    k = np.stack([tokens.q[:, :, 1], -tokens.q[:, :, 1]], axis=2)
    tokens = tokens.but(k=k * (4 * SHARPNESS * np.sqrt(D) / (k * k).sum(axis=-1, keepdims=True)))
    brought = tokens.but(k=tokens.k[:, :, ::-1], v=tokens.v[:, :, ::-1])
    held = f"a value held at {dtype} comes back less exact than a new one"
    for title, seen, doing in ((LESS_EXACT.format(dtype), brought, "a decode that asks for its own token"),
                               (held, tokens, "a decode that asks for the token before it")):  # fmt: skip
        cache = Cache(answer, seen)
        cache.store([SLOT], seen.part(0, 1))
        out = cache.decode([SLOT], seen.part(1))
        ratio = right(answer, title, "out", out, *exact(seen, draw, 1), doing, digits=True)
    return {f"stored_error_ratio_{dtype}": ratio}


@probe({"S": 3, "H": 1, "D": 4, "dtype": "float64"}, {"S": 7, "H": 2, "D": 8, "dtype": "float32"})
def identical_calls_get_identical_replies(answer: Answer, draw: Draw, *, S: int, H: int, D: int, dtype: str) -> None:
    """The same calls on a second cache, made while the first is in use, to the last bit."""
    tokens = normal(draw, 1, H, S + 2, D, dtype)
    caches = [Cache(answer, tokens) for _ in range(2)]
    title = "identical calls get different replies"
    once, again = (cache.prefill([SLOT], tokens.part(0, S)) for cache in caches)
    expect.alive("out", once, *tokens.part(0, S))
    expect.same("out", again, once, title, "the same prompt in two caches")
    for at in (S, S + 1):
        once, again = (cache.decode([SLOT], tokens.part(at, at + 1)) for cache in caches)
        expect.same("out", again, once, title, "the same decode in two caches")


def _refused(cache: Cache, token: Tokens, call: Callable[[], object], what: str) -> None:
    """A call is refused; where it is not, one more token shows what became of those that are too many."""
    try:
        expect.refused(call, what)
    except ProbeFailure:
        with contextlib.suppress(ProbeFailure):
            cache.decode([SLOT], token)
        raise


def _stepped_through(answer: Answer, draw: Draw, tokens: Tokens, S: int, judged: int = 0) -> dict[str, float]:
    """Error ratios of a prompt of S tokens, from position `judged` on, and of a decode for each of the others."""
    cache = Cache(answer, tokens)
    out = cache.prefill([SLOT], tokens.part(0, S))[:, :, judged:]
    title = "a prompt differs from attention over it"
    prompt = right(answer, title, "out", out, *exact(tokens.part(0, S), draw, judged))
    decoded = 0.0
    for at in range(S, tokens.length):
        out = cache.decode([SLOT], tokens.part(at, at + 1))
        oracle, spread = exact(tokens.part(0, at + 1), draw, at)
        decoded = max(decoded, right(answer, DIFFERS, "out", out, oracle, spread, f"a decode at position {at}"))
    return figures(prefill=prompt, decode=decoded)
