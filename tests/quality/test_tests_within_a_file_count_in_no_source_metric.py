"""Tests within the source of an answer count in no metric; what its contract may run counts, whatever its name."""

import pytest

from harness.model import Criterion, Submission
from harness.quality.evidence import source_evidence
from harness.quality.metrics import CURVES, measure

CORE = '''"""Sums."""


def total(values: list[float]) -> float:
    """Sum."""
    return sum(values)
'''
LONG = "\n".join(f"    x = x * {n} + {n % 7}" for n in range(80))
TESTS = f"""

def naive(x):
{LONG}
    return x


def test_total():
{LONG.replace("x = x", "x = 1")}
    assert total([x]) == naive(x)


if __name__ == "__main__":
    test_total()
"""
COMMAND = ("python", "answer.py")
RUN = {"entries": ("answer.py",), "command": COMMAND, "functions": ("total",)}


def figures(folder, **changed):
    return {name: metric.figure for name, metric in measure(folder, **{**RUN, **changed}).metrics.items()}


def test_tests_beside_the_contract_change_no_figure(answer):
    plain = figures(answer({"answer.py": CORE}))
    assert figures(answer({"answer.py": CORE + TESTS})) == plain
    assert figures(answer({"answer.py": CORE + TESTS}), functions=()) != plain


def test_every_figure_states_how_much_was_left_out_and_of_which_file(answer):
    about = {"model": "m", "challenge": "c", "entry": "answer.py", "provenance": "baseline"}
    submission = Submission.model_validate({"submission": about, "tests": {"command": list(COMMAND)}})
    criteria = [Criterion(id=name, dimension="d", severity="minor", title="T", metric=name) for name in CURVES]
    found = source_evidence(criteria, submission, answer({"answer.py": CORE + TESTS}), functions=("total",))
    # 82 lines of the helper, 82 of the test, two of the block
    words = "; not counted, for only tests or the test command lead there: 166 code lines of answer.py"
    assert all(words in item.detail for item in found.values())
    assert found["largest_file"].measured["source_lines"] == 2


@pytest.mark.parametrize(
    "caller",
    [
        "\n\ndef total(values):\n    return test_work(values)\n",
        "\n\ndef total(values):\n    return inner(values)\n\n\ndef inner(values):\n    return test_work(values)\n",
        "\n\ndef total(values):\n    return globals()['test_' + 'work'](values)\n",
        "\n\nimport answer\n\n\ndef total(values):\n    return getattr(answer, 'test_' + 'work')(values)\n",
        "\n\nTABLE = {'sum': test_work}\n\n\ndef total(values):\n    return TABLE['sum'](values)\n",
        "\n\nclass Sum:\n    def work(self, values):\n        return test_work(values)\n\n\ntotal = Sum().work\n",
        "\n\nimport part\n\n\ndef total(values):\n    return part.work(values)\n",
        "\n\ntest_total = test_work\n\n\ndef work(values):\n    return test_total(values)\n",
    ],
    ids=["at once", "through another", "globals", "getattr", "a table", "a method", "another file", "unused code"],
)
def test_working_code_counts_whatever_it_is_called(answer, caller):
    work = f"def test_work(x):\n{LONG}\n    return x\n"
    files = {"answer.py": work + caller, "part.py": "from answer import test_work as work\n"}
    assert figures(answer(files))["function_length"] > 60


def test_a_decorator_may_hand_a_function_on(answer):
    registry = "TABLE = []\n\n\ndef register(f):\n    TABLE.append(f)\n    return f\n\n\n@register\n"
    work = f"{registry}def test_work(x):\n{LONG}\n    return x\n\n\ndef total(values):\n    return TABLE[0](values)\n"
    assert figures(answer({"answer.py": work}))["function_length"] > 60


def test_what_an_adapter_calls_counts(answer):
    files = {"adapter.py": "import answer\n\n\ndef total(v):\n    return answer.naive(v)\n", "answer.py": CORE + TESTS}
    seen = figures(answer(files), entries=("adapter.py",), adapters=("adapter.py",))
    assert seen["function_length"] == 82


def test_a_main_block_that_is_not_the_test_command_counts(answer):
    """It may be the program that was asked for."""
    program = f"\n\ndef main():\n{LONG}\n\n\nif __name__ == '__main__':\n    main()\n"
    folder = answer({"answer.py": CORE + program})
    assert figures(folder, command=())["function_length"] > 60
    assert figures(folder)["function_length"] == 2


def test_a_file_that_only_tests_lead_to_is_named_once_and_counts_nowhere(answer):
    about = {"model": "m", "challenge": "c", "entry": "answer.py", "provenance": "baseline"}
    submission = Submission.model_validate({"submission": about, "tests": {"command": ["python", "demo.py"]}})
    criteria = [Criterion(id=name, dimension="d", severity="minor", title="T", metric=name) for name in CURVES]
    folder = answer({"answer.py": CORE, "demo.py": f"import answer, toy\n{TESTS}", "toy.py": TESTS})
    found = source_evidence(criteria, submission, folder, functions=("total",))
    named = [
        name
        for name, item in found.items()
        if "only tests or the test command lead to it: demo.py, toy.py" in item.detail
    ]
    assert named == ["largest_file"]
    assert found["largest_file"].measured["source_files"] == 1


def test_contract_code_that_was_all_left_out_counts_after_all(answer):
    """Where nothing that tests do not lead to is left, the names show nothing."""
    folder = answer(
        {"answer.py": "from kernel import *\n", "kernel.py": TESTS, "test_it.py": "from kernel import naive\n"}
    )
    assert figures(folder)["function_length"] > 60
