"""Agreement with plain attention at a small size, and peak memory and time at a realistic one: `python demo.py`."""

import time
import tracemalloc

import numpy as np
from flash_attention import flash_attention_fwd


def draw(*shape: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal q, k and v in float32."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape, np.float32) for _ in range(3))
    return q, k, v


def agreement() -> float:
    """Largest difference from plain attention in float64 at (1,1,256,64), tiles of 64."""
    q, k, v = draw(1, 1, 256, 64)
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / 8
    scores[:, :, np.triu(np.ones((256, 256), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights @ v / weights.sum(axis=-1, keepdims=True)
    return float(np.abs(flash_attention_fwd(q, k, v, 64) - wanted).max())


def memory(*shape: int, tile: int) -> tuple[float, float]:
    """Peak MiB that NumPy allocates in a call, the output included, and its seconds (of a second call)."""
    q, k, v = draw(*shape)
    tracemalloc.start()
    flash_attention_fwd(q, k, v, tile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    begin = time.perf_counter()
    flash_attention_fwd(q, k, v, tile)
    return peak / 2**20, time.perf_counter() - begin


if __name__ == "__main__":
    off = agreement()
    assert off < 1e-5, off
    print(f"(1,1,256,64), tiles of 64: within {off:.1e} of plain attention")
    for shape in ((1, 1, 4096, 64), (2, 8, 4096, 64)):
        peak, seconds = memory(*shape, tile=128)
        scores = np.prod(shape[:3]) * shape[2] * 4 / 2**20
        print(f"{shape}, tiles of 128: {peak:.1f} MiB beside q, k and v, all scores would take {scores:,.0f}; {seconds:.2f} s")
