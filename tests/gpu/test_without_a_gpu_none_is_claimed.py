"""Where there is no GPU none is claimed, and asking leaves this process without CUDA."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cuda.gpu.device import gpu_device


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is an NVIDIA device file here")
def test_none_is_found() -> None:
    assert gpu_device() is None


def test_asking_imports_neither_cupy_nor_torch() -> None:
    program = (
        "import sys; from harness.cuda.gpu.device import gpu_device; gpu_device();"
        "print(sorted({'cupy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is an NVIDIA device file here")
@pytest.mark.parametrize("name", ["gpu_softmax_topk", "counters", "sanitizer"])
def test_the_benchmarks_say_so(name: str) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"no NVIDIA GPU here: nothing was (measured|compared)\n", done.stdout)
