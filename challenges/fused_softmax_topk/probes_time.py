"""Time, which only a GPU has: against PyTorch's softmax and top-k, in turns, by two clocks."""

from harness.probing import (
    Answer,
    Array,
    Draw,
    NotMeasurable,
    ProbeFailure,
    necessary_bytes,
    plan_rows,
    probe,
    timed,
)

from .binding import SYMBOL, served

VERSIONS = 3
"""Inputs that take turns, so that no call is handed what the one before had."""


@probe({"vocab": 50_257, "k": 8}, {"vocab": 128_256, "k": 50}, traced=False, times=True, fixed=("vocab", "k"))
def it_takes_less_time_than_the_naive_way(answer: Answer, draw: Draw, *, vocab: int, k: int) -> dict[str, float]:
    """A call takes less time than `torch.softmax` and `torch.topk` on the same logits."""
    rows, k = plan_rows(vocab), served(answer, k)
    seeds = [int(seed) for seed in draw.rng.integers(0, 2**31, VERSIONS)]
    arguments = [
        {"shape": [rows, vocab], "dtype": "float32", "seeds": seeds}, rows, vocab, k,
        {"shape": [rows, k], "dtype": "float32"}, {"shape": [rows, k], "dtype": "int32"}, "stream",
    ]  # fmt: skip
    outputs = (Array((rows, k), "float32"), Array((rows, k), "int32"))
    found = timed(answer, SYMBOL, arguments, outputs, necessary_bytes(rows, vocab, k))
    if not found.trusted:
        raise NotMeasurable("the device's clock and the grader's do not agree on how long a call takes")
    if "torch" not in found.ratios:
        raise NotMeasurable("the naive way is PyTorch's here: pip install 'harness[torch]'")
    faster = found.ratios["torch"]
    figures = {
        "gpu_milliseconds": found.milliseconds.median,
        "copy_bandwidth_fraction": found.bandwidth_fraction,
        "speedup_over_torch": faster.median,
    }
    if faster.high < 1:
        detail = f"rows = {rows}, vocab = {vocab}, k = {k}: {faster.median:.3g} times as fast"
        raise ProbeFailure("the naive way is faster", detail, measured=dict(figures))
    return figures
