"""Gradients against finite differences at a small size, and peak memory and time of both passes at a realistic one."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from flash_attention import flash_attention_bwd, flash_attention_fwd


def draw(*shape: int, dtype: type = np.float32) -> list[Any]:
    """Normal q, k, v and do."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(4)]


def check_gradients() -> float:
    """Largest difference of dq, dk and dv from central differences at (1,2,16,4), over the size of what is added up."""
    arrays = draw(1, 2, 16, 4, dtype=np.float64)
    *inputs, do = arrays
    _, cache = flash_attention_fwd(*inputs, 5)
    rng, worst = np.random.default_rng(1), 0.0
    for part, gradient in enumerate(flash_attention_bwd(do, cache, 7)):
        move = rng.standard_normal(do.shape)
        ends = []
        for step in (1e-4, -1e-4):
            moved = [values + (step * move if place == part else 0) for place, values in enumerate(inputs)]
            ends.append(float((do * flash_attention_fwd(*moved, 5)[0]).sum()))
        slope = (ends[0] - ends[1]) / 2e-4
        worst = max(worst, abs(slope - float((gradient * move).sum())) / float(np.abs(gradient * move).sum()))
    return worst


def measured(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call returns, the peak MiB that NumPy allocates in it, and the seconds of a second call."""
    tracemalloc.start()
    value = call()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    begin = time.perf_counter()
    call()
    return value, peak, time.perf_counter() - begin


if __name__ == "__main__":
    off = check_gradients()
    assert off < 1e-6, off
    print(f"gradients within {off:.1e} of finite differences")
    q, k, v, do = draw(1, 1, 4096, 64)
    (_, cache), forward, first = measured(lambda: flash_attention_fwd(q, k, v, 128))
    _, backward, second = measured(lambda: flash_attention_bwd(do, cache, 128))
    print(f"(1,1,4096,64), tiles of 128: forward {forward:.1f} MiB, {first:.2f} s; backward {backward:.1f} MiB, "
          f"{second:.2f} s; all scores would take 64 MiB")
