"""What does not compile is refused in the compiler's own words, at the author's line, without paths of this machine."""

from pathlib import Path

from gate_rooms import A_TIER, RIGHT, needs_nvcc, put

from harness.cuda.check.verdict import CompilerResult, gate
from harness.model import Tier

pytestmark = [needs_nvcc, A_TIER]


def asked(folder: Path, tier: Tier, *entries: str, symbols: tuple[str, ...] = ()) -> CompilerResult:
    said = gate(folder, entries or ("a.cu",), symbols, tier=tier)
    for path in (str(folder), "/extra", "/submission", "/usr/", "/tmp/", "tmpxft"):
        assert path not in said.text, f"shows a path of this machine: {said.text}"
    return said


def test_an_undeclared_name_is_told_with_its_line(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu="__global__ void k(float* p) {\n    p[0] = -FLT_MAX;\n    topp_prob = 1;\n}\n")
    said = asked(tmp_path, tier)
    assert said.ok is False
    assert [(e.file, e.line) for e in said.errors] == [("a.cu", 2), ("a.cu", 3)]
    assert said.text == 'a.cu:2: identifier "FLT_MAX" is undefined\na.cu:3: identifier "topp_prob" is undefined'


def test_a_markdown_document_is_no_program(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu=f"# Fused softmax\n\nHere is the kernel:\n\n```cuda\n{RIGHT}```\n")
    said = asked(tmp_path, tier)
    assert said.ok is False
    assert said.errors[0].file == "a.cu" and said.errors[0].line in (1, 3, 5)


def test_an_error_in_a_header_is_placed_there(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, src__a_cu='#include "../common/b.cuh"\n' + RIGHT, common__b_cuh="\nint f() { return nothing; }\n")
    said = asked(tmp_path, tier, "src/a.cu")
    assert [(e.file, e.line) for e in said.errors] == [("common/b.cuh", 2)]


def test_a_missing_header_is_told(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu='#include "nowhere.cuh"\n')
    said = asked(tmp_path, tier)
    assert said.ok is False and said.text == "a.cu:1: nowhere.cuh: No such file or directory"


def test_too_much_shared_memory_is_the_assemblers_word(tmp_path: Path, tier: Tier) -> None:
    kernel = (
        "__global__ void k(float* p) { __shared__ float s[20000]; s[threadIdx.x] = *p; __syncthreads(); *p = s[1]; }"
    )
    put(tmp_path, a_cu=kernel)
    said = asked(tmp_path, tier)
    assert said.ok is False and "Entry function 'k' uses too much shared data" in said.text


def test_a_function_that_is_nowhere_is_the_linkers_word(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu='int helper(int);\nextern "C" int f(int n) { return helper(n); }\n')
    said = asked(tmp_path, tier)
    assert said.ok is False and "undefined reference to" in said.text and "helper" in said.text


def test_a_kernel_in_two_files_is_told_by_its_name_alone(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu="__global__ void k(float* p) { *p = 1; }\n", b_cu="__global__ void k(float* p) { *p = 2; }\n")
    said = asked(tmp_path, tier, "a.cu", "b.cu")
    assert said.ok is False and said.text == "multiple definition of `k(float*)`, first in a"


def test_a_function_that_is_not_exported_is_named(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu=RIGHT.replace('extern "C" ', ""))
    said = asked(tmp_path, tier, symbols=("twice", "thrice"))
    assert said.ok is False and said.missing == ("twice", "thrice")
    assert 'no function `twice`, only a C++ function of that name: declare it extern "C"' in said.text
    assert "no function `thrice`" in said.text


def test_of_many_errors_the_first_are_kept(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu="".join(f"int f{i}() {{ return unknown{i}; }}\n" for i in range(3000)))
    said = asked(tmp_path, tier)
    assert said.errors[0].line == 1 and len(said.errors) == 20
    assert len(said.text.splitlines()) == 9


def test_an_empty_file_exports_nothing(tmp_path: Path, tier: Tier) -> None:
    put(tmp_path, a_cu="")
    said = asked(tmp_path, tier, symbols=("twice",))
    assert said.ok is False and said.missing == ("twice",)


def test_a_name_that_is_no_file_is_told(tmp_path: Path, tier: Tier) -> None:
    said = asked(tmp_path, tier, "b.cu")
    assert said.ok is False and said.text == "b.cu: no such file in the submission"
