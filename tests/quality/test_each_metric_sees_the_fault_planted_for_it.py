"""Each of the six source figures moves with the fault planted for it, names the place, and leaves the others alone."""

import time
from typing import get_args

import pytest

from harness.model.challenges.challenge import SourceMetric
from harness.quality import tools
from harness.quality.evidence import FIGURES
from harness.quality.metrics import CURVES, WINDOW, credit, measure
from harness.quality.sources import read_sources

CLEAN = '''"""Means."""

import math


def mean(values: list[float]) -> float:
    """Arithmetic mean."""
    return math.fsum(values) / len(values)


def spread(values: list[float]) -> float:
    """Standard deviation."""
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))
'''


def branches(count: int) -> str:
    tests = "\n".join(f"    if x == {n}:\n        return {n + 1}" for n in range(count))
    return f'\n\ndef many(x: int) -> int:\n    """Branch."""\n{tests}\n    return 0\n'


def lines(count: int, name: str = "long") -> str:
    body = "\n".join(f"    x = x * {n} + {n % 7}" for n in range(count - 2))
    return f'\n\ndef {name}(x: int) -> int:\n    """Long."""\n{body}\n    return x\n'


def changed(answer, extra: str, **more: str) -> set[str]:
    """Figures that `extra` costs credit."""
    before = measure(answer(clean=CLEAN)).metrics
    after = measure(answer(clean=CLEAN + extra, **more)).metrics
    return {name for name in CURVES if after[name].credit < before[name].credit}


def test_clean_code_earns_everything(answer):
    report = measure(answer(clean=CLEAN))
    assert {name: metric.credit for name, metric in report.metrics.items()} == dict.fromkeys(CURVES, 1.0)
    # three lines of two functions and an import: counted by hand
    assert (report.sloc, report.files, report.problems) == (6, 1, ())
    assert set(report.versions) == {"ruff", "lizard"}


@pytest.mark.parametrize(
    ("extra", "name", "place"),
    [
        (branches(11), "complexity", "clean.py:17 many"),
        (lines(60), "function_length", "clean.py:17 long"),
        ("\n\nprint(undefined_name)\n", "lint", "clean.py:17 F821"),
        ("\n\nprint('%d' % (1, 2))\n", "lint", "clean.py:17 F507"),
        ("\n\ndef f(x):\n    return x is 'a'\n", "lint", "clean.py:18 F632"),
        ("\n\ndef f(x):\n    x == 1\n", "lint", "clean.py:18 B015"),
        (
            "\n\ndef first(x, y, z):\n    return x\n\n\ndef second(x, y):\n    return x\n",
            "documentation",
            "clean.py:17 first",
        ),
    ],
)
def test_a_fault_costs_its_own_metric(answer, extra, name, place):
    assert name in changed(answer, extra)
    metric = measure(answer(clean=CLEAN + extra)).metrics[name]
    assert metric.worst.startswith(place)


def test_complexity_counts_only_functions_over_ten(answer):
    # one branch per `if` and one for the function itself: 9 branches make 10
    assert changed(answer, branches(9)) == set()
    assert "complexity" in changed(answer, branches(10))


def test_each_loop_and_condition_of_a_comprehension_is_a_branch(answer):
    text = "def pick(rows):\n    return [x for row in rows if row for x in row if x > 0 if x < 9]\n"
    assert measure(answer(pick=text)).metrics["complexity"].detail.endswith("the highest is 6")


def test_a_large_file_costs_and_the_same_code_in_parts_does_not(answer):
    parts = [lines(20, f"part{n}") for n in range(40)]
    whole = measure(answer(clean=CLEAN + "".join(parts))).metrics["largest_file"]
    split = {f"part{n}": f'"""Part."""\n{text}' for n, text in enumerate(parts)}
    divided = measure(answer(clean=CLEAN, **split)).metrics["largest_file"]
    assert (whole.figure, whole.worst) == (806, "clean.py")
    assert whole.credit < 0.7 < divided.credit == 1.0


def test_docstrings_and_comments_are_no_code(answer):
    text = '"""Module.\n' + "prose\n" * 900 + '"""\n' + "# remark\n" * 900 + "X = 1\n"
    assert measure(answer(clean=text)).metrics["largest_file"].figure == 1


def test_printed_text_counts_where_it_begins_and_ends(answer):
    text = 'def explain(n):\n    print(f"""' + "prose\n" * 900 + '{n}""")\n' + "X = (1,\n     2)\n"
    metrics = measure(answer(clean=text)).metrics
    assert (metrics["largest_file"].figure, metrics["function_length"].figure) == (5, 3)


def test_repetition_starts_at_the_window(answer):
    block = [f"value = {n} * 17 + {n}" for n in range(WINDOW)]

    def figure(copies: list[str]) -> float:
        return (
            measure(answer(flat="\n".join(["A = 1", *block, "B = 2", *copies, "C = 3"]))).metrics["duplication"].figure
        )

    assert figure(block[:-1]) == 0
    # six of the fifteen lines repeat the first six
    assert figure(block) == pytest.approx(100 * 6 / 15)


def test_the_longest_repetition_is_named(answer):
    short, long = (
        [f"{name} = {n} * 17 + {n}" for n in range(rows)] for name, rows in (("a", WINDOW), ("b", 2 * WINDOW))
    )
    lines = [*short, "A = 1", *long, "B = 2", *short, "C = 3", *long]
    metric = measure(answer(flat="\n".join(lines))).metrics["duplication"]
    again = len(lines) - len(long) + 1
    assert metric.worst == f"flat.py:{again} repeats flat.py:{WINDOW + 2}"


def test_a_repetition_begins_with_its_first_line_where_that_repeats_another_place_too(answer):
    first, rest = ([f"{name} = {n} * 17 + {n}" for n in range(WINDOW)] for name in "ab")
    lines = [*first, "A = 1", *first, *rest, "B = 2", *first, *rest]
    metric = measure(answer(flat="\n".join(lines))).metrics["duplication"]
    assert metric.worst == f"flat.py:{len(lines) - 2 * WINDOW + 1} repeats flat.py:{WINDOW + 2}"


def test_repetition_is_seen_across_files_and_names_both(answer):
    folder = answer(first=CLEAN + lines(10), second=CLEAN + lines(10))
    metric = measure(folder).metrics["duplication"]
    assert metric.figure == pytest.approx(100 * 15 / 32)  # each file has 16 code lines, one of them an import
    assert metric.worst == "second.py:6 repeats first.py:6"


def test_imports_that_files_share_are_no_repetition(answer):
    imports = "".join(f"import part{n}\n" for n in range(WINDOW)) + "from other import (\n    a,\n    b,\n)\n"
    metric = measure(answer(first=imports + "x = 1\n", second=imports + "y = 2\n")).metrics["duplication"]
    assert (metric.figure, metric.credit) == (0, 1)


def test_suppressions_of_the_answer_are_not_obeyed(answer):
    folder = answer(
        {
            "clean.py": CLEAN
            + "\n\nprint(nothing)  # noqa\n# ruff: noqa\n"
            + "# GENERATED CODE\n#lizard forgives\n"
            + branches(20),
            "ruff.toml": "exclude = ['*.py']\n",
            "pyproject.toml": "[tool.ruff]\nexclude = ['*.py']\n",
            ".gitignore": "*.py\n",
        }
    )
    metrics = measure(folder).metrics
    assert metrics["lint"].figure > 0
    assert metrics["complexity"].figure > 50


def test_tests_are_left_out_and_adapters_are_not(answer):
    faulty = "print(nothing)\n"
    folder = answer({"clean.py": CLEAN, "test_clean.py": faulty, "tests/helper.py": faulty})
    assert measure(folder).metrics["lint"].figure == 0
    # code does not hide behind a test's name: the entry and what it imports are source
    assert measure(folder, entries=("test_clean.py",)).metrics["lint"].figure > 0
    folder = answer({"adapter.py": "from tests import helper\n\nprint(helper)\n"})
    assert measure(folder).metrics["lint"].worst.startswith("tests/helper.py:1 F821")


HARMLESS = (
    "sums = [max([1, 2], key=lambda x: x * n) for n in (1, 2)]",
    "for n in (1, 2):\n    def scaled(x):\n        return x * n\n\n    print(scaled(3))",
    "def total(values=[]):\n    return sum(values)",
    "def other(x: list['batch'], y: list['rows columns']):\n    return x",
    "print('{}'.format(1, 2))",
    "def never():\n    assert False, 'not reached'",
    "def twice():\n    return 1\n\n\ndef twice():\n    return 2",
)
TASTE = (
    "import os", 'print(f"text")', "zip([1], [2])", "for unused in (1, 2): print()",
    "from math import (\n    pi,\n)\n\n\ndef area():\n    from math import (\n        pi,\n    )\n    return pi",
)  # fmt: skip


@pytest.mark.parametrize("line", TASTE)
def test_taste_is_no_likely_fault(answer, line):
    """An unused or repeated import, an f-string without a value, `zip` without `strict`: no result depends on them."""
    assert measure(answer({"clean.py": f"{CLEAN}\n\n{line}\n"})).metrics["lint"].figure == 0


@pytest.mark.parametrize("code", HARMLESS)
def test_what_right_code_may_do_is_no_likely_fault(answer, code):
    assert measure(answer({"clean.py": f"{CLEAN}\n\n{code}\n"})).metrics["lint"].detail.startswith("0 likely faults")


def test_cuda_is_measured_by_what_applies(answer):
    kernel = """// Adds.
__global__ void __launch_bounds__(256) add(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; /* not
  code */
  if (i < n) { y[i] += x[i]; }
}

extern "C" int run(const float* x, float* y, int n) {
  add<<<(n + 255) / 256, 256>>>(x, y, n);
  return 0;
}
"""
    metrics = measure(answer({"add.cu": kernel})).metrics
    assert metrics["largest_file"].figure == 8
    assert metrics["function_length"].figure == 4
    assert (metrics["complexity"].figure, metrics["complexity"].worst) == (0, "add.cu:2 add")
    # one of two functions has a comment above it
    assert (metrics["documentation"].figure, metrics["documentation"].worst) == (50, "add.cu:8 run lacks documentation")
    assert metrics["lint"].credit is None


def test_credit_falls_from_one_to_nothing():
    for name, curve in CURVES.items():
        values = [credit(name, figure) for figure, _ in curve]
        assert values == [earned for _, earned in curve]
        low, high = min(curve)[0], max(curve)[0]
        assert {credit(name, low - 1), credit(name, high + 1)} == {0.0, 1.0}
        # halfway between two points of the table lies half their credit
        (left, one), (right, other) = curve[:2]
        assert credit(name, (left + right) / 2) == pytest.approx((one + other) / 2)


def test_functions_of_python_are_those_of_its_syntax(answer):
    """A function begins at its decorator; what stands in one within it adds to its length, not to its branches."""
    text = '''"""Doc."""
import functools


@functools.cache
def outer(x: int) -> int:
    """Doc."""
    text = """a (
) {

def no_function(x):
"""

    def inner(y: int) -> int:
        return 1 if y and x and not y else 2

    return inner(len(text))
'''
    metrics = measure(answer(nested=text)).metrics
    # the decorator, `def`, the two ends of a text, `return`; the two of `inner` are its own
    assert metrics["function_length"].detail.startswith("the longest of 2 functions has 5 code lines")
    assert metrics["complexity"].detail.endswith("the highest is 4")
    assert metrics["complexity"].worst == "nested.py:14 inner"


def test_no_file_is_a_function_beside_functions(answer):
    """A drawing printed line by line is no long function."""
    flat = "\n".join(f"print({n})" for n in range(90)) + "\n"
    alone = measure(answer({"flat.py": flat})).metrics["function_length"]
    assert (alone.figure, alone.worst) == (90, "flat.py:1 (whole file)")
    assert alone.detail.startswith("the longest of 1 file without a function has 90 code lines")
    metric = measure(answer({"clean.py": CLEAN, "flat.py": flat})).metrics["function_length"]
    assert (metric.figure, metric.credit) == (3, 1.0)
    assert metric.detail.startswith("the longest of 2 functions has 3 code lines")


def test_the_name_that_lacks_most_is_the_worst(answer):
    """One that lacks documentation and two annotations lacks more than one before it without parameters."""
    extra = "\n\ndef bare():\n    return 1\n\n\ndef more(x, y):\n    return x + y\n\n\ndef same(x, y):\n    return x\n"
    metric = measure(answer(clean=CLEAN + extra)).metrics["documentation"]
    assert metric.worst == "clean.py:21 more lacks documentation and 2 annotations; 1 more lacks the same"
    assert [(place.line, place.function) for place in metric.locations] == [(21, "more")]


def test_a_module_is_no_function_to_document(answer):
    metric = measure(answer(clean=CLEAN.replace('"""Means."""\n', ""))).metrics["documentation"]
    assert (metric.figure, metric.worst) == (100, "")


def test_only_what_is_public_is_asked_for_annotations(answer):
    """A private function, and one within a function, is nobody else's to call."""
    private = "\n\ndef _twice(x):\n    def inner(y):\n        return y\n\n    return inner(x) * 2\n"
    assert measure(answer(clean=CLEAN + private)).metrics["documentation"].figure == 100
    bare = '\n\ndef twice(x):\n    """Double."""\n    return x * 2\n'
    metric = measure(answer(clean=CLEAN + bare)).metrics["documentation"]
    assert metric.detail == "3 of 3 public names documented, 2 of 3 parameters of theirs annotated"
    assert metric.worst == "clean.py:17 twice lacks 1 annotation"


def test_a_demo_that_imports_its_helpers_from_a_test_leaves_it_a_test(answer):
    folder = answer({
        "add.py": "def add(a, b):\n    return a + b\n",
        "test_add.py": "from add import add\n\n\ndef test_it():\n    assert add(1, 2) == 3\n",
        "demo.py": "from test_add import test_it\n\ntest_it()\n",
    })  # fmt: skip
    states = {file.path: (file.test, file.unused) for file in read_sources(folder, ("add.py",))}
    assert states["test_add.py"] == (True, False)
    assert measure(folder, entries=("add.py",)).files == 1


@pytest.mark.parametrize("name", ["test_add.cu", "add_test.cu", "tests/add.cu"])
def test_test_programs_in_cuda_are_left_out(answer, name):
    kernel = "__global__ void add(float* x) {\n  x[0] += 1;\n}\n"
    folder = answer({"add.cu": kernel, name: "int main() {\n  return 0;\n}\n"})
    assert measure(folder).files == 1
    assert measure(folder, entries=("add.cu", name)).files == 2
    included = answer({"add.cu": f'#include "{name}"\n{kernel}'})
    assert measure(included).files == 2


def test_a_tool_that_gives_no_answer_earns_nothing(answer, monkeypatch):
    monkeypatch.setattr(tools, "_answer", lambda process: None)
    metrics = measure(answer({"clean.py": CLEAN, "add.cu": "void f() {\n}\n"})).metrics
    assert [metrics[name].credit for name in ("complexity", "function_length", "lint")] == [0.0] * 3
    assert metrics["duplication"].credit == 1.0


def test_a_submission_is_measured_within_a_second(answer):
    # a thousand code lines in ten files: larger than any bundled answer; 0.3 s on a quiet core, 0.6 beside other work
    folder = answer(**{f"part{n}": CLEAN + lines(100) for n in range(10)})
    took = []
    for _ in range(3):
        start = time.process_time()
        measure(folder)
        took.append(time.process_time() - start)
    assert min(took) < 1


def test_a_rubric_can_name_every_metric_and_no_other():
    assert set(get_args(SourceMetric)) == set(CURVES) == set(FIGURES)
