"""What a program asks of the device that it does not have is named with its line, and never called a fault."""

from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.programs.program import Mode, ProgramSource, build_program
from harness.sandbox import detect

FOLDER = Path(__file__).parent / "unsupported"
LARGE = r"""
#include <cuda_runtime.h>

__global__ void fill(char* x) { x[threadIdx.x] = 1; }

int main() {
    char *first = nullptr, *second = nullptr;
    cudaMalloc(&first, 1536 << 20);
    cudaMalloc(&second, 1536 << 20);
    fill<<<1, 32>>>(second);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("name", "what", "line"),
    [("launch_by_a_kernel", "a launch by a kernel", 9), ("one_kernel_of_three", "tensor-core matrices (wmma)", 14)],
)
def test_it_is_named(name: str, what: str, line: int) -> None:
    (run,) = ran(FOLDER / f"{name}.cu", Mode.CHECK)
    assert run.report is not None
    assert [(u.what, u.line) for u in run.report.unsupported] == [(what, line)]
    assert not run.report.found("error", "warning")
    assert run.ended == "exit status 0", run.completed.output


def test_it_costs_its_kernel_and_not_the_program() -> None:
    (run,) = ran(FOLDER / "one_kernel_of_three.cu", Mode.CHECK)
    assert run.report is not None
    assert [(launch.kernel, launch.finished) for launch in run.report.launches] == [
        ("before", True), ("product", False), ("after", True)
    ]  # fmt: skip
    assert run.completed.output == "cudaErrorNotSupported, then cudaSuccess\n"
    (error,) = [error for error in run.report.api_errors if error.call == "launch"]
    assert error.text == "kernel `product` was not run to its end: tensor-core matrices (wmma)"


def test_memory_that_a_gpu_would_have_is_no_fault(tmp_path: Path) -> None:
    """The kernel reads through null as the allocation was not looked at; on a GPU there would be nothing to look at."""
    program = tmp_path / "large.cu"
    program.write_text(LARGE)
    (run,) = ran(program, Mode.CHECK)
    assert run.report is not None
    assert [u.what for u in run.report.unsupported] == ["more memory than its 2048 MiB; --set makes a program smaller"]
    assert not run.report.found("error")
    (warning,) = run.report.found("warning")
    assert warning.kind == "null_pointer"
    assert warning.text.endswith("(after memory was asked for that the emulated device does not have)")
    assert run.unchecked == "it needs what the device lacks"


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("cudaGraphCreate(undeclared, 0);", []),
        ("curandCreate(undeclared);", ["cuRAND"]),
        ("thrust::device_vector<int> v(undeclared);", []),
        ("thrust::sort(undeclared, undeclared);", []),
        ("thrust::set_union();", ["Thrust (thrust::set_union)"]),
    ],
)
def test_an_unknown_name_beside_one_that_the_device_knows_is_the_authors(
    line: str, lacking: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "program.cu"
    program.write_text(f"#include <cuda_runtime.h>\n#include <thrust/sort.h>\nint main() {{\n    {line}\n}}\n")
    (into := tmp_path / "built").mkdir()
    built = build_program(ProgramSource.of([program]), into, tier=detect())
    assert built.path is None
    assert [u.what for u in built.unsupported] == lacking
    assert built.errors
