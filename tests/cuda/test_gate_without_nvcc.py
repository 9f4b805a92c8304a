"""Without nvcc the gate says no more than it can know: NVRTC judges device code alone, and nothing judges nothing."""

import shutil
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from gate_rooms import RIGHT, TIERS, needs_nvcc, needs_nvrtc, put

import harness.cuda.check.verdict
from harness.cuda.check.nvrtc import device_code
from harness.cuda.check.verdict import CompilerResult, gate
from harness.cuda.compilers import nvcc as compilers
from harness.cuda.compilers.host_compiler import HostCompiler
from harness.model import Tier

HOST_ONLY = """
#include <cstdio>
#include <cfloat>
#include <climits>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <string>
#include <vector>
#define ON_DEVICE __device__ __forceinline__
ON_DEVICE float larger(float a, float b) { return a > b ? a : b; }
__device__ int64_t wide(uint32_t a, std::int64_t b) { return a + b + std::numeric_limits<int>::max(); }
__device__ float lowest() { return larger(-FLT_MAX, -INFINITY); }
static std::string name_of(int code) { return std::string(cudaGetErrorString(static_cast<cudaError_t>(code))); }
template <class T> static void show(const std::vector<T>& all) { for (const T& x : all) printf("%f\\n", double(x)); }
struct Timer {
    Timer() { cudaEventCreate(&start); }
    cudaEvent_t start;
};
"""


@pytest.fixture
def only_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.cuda.check.verdict, "cuda_compiler", compilers.nvrtc)


@needs_nvrtc
@TIERS
@pytest.mark.usefixtures("only_nvrtc")
class TestNvrtc:
    def ask(self, folder: Path, tier: Tier) -> CompilerResult:
        return gate(folder, ["a.cu"], ["twice"], tier=tier)

    def test_host_code_is_left_out(self, tmp_path: Path, tier: Tier) -> None:
        said = self.ask(put(tmp_path, a_cu=HOST_ONLY + RIGHT), tier)
        assert said.ok is True, said.text
        assert said.kernels[0].name == "twice_kernel" and said.kernels[0].static_shared_bytes == 1024
        assert "device code only" in str(said.facts["scope"])

    def test_a_fault_in_device_code_is_told(self, tmp_path: Path, tier: Tier) -> None:
        said = self.ask(put(tmp_path, a_cu=HOST_ONLY + RIGHT.replace("0.0f;", "nothing;")), tier)
        assert said.ok is False
        line = (HOST_ONLY + RIGHT).splitlines().index(next(x for x in RIGHT.splitlines() if "0.0f;" in x)) + 1
        assert said.text == f'a.cu:{line}: identifier "nothing" is undefined'

    def test_a_markdown_document_is_no_program(self, tmp_path: Path, tier: Tier) -> None:
        assert self.ask(put(tmp_path, a_cu=f"# Softmax\n\n```cuda\n{RIGHT}```\n"), tier).ok is False

    def test_what_the_host_s_headers_would_bring_is_not_held_against_it(self, tmp_path: Path, tier: Tier) -> None:
        put(tmp_path, a_cu="#include <vector>\nstatic std::vector<int> kept;\n" + RIGHT)
        said = self.ask(tmp_path, tier)
        assert said.ok is None and "cannot tell" in said.text

    def test_nothing_outside_is_read(self, tmp_path: Path, tier: Tier) -> None:
        (tmp_path / "secret.h").write_text("int secret;")
        said = self.ask(put(tmp_path / "submission", a_cu='#include "../secret.h"\n' + RIGHT), tier)
        assert said.ok is False and "outside the submission" in said.text


# identifiers that nvcc knows without any #include, in device code
KNOWN = (
    "size_t", "ptrdiff_t", "int64_t", "uint", "ulong", "ushort", "INT_MAX", "UINT_MAX", "CHAR_BIT", "INFINITY", "NAN",
    "M_PI", "RAND_MAX", "warpSize", "memcpy", "malloc", "fmaxf", "max", "cudaSuccess", "HUGE_VALF", "uchar4", "dim3",
)  # fmt: skip
UNKNOWN = ("FLT_MAX", "FLT_EPSILON", "half", "CUDART_INF_F")


@needs_nvcc
@needs_nvrtc
def test_nvrtc_knows_every_name_that_nvcc_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uses = "\n".join(f"__device__ void f{i}() {{ using ::{n}; }}" for i, n in enumerate(KNOWN) if n[0].islower())
    values = "\n".join(f"__device__ double g{i}() {{ return {n}; }}" for i, n in enumerate(KNOWN) if n.isupper())
    put(tmp_path, known_cu=f"{uses}\n{values}\n")
    for i, name in enumerate(UNKNOWN):
        put(tmp_path, **{f"unknown{i}_cu": f"__global__ void k(int* p) {{ p[0] = sizeof({name}); }}\n"})
    for compiler in (compilers.nvcc, compilers.nvrtc):
        monkeypatch.setattr(harness.cuda.check.verdict, "cuda_compiler", compiler)
        said = gate(tmp_path, ["known.cu"], [], tier=Tier.UNSAFE)
        assert said.ok is True, (compiler, said.text)
        for i, name in enumerate(UNKNOWN):
            assert gate(tmp_path, [f"unknown{i}.cu"], [], tier=Tier.UNSAFE).ok is False, (compiler, name)


def test_host_functions_are_blanked_line_by_line(tmp_path: Path) -> None:
    put(tmp_path / "from", a_cu=HOST_ONLY + RIGHT)
    code = device_code(tmp_path / "from", tmp_path / "to")
    text = (tmp_path / "to" / "a.cu").read_text()
    assert len(text.splitlines()) == len((HOST_ONLY + RIGHT).splitlines())
    assert "larger(float a" in text and "twice_kernel(const" in text
    assert "name_of" not in text and "show(" not in text and "<<<" not in text
    assert len(code.device["a.cu"]) == 4


def test_no_compiler_is_nobody_s_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.cuda.check.verdict, "cuda_compiler", lambda: None)
    said = gate(put(tmp_path, a_cu="nonsense"), ["a.cu"], [], tier=Tier.UNSAFE)
    assert (said.compiler, said.ok) == (None, None) and "kernel-harness[nvcc]" in said.text


@needs_nvcc
def test_nvcc_is_found_behind_a_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compilers.nvcc()
    assert found is not None
    wrapper = tmp_path / "nvcc"
    wrapper.write_text(f'#!/bin/sh\nexec "{found.folders["cuda"]}/bin/nvcc" "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compilers.nvcc() == found


@needs_nvcc
def test_the_wheels_compiler_is_found_where_no_other_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheels lay nvcc out as `nvidia/cu13` among the interpreter's packages, which a link stands for here."""
    found = compilers.nvcc()
    assert found is not None
    (tmp_path / "nvidia").mkdir()
    (tmp_path / "nvidia" / "cu13").symlink_to(found.folders["cuda"])
    monkeypatch.setattr(compilers, "_USUAL", tmp_path / "none")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert compilers.nvcc() == found


def test_a_broken_nvcc_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "nvcc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert compilers.toolkit(broken) is None


@needs_nvcc
@TIERS
def test_an_installation_that_cannot_compile_is_nobody_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tier: Tier
) -> None:
    """As with a host compiler that is newer than nvcc knows: its own header stops with #error."""
    found = compilers.nvcc()
    assert found is not None
    put(tmp_path / "headers", stop_h="#error unsupported GNU version!\n")
    broken = replace(
        found,
        command=(*found.command, "-include", "{headers}/stop.h"),
        folders={**found.folders, "headers": tmp_path / "headers"},
    )
    monkeypatch.setattr(harness.cuda.check.verdict, "cuda_compiler", lambda: broken)
    said = gate(put(tmp_path / "submission", a_cu=RIGHT), ["a.cu"], ["twice"], tier=tier)
    assert said.ok is None
    assert said.text.startswith("nvcc fails on an empty kernel, too: ") and "unsupported GNU version" in said.text


GCC = HostCompiler("gcc", ("/usr/bin/g++",), "12.2.0")
ZIG = HostCompiler("zig", ("python", "-m", "ziglang", "c++"), "0.17.1")
SOME = compilers.CudaCompiler("nvcc", ("{cuda}/bin/nvcc",), "13.0.88")


@pytest.mark.parametrize(
    ("host", "cuda", "extras"),
    [
        (GCC, SOME, ()),
        (GCC, None, ("nvcc",)),
        (ZIG, None, ("nvrtc",)),  # nvcc takes gcc and clang only
        (None, None, ("zig", "nvrtc")),
        (None, SOME, ("zig",)),
    ],
)
def test_what_is_lacking_is_what_would_be_fetched(
    monkeypatch: pytest.MonkeyPatch,
    host: HostCompiler | None,
    cuda: compilers.CudaCompiler | None,
    extras: tuple[str, ...],
) -> None:
    monkeypatch.setattr(compilers, "host_compiler", lambda: host)
    monkeypatch.setattr(compilers, "cuda_compiler", lambda: cuda)
    assert compilers.lacking() == extras
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])
