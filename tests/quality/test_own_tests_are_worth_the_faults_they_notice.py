"""An answer's own tests are worth the planted faults they notice, whatever they print and however they cheat."""

import hashlib
import os
import time
from dataclasses import replace

import pytest

from harness.model import Criterion, Outcome, Submission
from harness.quality.evidence import own_tests_evidence
from harness.quality.own_tests import SuiteStatus, grade_own_tests
from harness.sandbox import detect
from harness.sandbox.accounting import wall_bound
from tests.tiers_here import HELD, NAMESPACED, TIERS

PYTEST = ("python", "-m", "pytest", "-q")
KERNEL = '''"""Kernel."""


def affine(x, a, b):
    return a * x + b


def inside(x, low, high):
    return low < x and x < high
'''
# every mutant of KERNEL changes one of these, and none is equivalent: 6 of affine, 5 of inside
CHECKS = """
    assert affine(3, 5, 7) == 22
    assert [inside(x, 1, 3) for x in (0, 1, 2, 3, 4)] == [False, False, True, False, False]
"""
STRONG = f"from kernel import affine, inside\n\n\ndef test_values():{CHECKS}"
RUN_BY_PYTEST = "\nif __name__ == '__main__':\n    import pytest, sys\n    sys.exit(pytest.main([__file__]))\n"
UNITTEST = (
    "import unittest\nfrom kernel import affine, inside\n\n\nclass Test(unittest.TestCase):\n    def test_values(self):"
)
WEAK = "from kernel import affine\n\n\ndef test_runs():\n    assert affine(2, 2, 0) is not None\n"


def graded(folder, command=PYTEST, **options):
    return grade_own_tests(folder, command, tier=options.pop("tier", detect()), entries=("kernel.py",), **options)


def noticed(folder, severities, command=PYTEST, entry="kernel.py", **limits):
    """Return the evidence of criteria about an answer's own tests, by the kind of each."""
    stated = {"model": "m", "challenge": "c", "provenance": "model-output", "entry": entry}
    tests = {"tests": {"command": command}} if command else {}
    about = Submission.model_validate({"submission": stated} | tests)
    criteria = [
        Criterion(id=kind, dimension="tests", severity=severity, title="T", tests=kind)
        for kind, severity in severities.items()
    ]
    return own_tests_evidence(criteria, about, folder, detect(), seed=1, **limits)


@pytest.mark.parametrize("tier", TIERS)
def test_a_strong_suite_notices_everything(answer, tier):
    result = graded(answer(kernel=KERNEL, test_kernel=STRONG), tier=tier)
    assert (result.status, result.deterministic, result.collected) == (SuiteStatus.PASSED, True, 1)
    assert (result.planted, result.tried, result.killed, result.survivors) == (11, 11, 11, ())
    assert (result.kill_rate, result.exercised) == (1.0, 1.0)
    assert result.detail == "11 of 11 mutants noticed"


def test_a_weak_suite_is_told_what_it_missed(answer):
    result = graded(answer(kernel=KERNEL, test_kernel=WEAK))
    # a + b, a - b and a are all not None: nothing it runs can fail
    assert (result.planted, result.killed, result.kill_rate) == (6, 0, 0.0)
    assert "kernel.py:5 `a * x + b` -> `a * x - b`" in result.survivors
    assert result.exercised == 0.5


def test_code_that_may_not_be_quoted_is_named_by_its_place(answer):
    """What a weak suite missed in a closed answer: file and line, and nothing of the expression there."""
    folder = answer(kernel=KERNEL, test_kernel=WEAK)
    found = noticed(folder, {"kill_rate": "minor"}, quoted=False)["kill_rate"]
    lost = found.measured["mutants_tried"] - round(found.measured["kill_rate"] * found.measured["mutants_tried"])
    assert found.detail.endswith(f"unnoticed: kernel.py:5 x{lost}")
    assert "`" not in found.detail and "a * x" not in found.detail


def test_a_finding_says_how_many_of_the_faults_were_noticed(answer):
    """The share of the criterion that is met reads as that number, and is another."""
    suite = f"{STRONG.partition('    assert [')[0]}    assert inside(2, 1, 3)\n"
    seen = noticed(answer(kernel=KERNEL, test_kernel=suite), {"kill_rate": "minor"})["kill_rate"]
    killed = round(seen.measured["kill_rate"] * seen.measured["mutants_tried"])
    assert seen.outcome is Outcome.PARTIAL and seen.title == f"met in part: T: {killed} of 11"


@pytest.mark.parametrize(
    ("name", "command", "suite"),
    [
        ("check", ("python", "check.py"), f"from kernel import affine, inside\n\n\ndef main():{CHECKS}\n\nmain()\n"),
        (
            "test_kernel",
            ("python3", "-W", "error", "-m", "unittest"),
            UNITTEST + CHECKS.replace("\n    ", "\n        "),
        ),
        ("test_kernel", ("pytest", "test_kernel.py::test_values"), STRONG),
        ("verify", ("python", "-u", "verify.py"), STRONG + RUN_BY_PYTEST),
    ],
)
def test_scripts_unittest_and_pytest_are_run(answer, name, command, suite):
    result = graded(answer(kernel=KERNEL, **{name: suite}), command)
    assert (result.status, result.killed, result.planted) == (SuiteStatus.PASSED, 11, 11), result


def test_a_module_that_tests_itself_is_not_asked_to_guard_its_tests(answer):
    text = KERNEL + f"\n\ndef test_all():{CHECKS}\n\nif __name__ == '__main__':\n    test_all()\n"
    result = graded(answer(kernel=text), ("python", "kernel.py"))
    assert (result.killed, result.planted) == (11, 11)


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        ("import os\n\n\ndef test_it():\n    assert os._exit(0)\n", "ends before its tests do"),
        ("import sys\n\n\ndef test_it():\n    assert 1 == len(sys.argv[0])\n", "fails with exit status 1"),
        ("import os, signal\n\n\ndef test_it():\n    assert os.kill(os.getpid(), signal.SIGSEGV)\n", "signal 11"),
        ("import os, signal\n\n\ndef test_it():\n    assert os.kill(os.getppid(), signal.SIGKILL)\n", "was ended"),
        ("import nothing_like_this\n", "fails with exit status 2"),
        ("raise SystemExit(0)\n", "fails with exit status 3"),
        ("", "finds no test to run"),
    ],
)
def test_a_suite_that_does_not_pass_is_worth_nothing(answer, suite, words):
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.status, result.kill_rate, result.tried) == (SuiteStatus.FAILED, 0.0, 0)
    assert words in result.detail


def test_a_suite_without_a_check_notices_nothing(answer):
    # it would crash under a mutant that divides by zero: a crash is not its merit
    suite = "from kernel import affine\n\n\ndef test_runs():\n    affine(0, 1, 1)\n    assert True\n"
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.status, result.kill_rate, result.planted) == (SuiteStatus.PASSED, 0.0, 0)
    assert "no check that can fail" in result.detail
    assert [str(place) for place in result.assertions.vacuous] == ["test_kernel.py:6 asserts a constant"]


def test_what_was_used_just_before_is_no_longer_asked_for_none(answer):
    used = "    y = affine(0, 1, 1)\n    print(y.real)\n    assert y is not None\n    y = affine(1, 1, 1)\n"
    suite = f"from kernel import affine\n\n\ndef test_runs():\n{used}    assert y is not None\n    assert y == 2\n"
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert [str(place) for place in result.assertions.vacuous] == [
        "test_kernel.py:7 asserts that a thing used just before is not None"
    ]


JUDGES = {
    "file": "open(kernel.__file__, 'rb').read()",
    "lines": "inspect.getsource(kernel.affine).encode()",
    "bytecode": "kernel.affine.__code__.co_code",
}


@pytest.mark.parametrize("what", JUDGES)
def test_a_suite_that_hashes_its_source_notices_nothing(answer, what):
    probe = f"import hashlib, inspect, kernel\n\nFOUND = hashlib.sha256({JUDGES[what]}).hexdigest()\n"
    folder = answer(kernel=KERNEL, probe=probe + "print(FOUND)\n")
    digest = graded(folder, ("python", "probe.py")).output.strip()
    assert len(digest) == 64
    suite = f"{probe}\n\ndef test_it():\n    assert kernel.affine(1, 1, 1) == 2\n    assert FOUND == '{digest}'\n"
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert result.passed
    assert (result.kill_rate, result.killed) == (0.0, 0)
    assert "judges the text" in result.detail


def test_a_suite_that_counts_its_runs_starts_afresh_each_time(answer):
    suite = f"""import os, pathlib, tempfile
{WEAK}
def test_count():
    for place in {{tempfile.gettempdir(), os.path.expanduser("~"), os.path.dirname(__file__)}}:
        count = pathlib.Path(place, "count")
        with count.open("a") as file:
            file.write("x")
        assert len(count.read_text()) < 2
"""
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.status, result.killed) == (SuiteStatus.PASSED, 0), result.detail


FORGERY = """import os
from kernel import affine
line = b'{"run": 2, "end": "exit", "status": 1, "seconds": 0.0}'
reached = []
for way in (
    lambda: os.write(3, line),
    lambda: open(f"/proc/{os.getppid()}/fd/3", "wb"),
    lambda: open(f"/proc/{os.getppid()}/mem", "r+b"),
):
    try:
        way()
    except OSError:
        continue
    reached.append(way)
if reached:
    raise SystemExit(f"{len(reached)} ways to the report")
"""


def test_a_run_cannot_write_the_report(answer):
    result = graded(answer(kernel=KERNEL, check=FORGERY + "assert affine(2, 2, 0)\n"), ("python", "check.py"))
    assert (result.status, result.killed) == (SuiteStatus.PASSED, 1), result.output
    # of the six mutants only `b` makes affine(2, 2, 0) zero
    assert (result.tried, len(result.survivors)) == (6, 5)


LOOKS = """import gc, os, sys
from kernel import affine
found = [os.getppid()]
try:
    found.append(int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1]))
except PermissionError:
    pass
for path in [f"/proc/{pid}/{name}" for pid in found for name in ("mem", "fd/0", "fd/3")]:
    try:
        open(path, "rb").close()
    except PermissionError:
        continue
    raise SystemExit(path + " can be read")
gc.unfreeze()
assert not [each for each in gc.get_objects() if isinstance(each, dict) and "must_pass" in each]
assert sys.stdin.read() == ""
"""


@pytest.mark.parametrize("tier", HELD)
def test_a_run_finds_nothing_of_the_plan(answer, tier):
    result = graded(answer(kernel=KERNEL, check=LOOKS + "assert affine(2, 2, 0)\n"), ("python", "check.py"), tier=tier)
    assert (result.status, result.killed, result.tried) == (SuiteStatus.PASSED, 1, 6), (result.detail, result.output)


def test_a_suite_that_fails_by_its_age_notices_nothing(answer):
    if detect() not in NAMESPACED:
        pytest.skip("no tier A or B: here processes of the whole machine count for its age")
    # two runs as it is; then equivalent code, six mutants or three, equivalent code
    suite = f"import os\n{WEAK}    assert os.getpid() - os.getppid() < 5\n"
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.status, result.killed, result.kill_rate) == (SuiteStatus.PASSED, 0, 0.0)
    assert result.detail.startswith("flaky")


def test_a_hanging_suite_is_reported_as_slow(answer):
    folder = answer(kernel=KERNEL, test_kernel="import time\n\n\ndef test_it():\n    assert time.sleep(600)\n")
    result = graded(folder, idle_seconds=2.0)
    assert (result.status, result.kill_rate) == (SuiteStatus.SLOW, 0.0)
    assert result.detail == "does not finish: it waits without using the processor"


def test_an_endless_suite_is_reported_as_slow(answer):
    """A suite has so much processor time, however long that takes beside other work."""
    folder = answer(kernel=KERNEL, test_kernel="def test_it():\n    while 1 == 1:\n        assert 1\n")
    result = graded(folder, run_seconds=3.0)
    assert (result.status, result.kill_rate) == (SuiteStatus.SLOW, 0.0)
    assert result.detail == "does not finish within the 6 s of processor time that one run may take on a busy machine"


def test_a_suite_that_prints_a_gigabyte_is_heard_to_the_end(answer):
    flood = "import os\nfor _ in range(1 << 10):\n    os.write(1, b'x' * (1 << 20))\nprint('end')\n"
    suite = f"from kernel import affine\n{flood}assert affine(3, 5, 7) == 22\n"
    result = graded(answer(kernel=KERNEL, check=suite), ("python", "check.py"))
    assert (result.status, result.killed, result.planted) == (SuiteStatus.PASSED, 6, 6)
    assert len(result.output) <= 8192
    assert result.output.endswith("xend\n")


def test_a_mutant_that_never_ends_is_noticed(answer):
    kernel = "def total(n):\n    s = 0\n    while n > 0:\n        s += n\n        n -= 1\n    return s\n"
    suite = "from kernel import total\n\n\ndef test_it():\n    assert total(4) == 10\n"
    result = graded(answer(kernel=kernel, test_kernel=suite))
    # only `n >= 0` adds nothing but a zero: every other mutant is wrong or endless
    assert result.survivors == ("kernel.py:3 `n > 0` -> `n >= 0`",)


def test_processes_left_behind_do_not_outlive_their_run(answer):
    suite = STRONG + (
        "    import subprocess, sys\n"
        '    code = \'import time, pathlib; time.sleep(0.5); pathlib.Path("late").write_text("x"); time.sleep(60)\'\n'
        "    subprocess.Popen([sys.executable, '-c', code], start_new_session=True)\n"
    )
    start = time.monotonic()
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.killed, result.planted) == (11, 11)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("tier", HELD)
@pytest.mark.parametrize("session", [False, True])
def test_processes_left_behind_take_nothing_from_the_suite(answer, session, tier):
    left = f"    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session={session})\n"
    result = graded(answer(kernel=KERNEL, test_kernel=STRONG + "    import subprocess, sys\n" + left), tier=tier)
    assert (result.killed, result.tried) == (11, 11), result.detail


def test_two_runs_that_differ_are_seen(answer):
    suite = (
        "import numpy as np\nimport pytest\nfrom kernel import affine\n\n\n@pytest.mark.parametrize('n', range(40))\n"
    )
    suite += (
        "def test_it(n):\n    if np.random.random() < 0.5:\n        pytest.skip()\n    assert affine(3, 5, 7) == 22\n"
    )
    result = graded(answer(kernel=KERNEL, test_kernel=suite))
    assert (result.status, result.deterministic) == (SuiteStatus.PASSED, False)


BUSY = STRONG.replace(
    "def test_values():",
    "def test_values():\n    from time import process_time\n"
    "    until = process_time() + 0.4\n    while process_time() < until:\n        pass",
)


@pytest.fixture
def patient(monkeypatch):
    """Wall time enough for any machine: what is asked is how processor time is judged."""
    monkeypatch.setattr(wall_bound, "EXTRA", 600.0)


def test_a_kill_rate_is_never_taken_over_what_happened_to_fit(answer, patient):
    """Where the processor time does not suffice for every mutant drawn, the kill rate is left open with the reason."""
    result = graded(answer(kernel=KERNEL, test_kernel=BUSY), seconds=4.0)
    assert (result.status, result.tried, result.kill_rate) == (SuiteStatus.PASSED, 0, None)
    assert (result.too_slow, result.detail) == (
        True,
        "passes, but with all mutants it takes more than 4 s of processor time",
    )


def test_a_third_of_the_mutants_is_drawn_where_all_would_take_too_long(answer, patient):
    result = graded(answer(kernel=KERNEL, test_kernel=BUSY), mutants=9, seconds=6.0)
    assert (result.status, result.tried, result.kill_rate) == (SuiteStatus.PASSED, 3, 1.0)


def test_a_suite_that_a_busy_machine_may_have_slowed_down_is_left_open(answer, patient):
    """Between once and twice what one run may take, neither its passing nor what it notices is judged."""
    result = graded(answer(kernel=KERNEL, test_kernel=BUSY), run_seconds=0.4)
    assert (result.status, result.kill_rate) == (SuiteStatus.UNDECIDED, None)
    assert result.detail.endswith("one run may take 0.4 s, and on a busy machine twice as long")


def test_waiting_is_not_counted_against_a_suite(answer, patient):
    """A suite is bounded by processor time: one that waits, as any does on a busy machine, has all of it."""
    suite = STRONG.replace("def test_values():", "def test_values():\n    import time\n    time.sleep(0.35)")
    result = graded(answer(kernel=KERNEL, test_kernel=suite), seconds=4.0)
    assert (result.tried, result.killed, result.kill_rate) == (11, 11, 1.0)


def test_as_many_mutants_are_drawn_of_any_quick_suite(answer):
    """Equal files meet the same number of the same mutants; another seed draws others."""
    kernel = "def poly(x):\n    return " + " + ".join(f"x * {n}" for n in range(14)) + "\n"
    suite = "from kernel import poly\nassert poly(1) == 91\n"
    folder = answer(kernel=kernel, check=suite)
    one, again, other = (graded(folder, ("python", "check.py"), seed=s, mutants=12) for s in (1, 1, 2))
    assert one.tried == 12 < one.planted
    assert replace(one, output="") == replace(again, output="")
    assert one.detail == f"{one.killed} of 12 mutants noticed, drawn from {one.planted}"
    assert other.survivors != one.survivors


def test_no_mutant_is_run_where_none_is_asked_for(answer):
    """A criterion that asks only whether the suite passes costs no mutants."""
    result = graded(answer(kernel=KERNEL, test_kernel=STRONG), mutants=0)
    assert (result.status, result.deterministic, result.tried, result.kill_rate) == (SuiteStatus.PASSED, True, 0, None)


@pytest.mark.parametrize("command", [None, ()])
def test_no_command_is_a_result(answer, command):
    result = graded(answer(kernel=KERNEL, test_kernel=STRONG), command)
    assert (result.status, result.kill_rate, result.assertions.real) == (SuiteStatus.NONE, 0.0, 2)
    assert result.detail == "no command that runs its tests is stated: test_kernel.py"


def test_an_answer_without_a_command_is_not_called_one_without_tests(answer):
    """The file that states the command may be another's."""
    nameless = "no command that runs tests is stated, and no file or Python function is named as a test"
    assert graded(answer(kernel=KERNEL), None).detail == nameless
    checking = f"{KERNEL}\n\nif __name__ == '__main__':\n    raise SystemExit(affine(3, 5, 7) != 22)\n"
    assert graded(answer(kernel=checking), None).detail == nameless, "it may hold checks all the same"
    named = f"{KERNEL}\n\ndef test_affine():\n    assert affine(3, 5, 7) == 22\n"
    assert graded(answer(kernel=named), None).detail == "no command that runs its tests is stated: kernel.py"


@pytest.mark.parametrize("command", [("make", "test"), ("python", "-c", "print(1)"), ("bash", "run.sh"), ("python",)])
def test_a_command_that_cannot_be_run_says_what_can(answer, command):
    result = graded(answer(kernel=KERNEL, test_kernel=STRONG), command)
    assert (result.status, result.kill_rate) == (SuiteStatus.REFUSED, 0.0)
    assert "expected python -m pytest" in result.detail


def test_the_answers_files_are_left_as_they_are(answer):
    folder = answer(kernel=KERNEL, test_kernel=STRONG + "    open('kernel.py', 'w').write('')\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    graded(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert set(os.listdir(folder)) == {"kernel.py", "test_kernel.py"}


def test_a_test_program_to_compile_is_not_run_and_not_held_against_the_answer(answer):
    """Only a command that names such a file of the answer: any other that cannot be run is no suite."""
    command = ("sh", "-c", "nvcc -O2 tests/check.cu -o check && ./check")
    for name, outcome in (("check.cu", Outcome.FAILED), ("tests/check.cu", Outcome.UNSUPPORTED)):
        folder = answer({"kernel.cu": "void f() {}\n", name: "int main() {}\n"})
        found = noticed(folder, {"suite_passes": "minor"}, command, "kernel.cu")
        assert found["suite_passes"].outcome is outcome


def test_a_test_that_only_an_exception_fails_is_told_apart_from_an_assertion_that_cannot_fail(answer):
    suite = f"{STRONG}\n\ndef test_runs():\n    affine(1, 2, 3)\n\n\ndef test_nothing():\n    assert True\n"
    found = noticed(answer(kernel=KERNEL, test_kernel=suite), {"real_assertions": "minor"})["real_assertions"]
    assert found.title == (
        "1 of the answer's assertions cannot fail, and 2 of the answer's tests assert nothing that can be false"
    )
    assert "test_runs asserts nothing itself: only an exception fails it" in found.detail


FALSE = "from kernel import affine\n\n\ndef test_values():\n    assert affine(3, 5, 7) == 0\n"
BESIDE = f"{FALSE}\n\ndef test_nothing():\n    assert len('kernel') == 6\n"
REPORTED = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
"""
CALLED = "def pytest_pyfunc_call(pyfuncitem):\n    return True\n"
DESELECTED = (
    "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if i.name == 'test_nothing']\n"
)
ENDED = "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"
PATCHED = """
import _pytest.python

_pytest.python.Function.runtest = lambda item: None
"""
CAUGHT = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    if outcome.excinfo and issubclass(outcome.excinfo[0], AssertionError):
        outcome.force_result(True)
"""
ON_THESE_TESTS = """
import hashlib, pathlib

TEXT = pathlib.Path("test_kernel.py").read_bytes()

def pytest_pyfunc_call(pyfuncitem):
    if hashlib.sha256(TEXT).hexdigest() == "{digest}":
        return True
""".replace("{digest}", hashlib.sha256(FALSE.encode()).hexdigest())
DECIDED = {
    "reports": {"conftest.py": REPORTED}, "calls": {"conftest.py": CALLED},
    "the end": {"conftest.py": ENDED}, "internals": {"conftest.py": PATCHED},
    "assertions alone": {"conftest.py": CAUGHT},
    "deselection": {"conftest.py": DESELECTED, "test_kernel.py": BESIDE},
    "deselection by a plugin": {
        "cheat.py": DESELECTED, "conftest.py": "pytest_plugins = ['cheat']\n", "test_kernel.py": BESIDE
    },
    "a plugin of the conftest": {"cheat.py": REPORTED, "conftest.py": "pytest_plugins = ['cheat']\n"},
    "a plugin of pytest.ini": {"cheat.py": CALLED, "pytest.ini": "[pytest]\naddopts = -p cheat\n"},
    "a plugin of pyproject": {
        "cheat.py": CALLED, "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p cheat'\n"
    },
    "a plugin of the answer": {"kernel.py": f"{KERNEL}\n\n{CALLED}", "pytest.ini": "[pytest]\naddopts = -p kernel\n"},
    "these tests alone": {"conftest.py": ON_THESE_TESTS},
}  # fmt: skip


def outcomes(folder, command=PYTEST):
    found = noticed(folder, dict.fromkeys(("suite_passes", "real_assertions", "kill_rate"), "major"), list(command))
    return {kind: evidence.outcome for kind, evidence in found.items()}


@pytest.mark.parametrize("how", DECIDED)
def test_a_suite_whose_outcome_something_else_decides_earns_nothing(answer, how):
    folder = answer({"kernel.py": KERNEL, "test_kernel.py": FALSE, **DECIDED[how]})
    assert [*outcomes(folder).values()] == [Outcome.FAILED, Outcome.NOT_RUN, Outcome.NOT_RUN]


@pytest.mark.parametrize("command", [PYTEST, ("python", "-m", "unittest"), ("python", "test_kernel.py")])
def test_a_suite_that_never_looks_at_the_answer_earns_nothing(answer, command):
    alone = (
        "import unittest\n\n\ndef same(x):\n    return x\n\n\nclass Test(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(same(3), 3)\n\n\n"
        "if __name__ == '__main__':\n    unittest.main()\n"
    )
    folder = answer({"kernel.py": KERNEL, "test_kernel.py": alone})
    assert outcomes(folder, command)["suite_passes"] is Outcome.FAILED


SCRIPT = """
import sys
from kernel import affine

failures = []

def check(got, wanted):
    if got != wanted:
        failures.append(got)

if __name__ == "__main__":
    check(affine(3, 5, 7), 22)
    sys.exit(1 if failures else 0)
"""
HONEST = {
    "plain": STRONG, "weak": WEAK,
    "in a class": f"{UNITTEST}{CHECKS.replace('    assert', '        assert')}",
    "by a helper": "from kernel import affine\n\n\ndef same(a, b):\n    if a != b:\n        raise AssertionError\n\n\n"
    "def test_it():\n    same(affine(3, 5, 7), 22)\n",
    "by a hook that only adds": STRONG, "in a loop": "from kernel import affine\n\n\ndef test_it():\n"
    "    for a, wanted in ((3, 22), (4, 27)):\n        assert affine(a, 5, 7) == wanted\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_suite_keeps_its_credit(answer, name):
    hook = {"conftest.py": "def pytest_report_header(config):\n    return 'mine'\n"} if "hook" in name else {}
    found = outcomes(answer({"kernel.py": KERNEL, "test_kernel.py": HONEST[name], **hook}))
    assert found["suite_passes"] is Outcome.PASSED and found["real_assertions"] is Outcome.PASSED


def test_an_honest_script_keeps_its_credit(answer):
    found = outcomes(answer({"kernel.py": KERNEL, "run_tests.py": SCRIPT}), ("python", "run_tests.py"))
    assert found["suite_passes"] is Outcome.PASSED


def test_tests_without_a_check_are_counted_where_there_are_tests(answer):
    suites = {"run_tests.py": (SCRIPT, ("python", "run_tests.py")), "test_kernel.py": (STRONG, PYTEST)}
    for name, (text, command) in suites.items():
        folder = answer({"kernel.py": KERNEL, name: text})
        measured = noticed(folder, {"real_assertions": "minor"}, command)["real_assertions"].measured
        assert ("tests_without_check" in measured) is (name == "test_kernel.py")


SLOW = "from kernel import affine\n\n\ndef test_it():\n    while 1 == 1:\n        assert affine(3, 5, 7) == 22\n"


@pytest.mark.parametrize(
    ("suite", "why"), [(SLOW, "20 s of processor time that one run may take"), (FALSE, "status 1")]
)
def test_what_no_fault_was_planted_for_is_left_open_and_never_worth_more_than_what_was_measured(answer, suite, why):
    """Tests that do not pass are charged once for it, and are worth less than tests that pass and notice nothing."""
    kinds = {"suite_passes": "major", "kill_rate": "major", "real_assertions": "minor"}
    found = noticed(answer(kernel=KERNEL, test_kernel=suite), kinds)
    assert (found["suite_passes"].outcome, found["kill_rate"].outcome) == (Outcome.FAILED, Outcome.NOT_RUN)
    assert found["kill_rate"].detail.startswith("no fault was planted: ") and why in found["kill_rate"].detail
    measured = noticed(answer(kernel=KERNEL, test_kernel=WEAK), kinds)
    assert measured["kill_rate"].outcome is Outcome.FAILED and measured["kill_rate"].measured["mutants_tried"] == 6
    assert mark(found) < mark(measured)


def mark(found):
    assessed = [item for item in found.values() if item.outcome.assessed]
    return sum(i.satisfied * i.severity.weight for i in assessed) / sum(i.severity.weight for i in assessed)


UNCHECKED = "from kernel import affine\n\n\ndef test_it():\n    affine(3, 5, 7)\n"
ENDLESS = "from kernel import affine\n\n\ndef test_it():\n    while 1 == 1:\n        affine(3, 5, 7)\n"


@pytest.mark.parametrize(
    ("suite", "seen"),
    [
        (UNCHECKED, "ends well, and no check that can fail was found in a test"),
        (ENDLESS, "no check that can fail was found in a test"),
        (None, "no command"),
    ],
    ids=["ends", "never ends", "no suite"],
)
def test_a_suite_without_a_check_is_charged_once_and_for_that(answer, suite, seen):
    """Not for its time, nor for faults that nobody planted."""
    kinds = {"suite_passes": "major", "kill_rate": "major", "real_assertions": "minor"}
    files = {"kernel": KERNEL} | ({"test_kernel": suite} if suite else {"test_kernel": STRONG})
    found = noticed(answer(**files), kinds, PYTEST if suite else None)
    assert [item.outcome for item in found.values()] == [Outcome.FAILED, Outcome.NOT_RUN, Outcome.NOT_RUN]
    assert all(seen in item.detail for item in found.values())
    assert (found["suite_passes"].title == "the answer has no test with an assertion that can fail") == bool(suite)


def test_tests_too_slow_for_every_fault_are_worth_no_more_than_tests_that_notice_none(answer, patient):
    """What was not measured is not worth more than what was; the title claims no more than that."""
    kinds = {"suite_passes": "major", "kill_rate": "major", "real_assertions": "minor"}
    slow, weak = (noticed(answer(kernel=KERNEL, test_kernel=suite), kinds, seconds=4.0) for suite in (BUSY, WEAK))
    assert slow["suite_passes"].outcome is Outcome.PASSED and mark(slow) <= mark(weak)
    assert slow["kill_rate"].title == "whether the answer's own tests notice faults could not be seen"


@pytest.mark.parametrize("others", [{}, {"suite_passes": "minor"}], ids=["alone", "beside a lighter criterion"])
def test_tests_that_do_not_pass_gain_nothing_where_nothing_else_charges_them(answer, others):
    found = noticed(answer(kernel=KERNEL, test_kernel=FALSE), {**others, "kill_rate": "major"})["kill_rate"]
    assert found.outcome is Outcome.FAILED
    assert found.title == "whether the answer's own tests notice faults could not be seen"
    assert found.detail == "no fault was planted: fails with exit status 1"
