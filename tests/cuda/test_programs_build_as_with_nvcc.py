"""A program is built as nvcc builds it: its own headers first, C and C++ as host code, names that macros make found."""

from pathlib import Path

import pytest
from built_programs import reported

from harness.cuda.programs.program import ProgramSource, build_program
from harness.sandbox import detect

FILES = {
    "app/main.cu": """
#include <cstdio>
#include <helper_cuda.h>
#include "scale.h"
#include "deep/inner.h"
#include "choice.h"
#include CHOSEN
extern "C" int twice(int);
template <int N> __global__ void add_4(float* x) { if (threadIdx.x < N) x[threadIdx.x] += 4; }
#define LAUNCH(name, by, x) name##_##by<8><<<1, 32>>>(x)
#define RUN(by) LAUNCH(add, by, x)
int main() {
    float *x, host[8];
    cudaMalloc(&x, sizeof(host));
    cudaMemset(x, 0, sizeof(host));
    RUN(4);
    scale(x, FACTOR);
    cudaMemcpy(host, x, sizeof(host), cudaMemcpyDeviceToHost);
    cudaFree(x);
    return host[7] == 4 * FACTOR * INNER && OURS == 3 && twice(2) == 4 && CHOICE == 7 && threads() == 1 ? 0 : 1;
}
""",
    # what kernels know is nothing to host code
    "app/scale.cpp": """#include <cuda_runtime.h>
#include <omp.h>
#include "scale.h"
#ifdef __CUDACC__
#error "this is no CUDA"
#endif
static_assert(__cplusplus >= 202002L, "asked for");
const int bits = cudaCreateChannelDesc<float4>().w;
static unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
void scale_on_device(float*, float);
void scale(float* x, float by) { scale_on_device(x, umin(by, bits)); }
int threads() {
    int most = 0;
#pragma omp parallel num_threads(4)
    most = omp_get_num_threads();
    return most;
}
""",
    "app/kernels.cu": "#include <scale.h>\n__global__ void times(float* x, float by) { x[threadIdx.x] *= by; }\n"
    "void scale_on_device(float* x, float by) { times<<<1, 8>>>(x, by); }\n",
    # names that C has and C++ has not
    "app/twice.c": "int twice(int class) { int *new = &class; return 2 * *new; }\n",
    "app/inc/scale.h": "#pragma once\nvoid scale(float* x, float by);\nint threads();\n",
    "app/choice.h": '#define CHOSEN "deep/chosen.h"\n',
    "common/deep/chosen.h": "#define CHOICE 7\n",
    "common/helper_cuda.h": "#define OURS 3\n",
    "common/deep/inner.h": '#include "../inner_value.h"\n',
    "common/inner_value.h": "#define INNER 1\n",
}


def laid_out(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_folders_of_headers_languages_and_pasted_launches(tmp_path: Path) -> None:
    place = laid_out(tmp_path / "source")
    source = ProgramSource.of([place / "app" / name for name in ("main.cu", "kernels.cu", "scale.cpp", "twice.c")])
    (into := tmp_path / "made").mkdir()
    built = build_program(
        source, into, tier=detect(), defines={"FACTOR": "2"}, includes=[place / "app" / "inc", place / "common"],
        standard="c++20",
    )  # fmt: skip
    assert built.path is not None, built.errors
    status, report = reported(built.path, 1)
    assert (status, report["defects"]) == (0, [])
    assert [launch["kernel"] for launch in report["launches"]] == ["add_4", "times"]


SHARED = """#pragma once
__constant__ int tens[] = {10, 20};
namespace deep { __device__ int last(const int* x, int n); }
__device__ int first(const int* x) { return x[0] + tens[0]; }
"""
ONE = """#include "shared.h"
__device__ int own() { return 1; }
__global__ void one(int* x) { x[0] = first(x) + own(); }
void run_two(int*);
int main() {
    int *x, host;
    cudaMalloc(&x, 4);
    cudaMemset(x, 0, 4);
    one<<<1, 1>>>(x);
    run_two(x);
    cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost);
    cudaFree(x);
    return host == 11 + 10 + 100 ? 0 : 1;
}
"""
TWO = """#include "shared.h"
__device__ int own() { return 100; }
__global__ void two(int* x) { x[0] = first(x) + own(); }
void run_two(int* x) { two<<<1, 1>>>(x); }
"""


def test_device_functions_of_two_units_may_have_one_name(tmp_path: Path) -> None:
    """As with nvcc, unless it is told to link device code."""
    (place := tmp_path / "source").mkdir()
    (into := tmp_path / "made").mkdir()
    for name, text in {"shared.h": SHARED, "one.cu": ONE, "two.cu": TWO}.items():
        (place / name).write_text(text)
    built = build_program(ProgramSource.of([place / "one.cu", place / "two.cu"]), into, tier=detect())
    assert built.path is not None, built.errors
    assert reported(built.path, 1)[0] == 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.cu": '#include "nowhere.h"\nint main() {}\n'}, "a.cu:1:"),
        ({"a.cu": '#include "../b/x.h"\nint main() {}\n'}, "lies outside the program's folder; --root names a higher"),
        ({"a.cu": "int main() {}\n", "b.cu": "int main() {}\n"}, "multiple definition of `main'"),
        ({"a.cu": "\x00\x01\x02 not CUDA at all {{{ <<<"}, "a.cu:1"),
    ],
    ids=["a missing header", "a header outside", "two mains", "not CUDA"],
)
def test_what_cannot_be_built_says_why(files: dict[str, str], said: str, tmp_path: Path) -> None:
    place, into = tmp_path / "source", tmp_path / "made"
    place.mkdir()
    into.mkdir()
    for name, text in files.items():
        (place / name).write_text(text)
    built = build_program(ProgramSource.of([place / name for name in files]), into, tier=detect())
    assert built.path is None
    assert said in built.errors + "".join(f"{lack.file}:{lack.line}" for lack in built.unsupported)
