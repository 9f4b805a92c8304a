"""A public class name means one thing in the whole package, modules have at most 400 lines, functions at most 50."""

import pytest

from tests.code_shape import FUNCTION_LINES, MODULE_LINES, violations


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ({"a.py": "class Twice:\n    pass", "b.py": "class Twice:\n    pass"}, "class Twice is defined 2 times"),
        ({"a.py": "x = 1\n" * (MODULE_LINES + 1)}, f"a.py has {MODULE_LINES + 1} lines"),
        ({"a.py": "def long():\n" + "    x = 1\n" * FUNCTION_LINES}, f"a.py:1 long has {FUNCTION_LINES + 1} lines"),
        (
            {"a.py": "class A:\n    async def long(self):\n" + "        x = 1\n" * FUNCTION_LINES},
            f"a.py:2 long has {FUNCTION_LINES + 1} lines",
        ),
    ],
)
def test_each_rule_is_checked(texts: dict[str, str], problem: str) -> None:
    (found,) = violations(texts)
    assert found.startswith(problem)


def test_what_keeps_the_rules_is_not_reported() -> None:
    function = "def short():\n" + "    x = 1\n" * (FUNCTION_LINES - 1)
    module = function + "x = 1\n" * (MODULE_LINES - FUNCTION_LINES)
    private = "class _Row:\n    pass\n"
    assert violations({"a.py": module, "b.py": private, "c.py": private}) == []
