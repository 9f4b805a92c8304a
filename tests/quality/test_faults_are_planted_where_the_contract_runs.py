"""Own tests are asked to notice faults in what the contract runs, and only such as change what it brings."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.languages import AnswerFiles
from harness.model import Criterion, Submission
from harness.model.challenges.challenge import TEST_RUN_SECONDS, Limits
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.diagnosis import TracedAnswer
from harness.quality.ast_mutants import plan_mutants
from harness.quality.contract_calls import ContractCalls
from harness.quality.evidence import source_evidence
from harness.quality.metrics import CURVES, measure
from harness.quality.own_tests import BUSY_FACTOR, SuiteGrade, grade_own_tests
from harness.quality.sources import read_sources
from harness.report.formatting import limits
from harness.sandbox import Array, detect
from tests.quality.conftest import Answer
from tests.toy import CHALLENGE_ID, make_workspace

CORE = """import numpy as np


def scaled(x, scale):
    total = np.zeros(x.shape[0])
    for column in range(x.shape[1]):
        total = total + x[:, column]
    return total * scale
"""
CORE_LINES = range(4, 9)
TOY = (
    CORE
    + """

class ToyModel:
    depth = 3

    def __init__(self, width=4, seed=0):
        rng = np.random.default_rng(seed)
        self.weights = rng.standard_normal((width, width)) * 0.5

    def forward(self, x):
        for _ in range(self.depth):
            x = x @ self.weights + 1.0
        return scaled(x, 2.0)
"""
)
WALKS = (
    TOY
    + """

def walk_through(rows=3):
    model = ToyModel()
    out = model.forward(np.ones((rows + 1, 4)))
    assert out.shape == (rows + 1,)


if __name__ == "__main__":
    walk_through()
"""
)
PARTS = """import numpy as np
from sums import row_sums


def scaled(x, scale):
    return row_sums(x) * scale
"""
SUMS = """import numpy as np


def row_sums(x):
    return x[:, 0] + x[:, 1:].sum(axis=1)


def column_sums(x):
    return x[0] + x[1:].sum(axis=0)
"""
USES = "from answer import ToyModel\nimport numpy as np\n"
HELPER = "\n\ndef inputs(rows=2):\n    return np.ones((rows + 1, 4)) * 3.0\n"
PYTEST_SUITE = f"{USES}{HELPER}\n\ndef test_runs():\n    assert ToyModel().forward(inputs()) is not None\n"
UNITTEST_SUITE = (
    f"import unittest\n{USES}{HELPER}\n\nclass Runs(unittest.TestCase):\n    def test_runs(self):\n"
    "        self.assertIsNotNone(ToyModel().forward(inputs()))\n"
)
PARTS_SUITE = (
    "import numpy as np\nfrom answer import scaled\nfrom sums import column_sums\n\n\ndef test_runs():\n"
    "    assert scaled(np.ones((2, 3)), 1.0) is not None and column_sums(np.ones((2, 3))) is not None\n"
)
CHECKED = (
    PARTS.replace("row_sums", "verify_sums").replace("from sums", "from report")
    + """

class ToyModel:
    def forward(self, x):
        return scaled(x, 2.0)
"""
)
VERIFIED = SUMS.replace("row_sums", "verify_sums")
"""A kernel whose names are those of checks."""
PYTEST = ("python", "-m", "pytest", "-q")
# every suite here runs all of its answer and notices no more than crashes
DESIGNS = {
    "a script that shows itself": ({"answer.py": WALKS}, ("python", "answer.py"), {"answer.py": CORE_LINES}),
    "pytest beside a toy model": (
        {"answer.py": TOY, "test_answer.py": PYTEST_SUITE}, PYTEST, {"answer.py": CORE_LINES}
    ),
    "unittest beside a toy model": (
        {"answer.py": TOY, "test_answer.py": UNITTEST_SUITE}, ("python", "-m", "unittest"), {"answer.py": CORE_LINES}
    ),
    "a script of checks of another name": (
        {"answer.py": TOY, "trials.py": f"{PYTEST_SUITE}\ntest_runs()\n"}, ("python", "trials.py"),
        {"answer.py": CORE_LINES},
    ),
    "a module that the answer imports": (
        {"answer.py": PARTS, "sums.py": SUMS, "test_answer.py": PARTS_SUITE}, PYTEST,
        {"answer.py": range(5, 7), "sums.py": range(4, 6)},
    ),
    "a kernel named like a check": (
        {"answer.py": CHECKED, "report.py": VERIFIED, "test_answer.py": PYTEST_SUITE}, PYTEST,
        {"answer.py": range(5, 7), "report.py": range(4, 6)},
    ),
}  # fmt: skip


@pytest.fixture
def code(tmp_path: Path) -> ChallengeCode:
    workspace = make_workspace(tmp_path / "workspace")
    return ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))


def graded(code: ChallengeCode, folder: Path, command: tuple[str, ...] = PYTEST, **options: int) -> SuiteGrade:
    with ContractCalls(code, AnswerFiles(folder, ("answer.py",)), seed=5) as contract:
        return grade_own_tests(
            folder, command, tier=detect(), entries=("answer.py",), contract=contract, seed=1, **options
        )


def places(result: SuiteGrade) -> Iterator[tuple[str, int]]:
    for place in result.survivor_locations:
        assert place.line is not None
        yield place.file, place.line


@pytest.mark.parametrize("design", DESIGNS)
def test_no_fault_is_planted_in_what_the_contract_does_not_run(code, answer: Answer, design: str) -> None:
    files, command, expected = DESIGNS[design]
    folder = answer(files)
    anywhere = grade_own_tests(folder, command, tier=detect(), entries=("answer.py",), seed=1)
    result = graded(code, folder, command)
    outside = [(path, line) for path, line in places(anywhere) if line not in expected.get(path, ())]
    assert outside, "without the contract this design has faults elsewhere"
    assert all(line in expected[path] for path, line in places(result))
    assert {path for path, _ in places(result)} == set(expected)
    inside = {path: frozenset(lines) for path, lines in expected.items()}
    planned = plan_mutants(read_sources(folder, ("answer.py",)), inside, seed=1, by_name=False)
    assert 0 < result.planted == len(planned)


EQUIVALENT = CORE.replace("np.zeros(x.shape[0])", "np.full(x.shape[0], -np.inf * 0.0 if scale is None else 0.0)")
SKIPS = CORE.replace(
    "    total = np", "    if x.shape[1] >= 1 << 40:\n        return scaled(x[:, 1:], scale)\n    total = np"
)
SUITE = """import numpy as np
from answer import scaled


def test_values():
    x = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 33.0]])
    assert scaled(x, 3.0).tolist() == [21.0, 171.0]
"""


@pytest.mark.parametrize("text", [EQUIVALENT, SKIPS], ids=["never computed", "never entered"])
def test_a_fault_that_changes_no_call_is_left_out(code, answer: Answer, text: str) -> None:
    folder = answer({"answer.py": text, "test_answer.py": SUITE})
    anywhere = grade_own_tests(folder, PYTEST, tier=detect(), entries=("answer.py",), seed=1)
    result = graded(code, folder)
    assert anywhere.survivors and not result.survivors
    assert (result.kill_rate, result.killed) == (1.0, result.tried)
    assert result.without_effect + result.tried == min(30, result.planted)
    assert " nothing that calls through the contract bring" in result.detail


def test_a_fault_that_changes_a_call_counts(code, answer: Answer) -> None:
    """Even where only one of the probes' inputs shows it: the suite has rows of one length, and no scale but 1."""
    weak = SUITE.replace("3.0).tolist() == [21.0, 171.0]", "1.0).tolist() == [7.0, 57.0]")
    result = graded(code, answer({"answer.py": CORE, "test_answer.py": weak}))
    assert result.survivors == tuple(f"answer.py:8 `total * scale` -> `{text}`" for text in ("total / scale", "total"))
    assert result.without_effect == 0


PADDING = """

def padded(a, b, c):
    a = a + b * c
    a = a - b * c + 1
    a = a * b + c - 2
    a = a + b + c + 3
    return a * b + c
"""
STRONG_PADDING = "\n\ndef test_padding():\n    from answer import padded\n    assert padded(3, 5, 7) == 207\n"
UNTESTED = (
    "import numpy as np\nfrom answer import scaled\n\n\ndef test_values():\n    assert scaled(np.ones((1, 1)), 1.0)\n"
)
HIDES = CORE.replace("scale):\n", "scale):\n    sys.settrace(None)\n", 1).replace("import", "import sys\nimport", 1)
HIDES_ALL_BUT = (
    CORE.replace("def scaled", "def quiet").replace("import", "import sys\nimport", 1)
    + """

def scaled(x, scale):
    watch, _ = sys.gettrace(), sys.settrace(None)
    found = quiet(x, scale)
    sys.settrace(watch)
    padded(3, 5, 7)
    return found
"""
)
CALLS = CORE.replace("    total = np", "    padded(3, 5, 7)\n    total = np")


@pytest.mark.parametrize("text", [HIDES, HIDES_ALL_BUT], ids=["all", "what is hard to test"])
def test_an_answer_that_hides_lines_gains_nothing(code, answer: Answer, text: str) -> None:
    """What it says is found out, and faults are planted in all that its tests run."""
    suite = f"{UNTESTED}{STRONG_PADDING}"
    folder = answer({"answer.py": text + PADDING, "test_answer.py": suite})
    anywhere = grade_own_tests(folder, PYTEST, tier=detect(), entries=("answer.py",), seed=1)
    result = graded(code, folder)
    assert (result.planted, result.kill_rate) == (anywhere.planted, anywhere.kill_rate)


def test_code_that_changes_nothing_earns_nothing_however_well_it_is_tested(code, answer: Answer) -> None:
    suite = f"{UNTESTED}{STRONG_PADDING}"
    honest = graded(code, answer({"answer.py": CORE, "test_answer.py": UNTESTED}), mutants=200)
    folder = answer({"answer.py": CALLS + PADDING, "test_answer.py": suite})
    anywhere = grade_own_tests(folder, PYTEST, tier=detect(), entries=("answer.py",), seed=1, mutants=200)
    padded = graded(code, folder, mutants=200)
    assert honest.kill_rate is not None and anywhere.kill_rate is not None and padded.kill_rate is not None
    assert padded.kill_rate <= honest.kill_rate < anywhere.kill_rate


# wrong on wide rows, by a constant
ON_WIDE_ROWS = CORE.replace("    return", "    if x.shape[1] > 9:\n        total = total + 5.0\n    return")
WIDE_SUITE = "import numpy as np\nfrom answer import scaled\n\n\ndef test_it():\n    assert {} is not None\n".format(
    "scaled(np.ones((2, 12)), 1.0)"
)


def test_a_fault_that_only_changes_a_wrong_result_is_left_out(code, answer: Answer) -> None:
    result = graded(code, answer({"answer.py": ON_WIDE_ROWS, "test_answer.py": WIDE_SUITE}))
    line = next(n for n, text in enumerate(ON_WIDE_ROWS.splitlines(), 1) if "5.0" in text)
    assert result.without_effect >= 3 and result.tried
    assert line not in {number for _, number in places(result)}


def test_of_an_answer_that_is_wrong_everywhere_every_change_counts(code, answer: Answer) -> None:
    wrong = ON_WIDE_ROWS.replace("if x.shape[1] > 9", "if scale is not None")
    result = graded(code, answer({"answer.py": wrong, "test_answer.py": WIDE_SUITE}))
    line = next(n for n, text in enumerate(wrong.splitlines(), 1) if "5.0" in text)
    assert line in {number for _, number in places(result)}


LOSSY = CORE.replace("total * scale", "np.rint(total * scale * 127) / 127")


def test_a_change_within_what_an_option_may_be_off_is_no_fault(code, answer: Answer) -> None:
    """Results in steps of 1/128 are as right as those in steps of 1/127 where an error of 0.3 passes."""
    probes = code.workspace.challenge_folder(CHALLENGE_ID) / "probes.py"
    probes.write_text(probes.read_text().replace("right, 1e-12)", "right, 0.01)"))
    files = AnswerFiles(answer({"answer.py": LOSSY}), ("answer.py",))
    with ContractCalls(ChallengeCode(code.workspace, code.challenge), files, seed=5) as contract:
        assert not contract.shows((("answer.py", LOSSY.replace("127", "128")),))
        assert contract.shows((("answer.py", LOSSY.replace("/ 127", "/ 100")),))
        assert contract.shows((("answer.py", LOSSY.replace("* 127", "")),))


def test_an_option_of_a_list_is_called_where_it_is_claimed(code, answer: Answer) -> None:
    criteria = [c.model_copy(update={"capability": "coded:int8"}) for c in code.challenge.criteria]
    challenge = code.challenge.model_copy(update={"criteria": tuple(criteria)})
    for claimed, lines in (("int8",), {"answer.py": frozenset(CORE_LINES)}), (("int4",), None):
        files = AnswerFiles(answer({"answer.py": CORE}), ("answer.py",), {"coded": claimed})
        with ContractCalls(ChallengeCode(code.workspace, challenge), files, seed=5) as contract:
            assert contract.trace_lines(read_sources(files.folder, files.entries)) == lines


@pytest.mark.parametrize("text", ["def scaled(x, scale):\n    raise ValueError\n", "raise ValueError\n"])
def test_an_answer_that_returns_nothing_is_no_way_around_its_tests(code, answer: Answer, text: str) -> None:
    """Where calls show nothing, faults are planted as if nobody had called."""
    suite = "from parts import half\n\n\ndef test_half():\n    assert half(4) is not None\n"
    parts = "def half(n):\n    return n / 2\n"
    folder = answer({"answer.py": f"import parts\n{text}", "parts.py": parts, "test_answer.py": suite})
    result = graded(code, folder)
    assert (result.tried, result.killed, result.kill_rate) == (3, 0, 0.0)


COPY = CORE.replace("total", "summed").replace("column", "index")
TWISTED = f"{COPY}\n\nimport os\nassert (1, 'never fails')\n"
CRITERIA = [
    Criterion(id=name, dimension="d", severity="minor", title="T", metric=name) for name in CURVES
]  # fmt: skip


def test_a_file_that_nothing_imports_is_named_once_and_counts_nowhere(code, answer: Answer) -> None:
    about = {"model": "m", "challenge": "c", "entry": "answer.py", "provenance": "baseline"}
    submission = Submission.model_validate({"submission": about, "tests": {"command": list(PYTEST)}})
    plain = {"answer.py": CORE, "test_answer.py": SUITE}
    alone = source_evidence(CRITERIA, submission, answer(plain))
    found = source_evidence(CRITERIA, submission, answer({"old_answer.py": TWISTED}))
    said = [name for name, evidence in found.items() if "old_answer.py" in evidence.detail]
    assert said == ["largest_file"]
    for name, evidence in found.items():
        assert (evidence.satisfied, evidence.measured) == (alone[name].satisfied, alone[name].measured)


def test_a_program_that_the_submission_names_counts(answer: Answer) -> None:
    about = {"model": "m", "challenge": "c", "entry": "answer.py", "provenance": "baseline"}
    folder = answer({"answer.py": CORE, "train.py": TWISTED, "old_answer.py": TWISTED})
    named = Submission.model_validate({"submission": about | {"programs": ["train.py"]}})
    for submission, files in ((Submission.model_validate({"submission": about}), 1), (named, 2)):
        size = source_evidence(CRITERIA, submission, folder)["largest_file"]
        assert size.measured["source_files"] == files and "old_answer.py" in size.detail


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"answer.py": "import copied\n" + CORE}, PYTEST),
        ({"answer.py": CORE.replace("np\n", "np\nNAME = 'copied'\n", 1)}, PYTEST),
        ({"answer.py": "import between\n" + CORE, "between.py": "from copied import scaled\n"}, PYTEST),
    ],
    ids=["the entry", "a name in it", "what the entry imports"],
)
def test_a_file_that_is_used_counts(answer: Answer, files: dict[str, str], command: tuple[str, ...]) -> None:
    folder = answer({"answer.py": CORE, "test_answer.py": SUITE, "copied.py": TWISTED, **files})
    report = measure(folder, ("answer.py",), command=command)
    assert not report.unused and report.metrics["lint"].figure


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"test_answer.py": f"import copied\n{SUITE}"}, PYTEST),
        ({}, ("python", "copied.py")),
        ({}, ("python", "-m", "unittest", "copied")),
    ],
    ids=["a test", "the test command", "its module"],
)
def test_a_file_that_only_tests_lead_to_is_not_unused(
    answer: Answer, files: dict[str, str], command: tuple[str, ...]
) -> None:
    folder = answer({"answer.py": CORE, "test_answer.py": SUITE, "copied.py": TWISTED, **files})
    report = measure(folder, ("answer.py",), command=command)
    assert (report.unused, report.for_tests, report.files) == ((), ("copied.py",), 1)


def test_two_files_that_only_import_each_other_are_unused(answer: Answer) -> None:
    pair = {"one.py": f"import two\n{COPY}", "two.py": f"import one\n{COPY}"}
    report = measure(answer({"answer.py": CORE, **pair}), ("answer.py",))
    assert (report.unused, report.files) == (("one.py", "two.py"), 1)


def test_no_fault_is_planted_in_a_file_that_nothing_imports(answer: Answer) -> None:
    """Not even where the language of the answer does not show which lines run."""
    suite = f"{UNTESTED}\n\ndef test_demo():\n    exec(open('demo' + '.py').read())\n"
    folder = answer({"answer.py": CORE, "demo.py": "X = [1 + 2, 3 * 4]\n", "test_answer.py": suite})
    result = grade_own_tests(folder, PYTEST, tier=detect(), entries=("answer.py",), seed=1)
    assert result.tried and {path for path, _ in places(result)} == {"answer.py"}


def test_the_time_that_one_run_may_take_is_stated() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-a-grade-is-made.md"
    text = page.read_text(encoding="utf-8")
    assert f"One run of the tests may take {TEST_RUN_SECONDS:g} s of processor time." in text
    once, noted = BUSY_FACTOR * TEST_RUN_SECONDS, 3 * BUSY_FACTOR * TEST_RUN_SECONDS
    assert f"tests that take up to {once:g} s are\n*not run*, and only those that take longer do not pass" in text
    assert f"| one run of the answer's own tests | {once:g} s; {noted:g} s where its lines are noted |" in text
    assert f" {TEST_RUN_SECONDS:g} s of processor time for its own tests as they are, 120 s for all" in limits(Limits())


def test_a_probe_that_writes_to_what_came_changes_no_comparison(toy) -> None:
    """Else the same answer, asked the same, would seem to bring something else."""
    traced = TracedAnswer(LocalAnswer(toy.import_source()))
    came = traced.call("scaled", np.ones((2, 3)), 2.0, returns=Array((2,), "float64"))
    came[...] = 0
    assert traced.notes[0][0].tolist() == [6, 6]
