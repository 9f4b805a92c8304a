"""What does not build says why: the compiler's words with the author's lines, or what the emulated device lacks."""

import ctypes
from pathlib import Path

import pytest

from harness.cuda.emulator.build import Built, build
from harness.sandbox import detect
from harness.sandbox.accounting import wall_bound

KERNEL = '__global__ void k(float* x) {{ {} }}\nextern "C" int f(float* x) {{ k<<<1, 1>>>(x); return 7; }}\n'


def built(tmp_path: Path, text: str, **how: float) -> Built:
    (tmp_path / "answer").mkdir()
    (tmp_path / "answer" / "a.cu").write_text(text)
    return build(tmp_path / "answer", ["a.cu"], tmp_path, tier=detect(), instrumented=False, **how)


def test_an_error_names_the_authors_line_and_no_name_of_ours(tmp_path: Path) -> None:
    done = built(tmp_path, "// one\n" + KERNEL.format("x[threadIdx.x] = missing;"))
    assert done.path is None and not done.unsupported
    assert "a.cu:2:" in done.errors and "‘missing’ was not declared" in done.errors.replace("'", "‘", 1)
    assert "__emu" not in done.errors and str(tmp_path) not in done.errors


def test_a_missing_symbol_is_an_error(tmp_path: Path) -> None:
    done = built(tmp_path, "void elsewhere(float*);\n" + KERNEL.format("") + "void g() { elsewhere(0); }")
    assert done.path is None and "elsewhere(float*)" in done.errors


def test_a_header_that_the_device_lacks_is_unsupported(tmp_path: Path) -> None:
    done = built(tmp_path, "#include <thrust/sort.h>\n" + KERNEL.format("thrust::sort(x, x);"))
    assert done.path is None
    told = [("the header <thrust/sort.h>", 1), ("Thrust (thrust::sort)", 2)]
    assert [(u.what, u.line) for u in done.unsupported][:2] == told


def test_what_the_device_lacks_of_a_library_is_named(tmp_path: Path) -> None:
    done = built(tmp_path, "#include <cub/cub.cuh>\n" + KERNEL.format("cub::BlockHistogram<int, 32, 1, 8> h;"))
    assert [(u.what, u.line) for u in done.unsupported] == [("CUB (cub::BlockHistogram)", 2)]


def test_misuse_of_what_the_device_has_of_a_library_is_an_error(tmp_path: Path) -> None:
    done = built(tmp_path, "#include <cub/cub.cuh>\n" + KERNEL.format("cub::WarpReduce<int> r(1);"))
    assert done.path is None and not done.unsupported and "a.cu:2:" in done.errors


def test_a_header_behind_a_condition_is_not_missed(tmp_path: Path) -> None:
    text = "#ifdef WITH_CUDNN\n#include <cudnn.h>\n#endif\n" + KERNEL.format("*x = 1;")
    assert built(tmp_path, text).path is not None


def test_a_kernel_that_is_not_understood_is_unsupported(tmp_path: Path) -> None:
    done = built(tmp_path, "#define K(n) __global__ void __launch_bounds__(n)\nK(32) k(float* x) { *x = 1; }\n")
    assert done.path is None
    assert [u.what for u in done.unsupported] == ["a kernel in a form that is not understood"]


def test_inline_assembly_builds_and_is_listed(tmp_path: Path) -> None:
    done = built(
        tmp_path,
        KERNEL.format('int lane;\nasm volatile("ldmatrix.sync.aligned %0, %%laneid;"\n : "=r"(lane)); x[lane] = 1;'),
    )
    assert done.path is not None, done.errors
    (found,) = done.unsupported
    assert (found.what, found.file, found.line) == ("inline assembly (ldmatrix.sync.aligned)", "a.cu", 2)


def test_a_file_outside_is_neither_included_nor_assembled(tmp_path: Path) -> None:
    done = built(tmp_path, 'asm(".incbin \\"/etc/passwd\\"");\n' + KERNEL.format("*x = 1;"))
    assert done.path is not None and b"root:" not in done.path.read_bytes()
    (tmp_path / "answer" / "a.cu").write_text('#include "/etc/passwd"\n')
    done = build(tmp_path / "answer", ["a.cu"], tmp_path, tier=detect(), instrumented=False)
    assert (done.path, done.errors) == (None, 'a.cu:1: #include "/etc/passwd" leaves the submission')


def test_a_compilation_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall_bound, "FACTOR", 40.0)  # a busy machine gives the 4 s late
    text = (
        "template <int N, int M> struct T { static constexpr long v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };\n"
        "template <int M> struct T<0, M> { static constexpr long v = M; };\nlong endless = T<26, 1>::v;\n"
    )
    done = built(tmp_path, text, seconds=4)
    assert done.path is None and done.errors


def test_a_library_shows_its_c_functions_and_ours_only(tmp_path: Path) -> None:
    done = built(
        tmp_path, KERNEL.format("") + 'namespace n { int hidden() { return 1; } }\nextern "C" int g() { return 3; }'
    )
    assert done.path == tmp_path / "plain.so", done.errors
    library = ctypes.CDLL(str(done.path))  # of our own making: nothing of an answer is in it
    assert library.g() == 3
    assert all(hasattr(library, name) for name in ("f", "emu_start", "emu_report", "emu_name"))
    assert not any(hasattr(library, name) for name in ("_ZN1n6hiddenEv", "cudaMalloc", "_ZN3emu9configureE"))
