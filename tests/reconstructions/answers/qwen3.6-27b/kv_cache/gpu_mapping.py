"""How the cache maps to a GPU."""


def kernel_plan() -> dict[str, str]:
    """Which part of the work goes where."""
    return {
        "grid": "one block per (batch, head)",
        "threads": "128 threads, each owns keys t, t + 128, ...",
        "shared memory": "query, running maximum and sum, tile of 64 keys",
        "tensor cores": "prefill only: 16x16x16 tiles of Q K^T and P V; a decode step has too few queries",
        "layout": "head_dim innermost, so that a warp reads a key in one transaction",
    }


def arithmetic_intensity(context: int, head_dim: int, bytes_per_number: int = 2) -> float:
    """FLOP per byte of a decode step: 4 context head_dim over 2 context head_dim numbers."""
    return 4 * context * head_dim / (2 * context * head_dim * bytes_per_number)


def bottleneck(intensity: float, peak_tflops: float = 989.0, bandwidth_tb: float = 3.35) -> dict[str, str]:
    """Whether a kernel of this intensity is bound by memory or by arithmetic."""
    ridge = peak_tflops / bandwidth_tb
    bound = "memory" if intensity < ridge else "compute"
    return {"intensity": f"{intensity:.1f} FLOP/byte", "ridge": f"{ridge:.0f} FLOP/byte", "bound": bound}
