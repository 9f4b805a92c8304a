"""The reference kernel of `fused_softmax_topk` on a GPU, against the copy bandwidth and against PyTorch.

    python benchmarks/gpu_softmax_topk.py

Every figure is measured in this run, contenders in turns, the L2 cache emptied before each call. Needs an NVIDIA GPU,
nvcc and the extra `kernel-harness[cuda]`; PyTorch is compared with where it is installed. It stops with a message
without a GPU.
"""

import datetime
import sys
import tempfile
from pathlib import Path

import numpy as np

from harness.cuda.compilers.nvcc import cuda_compiler
from harness.cuda.gpu.device import Bench, GpuDevice, Measured, build_for, gpu_device, target
from harness.cuda.gpu.figures import necessary_bytes, plan_rows
from harness.errors import HarnessError
from harness.sandbox import Array, CallStatus, WorkerSession, detect

SYMBOL = "fused_softmax_topk"
REFERENCE = Path(__file__).parents[1] / "references" / SYMBOL
VOCABULARIES = (50_257, 128_256)
KS = (8, 50, 256)
SEEDS = [1, 2, 3]
CHECKED_ROWS = 16


def measured(bench: Bench, vocab: int, k: int, bandwidth: float, contenders: list[str]) -> Measured:
    """Times of the reference for one size."""
    rows = plan_rows(vocab)
    arguments = [
        {"shape": [rows, vocab], "dtype": "float32", "seeds": SEEDS}, rows, vocab, k,
        {"shape": [rows, k], "dtype": "float32"}, {"shape": [rows, k], "dtype": "int32"}, "stream",
    ]  # fmt: skip
    outputs = (Array((rows, k), "float32"), Array((rows, k), "int32"))
    return bench.measure(arguments, contenders, outputs, necessary_bytes(rows, vocab, k), bandwidth)


def is_right(found: Measured, vocab: int, k: int) -> bool:
    """Whether the outputs of the timed calls are right, by float64 on some of the rows."""
    rows = plan_rows(vocab)
    logits = np.random.default_rng(SEEDS[0]).standard_normal((rows, vocab), np.float32) * np.float32(4)
    checked = np.linspace(0, rows - 1, CHECKED_ROWS).astype(int)
    wide = logits[checked].astype(np.float64)
    shares = np.exp(wide - wide.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = -np.sort(-shares, axis=1)[:, :k]
    probs, indices = (output[checked] for output in found.outputs)
    if ((indices < 0) | (indices >= vocab)).any():
        return False
    chosen = np.take_along_axis(shares, indices.astype(np.int64), axis=1)
    # each exp and the sum within float32's reach: far below the 1e-4 that a wrong candidate would show
    return bool(np.allclose(probs, best, rtol=1e-4, atol=0) and np.allclose(chosen, best, rtol=1e-6, atol=0))


def table(device: GpuDevice, folder: Path) -> None:
    """Print a row for each vocabulary and k."""
    build = build_for(device, REFERENCE, ["reference.cu"], folder, tier=detect())
    if not build.ok:
        raise HarnessError(f"the reference does not build: {build.errors}")
    with WorkerSession(target(device, build, [SYMBOL], detect())) as box:
        reply = box.open()
        if reply.status is not CallStatus.RETURNED:
            raise HarnessError(f"the driver does not load: {reply.text}\n{box.output()}")
        bench = Bench(box, SYMBOL)
        bandwidth = bench.copy_bandwidth()
        contenders = ["answer.so", *(["torch"] if bench.has_torch() else [])]
        print(f"copy bandwidth {bandwidth / 1e9:.0f} GB/s; PyTorch {'compared' if len(contenders) > 1 else 'not here'}")
        print(f"{'vocab':>8} {'k':>4} {'rows':>6} {'ms':>8}  {'95 %':^17} {'of copy':>8} {'x torch':>8}  clocks  right")
        for vocab in VOCABULARIES:
            for k in KS:
                found = measured(bench, vocab, k, bandwidth, contenders)
                took, ratio = found.milliseconds, found.ratios.get("torch")
                print(
                    f"{vocab:>8} {k:>4} {plan_rows(vocab):>6} {took.median:>8.4f}  [{took.low:.4f}, {took.high:.4f}]"
                    f" {found.bandwidth_fraction:>8.2f} {f'{ratio.median:.1f}' if ratio else '-':>8}"
                    f"  {'agree' if found.trusted else 'DENIED'}  {'yes' if is_right(found, vocab, k) else 'NO'}"
                )


def main() -> int:
    """Measure, or say why not."""
    device, compiler = gpu_device(), cuda_compiler()
    if device is None:
        print("no NVIDIA GPU here: nothing was measured")
        return 0
    today = datetime.date.today().isoformat()
    compiled = f"{compiler.kind} {compiler.version}" if compiler else "no CUDA compiler"
    print(f"{device.name}, driver {device.driver or 'unknown'}, {compiled}, {today}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            table(device, Path(folder))
    except HarnessError as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
