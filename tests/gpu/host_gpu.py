"""A GPU played by host memory, for whole grades: nvcc compiles the answer, and a library of the host is called.

    HARNESS_TIMELINE=FILE python tests/gpu/host_gpu.py FOLDER PROFILE [CRITERION ...]

grades the answer in FOLDER and prints its status and the outcome of each criterion as JSON.

    HARNESS_TIMELINE=FILE python tests/gpu/host_gpu.py --turns FOLDER HERE THERE

opens it, waits until the file THERE is there as well as its own, HERE, and then calls and times it in turns.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.gpu import device as gpu
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.languages import AnswerFiles
from harness.languages.cuda import LocalGpu
from harness.model import GradeProfile
from harness.probing.submissions.device import GpuAnswer
from harness.probing.submissions.opening import open_answer
from harness.sandbox import Array, Scalar
from harness.workspace import Workspace

HERE = Path(__file__).parent
WORKSPACE = Workspace(HERE.parents[1])
SYMBOL = "fused_softmax_topk"
DEVICE = gpu.GpuDevice("host memory", "0", (8, 0), 1 << 33, Path("/usr/lib/libcuda.so.1"))
SOFTMAX_TOPK = """
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>
extern "C" int fused_softmax_topk(
    const float* logits, int rows, int vocab, int k, float* probs, int* indices, void* stream) {
    if (k < 1 || k > vocab || k > 256 || !stream) return 1;
    std::vector<int> order(vocab);
    for (int row = 0; row < rows; ++row) {
        const float* x = logits + (size_t)row * vocab;
        auto of = [&](int i) { return std::isnan(x[i]) ? -INFINITY : x[i]; };
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int a, int b) { return of(a) > of(b); });
        double top = of(order[0]), sum = 0;
        for (int i = 0; i < vocab; ++i) sum += std::exp((double)of(i) - top);
        for (int j = 0; j < k; ++j) {
            indices[(size_t)row * k + j] = order[j];
            probs[(size_t)row * k + j] = (float)(std::exp((double)of(order[j]) - top) / sum);
        }
    }
    return 0;
}
"""
START_SECONDS = "HOST_GPU_START_SECONDS"
"""Environment variable: what it takes to set up the device in a worker, 1 s on an H100."""
TURNS = 3
_build_for = gpu.build_for


def build_for(device: Any, answer: Path, entries: Sequence[str], into: Path, **how: Any) -> gpu.GpuBuild:
    """Build as for a GPU, and lay the host's library and runtime in place of the GPU's."""
    built = _build_for(device, answer, entries, into, **how)
    compiler = host_compiler()
    assert compiler is not None
    if built.ok:
        (into / "host.cpp").write_text(SOFTMAX_TOPK)
        words = (*compiler.command, "-shared", "-fPIC", "-O2", "host.cpp", "-o", "answer.so")
        subprocess.run(words, cwd=into, check=True, capture_output=True)
        (into / "gpu.json").write_text(json.dumps({"libcuda": ""}))
        driver = into / gpu.ENTRY
        driver.write_text(driver.read_text().replace("COPIED_BYTES = 1 << 30", "COPIED_BYTES = 1 << 22"))
        # a PyTorch of this machine that finds a GPU would refuse memory that is none of it
        (into / "torch.py").write_text("raise ImportError('memory of the host is no GPU')\n")
        (into / "cupy" / "cuda").mkdir(parents=True)
        (into / "cupy" / "__init__.py").touch()
        (into / "cupy" / "cuda" / "__init__.py").write_text(
            "import time\n\nfrom host_memory import HostRuntime\n\n"
            f"time.sleep({float(os.environ.get(START_SECONDS, 0))})\nruntime = HostRuntime()\n"
        )
        shutil.copy(HERE / "host_memory.py", into)
    return built


def grade(folder: str, profile: str, *only: str) -> None:
    """Grade one answer as on a GPU."""
    options = Options(
        seed=7, force=True, publish=False, stored=False, device="gpu", profile=GradeProfile(profile), only=only
    )
    record = grade_one(WORKSPACE, Path(folder), options).record
    outcomes = {e.criterion: [e.outcome.value, e.detail[:300]] for e in record.evidence}
    print(json.dumps({"status": record.status.value, "seconds": dict(record.seconds), "outcomes": outcomes}))


def take_turns(folder: str, here: str, there: str) -> None:
    """Open one answer, and call and time it in turns, beside another one that does."""
    files = AnswerFiles(Path(folder), ("reference.cu",))
    rows, vocab, k = 64, 4096, 8
    dtypes = ("float32", "int32")
    with open_answer(WORKSPACE.challenge(SYMBOL), files, LocalGpu(DEVICE.name, DEVICE)) as opening:
        answer = opening.answer
        assert isinstance(answer, GpuAnswer), opening.fault
        Path(here).touch()
        while not Path(there).exists():
            time.sleep(0.01)
        given = [{"shape": [rows, vocab], "dtype": "float32", "seeds": [1, 2]}, rows, vocab, k]
        written = [{"shape": [rows, k], "dtype": dtype} for dtype in dtypes]
        plans = tuple(Array((rows, k), dtype) for dtype in dtypes)
        buffers = [{"buffer": np.zeros((rows, k), dtype), "back": True} for dtype in dtypes]
        logits = {"buffer": np.ones((rows, vocab), np.float32)}
        plan = (Scalar(int), *plans, Array((1 << 18,), "uint8"))
        for _ in range(TURNS):
            for _ in range(20):
                called = [SYMBOL, [logits, rows, vocab, k, *buffers, "stream"]]
                assert answer.call("launch", *called, returns=plan, mode="plain")[0] == 0
            answer.measure_times(SYMBOL, [*given, *written, "stream"], plans, rows * vocab * 4)


if __name__ == "__main__":
    gpu.gpu_device = lambda: DEVICE
    gpu.out_of_reach = lambda device, tier: ""
    gpu.build_for = build_for
    take_turns(*sys.argv[2:]) if sys.argv[1] == "--turns" else grade(*sys.argv[1:])
