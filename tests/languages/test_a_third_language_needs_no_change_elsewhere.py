"""A language that another package registers is graded, checked by mutants and reported without a change elsewhere."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from tests.commands import started
from tests.toy import CHALLENGE_ID, RUBRIC, add_submission, make_workspace

pytestmark = pytest.mark.skipif(host_compiler() is None, reason="no C compiler here")

MODULE = Path(__file__).with_name("plain_c.py")
CHALLENGE = f"""language = "plain_c"
{RUBRIC}
[[criteria]]
id = "compiles"
dimension = "correctness"
severity = "major"
title = "It compiles without a warning"
compiler = "compiles"
[[criteria]]
id = "documented"
dimension = "correctness"
severity = "minor"
title = "Functions are documented"
metric = "documentation"
"""
REFERENCE = """/* Sums of rows. */

/* Write scale times the sum of each row of x. */
int scaled(const double *x, long rows, long columns, double scale, double *out) {
    for (long row = 0; row < rows; row++) {
        double total = 0;
        for (long column = 0; column < columns; column++)
            total += x[row * columns + column];
        out[row] = total * scale;
    }
    return 0;
}
"""
MUTANTS = """
from harness.probing import Mutant
MUTANTS = (
    Mutant("last column dropped", "leaves the last column out", criterion="values",
           edits=(("column < columns", "column < columns - 1"),)),
    Mutant("no scale", "forgets the scale", criterion="values", edits=(("total * scale", "total + 0 * scale"),)),
)
"""
VARIANTS = """
from harness.probing import Variant
VARIANTS = (Variant("backwards", "adds from the last column on",
                    edits=(("long column = 0; column < columns; column++", "long column = columns; column-- > 0;"),)),)
"""
SUBMISSION = """
[submission]
model = "{model}"
challenge = "scaled_sum"
language = "plain_c"
entry = ["answer.c"]
provenance = "model-output"
"""
ANSWERS = {
    "right": REFERENCE,
    "wrong": REFERENCE.replace("double total = 0;", "float total = 0;"),
    "broken": REFERENCE.replace("return 0;", "return nothing;"),
    "lacking": REFERENCE.replace("scaled(", "scale_rows("),
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose only challenge is answered in C."""
    root = tmp_path_factory.mktemp("workspace")
    workspace = make_workspace(
        root, toml=CHALLENGE, mutants=MUTANTS, variants=VARIANTS, reference=REFERENCE, reference_name="reference.c"
    )
    contract = REFERENCE.replace("out[row] = total * scale;", "out[row] = 0;")
    (workspace.challenge_folder(CHALLENGE_ID) / "contract.c").write_text(contract)
    for model, source in ANSWERS.items():
        add_submission(workspace, model, source, SUBMISSION, "answer.c")
    return root


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package that registers the language."""
    place = tmp_path_factory.mktemp("packages")
    shutil.copy(MODULE, place)
    info = place / "plain_c-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-c\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[harness.languages]\nplain_c = plain_c:PLAIN_C\n")
    return place


@pytest.fixture(scope="module")
def run(root: Path, packages: Path) -> Run:
    """Runs the command where that package is installed."""
    return lambda *arguments: started(root, *arguments, PYTHONPATH=str(packages))


@pytest.fixture(scope="module")
def graded(run: Run) -> dict[str, dict[str, object]]:
    """The records of all answers, made by two grading processes."""
    done = run("grade", "--all", "-j", "2", "--json")
    assert done.returncode == 0, done.stderr
    return {record["model"]: record for record in json.loads(done.stdout)}


def outcomes(record: dict[str, object]) -> dict[str, str]:
    return {e["criterion"]: e["outcome"] for e in record["evidence"]}


def test_the_module_is_short():
    assert len(MODULE.read_text().splitlines()) <= 120


def test_a_right_answer_passes_all(graded):
    assert graded["right"]["status"] == "graded"
    assert outcomes(graded["right"]) == {"values": "passed", "compiles": "passed", "documented": "passed"}
    assert graded["right"]["overall"]["score"] == 100


def test_a_wrong_answer_fails_by_its_values(graded):
    assert graded["wrong"]["status"] == "graded"
    assert outcomes(graded["wrong"])["values"] == "failed"


def test_what_does_not_compile_says_so_in_the_compilers_words(graded):
    assert graded["broken"]["status"] == "build_failed"
    assert "nothing" in graded["broken"]["findings"][0]["detail"]


def test_a_function_that_is_not_there_is_named(graded):
    assert graded["lacking"]["status"] == "build_failed"
    assert "the library exports no function 'scaled'" in graded["lacking"]["findings"][0]["detail"]


def test_the_record_states_the_toolchain(graded):
    assert graded["right"]["environment"]["packages"]["c compiler"] != "missing"


def test_probes_are_checked_against_mutants(run):
    done = run("check", "scaled_sum", "--json")
    verdicts = {v["name"]: v for v in json.loads(done.stdout)}
    assert done.returncode == 0, done.stdout
    assert {verdicts[name]["kind"] for name in ("last column dropped", "no scale")} == {"mutant"}
    assert all(verdict["right"] for verdict in verdicts.values())


def test_the_grades_are_reported(run, graded, root):
    done = run("report")
    assert done.returncode == 0, done.stderr
    page = (root / "reports" / "scaled_sum.md").read_text()
    assert all(model in page for model in ANSWERS)
    assert (root / "reports" / "index.html").is_file()


def test_a_new_submission_is_made_and_graded(run, root):
    assert run("new", "submission", "beginner/scaled_sum").returncode == 0
    done = run("grade", "beginner/scaled_sum", "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "graded" and outcomes(record)["values"] == "failed"


def test_a_language_that_changed_grades_anew(run, graded, packages):
    again = run("grade", "right")
    (packages / MODULE.name).write_text(MODULE.read_text().replace('"-O2"', '"-O1"'))
    changed = run("grade", "right")
    shutil.copy(MODULE, packages)
    assert "reused: right/scaled_sum" in again.stderr
    assert "graded: right/scaled_sum" in changed.stderr


def test_without_the_package_the_language_is_unknown_and_named(root):
    done = started(root, "grade", "right")
    assert done.returncode == 2
    assert "no language 'plain_c'" in done.stderr and "languages are cuda, python" in done.stderr
    assert "Traceback" not in done.stderr
