"""An assertion that cannot fail counts for nothing and is named with its line; one that can fail is counted."""

import pytest

from harness.quality.assertions import count_assertions
from harness.quality.contract_code import find_contract_functions
from harness.quality.sources import read_sources

HOLLOW = [
    "assert True",
    "assert 1",
    "assert 'text'",
    "assert 1 < 2",
    "assert 2 + 2 == 4",
    "assert x == x",
    "assert x.shape == x.shape",
    "assert x[0] is x[0]",
    "assert (x == y, 'message')",
    "assert [x]",
    "assert f(x) == y or True",
    "assert True or f(x)",
    "assert x or not x",
    "assert [] is not None",
    "assert 'x' is not None",
    "assert pytest.approx(x)",
    "assert (y == z for y, z in pairs)",
    "assert lambda: f(x)",
    "assert np.allclose",
    "assert np.allclose(x, x)",
    "assert np.all(x == x)",
    "assert (x == x).all()",
    "assert np.allclose(f(x), y, atol=np.inf)",
    "assert np.allclose(f(x), y, rtol=float('inf'))",
    "assert f(x) == pytest.approx(y, abs=math.inf)",
    "assert abs(f(x) - y) < np.inf",
    "assert len(f(x)) >= 0",
    "assert isinstance(f(x), object)",
    "np.testing.assert_allclose(x, x)",
    "self.assertTrue(True)",
    "self.assertEqual(x, x)",
    "self.assertEqual(1, 1)",
    "self.assertIsNotNone('x')",
    "if False:\n        assert f(x) == y",
    "return\n    assert f(x) == y",
    "try:\n        assert f(x) == y\n    except AssertionError:\n        pass",
    "try:\n        assert f(x) == y\n    except Exception as error:\n        print(error)",
    "try:\n        assert f(x) == y\n    except:\n        print('failed')",
    "with contextlib.suppress(AssertionError):\n        assert f(x) == y",
]
REAL = [
    "assert f(x) == y",
    "assert x",
    "assert not x",
    "assert x == y",
    "assert f(x) == f(x)",
    "assert f(x) is not None",
    "assert f(x) == pytest.approx(y)",
    "assert abs(f(x) - y) < 1e-9",
    "assert np.allclose(f(x), y)",
    "assert np.allclose(f(x), y, rtol=1e-6)",
    "assert np.isfinite(f(x)).all()",
    "assert all(y == z for y, z in pairs)",
    "assert len(f(x)) >= 1",
    "assert isinstance(f(x), np.ndarray)",
    "assert f(x) or y",
    "np.testing.assert_allclose(f(x), y)",
    "self.assertEqual(f(x), y)",
    "pytest.fail('never called')",
    "with pytest.raises(ValueError):\n        f(x)",
    "if f(x) != y:\n        raise AssertionError('differs')",
    "if f(x) != y:\n        sys.exit(1)",
    "sys.exit(0 if f(x) == y else 1)",
    "try:\n        assert f(x) == y\n    except AssertionError:\n        print('differs')\n        raise",
    "try:\n        assert f(x) == y\n    except AssertionError:\n        failures.append(x)",
    "try:\n        f(x)\n    except ValueError:\n        pass\n    else:\n        assert False",
]


def counted(answer, source: str, name: str = "test_it.py", command: tuple[str, ...] = ()):
    return count_assertions(read_sources(answer({name: source})), command)


@pytest.mark.parametrize("statement", HOLLOW)
def test_what_cannot_fail_is_none_and_is_named(answer, statement):
    report = counted(answer, f"def test_it():\n    {statement}\n")
    assert (report.real, len(report.vacuous), report.tests) == (0, 1, 1)
    line = 2 + statement[: max(statement.find("assert"), 0)].count("\n")
    assert str(report.vacuous[0]).startswith(f"test_it.py:{line} ")
    assert [place.line for place in report.unchecked] == [1]


@pytest.mark.parametrize("statement", REAL)
def test_what_can_fail_is_counted(answer, statement):
    report = counted(answer, f"def test_it():\n    {statement}\n")
    assert (report.real, report.vacuous, report.unchecked) == (1, (), ())


@pytest.mark.parametrize("mark", ["pytest.mark.skip", "pytest.mark.skip(reason='slow')", "pytest.mark.xfail"])
def test_a_test_switched_off_checks_nothing(answer, mark):
    report = counted(answer, f"@{mark}\ndef test_it():\n    assert f(x) == y\n")
    assert (report.real, len(report.vacuous), len(report.unchecked)) == (0, 1, 1)
    assert str(report.unchecked[0]).endswith("test_it asserts nothing that can be false")


def test_a_test_without_a_check_is_named(answer):
    report = counted(
        answer, "def test_runs():\n    print(f(x))\n\n\nclass TestMore:\n    def test_too(self):\n        f(x)\n"
    )
    assert [str(place) for place in report.unchecked] == [
        "test_it.py:1 test_runs asserts nothing itself: only an exception fails it",
        "test_it.py:6 test_too asserts nothing itself: only an exception fails it",
    ]


def test_a_check_in_a_helper_is_its_callers_too(answer):
    helpers = "def close(a, b):\n    assert abs(a - b) < 1e-9\n\n\ndef compare(a):\n    close(a, 1)\n"
    report = counted(answer, helpers + "\n\ndef test_it():\n    compare(2)\n")
    assert (report.real, report.unchecked) == (1, ())


def test_source_is_looked_at_only_where_it_tests_itself(answer):
    source = (
        "def kernel(x):\n    assert x.ndim == 3\n    return x\n\n\n"
        "def check():\n    assert kernel(x) == y\n\n\n"
        "if __name__ == '__main__':\n    check()\n"
    )
    assert counted(answer, source, "kernel.py").real == 0
    assert counted(answer, source, "kernel.py", ("python", "kernel.py")).real == 1


def test_a_check_counts_whatever_it_is_called(answer):
    """Running the file leads to the assertion, through functions that are called for no value; a refusal is none."""
    source = (
        "def kernel(x):\n    assert x.ndim == 3\n    return x\n\n\n"
        "def gradients():\n    if len(kernel(x)) > 9:\n        raise ValueError('x')\n    assert kernel(x) == y\n\n\n"
        "def everything():\n    gradients()\n\n\n"
        "if __name__ == '__main__':\n    everything()\n"
    )
    assert counted(answer, source, "kernel.py", ("python", "kernel.py")).real == 1


def test_a_refusal_of_the_contract_s_is_no_check_whatever_its_function_is_called(answer):
    """What the contract leads to refuses its arguments; a helper of the tests that raises is a check."""
    refuses = "    if x < 0:\n        raise ValueError('x')\n"
    source = (
        f"def validate(x):\n{refuses}\n\ndef verify_all(x):\n{refuses}    validate(x)\n    return x\n\n\n"
        "def test_it():\n    print('PASS' if verify_all(1) == 1 else 'FAIL')\n\n\n"
    )
    runs = "if __name__ == '__main__':\n    test_it()\n"
    checks = "def check_it():\n    if verify_all(2) != 2:\n        raise AssertionError\n\n\n"
    for text, real in ((source + runs, 0), (source + checks + runs + "    check_it()\n", 1)):
        files, command = read_sources(answer({"kernel.py": text}), ("kernel.py",)), ("python", "kernel.py")
        report = count_assertions(files, command, find_contract_functions(files, ("verify_all",)))
        assert (report.real, [place.reason.split()[0] for place in report.unchecked]) == (real, ["test_it"])


def test_a_script_that_always_says_it_went_well_checks_nothing(answer):
    source = "import sys\n\n\ndef main():\n    print(f(1))\n\n\nsys.exit({})\n"
    assert counted(answer, source.format("main()"), "demo.py", ("python", "demo.py")).real == 0
    assert counted(answer, source.format("0"), "demo.py", ("python", "demo.py")).real == 0
    assert counted(answer, source.format("f(2) != 4"), "demo.py", ("python", "demo.py")).real == 1
