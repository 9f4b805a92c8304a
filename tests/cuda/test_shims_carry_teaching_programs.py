"""CUDA as public teaching repositories write it compiles unchanged, computes right values, and nothing is reported."""

import subprocess
from pathlib import Path

import pytest
from cuda_programs import ran

from harness.cuda.compilers.nvcc import cuda_compiler
from harness.cuda.programs.program import Mode

FOLDER = Path(__file__).parent / "teaching"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cu"))
NEEDS_CUBLAS = {"attention", "products_of_libraries"}
NEEDS_SAMPLES = {"helpers_of_samples"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_right_and_nothing_is_reported(name: str) -> None:
    for run in ran(FOLDER / f"{name}.cu", Mode.PLAIN, Mode.CHECK | Mode.COUNT, seeds=(0, 1)):
        assert run.report is not None, run.ended
        assert not run.report.unsupported
        assert not run.report.found("error", "warning"), run.report.found("error", "warning")
        assert run.ended == "exit status 0", run.completed.output


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - NEEDS_CUBLAS - NEEDS_SAMPLES))
def test_the_real_compiler_takes_the_same_words(name: str, tmp_path: Path) -> None:
    compiler = cuda_compiler()
    if compiler is None or compiler.kind != "nvcc":
        pytest.skip("needs nvcc")
    command = [
        word.format_map({name: str(folder) for name, folder in compiler.folders.items()}) for word in compiler.command
    ]
    words = (*command, "-std=c++17", "-arch=sm_90", "--extended-lambda", "-c", FOLDER / f"{name}.cu")
    done = subprocess.run((*words, "-o", tmp_path / "object.o"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
