"""Plain calls of an answer run on the real device; what only the emulated one can tell is asked of that."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.cuda.emulator.device_trace import parse
from harness.cuda.emulator.emulation import ENTRY, emulate
from harness.cuda.inside.driver import REPORT_BYTES
from harness.model import Limits
from harness.probing import NotMeasurable
from harness.probing.answers import SandboxedAnswer
from harness.probing.submissions.device import EmulatedAnswer, GpuAnswer
from harness.sandbox import Array, Scalar, WorkerSpec, detect

SOURCE = """
#include <cuda_runtime.h>
__global__ void fill(float* x) { x[threadIdx.x] = VALUE; }
extern "C" int filled(float* x, cudaStream_t stream) { fill<<<1, 4, 0, stream>>>(x); return 0; }
"""
PLAN = (Scalar(int), Array((4,), "float32"), Array((REPORT_BYTES,), "uint8"))


def built(place: Path, value: str) -> Path:
    answer, into = place / f"answer{value}", place / f"built{value}"
    answer.mkdir()
    into.mkdir()
    (answer / "answer.cu").write_text(SOURCE.replace("VALUE", value))
    emulation = emulate(answer, ["answer.cu"], into, tier=detect())
    assert emulation.ok, emulation.why_not
    return into


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> list[WorkerSpec]:
    """Two builds that can be told apart; the first stands where a GPU's build would."""
    place = tmp_path_factory.mktemp("two")
    limits = Limits(memory_mib=8192)
    return [WorkerSpec(built(place, value), ENTRY, ("filled",), limits) for value in ("1.0f", "2.0f")]


@pytest.fixture
def answer(targets: list[WorkerSpec]) -> Iterator[GpuAnswer]:
    both = GpuAnswer(SandboxedAnswer(targets[0]), EmulatedAnswer(targets[1]))
    yield both
    both.close()


def call(answer: GpuAnswer, mode: str) -> tuple[float, int]:
    arguments = [{"buffer": np.zeros(4, np.float32), "name": "x", "back": True}, "stream"]
    code, x, report = answer.call("launch", "filled", arguments, mode=mode, returns=PLAN)
    parsed = parse(report.tobytes())
    assert code == 0 and parsed is not None
    return float(x[0]), parsed.mode


@pytest.mark.parametrize(("mode", "value", "bits"), [("plain", 1.0, 0), ("check", 2.0, 1), ("count", 2.0, 2)])
def test_each_mode_goes_to_its_device(answer: GpuAnswer, mode: str, value: float, bits: int) -> None:
    assert call(answer, mode) == (value, bits)


def test_time_in_both_boxes_counts(answer: GpuAnswer) -> None:
    call(answer, "plain")
    plain = answer.sandbox_seconds
    call(answer, "check")
    assert answer.sandbox_seconds > plain


def test_what_the_emulated_device_cannot_run_is_unmeasured(targets: list[WorkerSpec]) -> None:
    answer = GpuAnswer(SandboxedAnswer(targets[0]), None, "no tensor cores on the emulated device")
    try:
        assert call(answer, "plain") == (1.0, 0)
        with pytest.raises(NotMeasurable, match="no tensor cores"):
            call(answer, "check")
    finally:
        answer.close()
