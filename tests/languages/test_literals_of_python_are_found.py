"""The integers that Python source names are found, constant expressions of them included, and nothing is run."""

import pytest

from harness.languages import AnswerFiles, language, literals
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
