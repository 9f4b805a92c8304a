"""The layer norm in CUDA gives the oracle's numbers on the emulated device, without a defect and in few passes."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.cuda.emulator.emulation import ENTRY, emulate
from harness.model import Limits
from harness.numerics import judge
from harness.probing import Draw
from harness.probing.answers import SandboxedAnswer
from harness.probing.launching import STREAM, InputBuffer, OutputBuffer, launch
from harness.sandbox import WorkerSpec, detect
from tests.checkout import WORKSPACE, code_of

CODE = code_of("layernorm_backward")
SOURCE = WORKSPACE.reference_folder("layernorm_backward") / "reference.cu"
FUNCTIONS = ("layernorm_forward", "layernorm_backward")
EPS = 1e-5
SHAPES = [(1, 1), (3, 7), (9, 64), (300, 130)]

Floats = NDArray[np.float32]


class Device:
    """The two functions on the emulated device."""

    def __init__(self, answer: SandboxedAnswer) -> None:
        self.answer = answer

    def forward(self, x: Floats, gamma: Floats, beta: Floats, mode: str = "plain") -> tuple[Any, ...]:
        """y, mean, rstd and the report."""
        rows, features = x.shape
        outputs = {"y": x.shape, "mean": (rows,), "rstd": (rows,)}
        inputs = _inputs(x=x, gamma=gamma, beta=beta)
        return self._launch("layernorm_forward", [*inputs, EPS, rows, features], outputs, mode)

    def backward(
        self, dy: Floats, x: Floats, gamma: Floats, mean: Floats, rstd: Floats, mode: str = "plain"
    ) -> tuple[Any, ...]:
        """dx, dgamma, dbeta and the report."""
        rows, features = x.shape
        outputs = {"dx": x.shape, "dgamma": gamma.shape, "dbeta": gamma.shape}
        inputs = _inputs(dy=dy, x=x, gamma=gamma, mean=mean, rstd=rstd)
        return self._launch("layernorm_backward", [*inputs, rows, features], outputs, mode)

    def _launch(self, symbol: str, given: list[Any], outputs: dict[str, Any], mode: str) -> tuple[Any, ...]:
        buffers = [OutputBuffer(name, shape) for name, shape in outputs.items()]
        call = launch(self.answer, Draw(1), symbol, [*given, *buffers, STREAM], mode=mode, guard=0)
        call.require_complete(mode)
        return (*(call[name] for name in outputs), call.report)


def _inputs(**arrays: Floats) -> list[InputBuffer]:
    return [InputBuffer(name, values) for name, values in arrays.items()]


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    shutil.copy(SOURCE, source)
    emulation = emulate(source, (SOURCE.name,), built, tier=detect())
    assert emulation.ok, emulation.why_not
    answer = SandboxedAnswer(WorkerSpec(built, ENTRY, FUNCTIONS, Limits(memory_mib=8192), detect()))
    try:
        yield Device(answer)
    finally:
        answer.close()


@pytest.mark.parametrize(("rows", "features"), SHAPES)
def test_outputs_match_the_oracle_without_a_defect(device: Device, rows: int, features: int) -> None:
    rng = np.random.default_rng([rows, features])
    x, dy = (rng.standard_normal((rows, features)).astype(np.float32) for _ in range(2))
    gamma, beta = (rng.standard_normal(features).astype(np.float32) for _ in range(2))
    y, mean, rstd, forward = device.forward(x, gamma, beta, "check")
    dx, dgamma, dbeta, backward = device.backward(dy, x, gamma, mean, rstd, "check")
    assert forward.found("error", "warning") == []
    assert backward.found("error", "warning") == []
    binding = CODE.module("binding")
    given = binding.Inputs(x[None], gamma, beta, dy[None], EPS)
    right, spread = binding.exact(given), binding.spreads(given, Draw(20))
    for name, got in (("y", y[None]), ("dx", dx[None]), ("dgamma", dgamma), ("dbeta", dbeta)):
        assert judge(got, getattr(right, name), getattr(spread, name)).passed, name


def test_the_forward_reads_its_input_three_times_and_the_backward_scratch_stays_small(device: Device) -> None:
    rng = np.random.default_rng(20)
    x = rng.standard_normal((64, 256)).astype(np.float32)
    gamma = beta = np.ones(256, np.float32)
    _, mean, rstd, forward = device.forward(x, gamma, beta, "count")
    (launch,) = forward.launches
    assert launch.buffers["x"].read_bytes == 3 * x.nbytes
    assert launch.buffers["y"].written_bytes == x.nbytes
    assert launch.global_load.over_ideal == pytest.approx(1.0, abs=0.01)
    *_, backward = device.backward(x, x, gamma, mean, rstd, "count")
    assert [n.kernel for n in backward.launches] == ["backward_kernel", "add_kernel"]
    assert backward.memory.leaked_bytes == 0
