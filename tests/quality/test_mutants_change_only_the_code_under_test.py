"""Mutants change what the code does, on executed lines of the code under test only, the same ones for the same seed."""

import ast
import asyncio
from pathlib import Path

import pytest

import harness
from harness.quality.ast_mutants import SourceMutant, equivalent, plan_mutants
from harness.quality.sources import SourceFile, read_sources
from harness.source.python.syntax import PYTHON_SYNTAX

REFERENCES = Path(harness.__file__).parents[1] / "references"

SAMPLE = '''"""Doc 1 + 1."""

import sys

LIMIT = 3


def kernel(x: "int + 1", n: int = 2) -> "1 + 2":
    """Returns 3 * 3."""
    if not x or n < 4:
        raise ValueError("n - 1 " + str(n - 1))
    assert n > 0, n - 2
    y = x[1:n]
    y += -n
    print(f"{n - 3}", n - 4)
    return y, x


def check_kernel():
    return kernel(1 + 1)


class Cache:
    size: int = 7

    def test_size(self):
        return self.size + 1


if __name__ == "__main__":
    sys.exit(1 + 1)
'''
EXPECTED = {
    (5, "3", "4"),
    (8, "2", "3"),
    (10, "not x or n < 4", "not x and n < 4"),
    (10, "not x", "x"),
    (10, "n < 4", "n >= 4"),
    (10, "4", "5"),
    (13, "1:n", "1:n - 1"),
    (13, "1", "2"),
    (14, "y += -n", "y -= -n"),
    (14, "-n", "n"),
    (16, "(y, x)", "(x, y)"),
    (24, "7", "8"),
}


def everywhere(files) -> dict[str, frozenset[int]]:
    return {file.path: frozenset(range(1, 10_000)) for file in files}


def applied(mutant: SourceMutant, text: str) -> str:
    return text[: mutant.start] + mutant.text + text[mutant.end :]


def test_the_rules_plant_what_they_say_and_nothing_else(answer):
    files = read_sources(answer(sample=SAMPLE))
    mutants = plan_mutants(files, everywhere(files), seed=0)
    assert {(m.line, m.before, m.after) for m in mutants} == EXPECTED
    assert len(mutants) == len(EXPECTED)


@pytest.mark.parametrize(
    ("expression", "others"),
    [
        ("a + b", {"a - b", "a", "b"}),
        ("a - b", {"a + b", "a"}),
        ("a * b", {"a / b", "a", "b"}),
        ("a / b", {"a * b", "a"}),
        ("a // b", {"a / b"}),
        ("a % b", {"a * b"}),
        ("a ** b", {"a * b"}),
        ("a @ b", set()),
        ("'a' + b", set()),
        ("a == b", {"a != b"}),
        ("a is b", {"a is not b"}),
        ("a in b", {"a not in b"}),
        ("a <= b", {"a < b", "a > b"}),
        ("a < 1", {"a >= 1", "2"}),
        ("a >= 1", {"a < 1", "2"}),
        ("a <= 1", {"a < 1", "a > 1", "2"}),
        ("a < 1.5", {"a <= 1.5", "a >= 1.5", "3.0"}),
        ("a[:-1]", {"1", "2"}),
        ("a[b:c]", {"b - 1:c", "b:c - 1"}),
        ("0.5", {"1.0"}),
        ("0.0", {"1.0"}),
        ("True", {"False"}),
        ("None", set()),
        ("1e308", set()),
        ("f'{a + b}'", set()),
        ("é + b", {"é - b", "é", "b"}),
    ],
)
def test_every_operator_has_its_mutants(answer, expression, others):
    files = read_sources(answer(sample=f"value = {expression}\n"))
    assert {mutant.after for mutant in plan_mutants(files, everywhere(files), 0)} == others


@pytest.mark.parametrize("path", sorted(REFERENCES.rglob("*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_mutant_of_a_real_kernel_is_different_code_that_parses(path):
    (file,) = (file for file in read_sources(path.parent) if file.path == path.name)
    mutants = plan_mutants([file], everywhere([file]), seed=0)
    original = ast.dump(ast.parse(file.text))
    texts = [applied(mutant, file.text) for mutant in mutants]
    assert mutants
    assert all(ast.dump(ast.parse(text)) != original for text in texts)
    assert len(set(texts)) == len(texts)


def test_the_order_is_drawn_from_the_seed(answer):
    files = read_sources(answer(sample=SAMPLE, more="def f(a):\n    return a * a + 1\n"))
    one, again, other = (plan_mutants(files, everywhere(files), seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_only_executed_lines_are_touched(answer):
    files = read_sources(answer(sample=SAMPLE))
    assert {mutant.line for mutant in plan_mutants(files, {"sample.py": {13, 14}}, 0)} == {13, 14}
    assert plan_mutants(files, {"other.py": {13, 14}}, 0) == []


def test_an_assignment_that_nothing_reads_is_not_touched(answer):
    """A suite cannot notice what shows nowhere; a name that a nested function or another statement reads does show."""
    source = """
def kernel(x):
    rows = x.shape[0]
    a, b = x.shape[1], 2
    width = 3
    total, _ = 5, 6

    def inner():
        return width

    return inner() + total


size = 7
"""
    files = read_sources(answer(kernel=source))
    assert {mutant.line for mutant in plan_mutants(files, everywhere(files), 0)} == {5, 6, 11, 14}


def test_tests_demos_and_benchmarks_are_not_touched(answer):
    files = read_sources(answer(test_it=SAMPLE, benchmark=SAMPLE, demo_cache=SAMPLE))
    assert plan_mutants(files, everywhere(files), 0) == []


def test_a_long_expression_is_described_by_where_it_changes(answer):
    terms = " + ".join(f"term_{n}" for n in range(30))
    files = read_sources(answer(sample=f"value = {terms}\n"))
    described = [str(mutant) for mutant in plan_mutants(files, everywhere(files), 0)]
    assert all(len(text) < 250 for text in described)
    assert any("+ term_29` -> `" in text and "- term_29`" in text for text in described)


KINDS_OF_CODE = '''"""Doc."""; from __future__ import annotations
import asyncio
TOTAL = 3


def add(a, b=2 * TOTAL):
    """Adds."""
    global TOTAL
    TOTAL += 1
    return a + b


class Twice:
    """A class."""

    def of(self, x: int) -> int:
        return [y * 2 for y in (x, -x)][x < 0]


def upward(n):
    yield from range(n)


async def late():
    return f"{add(1):>4}"
'''


def test_equivalent_code_computes_the_same_with_other_bytecode():
    """A suite that fails on equivalent code judges the text: no function keeps its bytecode, every result stays."""
    file = SourceFile("kernel.py", KINDS_OF_CODE, PYTHON_SYNTAX)
    text = equivalent(file)
    assert text != file.text
    found = []
    for source in (file.text, text):
        names = {"__name__": "kernel"}
        exec(compile(source, "kernel.py", "exec", dont_inherit=True), names)
        functions = [names[name] for name in ("add", "upward", "late")] + [names["Twice"].of]
        results = [
            names["add"](1), names["add"].__doc__, names["__doc__"], names["Twice"]().of(-3),
            list(names["upward"](3)), asyncio.run(names["late"]()), names["TOTAL"],
        ]  # fmt: skip
        found.append((results, [function.__code__.co_code for function in functions]))
    (plain, codes), (same, others) = found
    assert same == plain
    assert all(code != other for code, other in zip(codes, others, strict=True))
