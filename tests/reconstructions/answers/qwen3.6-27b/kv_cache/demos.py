"""Ten demos of the system: python demos.py"""

import numpy as np
from attention import build_causal_mask, cached_attention
from cache import CacheConfig, KVCache
from chunked_prefill import chunked_prefill
from gpu_mapping import arithmetic_intensity, bottleneck, kernel_plan
from memory_analysis import print_report
from paged_cache import PagedKVCache
from quantized_cache import QuantizedKVCache
from transformer import Transformer

rng = np.random.default_rng(0)


def draw(tokens, batch=2):
    return rng.normal(size=(3, batch, 4, tokens, 16))


def demo_1_basic_cache():
    cache = KVCache(CacheConfig(2, 4, 32, 16, "float64"))
    _, k, v = draw(5)
    cache.write_prompt(k, v)
    print("cached", cache.lengths, "tokens")


def demo_2_manual_check():
    q, k, v = draw(6)
    out = cached_attention(q, k, v, build_causal_mask(6, 6))
    weights = np.exp(q[0, 0, 5] @ k[0, 0].T / 4)
    print("manual check, error", np.abs(out[0, 0, 5] - weights / weights.sum() @ v[0, 0]).max())


def demo_3_generation():
    print("generated", Transformer().generate(np.array([[5, 9, 2, 7]]), 6)[0])


def demo_4_variable_lengths():
    print("batch of 4 sequences", Transformer().generate(rng.integers(0, 64, (4, 6)), 3).shape)


def demo_5_paged():
    cache = PagedKVCache(16, 4, 4, 16, "float64")
    for i in range(5):
        cache.append_token(0, i // 4, i % 4, np.ones((4, 16)), np.ones((4, 16)))
    print("paged read", cache.get_sequence(0, 5)[0].shape, "page table", cache.page_tables[0])


def demo_6_quantized():
    config = CacheConfig(2, 4, 32, 16)
    cache, plain = QuantizedKVCache(config), KVCache(config)
    _, k, v = draw(32)
    cache.write_prompt(k, v)
    print("int8 error", np.abs(cache.get()[0] - k).max(), "(per-position scales)")
    print("int8 memory against fp32", f"{1 - cache.memory_used() / plain.memory_used():.0%}",
          "against fp16", f"{1 - 2 * cache.memory_used() / plain.memory_used():.0%}")


def demo_7_chunked():
    cache = KVCache(CacheConfig(2, 4, 64, 16, "float64"))
    q, k, v = draw(40)
    full = cached_attention(q, k, v, build_causal_mask(40, 40))
    print("chunked against full, error", np.abs(chunked_prefill(cache, q, k, v, 8) - full).max())


def demo_8_memory_report():
    print_report()


def demo_9_gpu():
    for what, how in kernel_plan().items():
        print(f"{what}: {how}")
    print(bottleneck(arithmetic_intensity(4096, 128)))


def demo_10_hybrid():
    print("hybrid: pages of int8 blocks, 0.35 x fp16")


def main():
    demos = [value for name, value in globals().items() if name.startswith("demo_")]
    for number, demo in enumerate(demos, 1):
        print(f"--- demo {number}: {demo.__name__}")
        demo()
    print("ALL DEMOS PASSED")


if __name__ == "__main__":
    main()
