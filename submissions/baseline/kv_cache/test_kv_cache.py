"""Every answer of the cache equals attention recomputed from scratch, in long double, from all that was ever put in."""

import numpy as np
import pytest
from kv_cache import create_cache, decode, fork, memory_bytes, prefill, release

BOUND = {"float32": 2e-5, "float64": 1e-13}
"""Relative to the largest |v|: a few hundred roundings of dot products over at most 20 features and 200 tokens."""


def scratch(q, keys, values, position, window=None):
    """Attention of one query (D,) at `position` over keys and values (tokens, D), written out."""
    oldest = 0 if window is None else max(0, position - window + 1)
    q, keys, values = (x.astype(np.longdouble) for x in (q, keys[oldest : position + 1], values[oldest : position + 1]))
    scores = np.array([np.dot(q, key) for key in keys]) / np.sqrt(np.longdouble(len(q)))
    weights = np.exp(scores - max(scores))
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)


class Session:
    """A cache, and beside it lists of all tokens of every (layer, slot); each call checks every output."""

    def __init__(self, heads=2, kv_heads=None, head_dim=4, layers=1, max_batch=4, max_length=200, dtype="float64",
                 seed=0, bound=None, **options):
        self.shape = (heads, kv_heads or heads, head_dim)
        self.dtype = dtype
        self.bound = BOUND[dtype] if bound is None else bound
        self.window = options.get("window")
        self.rng = np.random.default_rng(seed)
        self.past = {}
        self.cache = create_cache(
            num_layers=layers, num_heads=heads, num_kv_heads=self.shape[1], head_dim=head_dim, max_batch=max_batch,
            max_length=max_length, dtype=dtype, **options,
        )

    def draw(self, batch, length):
        heads, kv_heads, head_dim = self.shape
        shapes = [(batch, count, length, head_dim) for count in (heads, kv_heads, kv_heads)]
        return [self.rng.normal(size=shape).astype(self.dtype) for shape in shapes]

    def prefill(self, slots, lengths, layer=0, padding=np.nan, qkv=None):
        q, k, v = qkv or self.draw(len(slots), max(lengths))
        for array in (q, k, v):
            for row, n in enumerate(lengths):
                array[row, :, n:] = padding
        out = prefill(self.cache, layer, np.array(slots), q, k, v, np.array(lengths))
        return self.check(layer, slots, lengths, q, k, v, out)

    def decode(self, slots, layer=0, qkv=None):
        q, k, v = qkv or self.draw(len(slots), 1)
        out = decode(self.cache, layer, np.array(slots), q, k, v)
        return self.check(layer, slots, [1] * len(slots), q, k, v, out)

    def check(self, layer, slots, lengths, q, k, v, out):
        assert out.shape == q.shape
        assert out.dtype == self.dtype
        group = self.shape[0] // self.shape[1]
        for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
            keys, values = self.past.get((layer, slot), (k[0, :, :0], v[0, :, :0]))
            first = keys.shape[1]
            keys = np.concatenate([keys, k[row, :, :n]], axis=1)
            values = np.concatenate([values, v[row, :, :n]], axis=1)
            self.past[layer, slot] = keys, values
            for head in range(self.shape[0]):
                for i in range(n):
                    kv = head // group
                    expected = scratch(q[row, head, i], keys[kv], values[kv], first + i, self.window)
                    np.testing.assert_allclose(
                        out[row, head, i], expected.astype(float), rtol=0, atol=self.bound * np.abs(values).max()
                    )
        return out

    def release(self, slot):
        release(self.cache, slot)
        self.past = {(layer, other): kv for (layer, other), kv in self.past.items() if other != slot}

    def fork(self, src, dst):
        fork(self.cache, src, dst)
        self.past = {place: kv for place, kv in self.past.items() if place[1] != dst} | {
            (layer, dst): kv for (layer, slot), kv in self.past.items() if slot == src
        }


LAYOUTS = [{}, {"page_size": 1}, {"page_size": 4}, {"page_size": 7, "window": 3}]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", LAYOUTS)
def test_prompts_of_different_length_then_single_tokens(options, dtype):
    session = Session(layers=2, dtype=dtype, **options)
    for layer in range(2):
        session.prefill([2, 0, 3], [9, 4, 8], layer)
    for _ in range(6):
        for layer in range(2):
            session.decode([0, 3, 2], layer)


@pytest.mark.parametrize("options", LAYOUTS)
def test_a_prompt_in_pieces_and_slots_that_come_and_go(options):
    session = Session(**options)
    session.prefill([0, 1], [3, 5])
    session.prefill([1, 3], [4, 1], padding=1e6)
    session.decode([2])
    session.release(1)
    session.decode([1, 0])
    session.prefill([1, 2, 3], [2, 9, 6])
    session.release(3)
    session.decode([2, 0, 1])


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 4), (6, 2), (6, 3), (3, 1)])
@pytest.mark.parametrize("head_dim", [1, 5])
def test_query_heads_share_key_value_heads(heads, kv_heads, head_dim):
    session = Session(heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    session.prefill([0, 1], [5, 2])
    session.decode([1, 0])


@pytest.mark.parametrize("window", [1, 2, 5, 300])
def test_a_window_hides_what_is_older(window):
    session = Session(heads=1, window=window, head_dim=2)
    session.prefill([0, 1], [7, 3])
    for _ in range(3):
        session.decode([0, 1])
    session.prefill([0], [140])


def test_a_prompt_longer_than_a_block_of_queries():
    session = Session(heads=1, head_dim=2)
    session.prefill([0], [150])
    session.prefill([0], [40])


@pytest.mark.parametrize("options", [{}, {"page_size": 4}])
def test_a_fork_goes_its_own_way(options):
    session = Session(layers=2, **options)
    for layer in range(2):
        session.prefill([0, 1], [6, 9], layer)
    session.fork(0, 1)
    session.fork(0, 3)
    session.fork(3, 3)
    session.fork(3, 2)
    for layer in range(2):
        session.decode([1, 0], layer)
        session.decode([0, 1, 2, 3], layer)
    session.release(0)
    for layer in range(2):
        session.prefill([0, 2], [7, 3], layer)
        session.decode([0, 1, 2], layer)


def test_the_first_token_gets_its_own_value_exactly():
    session = Session(dtype="float32")
    q, k, v = session.draw(2, 1)
    assert np.array_equal(decode(session.cache, 0, [1, 0], q, k, v), v)
    session.release(1)
    assert np.array_equal(prefill(session.cache, 0, [1], q[:1], k[:1], v[:1], [1]), v[:1])


def test_large_scores_stay_finite():
    session = Session(dtype="float32", bound=1e-2)
    for sign in (60, -60):
        q, k, v = session.draw(1, 6)
        session.prefill([0], [6], qkv=(60 * q, sign * np.abs(k), v))
        release(session.cache, 0)
        session.past.clear()


def test_padding_is_zero_in_the_output():
    session = Session()
    out = session.prefill([0, 1], [2, 5])
    assert not out[0, :, 2:].any()


def test_inputs_and_earlier_outputs_are_left_alone():
    session = Session()
    q, k, v = session.draw(2, 3)
    copies = q.copy(), k.copy(), v.copy()
    first = session.prefill([0, 1], [3, 3], qkv=(q, k, v))
    kept = first.copy()
    session.decode([0, 1])
    session.release(0)
    session.prefill([0], [3])
    assert np.array_equal(first, kept)
    assert all(np.array_equal(x, y) for x, y in zip((q, k, v), copies, strict=True))


@pytest.mark.parametrize("options", [{}, {"page_size": 4}])
def test_a_call_without_room_changes_nothing(options):
    session = Session(max_length=8, **options)
    session.prefill([0, 1], [7, 5])
    held = memory_bytes(session.cache)
    with pytest.raises(ValueError, match="no room"):
        prefill(session.cache, 0, [1, 0], *session.draw(2, 2), [2, 2])
    assert memory_bytes(session.cache) == held
    session.decode([0, 1])
    with pytest.raises(ValueError, match="no room"):
        decode(session.cache, 0, [1, 0], *session.draw(2, 1))
    session.prefill([1], [2])


TOKEN = 2 * 2 * 4 * 16 * 4
"""Bytes of a token: keys and values, 2 layers, 4 heads, 16 features, float32."""


def filled(lengths, dtype="float32", **options):
    session = Session(heads=4, head_dim=16, layers=2, dtype=dtype, **options)
    qkv = session.draw(1, max(lengths))
    for layer in range(2):
        for slot, n in enumerate(lengths):
            prefill(session.cache, layer, [slot], *qkv, [n])
    return session.cache


def test_bytes_held_are_those_of_the_tokens():
    cache = filled([100, 28])
    assert memory_bytes(cache) == 128 * TOKEN
    release(cache, 0)
    assert memory_bytes(cache) == 28 * TOKEN
    fork(cache, 1, 2)
    assert memory_bytes(cache) == 56 * TOKEN


def test_pages_are_taken_on_demand_shared_by_forks_and_given_back():
    cache = filled([17, 5], page_size=8)
    assert memory_bytes(cache) == (3 + 1) * 8 * TOKEN
    fork(cache, 0, 2)
    assert memory_bytes(cache) == 4 * 8 * TOKEN
    qkv = np.zeros((3, 1, 4, 1, 16), "float32")
    for layer in range(2):
        decode(cache, layer, [2], *qkv)
    assert memory_bytes(cache) == 5 * 8 * TOKEN
    for layer in range(2):
        decode(cache, layer, [0], *qkv)
    assert memory_bytes(cache) == 5 * 8 * TOKEN
    release(cache, 0)
    assert memory_bytes(cache) == 4 * 8 * TOKEN
    for slot in range(4):
        release(cache, slot)
    assert memory_bytes(cache) == 0


def test_a_page_is_taken_and_copied_only_when_it_must_be():
    cache = filled([16], page_size=8)
    assert memory_bytes(cache) == 2 * 8 * TOKEN
    assert isinstance(memory_bytes(cache), int)
    fork(cache, 0, 1)
    for layer in range(2):
        decode(cache, layer, [1], *np.zeros((3, 1, 4, 1, 16), "float32"))
    assert memory_bytes(cache) == 3 * 8 * TOKEN


def test_pages_are_used_again():
    session = Session(page_size=4, max_length=20)
    resident = set()
    for _ in range(4):
        session.prefill([0, 1, 2], [9, 4, 14])
        session.decode([1, 0, 2])
        resident.add(sum(part.nbytes for part in session.cache.layers[0]._pool))
        for slot in (1, 0, 2):
            session.release(slot)
    assert len(resident) == 1


@pytest.mark.parametrize(("dtype", "ratios"), [("float32", (20 / 64, 12 / 64)), ("float64", (24 / 128, 16 / 128))])
def test_small_integers_take_their_share_of_the_bytes(dtype, ratios):
    exact = memory_bytes(filled([64], dtype))
    for quantization, ratio in zip(("int8", "int4"), ratios, strict=True):
        assert memory_bytes(filled([64], dtype, quantization=quantization)) == ratio * exact


@pytest.mark.parametrize(("quantization", "bound"), [("int8", 1 / 254), ("int4", 1 / 14)])
@pytest.mark.parametrize("options", [{}, {"page_size": 4}])
def test_small_integers_cost_half_a_step_of_accuracy(quantization, bound, options):
    session = Session(heads=1, head_dim=5, bound=bound + 1e-12, quantization=quantization, **options)
    # keys far apart: each query picks one token, so the error is that of a stored value
    signs = np.array([[a, b, c, d, 1] for a in (1, -1) for b in (1, -1) for c in (1, -1) for d in (1, -1)], float)
    qkv = [x.reshape(1, 1, 16, 5) for x in (30 * signs, 30 * signs, session.rng.normal(size=(16, 5)))]
    session.prefill([0], [15], qkv=[x[:, :, :15].copy() for x in qkv])
    session.decode([0], qkv=[x[:, :, 15:].copy() for x in qkv])
    session.fork(0, 1)
    for target in range(15, -1, -1):
        query = 30 * signs[target].reshape(1, 1, 1, 5)
        new = np.full((1, 1, 1, 5), -30.0)
        for slot in (0, 1):
            session.decode([slot], qkv=(query, new, np.zeros((1, 1, 1, 5))))


@pytest.mark.parametrize("quantization", ["int8", "int4"])
def test_a_prompt_is_attended_before_it_is_rounded(quantization):
    session = Session(quantization=quantization)
    session.prefill([0, 1], [6, 3])


GOOD = dict(num_layers=2, num_heads=4, num_kv_heads=2, head_dim=3, max_batch=2, max_length=8, dtype="float32")


@pytest.mark.parametrize("change", [
    {"num_layers": 0}, {"num_heads": -1}, {"num_kv_heads": 3}, {"num_kv_heads": 0}, {"head_dim": 0}, {"head_dim": 2.0},
    {"max_batch": 0}, {"max_length": 0}, {"max_length": True}, {"dtype": "float16"}, {"dtype": "int8"},
    {"quantization": "int2"}, {"page_size": 0}, {"window": 0}, {"colour": "red"},
])
def test_a_cache_that_makes_no_sense_is_refused(change):
    create_cache(**GOOD)
    with pytest.raises(ValueError):
        create_cache(**GOOD | change)


def arguments(**change):
    good = dict(layer=0, slots=[1, 0], lengths=[2, 3], q=(2, 4, 3, 3), k=(2, 2, 3, 3), v=(2, 2, 3, 3), dtype="float32")
    given = good | change
    q, k, v = (np.zeros(given[name], given["dtype"]) for name in "qkv")
    return given["layer"], given["slots"], q, k, v, given["lengths"]


@pytest.mark.parametrize("change", [
    {"layer": 2}, {"layer": -1}, {"layer": 1.0}, {"slots": [0, 2]}, {"slots": [0, -1]}, {"slots": [1, 1]},
    {"slots": [1]}, {"slots": []}, {"lengths": [0, 3]}, {"lengths": [2, 4]}, {"lengths": [2]}, {"lengths": [1.0, 2.0]},
    {"q": (2, 4, 3)}, {"q": (2, 2, 3, 3)}, {"k": (2, 4, 3, 3)}, {"v": (2, 2, 2, 3)}, {"v": (2, 2, 3, 4)},
    {"q": (2, 4, 0, 3), "k": (2, 2, 0, 3), "v": (2, 2, 0, 3)}, {"dtype": "float64"},
])
def test_a_call_that_makes_no_sense_is_refused_and_changes_nothing(change):
    cache = create_cache(**GOOD)
    with pytest.raises(ValueError):
        prefill(cache, *arguments(**change))
    assert memory_bytes(cache) == 0
    prefill(cache, *arguments())


def test_decode_takes_one_position_and_slots_that_exist():
    cache = create_cache(**GOOD)
    layer, slots, q, k, v, _ = arguments()
    with pytest.raises(ValueError, match="one position"):
        decode(cache, layer, slots, q, k, v)
    for call, *slots in [(release, 2), (release, -1), (fork, 0, 2), (fork, 2, 0)]:
        with pytest.raises(ValueError, match="slot"):
            call(cache, *slots)
