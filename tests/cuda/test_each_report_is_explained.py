"""Each kind of report is explained with an example, and the check says of the example what the page says."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.emulator.device_trace import DeviceDefect
from harness.cuda.programs.program import Mode

PAGE = Path(__file__).parents[2] / "docs" / "cuda-reports.md"
EXAMPLE = re.compile(r"<!-- example: (?P<kind>\w+) -->\n```cuda\n(?P<code>.*?)```\n", re.DOTALL)
GIVEN = """#include <cassert>
#include <cublas_v2.h>
static float* unset(int n) { float* x; cudaMalloc(&x, n * sizeof(float)); return x; }
static float* zeros(int n) { float* x = unset(n); cudaMemset(x, 0, n * sizeof(float)); return x; }
"""
# what a library does is told at the call, also where the call passes through another one
PRODUCT = """static void product() {
    cublasHandle_t handle;
    float one = 1, nil = 0, *c = zeros(64);
    cublasCreate(&handle);
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, zeros(64), CUDA_R_32F, 8, unset(64), CUDA_R_32F, 8, &nil, c, CUDA_R_32F, 8, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
"""  # noqa: E501


@dataclass(frozen=True)
class Example:
    """Attributes: the kind of report; its code; the lines of the program that are marked, and the first and last."""

    kind: str
    code: str
    marked: frozenset[int]
    first: int
    last: int


def examples() -> Iterator[Example]:
    """The examples of the page, where they lie in one program."""
    line = GIVEN.count("\n") + 1
    for found in EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")):
        lines = found["code"].splitlines()
        marked = frozenset(line + 1 + number for number, text in enumerate(lines) if "// HERE" in text)
        yield Example(found["kind"], found["code"], marked, line, line + len(lines) + 1)
        line += len(lines) + 2


@pytest.fixture(scope="module")
def defects(tmp_path_factory: pytest.TempPathFactory) -> list[DeviceDefect]:
    """What the check reports of all of them, run one after the other."""
    file = tmp_path_factory.mktemp("examples") / "examples.cu"
    parts = [f"namespace {example.kind}_ {{\n{example.code}}}\n" for example in examples()]
    calls = "".join(f"    {e.kind}_::run(); cudaDeviceSynchronize(); cudaDeviceReset();\n" for e in examples())
    text = GIVEN + "".join(parts) + PRODUCT + f"int main() {{\n{calls}    product();\n}}\n"
    file.write_text(text, encoding="utf-8")
    (run,) = ran(file, Mode.CHECK)
    assert run.report is not None and run.report.whole, run.completed
    return run.report.defects


def test_every_kind_of_error_has_an_example() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kinds = {example.kind for example in examples()}
    assert len(kinds) == len(list(examples())) >= 19
    assert all(f"**{kind.replace('_', ' ')}**" in text for kind in {*kinds, "runaway"})


def test_each_example_is_reported_as_the_page_says(defects: list[DeviceDefect]) -> None:
    wrong = []
    for example in examples():
        within = [d for d in defects if d.line and example.first <= d.line <= example.last]
        lines = {n for d in within if d.kind == example.kind for n in (d.line, d.other and d.other.line) if n}
        if not lines or (example.marked and not example.marked <= lines):
            wrong.append((example.kind, sorted(example.marked), [(d.kind, d.line) for d in within]))
    assert wrong == []


def test_nothing_else_is_reported_as_an_error(defects: list[DeviceDefect]) -> None:
    told = [
        (example.kind, d.kind)
        for example in examples()
        for d in defects
        if d.severity == "error" and d.line and example.first <= d.line <= example.last and d.kind != example.kind
    ]
    assert told == []


def test_a_fault_in_a_library_is_told_at_its_call(defects: list[DeviceDefect]) -> None:
    line = max(example.last for example in examples()) + 5
    assert [(d.kind, d.kernel) for d in defects if d.line == line] == [("uninitialized_read", "cublasGemmEx")]
