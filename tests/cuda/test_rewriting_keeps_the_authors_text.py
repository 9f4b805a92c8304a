"""What is not CUDA stays byte for byte the author's, and every line where it was."""

from pathlib import Path

import pytest

from harness.cuda.rewriting import Rewriting, rewrite

INPUTS = Path(__file__).parent / "rewritten"
PROGRAMS = sorted(INPUTS.glob("*.cu"))

HOST = """// a comment with <<<grid, block>>>(in it) and threadIdx.x
#include <vector>
const char* text = "k<<<1, 2>>>(x); __shared__ asm(\\"\\")";
const char* raw = R"(__global__ void k() { __shared__ int x; })";
template <class T> struct V { std::vector<std::vector<std::vector<T>>> all; };
int shifted(int a, int b) { return a << 2 >> 1 < b; }
int blockDimension(int gridDim) { struct { int x; } blockDim{gridDim}; return blockDim.x; }
"""


def rewritten(tmp_path: Path, text: str) -> Rewriting:
    (tmp_path / "a.cu").write_text(text)
    return rewrite(tmp_path, ["a.cu"])


def text_of(rewriting: Rewriting, path: str = "a.cu") -> str:
    first, _, rest = rewriting.files[path].decode().partition("\n")
    assert first == f'#line 1 "{path}"'
    return rest


def test_host_code_is_left_alone(tmp_path: Path) -> None:
    assert text_of(rewritten(tmp_path, HOST)) == HOST


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_lines_stay_where_they_were(program: Path) -> None:
    before = program.read_text().split("\n")
    after = text_of(rewrite(INPUTS, [program.name]), program.name).split("\n")
    assert len(after) == len(before)
    touched = (
        "__",
        "<<<",
        ">>>",
        "Idx",
        "Dim",
        "memcpy",
        "}",
        "CUDA",
        "#",
        "KERNEL",
        "HD",
        "SMEM",
        "DEVICE",
        "alignas",
        "template <>",
    )
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        assert old == new or any(word in old for word in touched), f"{program.name}:{number}: {new}"


def test_only_the_launch_changes_in_a_line_with_one(tmp_path: Path) -> None:
    line = "void f(float* x) { g(1); k<float, (3 > 2)><<<n / 2, b>>>(x, h(2)); g(2); }  // end\n"
    changed = "void f(float* x) { g(1); (::emu::configured(n / 2, b), k<float, (3 > 2)>(x, h(2))); g(2); }  // end\n"
    assert text_of(rewritten(tmp_path, line)) == changed


def test_a_launch_in_lines_keeps_the_lines_of_its_arguments(tmp_path: Path) -> None:
    text = "void f() {\n    ns::k<<<a,  // grid\n            b>>>(\n        x,\n        y);\n    g();\n}\n"
    lines = text_of(rewritten(tmp_path, text)).split("\n")
    assert lines[3:6] == ["        x,", "        y));", "    g();"]


def test_the_same_source_gives_the_same_text(tmp_path: Path) -> None:
    for program in PROGRAMS:
        assert rewrite(INPUTS, [program.name]) == rewrite(INPUTS, [program.name])


@pytest.mark.parametrize(
    "text", ["", "\n", 'no C++ at all: ((([[[{{{ <<< >>> "', "\x00\x01\x02", "#", "#define\n#include"]
)
def test_what_is_no_source_stays_what_it_is(tmp_path: Path, text: str) -> None:
    done = rewritten(tmp_path, text)
    assert done.problems or text_of(done) == text
