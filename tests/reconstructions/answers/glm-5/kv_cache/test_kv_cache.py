"""Tests of the cache and its optimisations."""

import numpy as np
from kv_cache import IncrementalDecoder, KVCache, attention_flops, multi_head_attention_with_cache, softmax
from optimizations import ChunkedPrefillCache, PagedKVCache, QuantizedKVCache, pack_int4, unpack_int4

rng = np.random.default_rng(42)


def draw(tokens, batch=1, heads=4, head_dim=16):
    return rng.uniform(-1, 1, (batch, heads, tokens, head_dim)).astype(np.float32)


def test_cached_decode_matches_recomputation():
    cache = KVCache(1, 4, 64, 16)
    keys, values = draw(20), draw(20)
    for t in range(20):
        cache.update([0], keys[:, :, t : t + 1], values[:, :, t : t + 1])
        q = draw(1)
        out = multi_head_attention_with_cache(q, cache, [0])
        k, v = keys[0, :, : t + 1], values[0, :, : t + 1]
        expected = softmax(q[0] @ k.transpose(0, 2, 1) / 4.0) @ v
        assert np.max(np.abs(out[0] - expected)) < 1e-5


def test_lengths_are_tracked_per_sequence():
    cache = KVCache(3, 4, 64, 16)
    for b, tokens in enumerate((5, 12, 3)):
        cache.update([b], draw(tokens), draw(tokens))
    assert cache.lengths.tolist() == [5, 12, 3]
    assert cache.get(1)[0].shape == (4, 12, 16)


def test_decoder_runs_prompt_and_steps():
    decoder = IncrementalDecoder(2, 4, 16, 64)
    caches = [KVCache(1, 4, 64, 16) for _ in range(2)]
    out = decoder.forward(rng.normal(size=(1, 8, 64)).astype(np.float32), caches, [0])
    assert out.shape == (1, 8, 64)
    out = decoder.forward(rng.normal(size=(1, 1, 64)).astype(np.float32), caches, [0])
    assert out.shape == (1, 1, 64)
    assert caches[1].lengths[0] == 9


def test_paged_cache_allocates_and_frees_blocks():
    cache = PagedKVCache(2, 8, 16, 4, 16)
    k, v = draw(20), draw(20)
    cache.update([0], k, v)
    assert len(cache.block_tables[0]) == 2
    assert np.array_equal(cache.get(0)[0], k[0])
    cache.reset(0)
    assert len(cache.free_blocks) == 8


def test_int8_error_is_small():
    cache = QuantizedKVCache(1, 4, 32, 16, bits=8)
    k = draw(32)
    cache.update([0], k, draw(32))
    assert np.max(np.abs(cache.get(0)[0] - k[0])) < 0.005


def test_int4_error_is_moderate():
    cache = QuantizedKVCache(1, 4, 32, 16, bits=4)
    k = draw(32)
    cache.update([0], k, draw(32))
    assert np.max(np.abs(cache.get(0)[0] - k[0])) < 0.1


def test_int4_packs_two_codes_per_byte():
    codes = rng.integers(0, 16, (3, 16)).astype(np.uint8)
    packed = pack_int4(codes)
    assert packed.shape == (3, 8)
    assert np.array_equal(unpack_int4(packed, 16), codes)


def test_chunked_prefill_fills_the_cache():
    cache = KVCache(1, 4, 200, 16)
    k, v = draw(150), draw(150)
    outputs = ChunkedPrefillCache(cache, 64).prefill(0, k[0], v[0])
    assert [out.shape[1] for out in outputs] == [64, 64, 22]
    assert np.array_equal(cache.get(0)[0], k[0])
    cached, recomputed = attention_flops(1024, 100)
    assert recomputed / cached > 100
