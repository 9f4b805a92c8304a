"""
Layer Normalization - forward, backward, gradient check, benchmark, analysis and GPU fusion notes in one file.

Run directly to see the gradient check, a benchmark and the analysis printed.
"""

import time

import numpy as np

# =====================================================================================================================
# FORWARD PASS
# =====================================================================================================================
#
#   mean  = (1/D) * sum_d x_d
#   var   = (1/D) * sum_d (x_d - mean)^2
#   std   = sqrt(var + eps)
#   x_hat = (x - mean) / std
#   y     = gamma * x_hat + beta
#


def forward(x, gamma, beta, eps=1e-5):
    """
    Layer normalization forward pass.

    Args:
        x: input, shape (B, T, D)
        gamma: scale, shape (D,)
        beta: shift, shape (D,)
        eps: stability constant

    Returns:
        y: output, shape (B, T, D)
        cache: all intermediate values for the backward pass
    """
    B, T, D = x.shape

    # Step 1: mean over the features
    mean = np.mean(x, axis=-1, keepdims=True)

    # Step 2: centre
    x_centered = x - mean

    # Step 3: variance
    var = np.mean(x_centered ** 2, axis=-1, keepdims=True)

    # Step 4: standard deviation and its reciprocal
    std = np.sqrt(var + eps)
    inv_std = 1.0 / std

    # Step 5: normalize
    x_hat = x_centered * inv_std

    # Step 6: scale and shift
    y = gamma * x_hat + beta

    cache = {
        "x": x,
        "x_centered": x_centered,
        "x_hat": x_hat,
        "mean": mean,
        "var": var,
        "std": std,
        "inv_std": inv_std,
        "gamma": gamma,
        "eps": eps,
        "B": B,
        "T": T,
        "D": D,
    }
    return y, cache


# =====================================================================================================================
# BACKWARD PASS
# =====================================================================================================================
#
#   d_beta  = sum over (B, T) of dy
#   d_gamma = sum over (B, T) of dy * x_hat
#   d_x_hat = dy * gamma
#   d_x     = inv_std * (d_x_hat - mean(d_x_hat) - x_hat * mean(d_x_hat * x_hat))
#
# The second term comes from the mean, the third from the variance: every feature of a row influences both.
#


def backward(dy, cache):
    """
    Layer normalization backward pass.

    Args:
        dy: upstream gradient, shape (B, T, D)
        cache: from the forward pass

    Returns:
        dx, dgamma, dbeta
    """
    x_hat = cache["x_hat"]
    inv_std = cache["inv_std"]
    gamma = cache["gamma"]

    # Gradients of the parameters
    dbeta = np.sum(dy, axis=(0, 1))
    dgamma = np.sum(dy * x_hat, axis=(0, 1))

    # Gradient of the normalized values
    dx_hat = dy * gamma

    # The two row means
    mean_dx_hat = np.mean(dx_hat, axis=-1, keepdims=True)
    mean_dx_hat_x_hat = np.mean(dx_hat * x_hat, axis=-1, keepdims=True)

    # Gradient of the input
    dx = inv_std * (dx_hat - mean_dx_hat - x_hat * mean_dx_hat_x_hat)
    return dx, dgamma, dbeta


# =====================================================================================================================
# GRADIENT CHECK
# =====================================================================================================================

SPOT_CHECK_LIMIT = 100000
SPOT_CHECK_COUNT = 100


def select_indices(array, spot):
    """All flat indices, or a random sample of them for a spot check."""
    if spot and array.size > SPOT_CHECK_COUNT:
        return np.random.choice(array.size, SPOT_CHECK_COUNT, replace=False)
    return np.arange(array.size)


def numerical_gradient_x(forward, x, gamma, beta, dy, eps, indices, h=1e-5):
    """Finite differences of sum(dy * y) with respect to x, at the given flat indices."""
    x_original = x.copy()
    x_flat = x.reshape(-1)
    grad = np.zeros(len(indices))
    for n, i in enumerate(indices):
        value = x_flat[i]
        x_flat[i] = value + h
        y_plus, _ = forward(x, gamma, beta, eps)
        loss_plus = np.sum(y_plus * dy)
        x_flat[i] = value - h
        y_minus, _ = forward(x, gamma, beta, eps)
        loss_minus = np.sum(y_minus * dy)
        x_flat[i] = x_original.reshape(-1)[i]
        grad[n] = (loss_plus - loss_minus) / (2 * h)
    x[...] = x_original
    return grad


def numerical_gradient_gamma(forward, x, gamma, beta, dy, eps, indices, h=1e-5):
    """Finite differences of sum(dy * y) with respect to gamma, at the given indices."""
    gamma_original = gamma.copy()
    grad = np.zeros(len(indices))
    for n, i in enumerate(indices):
        value = gamma[i]
        gamma[i] = value + h
        y_plus, _ = forward(x, gamma, beta, eps)
        loss_plus = np.sum(y_plus * dy)
        gamma[i] = value - h
        y_minus, _ = forward(x, gamma, beta, eps)
        loss_minus = np.sum(y_minus * dy)
        gamma[i] = gamma_original[i]
        grad[n] = (loss_plus - loss_minus) / (2 * h)
    gamma[...] = gamma_original
    return grad


def numerical_gradient_beta(forward, x, gamma, beta, dy, eps, indices, h=1e-5):
    """Finite differences of sum(dy * y) with respect to beta, at the given indices."""
    beta_original = beta.copy()
    grad = np.zeros(len(indices))
    for n, i in enumerate(indices):
        value = beta[i]
        beta[i] = value + h
        y_plus, _ = forward(x, gamma, beta, eps)
        loss_plus = np.sum(y_plus * dy)
        beta[i] = value - h
        y_minus, _ = forward(x, gamma, beta, eps)
        loss_minus = np.sum(y_minus * dy)
        beta[i] = beta_original[i]
        grad[n] = (loss_plus - loss_minus) / (2 * h)
    beta[...] = beta_original
    return grad


def relative_error(analytic, numeric):
    """Largest difference relative to the largest entry."""
    scale = max(np.max(np.abs(analytic)), np.max(np.abs(numeric)), 1e-8)
    return np.max(np.abs(analytic - numeric)) / scale


def gradient_check(forward, backward, x, gamma, beta, dy, eps, tolerance=1e-5):
    """
    Compare the analytic gradients with finite differences.

    Above 100,000 elements only a random sample of entries is differenced.

    Returns:
        dict with the three relative errors, whether a spot check was made and whether all errors are in tolerance
    """
    spot = x.size > SPOT_CHECK_LIMIT
    _, cache = forward(x, gamma, beta, eps)
    dx, dgamma, dbeta = backward(dy, cache)

    x_indices = select_indices(x, spot)
    gamma_indices = select_indices(gamma, spot)
    beta_indices = select_indices(beta, spot)
    dx_numeric = numerical_gradient_x(forward, x, gamma, beta, dy, eps, x_indices)
    dgamma_numeric = numerical_gradient_gamma(forward, x, gamma, beta, dy, eps, gamma_indices)
    dbeta_numeric = numerical_gradient_beta(forward, x, gamma, beta, dy, eps, beta_indices)

    results = {
        "dx_error": relative_error(dx.reshape(-1)[x_indices], dx_numeric),
        "dgamma_error": relative_error(dgamma[gamma_indices], dgamma_numeric),
        "dbeta_error": relative_error(dbeta[beta_indices], dbeta_numeric),
        "spot_check": spot,
    }
    results["passed"] = (
        results["dx_error"] < tolerance
        and results["dgamma_error"] < tolerance
        and results["dbeta_error"] < tolerance
    )
    return results


def check_gradients(forward, backward, x, gamma, beta, dy, eps):
    """True when the gradient check passes."""
    x = np.asarray(x, dtype=np.float64)
    gamma = np.asarray(gamma, dtype=np.float64)
    beta = np.asarray(beta, dtype=np.float64)
    dy = np.asarray(dy, dtype=np.float64)
    results = gradient_check(forward, backward, x, gamma, beta, dy, eps)
    return bool(results["passed"])


def run_gradient_checks():
    """Gradient checks at a small and a medium shape; prints and returns the results."""
    all_results = {}
    for B, T, D in [(2, 3, 4), (2, 4, 16)]:
        x = np.random.randn(B, T, D)
        gamma = np.random.randn(D)
        beta = np.random.randn(D)
        dy = np.random.randn(B, T, D)
        results = gradient_check(forward, backward, x, gamma, beta, dy, 1e-5)
        print(f"shape ({B}, {T}, {D}):")
        print(f"  dx relative error:     {results['dx_error']:.3e}")
        print(f"  dgamma relative error: {results['dgamma_error']:.3e}")
        print(f"  dbeta relative error:  {results['dbeta_error']:.3e}")
        print("  PASSED" if results["passed"] else "  FAILED")
        all_results[(B, T, D)] = results
    return all_results


# =====================================================================================================================
# BENCHMARK
# =====================================================================================================================


def benchmark(repeats=5):
    """Forward and backward times at four shapes."""
    print(f"{'shape':>18} {'forward ms':>12} {'backward ms':>12}")
    for B, T, D in [(2, 16, 64), (4, 64, 128), (8, 128, 256), (8, 128, 512)]:
        x = np.random.randn(B, T, D)
        gamma = np.random.randn(D)
        beta = np.random.randn(D)
        dy = np.random.randn(B, T, D)

        start = time.perf_counter()
        for _ in range(repeats):
            y, cache = forward(x, gamma, beta)
        forward_ms = (time.perf_counter() - start) / repeats * 1000

        start = time.perf_counter()
        for _ in range(repeats):
            dx, dgamma, dbeta = backward(dy, cache)
        backward_ms = (time.perf_counter() - start) / repeats * 1000

        print(f"{str((B, T, D)):>18} {forward_ms:12.3f} {backward_ms:12.3f}")


# =====================================================================================================================
# ANALYSIS
# =====================================================================================================================

ANALYSIS = """
+----------------------------------------------------------------------------------------------------------+
|                                              TIME COMPLEXITY                                             |
+----------------------------+-----------------------------+-----------------------------------------------+
| forward                    | O(B*T*D)                    | mean, variance, normalize, scale              |
| backward                   | O(B*T*D)                    | two row means, two column sums                |
+----------------------------+-----------------------------+-----------------------------------------------+
|                                             MEMORY COMPLEXITY                                            |
+----------------------------+-----------------------------+-----------------------------------------------+
| x, x_centered, x_hat       | 3 * B*T*D                   | cached so that nothing is computed twice      |
| mean, var, std, inv_std    | 4 * B*T                     | one value per row                             |
| gamma                      | D                           |                                               |
+----------------------------+-----------------------------+-----------------------------------------------+
|                                            NUMERICAL STABILITY                                           |
+----------------------------------------------------------------------------------------------------------+
| * variance near zero: eps keeps 1/std finite                                                             |
| * large mean: the two-pass variance avoids the cancellation of E[x^2] - E[x]^2                           |
| * very large values: the square overflows; scale the input first                                         |
| * half precision: accumulate the sums in float32                                                         |
+----------------------------------------------------------------------------------------------------------+
"""

# =====================================================================================================================
# GPU FUSION (CUDA-like pseudocode)
# =====================================================================================================================
#
# One block per (b, t) row, D features shared by the threads of the block.
#
#   __global__ void layer_norm_backward(dy, x_hat, inv_std, gamma, dx, dgamma, dbeta, D) {
#       row = blockIdx.x;
#       s1 = 0; s2 = 0;
#       for (d = threadIdx.x; d < D; d += blockDim.x) {
#           g = dy[row, d] * gamma[d];
#           s1 += g;
#           s2 += g * x_hat[row, d];
#       }
#       s1 = block_reduce_sum(s1) / D;          // warp shuffles, then shared memory
#       s2 = block_reduce_sum(s2) / D;
#       for (d = threadIdx.x; d < D; d += blockDim.x) {
#           g = dy[row, d] * gamma[d];
#           dx[row, d] = inv_std[row] * (g - s1 - x_hat[row, d] * s2);
#           atomicAdd(&dgamma[d], dy[row, d] * x_hat[row, d]);
#           atomicAdd(&dbeta[d], dy[row, d]);
#       }
#   }
#
#   +---------------------+      +---------------------+      +---------------------+
#   | load dy, x_hat      | ---> | reduce s1, s2       | ---> | write dx, add       |
#   | (global memory)     |      | (registers, shared) |      | dgamma, dbeta       |
#   +---------------------+      +---------------------+      +---------------------+
#
# One launch in place of six to eight; intermediates stay on the chip.
#


def main():
    """Run everything and print it."""
    results = run_gradient_checks()
    benchmark()
    print(ANALYSIS)
    return results


if __name__ == "__main__":
    main()
