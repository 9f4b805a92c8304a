"""Memory growth: sizes of real models, limits of real devices, savings of each strategy."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelSpec:
    """A model as the cache sees it."""

    name: str
    num_layers: int
    num_heads: int
    head_dim: int
    weights_gb: float

    def bytes_per_token(self, bytes_per_number: int = 2) -> int:
        """Keys and values of one token; 2 layers, 4 heads of 16 in float32 give 1024."""
        return 2 * self.num_layers * self.num_heads * self.head_dim * bytes_per_number


MODELS = (
    ModelSpec("Llama-2-7B", 32, 32, 128, 13.5),
    ModelSpec("Llama-2-13B", 40, 40, 128, 26.0),
    ModelSpec("Llama-2-70B", 80, 64, 128, 138.0),
    ModelSpec("Llama-3-8B", 32, 32, 128, 16.0),
    ModelSpec("Mistral-7B", 32, 32, 128, 14.5),
    ModelSpec("GPT-4-class", 120, 96, 128, 900.0),
)

GPUS_GB = {"RTX-4090": 24, "A100-40": 40, "A100-80": 80, "H100-80": 80}

STRATEGIES = {
    "fp32": 2.0,
    "fp16": 1.0,
    "int8 quantized": 0.5,
    "paged (no fragmentation)": 0.7,
    "hybrid: paged + int8": 0.35,
}
"""Bytes relative to fp16."""


def find_max_context(model: ModelSpec, gpu_gb: float, reserve: float = 0.04) -> int:
    """Tokens that fit beside the weights, with a share kept in reserve."""
    free = gpu_gb * (1 - reserve) - model.weights_gb
    return max(0, int(free * 1e9 / model.bytes_per_token()))


def print_report() -> None:
    """Tables of all of the above."""
    for model in MODELS:
        limits = "  ".join(f"{gpu}: {find_max_context(model, size):,}" for gpu, size in GPUS_GB.items())
        print(f"{model.name:12s} {model.bytes_per_token() / 1024:7.0f} KiB/token   {limits}")
    for name, factor in STRATEGIES.items():
        print(f"{name:26s} {factor:.2f} x fp16  saves {1 - factor:.0%}")
