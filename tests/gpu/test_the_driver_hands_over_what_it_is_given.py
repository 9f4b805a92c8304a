"""The GPU's driver passes each argument as it was given, brings back what was asked for, and frees all it took.

The answer is a C library on host memory here: what the driver does is the same.
"""

import json
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_memory import HostRuntime

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator.device_trace import Report, parse
from harness.cuda.gpu.device import DRIVER

ANSWER = """
#include <cstring>
extern "C" int scaled(const float* x, int n, int by, float* out, void* stream) {
    if (stream != reinterpret_cast<void*>(77)) return 2;
    if (by < 0) return 1;
    for (int i = 0; i < n; ++i) out[i] = by * x[i];
    return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = host_compiler()
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "answer.cpp").write_text(ANSWER)
    words = (*compiler.command, "-shared", "-fPIC", "-O1", "answer.cpp", "-o", "answer.so")
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    shutil.copyfile(folder / "answer.so", folder / "reference.so")
    shutil.copyfile(DRIVER, folder / DRIVER.name)
    (folder / "gpu.json").write_text(json.dumps({"libcuda": ""}))
    return folder


@pytest.fixture
def runtime() -> HostRuntime:
    return HostRuntime()


@pytest.fixture
def driver(built: Path, runtime: HostRuntime, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    cuda.runtime = runtime  # type: ignore[attr-defined]
    cupy.cuda = cuda  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    module = types.ModuleType("gpu_driver")
    module.__file__ = str(built / DRIVER.name)
    exec(compile(DRIVER.read_text(), module.__file__, "exec"), module.__dict__)
    return module


def arguments(x: Any, out: Any, by: int, shift: int = 0) -> list[Any]:
    given = {"buffer": x, "shift": shift, "name": "x", "back": True}
    return [given, x.size - shift // 4, by, {"buffer": out, "name": "out", "back": True}, "stream"]


def test_a_call_returns_its_code_its_buffers_and_an_empty_report(
    driver: types.ModuleType, runtime: HostRuntime
) -> None:
    x, out = np.arange(5, dtype=np.float32), np.full(7, np.nan, np.float32)
    code, x_after, out_after, report = driver.launch("scaled", arguments(x, out, 3, shift=4))
    assert code == 0
    assert (x_after == x).all()
    assert (out_after[:4] == 3 * x[1:]).all() and np.isnan(out_after[4:]).all()
    assert np.isnan(out).all()  # the parent's array is a copy of what it drew
    assert parse(report.tobytes()) == Report(version=1)
    assert runtime.memory == {}


def test_a_buffer_that_moves_is_handed_over_from_another_place(driver: types.ModuleType, runtime: HostRuntime) -> None:
    x, out = np.arange(5, dtype=np.float32), np.full(5, np.nan, np.float32)
    given, *rest = arguments(x, out, 3)
    code, _, out_after, _ = driver.launch("scaled", [{**given, "moved": True}, *rest])
    assert code == 0 and (out_after == 3 * x).all()
    assert runtime.memory == {}


def test_memory_freed_for_a_call_holds_several_values(driver: types.ModuleType, runtime: HostRuntime) -> None:
    freed: list[Any] = []
    free = runtime.free

    def noted(address: int) -> None:
        freed.append(np.frombuffer(runtime.memory[address], np.uint32).copy())
        free(address)

    runtime.free = noted  # type: ignore[method-assign]
    several = {0xFFFFFFFF, 0x7F7F7F7F, 0, 0xFF800000}  # NaN, a large number, zero, minus infinity
    for fill, wanted in (("mixed", several), ("nan", {0xFFFFFFFF})):
        driver.gpu().dirty(fill, turn=3)
        assert {*map(int, np.unique(np.concatenate(freed)))} == wanted
        freed.clear()
    driver.gpu().dirty("left", turn=3)
    assert freed == [] and runtime.memory == {}


def test_a_refusal_comes_back_as_its_code(driver: types.ModuleType, runtime: HostRuntime) -> None:
    x, out = np.ones(5, np.float32), np.full(5, 9, np.float32)
    code, _, out_after, _ = driver.launch("scaled", arguments(x, out, -1))
    assert code == 1 and (out_after == 9).all()
    assert runtime.memory == {}


def test_a_gpu_does_not_pretend_to_check(driver: types.ModuleType) -> None:
    with pytest.raises(NotImplementedError, match="plain"):
        driver.launch("scaled", [], mode="check")


def test_functions_of_the_answer_are_named_and_no_others(driver: types.ModuleType) -> None:
    assert callable(driver.scaled)
    with pytest.raises(AttributeError):
        _ = driver.other


class TestMeasure:
    rows = 1 << 12
    order = ([0, 1], [1, 0], [0, 1])

    def prepared(self, driver: types.ModuleType) -> None:
        given = {"shape": [self.rows], "dtype": "float32", "seeds": [5, 6]}
        written = {"shape": [self.rows], "dtype": "float32"}
        assert driver.prepare([given, self.rows, 3, written, "stream"]) == 0

    def test_times_and_outputs_come_back(self, driver: types.ModuleType) -> None:
        self.prepared(driver)
        times, out = driver.measure("scaled", ["answer.so", "reference.so"], [list(o) for o in self.order])
        assert times.shape == (3, 2) and (times > 0).all()
        assert (out == 3 * driver.draw_normals((self.rows,), 5)).all()

    def test_before_each_call_inputs_change_outputs_are_poisoned_and_the_cache_is_flushed(
        self, driver: types.ModuleType, runtime: HostRuntime
    ) -> None:
        self.prepared(driver)
        runtime.done.clear()
        driver.measure("scaled", ["answer.so", "reference.so"], [list(o) for o in self.order])
        call = ["copy", "fill", "fill", "event", "event"]  # inputs, poison, cache; then the call between two events
        assert runtime.done == call * 6 + ["copy", "fill", "copy"]

    def test_an_output_that_is_not_written_stays_poisoned(self, driver: types.ModuleType) -> None:
        given = {"shape": [self.rows], "dtype": "float32", "seeds": [5]}
        written = {"shape": [self.rows], "dtype": "float32"}
        driver.prepare([given, self.rows // 2, 3, written, "stream"])
        _, out = driver.measure("scaled", ["answer.so"], [[0]])
        assert not np.isnan(out[: self.rows // 2]).any() and np.isnan(out[self.rows // 2 :]).all()

    def test_a_contender_that_refuses_is_told(self, driver: types.ModuleType) -> None:
        written = {"shape": [4], "dtype": "float32"}
        driver.prepare([written, 4, -1, written, "stream"])
        with pytest.raises(RuntimeError, match=r"reference\.so returned 1"):
            driver.measure("scaled", ["reference.so"], [[0]])

    def test_preparing_again_frees_what_was_there(self, driver: types.ModuleType, runtime: HostRuntime) -> None:
        self.prepared(driver)
        held = len(runtime.memory)
        self.prepared(driver)
        assert len(runtime.memory) == held == 4  # an input, its two versions, an output

    def test_calls_can_be_repeated(self, driver: types.ModuleType) -> None:
        self.prepared(driver)
        assert driver.repeat("scaled", "answer.so", 10) == 0


def test_the_copy_bandwidth_counts_bytes_read_and_written(
    driver: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "COPIED_BYTES", 1 << 24)
    found = driver.copy_bandwidth(3)
    assert found.shape == (3,)
    # host memory copies at 0.1 to 1000 GB/s: the unit is right
    assert (found > 1e8).all() and (found < 1e12).all()
