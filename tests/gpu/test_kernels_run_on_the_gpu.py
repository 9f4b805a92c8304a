"""On a GPU the reference gives what NumPy gives, within the box, and its times are borne out by two clocks."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.cuda.compilers.nvcc import nvcc
from harness.cuda.gpu.device import Bench, GpuDevice, build_for, gpu_device, out_of_reach, target
from harness.cuda.gpu.figures import necessary_bytes
from harness.sandbox import Array, CallStatus, Scalar, WorkerSession, detect

DEVICE, SANITIZER = gpu_device(), shutil.which("compute-sanitizer")
CHECKOUT = Path(__file__).parents[2]
SYMBOL = "fused_softmax_topk"
ROWS, VOCAB, K = 33, 50_257, 50
REPORT = Array((1 << 18,), "uint8")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE is None, reason="no NVIDIA GPU here"),
    pytest.mark.skipif(nvcc() is None, reason="no nvcc to build for the GPU: `make compilers` brings one"),
]


@pytest.fixture(scope="module")
def device() -> GpuDevice:
    assert DEVICE is not None
    return DEVICE


@pytest.fixture(scope="module")
def box(device: GpuDevice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerSession]:
    pytest.importorskip("cupy", reason="no CuPy: pip install 'kernel-harness[cuda]' brings it")
    into, reference = tmp_path_factory.mktemp("built"), CHECKOUT / "references" / SYMBOL
    for name in ("answer.so", "reference.so"):
        build = build_for(device, reference, ["reference.cu"], into, tier=detect(), name=name)
        assert build.ok, build.errors
    with WorkerSession(target(device, build, [SYMBOL], detect())) as opened:
        reply = opened.open()
        assert reply.status is CallStatus.RETURNED, reply.text + opened.output()
        yield opened


def right(logits: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and indices, float64, for logits (rows, vocab) whose values are distinct."""
    wide = logits.astype(np.float64)
    shares = np.exp(wide - wide.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    order = np.argsort(-wide, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(shares, order, axis=1), order


def test_the_reference_is_right_in_the_box(box: WorkerSession) -> None:
    generator = np.random.default_rng(1)
    logits = generator.permuted(np.tile(np.linspace(-8, 8, VOCAB, dtype=np.float32), (ROWS, 1)), axis=1)
    probs, indices = np.full((ROWS, K), np.nan, np.float32), np.full((ROWS, K), -1, np.int32)
    arguments = [
        {"buffer": logits, "name": "logits"}, ROWS, VOCAB, K, {"buffer": probs, "name": "probs", "back": True},
        {"buffer": indices, "name": "indices", "back": True}, "stream",
    ]  # fmt: skip
    plan = (Scalar(int), Array(probs.shape, "float32"), Array(indices.shape, "int32"), REPORT)
    reply = box.call("launch", SYMBOL, arguments, returns=plan)
    assert reply.status is CallStatus.RETURNED, reply.text
    code, found, where, _ = reply.value
    shares, order = right(logits, K)
    assert code == 0
    assert (where == order).all()
    # float32: 50,257 terms summed in any order by pairs and strips, each exp within 2 units in the last place
    assert np.abs(found / shares - 1).max() < 1e-4


def test_times_are_borne_out_by_the_parents_clock(box: WorkerSession) -> None:
    rows = 1024
    arguments = [
        {"shape": [rows, VOCAB], "dtype": "float32", "seeds": [1, 2]}, rows, VOCAB, K,
        {"shape": [rows, K], "dtype": "float32"}, {"shape": [rows, K], "dtype": "int32"}, "stream",
    ]  # fmt: skip
    outputs = (Array((rows, K), "float32"), Array((rows, K), "int32"))
    bench = Bench(box, SYMBOL)
    bandwidth = bench.copy_bandwidth()
    assert 1e11 < bandwidth < 1e14  # from the slowest of today's GPUs to ten times the fastest
    found = bench.measure(arguments, ["answer.so", "reference.so"], outputs, necessary_bytes(rows, VOCAB, K), bandwidth)
    assert found.trusted
    assert 0.0 < found.bandwidth_fraction < 1.3  # reading alone can be a little faster than copying
    # the same kernel twice: the interval of the ratio is about one
    assert 0.9 < found.ratios["reference.so"].median < 1.1
    assert not np.isnan(found.outputs[0]).any()


@pytest.mark.skipif(SANITIZER is None, reason="no compute-sanitizer on PATH; it comes with the CUDA toolkit")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_the_sanitizer_finds_nothing_in_the_reference(device: GpuDevice, tmp_path: Path, tool: str) -> None:
    build = build_for(device, CHECKOUT / "references" / SYMBOL, ["reference.cu"], tmp_path, tier=detect())
    assert build.ok, build.errors
    program = (
        "import sys; sys.path.insert(0, '.'); import gpu_driver as g, numpy as n;"
        "o = lambda t: {'buffer': n.zeros((3, 8), t), 'back': True};"
        f"g.launch('{SYMBOL}', [{{'buffer': n.ones((3, 1003), 'f4')}}, 3, 1003, 8, o('f4'), o('i4'), 'stream'])"
    )
    words = [str(SANITIZER), "--tool", tool, "--error-exitcode", "9", sys.executable, "-B", "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_box_can_use_the_gpu(device: GpuDevice) -> None:
    assert out_of_reach(device, detect()) == ""


def test_an_honest_call_leaves_no_sign_of_misuse(box: WorkerSession) -> None:
    assert box.signals == []
