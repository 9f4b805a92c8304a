"""Literals and integers of a source are found."""

import time

import pytest

from harness.languages import AnswerFiles, language, literals
from harness.source.c.literals import integer_literals
from harness.source.python.literals import python_literals

SOURCE = """
BLOCK = 64
TILE: int = 3 * BLOCK + 1
LIMIT = 1 << 13
twice = 5
twice = 6

def f(x, width=40):
    if x.shape[-1] > TILE * 2 and len(x) % 7 == 0:
        return x[: BLOCK // 4]
    return x * 2.5 + unknown * 11 + True
"""


def test_values_of_constant_expressions_are_found():
    found = set(python_literals(SOURCE))
    assert {64, 3, 193, 386, 13, 8192, 5, 6, 40, 7, 16, 11} <= found
    assert 10 not in found and 12 not in found


@pytest.mark.parametrize("text", ["9 ** 9 ** 9 ** 9", "1 << 10 ** 9", "1 // 0", "-1 << -1", "'9' * 10 ** 9"])
def test_a_hostile_expression_costs_nothing(text):
    assert all(abs(n) <= 10**9 for n in python_literals(text))


def test_all_files_of_an_answer_count_and_a_broken_one_stops_nobody(tmp_path):
    (tmp_path / "answer.py").write_text("N = 300\n")
    (tmp_path / "helper.py").write_text("M = 77 << 1\n")
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "notes.txt").write_text("M = 999\n")
    assert literals(language("python"), AnswerFiles(tmp_path, ("answer.py",))) == {300, 77, 154}


SIZE = 100_000
SECONDS = 6
"""The worst shape here takes 0.6 s of processor time; in quadratic time it is far more than this."""
WRITTEN = {
    "int n = 1024;": {1024},
    "auto n = 0x400u + 1;": {1024, 1, 1025},
    "long n = 1'000'000LL; int b = 0b1010; int o = 0777;": {1000000, 10, 511},
    "if (n >= 1 << 10) f();": {1, 10, 1024},
    "if (n > 256 * 4 + (8 - 3)) f();": {256, 4, 1024, 8, 3, 5, 1029},
    "constexpr int T = 256; constexpr int V = 4; int a[T * V];": {256, 4, 1024},
    "struct S { static constexpr int ROOM = 96; int a[ROOM / 2]; };": {96, 2, 48},
    "enum { WARP = 32, HALF = WARP / 2 };": {32, 2, 16},
    "#define WARPS 8\n#define THREADS (WARPS * 32)\nint a[THREADS - 1];": {8, 32, 256, 1, 255},
    "#if N > 4096\n#endif": {4096},
    "const int room = 48 * 1024 / sizeof(float);": {48, 1024, 49152, 4, 12288},
    "int n = static_cast<int>(3) << 5; size_t m = size_t{7} * 9;": {3, 5, 96, 7, 9, 63},
    "__global__ void __launch_bounds__(128) k(); void g() { k<<<n, 64 * 3>>>(); }": {128, 64, 3, 192},
    "int i = 5; f(i + 4);": {5, 4},
    "float x = 1.5f, y = 1e6f; int n = 7 / 0 + 99999999999;": {7, 0},
    "void broken( { if (n == 4097 ) ) }": {4097},
}
SHAPES = {
    "brackets": "int a = " + "(" * SIZE,
    "sums": "int a = 1" + "+1" * (SIZE // 2) + ";",
    "macros": "".join(f"#define A{i} A{i - 1} + {i}\n" for i in range(SIZE // 20)),
    "shifts": "int a = 1" + "<<62" * (SIZE // 4) + ";",
    "digits": "int a = " + "9" * SIZE + ";",
    "braces": "void f() " + "{" * SIZE,
}


@pytest.mark.parametrize("text", WRITTEN)
def test_every_way_of_writing_an_integer_is_read(text: str) -> None:
    assert integer_literals(text) == WRITTEN[text]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_time_grows_with_the_length(shape: str) -> None:
    start = time.process_time()
    integer_literals(SHAPES[shape])
    assert time.process_time() - start < SECONDS
