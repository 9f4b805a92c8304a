"""Source that is empty, broken, binary, endless or nested without end is described, never an exception."""

import pytest

from harness.quality.assertions import count_assertions
from harness.quality.ast_mutants import mutable_lines, plan_mutants
from harness.quality.metrics import CURVES, measure
from harness.quality.sources import MAX_LENGTH, read_sources

ODD = {
    "syntax": (b"def f(:\n    pass\n", "does not parse at line 1"),
    "nul": (b"x = 1\x00\n", "does not parse"),
    "latin": (b"# caf\xe9\nx = 1\n", "is not UTF-8"),
    "binary": (bytes(range(256)) * 20, "is not UTF-8"),
    "coding": (b"# -*- coding: no-such-codec -*-\nx = 1\n", "is not UTF-8"),
    "undefined": (b"# -*- coding: undefined -*-\nx = 1\n", "is not UTF-8"),
    "punycode": (b"# -*- coding: punycode -*-\n" + b"x-" * 300_000, "is not UTF-8"),
    "unclosed": (b'x = """\n' + b"text\n" * 50, "does not parse"),
    "parentheses": (b"x = " + b"(" * 5000, "does not parse"),
    "minus": (b"x = " + b"-" * 200_000 + b"1\n", "nested too deeply"),
    "sum": (b"x = " + b"a + " * 200_000 + b"a\n", "nested too deeply"),
    "dedent": (b"if x:\n        y\n    z\n", "does not parse"),
    "huge": (b"x = 1\n" * (MAX_LENGTH // 6 + 1), "is longer than 1 MiB"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_broken_file_is_described(answer, kind):
    data, words = ODD[kind]
    report = measure(answer(broken=data, sound='"""Doc."""\nX = 1\n'))
    assert len(report.problems) == 1
    assert report.problems[0].startswith("broken.py ")
    assert words in report.problems[0]
    assert list(report.metrics) == list(CURVES)


@pytest.mark.parametrize("kind", ODD)
def test_a_broken_file_has_no_mutants_and_no_checks(answer, kind):
    folder = answer({"broken.py": ODD[kind][0], "test_broken.py": ODD[kind][0]})
    files = read_sources(folder)
    assert plan_mutants(files, {"broken.py": frozenset(range(99))}, seed=0) == []
    assert count_assertions(files).real == 0


PAGE = "# A kernel\n\nIt is fast.\n\n```cuda\n__global__ void f(float* x) {\n  x[0] = max(x[1], 0.f);\n}\n```\n"


def test_no_figure_is_taken_of_a_page_with_code_in_it(answer):
    """A kernel's file that holds Markdown has no functions to speak of: nothing is said about them."""
    report = measure(answer({"kernel.cu": PAGE}))
    assert {(metric.figure, metric.credit) for metric in report.metrics.values()} == {(None, None)}
    assert report.metrics["function_length"].detail.startswith("kernel.cu is not all source code: in line 5, ")
    commented = measure(answer({"kernel.cu": f"/*\n{PAGE}*/\n__global__ void f(float* x) {{ x[0] = 1; }}\n"}))
    assert commented.metrics["function_length"].figure == 1


@pytest.mark.parametrize(
    "prose", ["* Each warp \u2014 of 32 lanes \u2014 takes (one) row {", "} \u2022 fewer barriers"]
)
def test_no_figure_is_taken_of_a_comment_that_runs_on(answer, prose):
    """A dash or an arrow outside comments and strings is in no token of C++: what stands there is no code."""
    kernel = "__global__ void f(float* x) {\n  x[0] = 1;\n}\n"
    report = measure(answer({"kernel.cu": f"// Section\n{prose}\n{kernel}"}))
    assert {(metric.figure, metric.credit) for metric in report.metrics.values()} == {(None, None)}
    assert report.metrics["complexity"].detail.startswith("kernel.cu is not all source code: in line 2, ")
    for fine in (
        f"// {prose}\n",
        f'const char* s = "{prose}";\n',
        f'auto s = R"x(\n"{prose}\n)x";\n',
        f"#error {prose}\n",
        "int gr\u00f6\u00dfe;\n",
    ):
        assert measure(answer({"kernel.cu": fine + kernel})).metrics["complexity"].figure == 0


@pytest.mark.parametrize("text", ["", "\n\n", "# only words\n", '"""Only a docstring."""\n'])
def test_no_code_earns_nothing(answer, text):
    report = measure(answer(empty=text))
    assert {metric.credit for metric in report.metrics.values()} == {0.0}
    assert report.sloc == 0


def test_an_empty_folder_earns_nothing(tmp_path):
    assert {metric.credit for metric in measure(tmp_path).metrics.values()} == {0.0}


def test_links_and_special_files_are_passed_over(answer, tmp_path):
    folder = answer(sound="X = 1\n")
    (tmp_path / "outside.py").write_text("SECRET = 1\n")
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    (folder / "folder").symlink_to(tmp_path)
    assert [file.path for file in read_sources(folder)] == ["sound.py"]


def test_text_in_another_encoding_is_read_but_not_mutated(answer):
    folder = answer(latin="# -*- coding: latin-1 -*-\nx = 'é' and 1 + 2\n".encode("latin-1"))
    (file,) = read_sources(folder)
    assert "é" in file.text
    assert file.problem is None
    # written back as UTF-8 it would mean something else
    assert mutable_lines(file) == frozenset()


def test_line_ends_do_not_move_lines(answer):
    folder = answer(dos=b"def f(a):\r\n    return a + 1\r\n", mac=b"def f(a):\r    return a + 1\r")
    for file in read_sources(folder):
        assert mutable_lines(file) == {2}
        assert [line.number for line in file.code] == [1, 2]
