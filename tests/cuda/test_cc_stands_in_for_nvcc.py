"""A project whose Makefile calls nvcc is built and checked with `harness cuda cc` in its place."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cuda.programs import rewritten_sources
from harness.cuda.programs.nvcc_options import Action, parse
from harness.errors import NotFoundError
from tests.commands import called, command

ROOT = Path(__file__).parents[2]

FILES = {
    "Makefile": """
NVCC ?= nvcc
FLAGS = -O3 -std=c++17 -arch=sm_80 -gencode arch=compute_80,code=sm_80 -lineinfo -Xcompiler -Wall,-O2 -Iinclude \\
        --expt-relaxed-constexpr -DFACTOR=2 -diag-suppress 177
app: build/main.o build/scale.o build/host.o
	$(NVCC) $(FLAGS) -rdc=true -o $@ $^ -lcudart -lm -L/nowhere
build/%.o: src/%.cu
	@mkdir -p build
	$(NVCC) $(FLAGS) -MD -MP -MF build/$*.d -dc $< -o $@
build/%.o: src/%.cpp
	$(NVCC) $(FLAGS) -c $< -o $@
-include build/*.d
""",
    "include/scale.h": """#pragma once
extern __device__ float offset;
__device__ float scaled(float x);
float sum_of(const float* values, int n);
""",
    "src/main.cu": """#include <cstdio>
#include "scale.h"
__global__ void apply(float* x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] = scaled(x[i]) + offset;
}
int main(int count, char**) {
    float *x, host[32], one = 1;
    cudaMalloc(&x, sizeof host);
    cudaMemset(x, 0, sizeof host);
    cudaMemcpyToSymbol(offset, &one, sizeof one);
    apply<<<1, 64>>>(x, count > 1 ? 33 : 32);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%g\\n", sum_of(host, 32));
}
""",
    "src/scale.cu": """#include "scale.h"
__device__ float offset;
__device__ float scaled(float x) {
    return FACTOR * x;
}
""",
    # words of kernels are names like others here
    "src/host.cpp": """#include <cuda_runtime.h>
#include <vector>
static int umin(int a, int b) { return a < b ? a : b; }
float sum_of(const float* values, int n) {
    int threadIdx = umin(n, 1 << 20);
    float sum = 0;
    for (int i = 0; i < threadIdx; ++i) sum += values[i];
    return sum;
}
""",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, built by its Makefile."""
    place = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    assert (done := made(place)).returncode == 0, done.stderr
    return place


def made(place: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    wrapper = shlex.join(command("cuda", "cc"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["make", f"NVCC={wrapper}", *words], cwd=place, env=env, capture_output=True, text=True, check=False
    )  # fmt: skip


def test_its_program_is_checked_and_faults_have_the_authors_lines(project: Path) -> None:
    right = called(ROOT, "cuda", "check", "./app", cwd=project)
    assert (right.returncode, "no defect found, 1 kernel launch" in right.stdout) == (0, True), right.stdout
    assert right.stdout.endswith("its output:\n32\n")
    wrong = called(ROOT, "cuda", "check", "app", "--", "more", cwd=project)
    assert wrong.returncode == 1
    assert "at src/main.cu:5\n" in wrong.stdout
    assert "out of bounds" in wrong.stdout


def test_its_program_runs_unchecked_when_it_is_started(project: Path) -> None:
    done = subprocess.run([project / "app"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "32\n", "")


def test_make_builds_again_what_a_header_changes_and_nothing_else(project: Path) -> None:
    assert "is up to date" in made(project, "app").stdout
    told = made(project, "-n", "-W", "include/scale.h", "app").stdout
    assert ("src/main.cu" in told, "src/scale.cu" in told, "src/host.cpp" in told) == (True, True, False)


def test_what_does_not_compile_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k(float* x) {\n    x[0] = missing;\n}\n", encoding="utf-8")
    done = called(ROOT, "cuda", "cc", "-c", "a.cu", cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith("a.cu: In function"), "a.cu:2:" in done.stderr) == (2, True, True)


def test_other_programs_are_not_taken_for_its_own(tmp_path: Path) -> None:
    assert rewritten_sources.is_program(Path(sys.executable).resolve())
    with pytest.raises(NotFoundError, match="is no program of `harness cuda cc`"):
        rewritten_sources.source_of(Path("/bin/true"))


def test_options_of_nvcc_are_understood_however_they_are_spelled() -> None:
    read = parse(
        "-O3 -std c++20 --generate-code arch=compute_80,code=[compute_80,sm_80] -Iinc --include-path=a,b -DX -D Y=1"
        " -D 'F=g(1,2)' -Xcompiler -fopenmp -Xcompiler=-Wall,-O0 -lcublas -Ldir -o out a.cu b.cpp c.o -Wno-odd".replace(
            "'", ""
        ).split()
    )
    assert (read.action, read.output, read.standard) == (Action.LINK, "out", "c++20")
    assert (read.sources, read.linked) == (["a.cu", "b.cpp"], ["-lcublas", "-Ldir", "c.o"])
    assert [str(folder) for folder in read.includes] == ["inc", "a", "b"]
    assert read.compiler == ["-DX", "-DY=1", "-DF=g(1,2)", "-Wall"]
    assert read.ignored == ["-fopenmp (OpenMP runs in one thread)", "-Wno-odd"]
    assert parse(["-x", "cu", "a.cpp", "-dc"]).language == "cu"
    assert parse(["-M", "a.cu"]).action is Action.RULES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-ptx", "a.cu"], "-ptx: not available on the emulated device"),
        (["a.cu", "-shared"], "-shared: not available"),
        (["--frobnicate", "a.cu"], "--frobnicate: an option that"),
        (["a.cu", "-o"], "-o: needs a value"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(words: list[str], said: str) -> None:
    with pytest.raises(NotFoundError, match=said):
        parse(words)


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toolkit") / "emulated"
    assert called(ROOT, "cuda", "toolkit", str(folder)).returncode == 0
    return folder


def test_a_folder_looks_like_a_toolkit(toolkit: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [toolkit / "bin" / "nvcc", "-v", "nothing"]
    said = subprocess.run(words, env=env, capture_output=True, text=True, check=False).stderr
    assert re.search(r"^#\$ TOP=(.*)$", said, re.MULTILINE)[1] == str(toolkit)  # type: ignore[index]
    assert f'#$ "{toolkit}/bin/nvcc" -o "a.out"' in said
    assert (toolkit / "include" / "cuda_runtime_api.h").is_file() and (toolkit / "lib64" / "libcudart.so").is_file()
    assert "release 12.8, V12.8.0" in called(ROOT, "cuda", "cc", "--version").stdout
    assert called(ROOT, "cuda", "toolkit", str(toolkit)).returncode == 0  # again, of the same version
    assert called(ROOT, "cuda", "toolkit", str(ROOT)).returncode == 2


CMAKE = """cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
add_executable(app src/main.cu src/scale.cu src/host.cpp)
target_include_directories(app PRIVATE include)
target_compile_definitions(app PRIVATE FACTOR=2)
target_link_libraries(app PRIVATE CUDA::cudart)
set_target_properties(app PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_takes_it_for_one(toolkit: Path, tmp_path: Path) -> None:
    for name, text in {**FILES, "CMakeLists.txt": CMAKE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words in (["-B", "made", f"-DCMAKE_CUDA_COMPILER={toolkit}/bin/nvcc"], ["--build", "made"]):
        done = subprocess.run(["cmake", *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    told = called(ROOT, "cuda", "check", "made/app", "--", "more", cwd=tmp_path)
    assert (told.returncode, "at src/main.cu:5\n" in told.stdout) == (1, True), told.stdout
