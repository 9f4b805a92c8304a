"""Programs of calls hold a cache to what honest arithmetic reaches, and tell a fault as one short script."""

from dataclasses import replace

import numpy as np
import pytest

from harness.probing import InputUse, Mutant
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.failures import ITSELF
from harness.probing.probe import run
from tests.checkout import code_of

CODE = code_of("kv_cache")
ORACLE, CALLS, HISTORY, TOKENS = (CODE.module(name) for name in ("oracle", "calls", "history", "tokens"))
PROBE = CODE.probes["any_program_is_right"]
FAULTY = {mutant.name: mutant for mutant in CODE.mutants}


def local(mutant: Mutant | None) -> LocalAnswer:
    return LocalAnswer(CODE.import_source(mutant))


def one_term_at_a_time(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention of the last position in the precision given, summed in the least exact order."""
    scores = np.zeros(k.shape[:2], q.dtype)
    for feature in range(q.shape[2]):
        scores += q[:, :1, feature] * k[:, :, feature]
    scores *= q.dtype.type(q.shape[2] ** -0.5)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    total, out = np.zeros((len(k), 1), q.dtype), np.zeros((len(k), q.shape[2]), q.dtype)
    for token in range(k.shape[1]):
        total += weights[:, token, None]
        out += weights[:, token, None] * v[:, token]
    return (out / total)[:, None]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-11, 1.0, 30.0, 1e11])
def test_the_bound_spares_the_least_exact_order_and_holds_for_its_own_oracle(dtype, scale):
    rng = np.random.default_rng(3)
    q, k, v = ((rng.standard_normal((2, n, 70)) * scale).astype(dtype) for n in (1, 300, 300))
    wide = [a.astype(np.float64) for a in (q, k, v)]
    out, bound = ORACLE.attention_with_bound(*wide, 299, None, dtype)
    assert (np.abs(one_term_at_a_time(q, k, v) - out) <= bound).all()
    assert (np.abs(ORACLE.attention(*wide, 299) - out) <= bound).all()


def test_the_bound_leaves_no_token_out():
    """Of 300 normal tokens, none can be missing unseen in float32: what it weighs is beyond the bound."""
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((1, n, 64)) for n in (1, 300, 300))
    out, bound = ORACLE.attention_with_bound(q, k, v, 299, None, "float32")
    for gone in range(300):
        less, _ = ORACLE.attention_with_bound(q, *(np.delete(a, gone, axis=1) for a in (k, v)), 298, None, "float32")
        assert (np.abs(less - out) > bound).any(), gone


def test_a_program_is_told_as_the_shortest_script_and_always_the_same():
    scripts = [run(PROBE, local(FAULTY["window left on"]), 5).counterexample.program for _ in range(2)]
    assert scripts[0] == scripts[1]
    create, *steps, last = scripts[0]
    assert create.startswith("a = create_cache(num_layers=1, num_heads=1, num_kv_heads=1, head_dim=1, max_batch=1")
    assert len(steps) <= 2
    assert " instead of " in last


def test_a_threshold_of_the_program_is_told():
    found = run(PROBE, local(FAULTY["features beyond 195"]), 5)
    assert [str(t) for t in found.thresholds] == ["right up to head_dim = 195, wrong from head_dim = 196 on"]


@pytest.mark.parametrize("fault", ["no causal mask", "third page of a prompt not written"])
def test_no_loss_of_digits_is_stated_where_more_than_digits_is_wrong(fault):
    assert run(CODE.probes["long_histories_keep_their_digits"], local(FAULTY[fault]), 5).counterexample is None


def test_a_loss_of_digits_in_long_histories_is_stated():
    found = run(CODE.probes["long_histories_keep_their_digits"], local(FAULTY["float32 sums of long histories"]), 5)
    assert found.counterexample is not None


def feed(number: int, *rows: tuple[int, int], inputs: InputUse = InputUse.FRESH, decode: bool = False):
    named = tuple(CALLS.Row(slot, length, at) for at, (slot, length) in enumerate(rows))
    return CALLS.Feed("a", 0, named, number, decode=decode, inputs=inputs)


CREATE = CALLS.Create("a", 1, 1, 1, 2, 2, 5, "float64")


def fails(mutant: str | None, *program) -> bool:
    try:
        HISTORY.run_program(local(FAULTY[mutant] if mutant else None), 1, (CREATE, *program))
    except HISTORY.StepFailed:
        return True
    return False


def test_what_a_refused_call_leaves_behind_is_seen():
    program = feed(1, (1, 5)), feed(2, (0, 2), (1, 2)), feed(3, (0, 1), decode=True)
    assert fails("half a call written", *program)
    assert not fails(None, *program)


def test_a_call_that_should_have_been_refused_is_another_criterions_matter():
    assert not fails("no capacity", feed(1, (1, 5)), feed(2, (0, 2), (1, 2)), feed(3, (0, 1), decode=True))


@pytest.mark.parametrize("use", [InputUse.OVERWRITTEN, InputUse.REUSED])
def test_arrays_of_the_caller_that_are_kept_are_seen(use):
    steps = [feed(number, (0, 1), inputs=use, decode=True) for number in range(3)]
    assert fails("caller's arrays kept", *steps)
    assert not fails(None, *steps)


def test_lost_digits_are_no_missing_token_and_count_where_digits_do():
    """Single precision inside a float64 cache is 1e-7 off."""
    steps = feed(1, (1, 4)), feed(2, (1, 1), decode=True)
    assert not fails("float32 inside", *steps)
    assert not fails(None, *steps)
    with pytest.raises(HISTORY.StepFailed) as seen:
        HISTORY.run_program(local(FAULTY["float32 inside"]), 1, (CREATE, *steps), digits=True)
    assert seen.value.failure.title == HISTORY.INEXACT
    HISTORY.run_program(local(None), 1, (CREATE, *steps), digits=True)


@pytest.mark.parametrize("scales", TOKENS.CODED_SCALES)
@pytest.mark.parametrize("bits", ["int8", "int4"])
def test_codes_of_tokens_of_any_size_are_near_enough(bits, scales):
    create = CALLS.Create("a", 1, 2, 1, 33, 2, 40, "float32", (("quantization", bits),))
    rows = (feed(1, (1, 30), (0, 7)), *(feed(number, (0, 1), (1, 1), decode=True) for number in range(2, 8)))
    steps = [replace(step, family=TOKENS.CODED, scales=scales) for step in rows]
    HISTORY.run_program(local(None), 1, (create, *steps))
    floor = {"int8": "int8 scale with a floor", "int4": "int4 scale with something added"}[bits]
    if scales == "tiny":
        with pytest.raises(HISTORY.StepFailed):
            HISTORY.run_program(local(FAULTY[floor]), 1, (create, *steps))


@pytest.mark.parametrize(("about", "dropped"), [("window", ["page_size"]), ("", ["page_size", "window"])])
def test_a_smaller_program_may_lose_any_option_but_the_one_it_is_about(about, dropped):
    create = replace(CREATE, options=(("page_size", 2), ("window", 3)), about=about)
    forms = [dict(form.options) for form in create.plainer() if form.options != create.options]
    assert [name for form in forms for name, _ in create.options if name not in form] == dropped


def test_calls_that_fail_in_little_room_are_told_without_those_that_fill_more():
    """Where room and calls must shrink together, taking away either alone leads nowhere."""
    create = replace(CREATE, room=69)
    program = (create, *(feed(number, (0, 2), (1, 2)) for number in range(34)))
    first = next(CALLS.last_calls(program))
    assert first == (replace(create, room=2), program[-1])
    assert list(CALLS.last_calls(first)) == []


def test_a_cache_without_the_slot_or_layer_of_a_call_is_no_smaller_one():
    create = CALLS.Create("a", 2, 1, 1, 4, 5, 11, "float64")
    feed = CALLS.Feed("a", 1, (CALLS.Row(4, 3, 0),), 1)
    assert CALLS.every_call_fits((create, feed))
    for name, size in (("max_batch", 4), ("num_layers", 1)):
        assert not CALLS.every_call_fits((create.resized(name, size), feed)), name
    assert CALLS.every_call_fits((create.resized("max_length", 10), feed))


@pytest.mark.parametrize(
    ("probe", "fault", "owner"),
    [
        ("every_small_window_is_right", "window filled by a decode", ITSELF),
        ("every_small_window_is_right", "prompt longer than its ring", ITSELF),
        ("every_small_window_is_right", "prefill not stored", "any_history"),
        ("any_program_with_a_window_is_right", "kv head by remainder", ""),
        ("any_program_with_shared_heads_is_right", "kv head by remainder", ITSELF),
        ("any_program_with_shared_heads_is_right", "long fill of three heads", ""),
        ("every_kind_of_shared_heads_is_right", "window one too long", ""),
        ("every_small_page_is_right", "whole pages read", ""),
        ("every_small_page_is_right", "decode not stored", "any_history"),
        ("every_page_released_is_free", "prefill not stored", "any_history"),
    ],
)
def test_an_option_is_charged_only_where_the_same_calls_go_right_without_it(probe, fault, owner):
    seen = run(CODE.probes[probe], local(FAULTY[fault]), seed=5)
    assert seen.fault_of == owner
