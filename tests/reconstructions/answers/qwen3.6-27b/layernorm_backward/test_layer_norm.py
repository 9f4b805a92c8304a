"""Correctness checks and edge cases. Run: python test_layer_norm.py"""

import numpy as np
from layer_norm import backward, backward_alternative, forward, gradient_errors

EPS = 1e-5


def make_inputs(B, T, D, offset=0.0, scale=1.0):
    """Random inputs of one shape, unseeded."""
    x = np.random.randn(B, T, D) * scale + offset
    return x, np.random.randn(D), np.random.randn(D), np.random.randn(B, T, D)


def assert_gradients(label, x, gamma, beta, dy, tolerance=1e-5):
    """All three gradients agree with finite differences."""
    errors = gradient_errors(forward, backward, x, gamma, beta, dy, EPS)
    print(f"  {label}: dx {errors[0]:.2e}  dgamma {errors[1]:.2e}  dbeta {errors[2]:.2e}")
    assert max(errors) < tolerance, label


def test_gradients():
    """The basic gradient check."""
    assert_gradients("(2, 3, 8)", *make_inputs(2, 3, 8))


def test_alternative_derivation():
    """Two derivations of dx agree."""
    x, gamma, beta, dy = make_inputs(4, 8, 64)
    _, cache = forward(x, gamma, beta, EPS)
    difference = np.max(np.abs(backward(dy, cache)[0] - backward_alternative(x, gamma, dy, EPS)))
    print(f"  alternative derivation differs by {difference:.2e}")
    assert difference < 1e-10


def test_cache_is_minimal():
    """The cache holds what the backward pass reads and nothing else."""
    x, gamma, beta, _ = make_inputs(4, 8, 64)
    _, cache = forward(x, gamma, beta, EPS)
    assert set(cache) == {"x_hat", "rstd", "gamma", "D"}
    assert cache["x_hat"].shape == (4, 8, 64)
    assert cache["rstd"].shape == (4, 8, 1)


def test_edge_cases():
    """Five unusual inputs."""
    print("  case 1: all zeros")
    x, gamma, beta, dy = make_inputs(2, 2, 4, scale=0.0)
    y, cache = forward(x, gamma, beta, EPS)
    assert np.allclose(y, beta)
    assert all(np.all(np.isfinite(grad)) for grad in backward(dy, cache))

    print("  case 2: one feature")
    x, gamma, beta, dy = make_inputs(3, 4, 1)
    y, cache = forward(x, gamma, beta, EPS)
    assert np.allclose(y, beta)
    assert np.allclose(backward(dy, cache)[0], 0.0)

    print("  case 3: many features")
    assert_gradients("(4, 64, 1024)", *make_inputs(4, 64, 1024))

    print("  case 4: large mean, small variance")
    x, gamma, beta, dy = make_inputs(2, 3, 16, offset=1e8)
    y, cache = forward(x, gamma, beta, EPS)
    assert np.all(np.isfinite(y))
    assert all(np.all(np.isfinite(grad)) for grad in backward(dy, cache))

    print("  case 5: large values")
    assert_gradients("scale 1e3", *make_inputs(2, 3, 8, scale=1e3), tolerance=1e-3)


if __name__ == "__main__":
    for test in (test_gradients, test_alternative_derivation, test_cache_is_minimal, test_edge_cases):
        print(test.__name__)
        test()
    print("all tests passed")
