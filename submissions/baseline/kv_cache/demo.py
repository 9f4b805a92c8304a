"""Two sequences of different length, a prompt in pieces, a fork, and what each layout holds: python demo.py"""

import numpy as np
from kv_cache import KVCache, create_cache, decode, fork, memory_bytes, prefill, release

LAYERS, HEADS, KV_HEADS, HEAD_DIM = 2, 8, 4, 16
LAYOUTS = {
    "one array a slot": {},
    "pages of 16": {"page_size": 16},
    "int8": {"quantization": "int8"},
    "int4 in pages of 16": {"quantization": "int4", "page_size": 16},
}


def generate(cache: KVCache, seed: int = 0) -> list[np.ndarray]:
    """Fill slots 0 and 1 with prompts of 40 and 17 tokens, decode ten more, and return the outputs of every step."""
    rng = np.random.default_rng(seed)

    def draw(batch: int, length: int) -> list[np.ndarray]:
        sizes = [(batch, heads, length, HEAD_DIM) for heads in (HEADS, KV_HEADS, KV_HEADS)]
        return [rng.normal(size=size).astype("float32") for size in sizes]

    for layer in range(LAYERS):
        prefill(cache, layer, [0, 1], *draw(2, 32), [32, 17])
        prefill(cache, layer, [0], *draw(1, 8), [8])
    return [decode(cache, layer, [0, 1], *draw(2, 1)) for _ in range(10) for layer in range(LAYERS)]


def main() -> None:
    """Run the same tokens through every layout and compare the outputs with those of the first."""
    plain: list[np.ndarray] = []
    for name, options in LAYOUTS.items():
        cache = create_cache(
            num_layers=LAYERS, num_heads=HEADS, num_kv_heads=KV_HEADS, head_dim=HEAD_DIM, max_batch=4, max_length=128,
            dtype="float32", **options,
        )
        outputs = generate(cache)
        plain = plain or outputs
        error = max(np.abs(a - b).max() for a, b in zip(outputs, plain, strict=True))
        held = memory_bytes(cache)
        fork(cache, 0, 2)
        forked = memory_bytes(cache)
        for slot in range(4):
            release(cache, slot)
        print(f"{name:20s} {held:7d} bytes, {forked:7d} with a fork, {memory_bytes(cache)} after release, "
              f"differs by {error:.1e}")


if __name__ == "__main__":
    main()
