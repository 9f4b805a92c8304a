"""Right arithmetic passes in any summation order, dtype and offset, and pairwise sums get full credit.

Source of the bounds: PASS (32) and FULL (4) in `harness/numerics/ratio.py`. On rows of up to 512 terms the worst honest
ratio measured was 24, for sequential sums and Welford's update; for pairwise sums it was 4.0.
"""

import numpy as np
import pytest
from layer_norms import HONEST, draw, oracle, pairwise

from harness.numerics import FULL, PASS, conditioning, error_ratio

OFFSETS = (0.0, 1e4, 1e8, 1e10)


def ratios(variant, inputs, rng) -> list[float]:
    spreads = conditioning(oracle, inputs, rng)
    outputs = zip(variant(*inputs), oracle(*inputs), spreads, strict=True)
    return [error_ratio(actual, expected, spread) for actual, expected, spread in outputs]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", HONEST)
def test_every_honest_variant_passes(name: str, dtype: str, offset: float) -> None:
    for shape, seeds in (((4, 8, 64), 3), ((2, 4, 256), 2)):
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            worst = max(ratios(HONEST[name], draw(rng, shape, dtype, offset), rng))
            assert worst <= PASS, f"{name} at {shape}, seed {seed}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairwise_sums_get_full_credit_for_most_seeds(dtype: str) -> None:
    """Measured: 50 of 50 seeds in float64 and 49 of 50 in float32."""
    worst = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        worst.append(max(ratios(pairwise, draw(rng, (4, 8, 64), dtype), rng)))
    assert sum(ratio <= FULL for ratio in worst) >= 18


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_ratio_is_steady_over_the_draws_of_the_spread(offset: float) -> None:
    """Measured standard deviation on one input: 4 to 18 % of the mean; twice that would move marks."""
    inputs = draw(np.random.default_rng(0), (4, 8, 64), offset=offset)
    seen = np.array([ratios(pairwise, inputs, np.random.default_rng(seed)) for seed in range(20)])
    assert (seen.std(axis=0) <= 0.36 * seen.mean(axis=0)).all()
