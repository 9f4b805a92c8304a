"""A fault of form that stops nvcc is repaired in a copy and named as the cause; what is no such fault is left alone."""

import time
from pathlib import Path

import pytest

from harness.cuda.check.messages import CompilerError, find_suggestion
from harness.cuda.compilers.nvcc import nvcc
from harness.cuda.repair.repaired_copy import RepairedCopy, repair_copy
from harness.cuda.repair.rules import RefusedFile, propose_repair
from harness.model import RepairKind
from harness.sandbox import detect

compiled = pytest.mark.skipif(nvcc() is None, reason="no nvcc with a host compiler: `make compilers` brings one")

PAGE = """# Rows

Don't write it out.

```cuda
#include <cuda_runtime.h>

// ==========
//  Limits
 *  A row's smallest entry isn't known; a { is not closed here.
 * ==========

__global__ void rows(float* values, int count) {
    // the first one
    *values = -FLT_MAX;
    values[0] = conut;
}

extern "C" int serve(float* values, int count) {
    rows<<<1, 1>>>(values, count);
    return cudaGetLastError();
}
```

```
 rows -> values
```
"""
CODE = """#include <cuda_runtime.h>

__device__ float largest_of(float a, float b) { return a > b ? a : b; }
extern "C" int serve(float* values, int count) {
    LINE
    return 0;
}
"""


def repaired(folder: Path, source: str, *, spared: tuple[str, ...] = ()) -> tuple[RepairedCopy, str]:
    """What came of an answer of one file, and the text of the copy."""
    answer, into = folder / "answer", folder / "copy"
    answer.mkdir()
    into.mkdir()
    (answer / "answer.cu").write_text(source)
    done = repair_copy(answer, ["answer.cu"], ["serve"], into, tier=detect(), spared=spared)
    assert (answer / "answer.cu").read_text() == source
    return done, (into / "answer.cu").read_text()


@compiled
def test_faults_are_repaired_one_behind_the_other(tmp_path: Path) -> None:
    done, text = repaired(tmp_path, PAGE)
    assert done.built, done.text
    assert [(r.kind, r.locations[0].line) for r in done.repairs] == [
        (RepairKind.FENCED_CODE, 6), (RepairKind.UNCLOSED_COMMENT, 10),
        (RepairKind.MISSING_HEADER, 1), (RepairKind.MISSPELT_NAME, 16),
    ]  # fmt: skip
    assert text.count("\n") == PAGE.count("\n")
    lines = text.split("\n")
    assert lines[0] == "#include <cfloat>"
    assert lines[9:11] == ["// *  A row's smallest entry isn't known; a { is not closed here.", "// * =========="]
    assert lines[14:16] == ["    *values = -FLT_MAX;", "    values[0] = count;"]
    assert not any(name in repair.words for repair in done.repairs for name in ("conut", "count", "FLT_MAX"))


@compiled
@pytest.mark.parametrize("line", ["values[0] = 1.0f", "values[0] = smallest_of(values[0], 0.0f);"])
def test_a_fault_of_the_code_itself_is_not_repaired(tmp_path: Path, line: str) -> None:
    source = CODE.replace("LINE", line)
    done, text = repaired(tmp_path, source)
    assert (done.repairs, done.built, text) == ((), False, source)


@compiled
def test_a_repair_behind_which_the_fault_stays_is_none(tmp_path: Path) -> None:
    """The name is put right, and the line is wrong for another reason: then the name was not shown to be why."""
    source = CODE.replace("LINE", "int number = cuont + values;")
    done, text = repaired(tmp_path, source)
    assert (done.repairs, done.built, text) == ((), False, source)


@compiled
def test_a_file_that_is_not_the_answers_is_never_changed(tmp_path: Path) -> None:
    source = CODE.replace("LINE", "values[0] = FLT_MAX;")
    done, text = repaired(tmp_path, source, spared=("answer.cu",))
    assert (done.repairs, text) == ((), source)


def change(text: str, line: int, said: str, suggestion: str = "") -> str | None:
    """The text after the first repair that may help with an error; None where no rule knows it."""
    error = CompilerError("answer.cu", line, said)
    found = propose_repair(RefusedFile("answer.cu", text, [error], lambda _: suggestion))
    return found and found.text


SYNTAX = 'expected a ";"'
LEFT_ALONE = {
    "a pointer below a comment": ("void f(int* p) {\n    // the first\n    * p = x;\n}\n", 3),
    "a product over two lines": ("int n = 3  // rows\n// columns\n * 4 +;\n", 3),
    "a comment that is one": ("/* rows\n * columns\n */\nint n = ;\n", 2),
    "declarations between rules": ("// ----------\nstatc int rows = 4;\n// ----------\n", 2),
    "a fence inside a comment": ("/*\n```\nrows\n```\n*/\nint n = ;\n", 6),
    "a page of another language": ("# Rows\n```python\nrows = 4\n```\n", 1),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_only_looks_like_prose_stays(name: str) -> None:
    text, line = LEFT_ALONE[name]
    assert change(text, line, SYNTAX) is None


def test_prose_between_rules_becomes_a_comment() -> None:
    text = "int a;\n// ----------\n   The rows' kernel\n// ----------\nint b;\n"
    assert change(text, 3, SYNTAX) == text.replace("   The", "//   The")
    inside = f"namespace rows {{\n{text}}}\n"
    assert change(inside, 4, SYNTAX) == inside.replace("   The", "//   The")


@pytest.mark.parametrize(("head", "place"), [
    ("#include <math.h>\n\n", 1), ("#ifndef ROWS\n#define ROWS\n\n", 2), ("/*\n\n*/\n\n", 3), ("// rows\n", 0),
    ("#if 0\n\n#endif\n", None), ("namespace rows {\n\n", None), ("#define ROWS \\\n\n", None), ("int rows;\n", None),
])  # fmt: skip
def test_a_header_is_included_where_it_can_be_and_shifts_no_line(head: str, place: int | None) -> None:
    text = f"{head}float least = -FLT_MAX;\n"
    changed = change(text, text.count("\n"), 'identifier "FLT_MAX" is undefined')
    if place is None:
        assert changed is None
        return
    lines = text.split("\n")
    lines[place] = "#include <cfloat>"
    assert changed == "\n".join(lines)


def test_a_header_of_std_is_known_by_the_name_in_std() -> None:
    said = 'namespace "std" has no member "vector"'
    assert change("\nstd::vector<int> rows;\n", 2, said) == "#include <vector>\nstd::vector<int> rows;\n"
    assert change("\n#include <vector>\nstd::vector<int> rows;\n", 3, said) is None
    assert change("\nvector<int> rows;\n", 2, 'identifier "vector" is undefined') is None


@pytest.mark.parametrize(("name", "other", "taken"), [
    ("topp_prob", "topk_prob", True), ("cuont", "count", True), ("coun", "count", True), ("counts", "count", True),
    ("row1", "row2", False), ("reduce_min", "reduce_max", False), ("idx", "idy", False), ("rows", "", False),
    ("total", "tally", False), ("value1", "value", False),
])  # fmt: skip
def test_only_a_name_one_letter_away_is_a_misspelling(name: str, other: str, taken: bool) -> None:
    text = f'f({name}, "{name}");\n'
    changed = change(text, 1, f'identifier "{name}" is undefined', other)
    assert changed == (f'f({other}, "{name}");\n' if taken else None)


@pytest.mark.parametrize("log", [
    "a.cu:3:7: error: ‘conut’ was not declared in this scope; did you mean ‘count’?",
    "a.cu:3:7: error: use of undeclared identifier 'conut'; did you mean 'count'?",
    "a.cu:3:7: error: ‘struct S’ has no member named ‘conut’; did you mean ‘count’?",
])  # fmt: skip
def test_a_suggestion_is_read_for_its_own_name_and_line(log: str) -> None:
    assert find_suggestion(log, CompilerError("a.cu", 3, 'identifier "conut" is undefined')) == "count"
    assert find_suggestion(log, CompilerError("a.cu", 4, 'identifier "conut" is undefined')) == ""
    assert find_suggestion(log, CompilerError("a.cu", 3, 'identifier "tonuc" is undefined')) == ""
    assert find_suggestion(log, CompilerError("a.cu", 3, SYNTAX)) == ""


ENDLESS = {
    "slashes": "/" * 100_000 + "x\nprose here\n" + "-" * 100_000, "a fence": "```" + "a" * 100_000 + "`",
    "empty lines": "\n" * 100_000, "comments": "/*\n*/" * 30_000, "namespaces": "namespace " * 30_000 + "{",
    "stars": " * " * 50_000, "braces": "{" * 100_000, "runs": "// a\n * b\n" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_no_source_holds_the_search_up(name: str) -> None:
    text, start = ENDLESS[name], time.process_time()
    for said in (SYNTAX, 'identifier "FLT_MAX" is undefined', 'identifier "conut" is undefined'):
        change(text, text.count("\n"), said, "count")
    assert time.process_time() - start < 20


def test_a_line_that_is_a_comment_already_is_neither_counted_nor_changed() -> None:
    """A heading in `//` between two rules reads like prose: only the prose below the second heading runs on."""
    rule = "// ==========\n"
    first, second = f"{rule}//  1 LIMITS AND SIZES\n{rule}\nint a;\n\n", f"{rule}//  2 WARP SUMS\n//\n"
    text = f"{first}{second} *  All of them shuffle.\n *\n{rule}int b;\n"
    errors = [CompilerError("answer.cu", 10, "expected a declaration")]
    proposal = propose_repair(RefusedFile("answer.cu", text, errors, lambda error: ""))
    assert proposal is not None
    assert proposal.repair.words.startswith("at line 10 of answer.cu 2 lines that go on")
    lines = zip(text.split("\n"), proposal.text.split("\n"), strict=True)
    assert [number for number, (old, new) in enumerate(lines, 1) if old != new] == [10, 11]
