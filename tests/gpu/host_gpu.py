"""A GPU that host memory plays, for whole grades: nvcc compiles the answer, and what is called is the same task on the host.

    HARNESS_TIMELINE=FILE python tests/gpu/host_gpu.py FOLDER PROFILE [CRITERION ...]

grades the answer in FOLDER and prints its status and the outcome of each criterion as JSON.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cuda import gpu as cuda_gpu
from harness.cuda.host_compiler import host_compiler
from harness.model import GradeProfile
from harness.running.options import Options
from harness.running.submission_grade import grade_one
from harness.workspace import Workspace

HERE = Path(__file__).parent
DEVICE = cuda_gpu.GpuDevice("host memory", "0", (8, 0), 1 << 33, Path("/usr/lib/libcuda.so.1"))
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
_build_for = cuda_gpu.build_for


def build_for(device: Any, answer: Path, entries: Sequence[str], into: Path, **how: Any) -> cuda_gpu.GpuBuild:
    """Build as for a GPU, and lay the host's library and runtime in place of the GPU's."""
    built = _build_for(device, answer, entries, into, **how)
    compiler = host_compiler()
    assert compiler is not None
    if built.ok:
        (into / "host.cpp").write_text(SOFTMAX_TOPK)
        words = (*compiler.command, "-shared", "-fPIC", "-O2", "host.cpp", "-o", "answer.so")
        subprocess.run(words, cwd=into, check=True, capture_output=True)
        (into / "gpu.json").write_text(json.dumps({"libcuda": ""}))
        (into / "cupy" / "cuda").mkdir(parents=True)
        (into / "cupy" / "__init__.py").touch()
        (into / "cupy" / "cuda" / "__init__.py").write_text(
            "from host_memory import HostRuntime\n\nruntime = HostRuntime()\n"
        )
        shutil.copy(HERE / "host_memory.py", into)
    return built


def main(folder: str, profile: str, *only: str) -> None:
    """Grade one answer as on a GPU."""
    cuda_gpu.gpu_device = lambda: DEVICE
    cuda_gpu.out_of_reach = lambda device, tier: ""
    cuda_gpu.build_for = build_for
    options = Options(
        seed=7, force=True, publish=False, stored=False, device="gpu", profile=GradeProfile(profile), only=only
    )
    record = grade_one(Workspace(HERE.parents[1]), Path(folder), options).record
    outcomes = {e.criterion: [e.outcome.value, e.detail[:300]] for e in record.evidence}
    print(json.dumps({"status": record.status.value, "seconds": dict(record.seconds), "outcomes": outcomes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
