"""What was found is told once for each line, causes first, in forms that terminals and code hosts show."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.cuda import output as cuda_output
from harness.cuda.emulator.device_trace import DeviceDefect, DeviceLocation, KernelLaunch, Report
from harness.cuda.programs import self_reported_failures
from harness.cuda.programs.faults import leaks, program_faults
from harness.cuda.programs.initial_values import with_values
from harness.cuda.programs.program import ProgramRun, ProgramSource
from harness.errors import NotFoundError
from harness.report import formats
from harness.report.exports import programs
from harness.sandbox import Completed
from tests.commands import called

ROOT = Path(__file__).parents[2]


def defect(kind: str, line: int | None, other: int | DeviceLocation | None = None, **more: Any) -> DeviceDefect:
    side = DeviceLocation(access="read", file="a.cu", line=other, pc=2) if isinstance(other, int) else other
    access = "write" if side else None
    given = {"severity": "error", "text": f"{kind} here", "kernel": "k", "pc": 1, "access": access, **more}
    return DeviceDefect(kind=kind, file="a.cu" if line else None, line=line, other=side, **given)


def run(*defects: DeviceDefect, printed: str = "", code: int = 0, seed: int = 0) -> ProgramRun:
    launches = [KernelLaunch(kernel="k", grid=(1, 1, 1), block=(1, 1, 1))]
    report = Report(version=1, defects=list(defects), launches=launches)
    return ProgramRun(seed, report, Completed(code, printed, b"", 1.0, 1.0))


@pytest.fixture
def source(tmp_path: Path) -> ProgramSource:
    (tmp_path / "a.cu").write_text("".join(f"line {n};\n" for n in range(1, 31)))
    return ProgramSource.of([tmp_path / "a.cu"])


def test_one_line_and_kind_is_one_entry_whatever_the_instantiation() -> None:
    instances = [defect("out_of_bounds", 7, pc=n, kernel=f"k<{n}>", text=f"read past `b{n % 2}`") for n in range(20)]
    (found,) = program_faults([run(*instances)])
    assert (found.count, found.others, len(found.kernels)) == (20, ["read past `b1`"], 19)
    assert len(program_faults([run(defect("out_of_bounds", 7), defect("out_of_bounds", 8))])) == 2
    assert len(program_faults([run(defect("out_of_bounds", 7), defect("misaligned", 7))])) == 2
    assert len(program_faults([run(defect("out_of_bounds", None, pc=1), defect("out_of_bounds", None, pc=2))])) == 2


def test_the_two_sides_of_a_race_may_change_places() -> None:
    one, other = defect("shared_race", 5, 9), defect("shared_race", 9, 5, text="the other way")
    (found,) = program_faults([run(one), run(other, seed=1)])
    assert (found.count, found.schedules, found.others) == (2, 2, [])


def test_causes_stand_before_what_they_may_have_caused() -> None:
    late = run(
        defect("uninitialized_read", 9), defect("misaligned", 3), defect("shared_race", 5, 9),
        defect("atomic_and_plain", 2, severity="warning"), defect("uninitialized_read", 20),
    )  # fmt: skip
    found = program_faults([late])
    assert [(f.defect.kind, f.defect.line) for f in found] == [
        ("misaligned", 3), ("shared_race", 5), ("uninitialized_read", 9), ("uninitialized_read", 20),
        ("atomic_and_plain", 2),
    ]  # fmt: skip
    assert [f.cause and f.cause.defect.kind for f in found] == [None, None, "shared_race", None, None]
    not_run = program_faults([run(defect("invalid_launch", 12), defect("uninitialized_read", 20, kernel="other"))])
    assert [f.cause and f.cause.defect.kind for f in not_run] == [None, "invalid_launch"]


WRITE = DeviceLocation(access="write", file="a.cu", line=5, pc=2)


@pytest.mark.parametrize("kind", ["shared_race", "global_race"])
@pytest.mark.parametrize(
    ("race", "caused"),
    [
        ({"line": 5, "other": 9}, True),
        ({"line": 9, "other": 9}, False),
        ({"line": 9, "other": WRITE, "access": "read"}, False),
    ],
    ids=["written after the read", "read and written by one line", "read after it was written"],
)
def test_only_a_write_that_came_too_late_explains_a_read_of_nothing(
    kind: str, race: dict[str, Any], caused: bool
) -> None:
    read = defect("uninitialized_read", 9)
    causes = {f.defect.kind: f.cause for f in program_faults([run(defect(kind, **race), read)])}
    assert (causes["uninitialized_read"] is not None) is caused
    first = defect(kind, 9, WRITE, access="read")
    assert program_faults([run(first, defect(kind, 5, 9), read)])[1].cause is not None


def test_equal_values_are_no_finding_where_an_error_changes_them() -> None:
    def told(*others: DeviceDefect) -> list[str]:
        equal = defect("global_race", 5, WRITE, severity="info")
        return [f.defect.severity for f in program_faults([run(equal, *others)])]

    assert told() == ["info"]
    assert told(defect("global_race", 5, 9)) == told(defect("uninitialized_read", 20)) == ["error"]
    assert told(defect("misaligned", 20)) == told(defect("uninitialized_read", 20, kernel="other")) == ["error", "info"]


def test_a_line_that_leaks_in_a_loop_is_told_once() -> None:
    many = [defect("leaked", 4, severity="info", buffer=f"buffer {n}") for n in range(9)]
    one = defect("leaked", 5, severity="info", buffer="x")
    assert leaks([run(*many, one), run(*many, one)]) == {"a.cu:4": ["buffer 0", "buffer 1", "7 more"], "a.cu:5": ["x"]}


@pytest.mark.parametrize(
    "text",
    ["Test FAILED", "Result verification failed!", "Mismatch at 7: 1 vs 2", "ERROR: results differ",
     "5 errors at row 2", "results are incorrect", "12 mismatches", "The outputs do not match",
     "wrong 0.5"],
)  # fmt: skip
def test_a_failure_that_a_program_prints_is_repeated(text: str) -> None:
    assert self_reported_failures.failures(f"begin\n{text}\nend\n") == [text]


@pytest.mark.parametrize(
    "text",
    ["Test PASSED", "max error: 1.2e-07", "0 errors", "no mismatches", "Errors = 0", "mismatches: 0", "0 of 4 failed",
     "without failure", "relative error 1e-6", "error rate: 0.1", "tolerance for error", "No error at all",
     "wrong 0"],
)  # fmt: skip
def test_words_about_errors_that_tell_of_none_are_left_alone(text: str) -> None:
    assert self_reported_failures.failures(text) == []


def test_sarif_has_a_rule_for_each_kind_and_the_places_of_each_fault(source: ProgramSource) -> None:
    found = [run(defect("shared_race", 5, 9), defect("misaligned", 3, severity="warning"), defect("deadlock", None))]
    document = json.loads(programs.as_sarif(source, found, source.folder))
    (told,) = document["runs"]
    rules = [rule["id"] for rule in told["tool"]["driver"]["rules"]]
    assert (document["version"], rules) == ("2.1.0", ["shared_race", "deadlock", "misaligned"])
    assert [r["level"] for r in told["results"]] == ["error", "error", "warning"]
    assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in told["results"])
    places = [r["locations"][0]["physicalLocation"] for r in told["results"]]
    assert [p["artifactLocation"]["uri"] for p in places] == ["a.cu"] * 3
    assert [p.get("region") for p in places] == [{"startLine": 5}, None, {"startLine": 3}]
    assert told["results"][0]["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 9}
    assert told["invocations"][0]["executionSuccessful"]
    killed = ProgramRun(0, None, Completed(None, "", b"", 1.0, 1.0))
    (told,) = json.loads(programs.as_sarif(source, [killed], source.folder))["runs"]
    assert not told["invocations"][0]["executionSuccessful"]


def test_every_format_of_the_registry_for_programs_is_offered_and_written(source: ProgramSource) -> None:
    written = formats.named("program")
    for each in written.values():
        text = formats.load(each.program)(source, [run(defect("deadlock", 3))], source.folder)
        assert "deadlock here" in json.dumps(json.loads(text))
    refused = called(ROOT, "cuda", "check", "a.cu", "--format", "none")
    assert refused.returncode == 2 and f"one of {', '.join(('table', *written))}" in refused.stderr
    twice = called(ROOT, "cuda", "check", "a.cu", "--format", "json", "--sarif")
    assert twice.returncode == 2 and "give one of --format, --json and --sarif" in twice.stderr


def test_annotations_are_one_command_a_fault_whatever_its_words(source: ProgramSource) -> None:
    odd = defect("misaligned", 3, text="a\n::error::b, 100%")
    told = list(programs.annotations(source, [run(odd, defect("leaked", 4, severity="info"))], source.folder))
    assert told == ["::error file=a.cu,line=3,title=misaligned::a%0A::error::b, 100%25%0Ain kernel k"]


def test_a_program_cannot_print_commands_of_its_own_beside_annotations(
    source: ProgramSource, capsys: pytest.CaptureFixture[str]
) -> None:
    cuda_output.defects(source, [run(printed="::error::mine\n")], quoted=True)
    assert not any(line.lstrip().startswith("::") for line in capsys.readouterr().out.splitlines())


def test_the_source_stands_around_each_place(source: ProgramSource, capsys: pytest.CaptureFixture[str]) -> None:
    cuda_output.defects(source, [run(defect("misaligned", 9), printed="Test FAILED\n")])
    told = capsys.readouterr().out
    assert (
        "in kernel k at a.cu:9\n          8 | line 8;\n       >  9 | line 9;\n         10 | line 10;\n     once\n"
        in told
    )
    assert "note: the program itself printed a failure: Test FAILED" in told
    assert "\033" not in told


def test_colour_is_for_terminals_that_want_it(
    source: ProgramSource, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    cuda_output.defects(source, [run(defect("misaligned", 9))])
    assert "1. \033[1;31merror\033[0m: misaligned" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    cuda_output.defects(source, [run(defect("misaligned", 9))])
    assert "\033" not in capsys.readouterr().out


SIZES = """
__global__ void add(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
int T = 5;
int other() { int T = 7; return T; }
int main() {
    const int B = 2, T = 1024 *
        2;  // a comment
    float* x;
    cudaMalloc(&x, T * sizeof(float));
    cudaMemset(x, 0, T * sizeof(float));
    add<<<B, T + 7>>>(x, T + other());
}
"""


def test_sizes_in_main_can_be_set_and_lines_stay(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(SIZES)
    (tmp_path / "copy").mkdir()
    source = ProgramSource.of([tmp_path / "a.cu"])
    changed, told = with_values(source, {"T": "64"}, tmp_path / "copy")
    assert told["T"] == "a.cu:6: T = 64 in place of 1024 * 2"
    assert (changed.folder / "a.cu").read_text() == SIZES.replace("1024 *\n        2", "64\n")
    assert (tmp_path / "a.cu").read_text() == SIZES
    with pytest.raises(NotFoundError, match=r"no variable N .*there are B, T"):
        with_values(source, {"N": "1"}, tmp_path / "copy")


def test_a_constant_of_a_file_can_be_set_where_main_has_none_of_its_name(tmp_path: Path) -> None:
    text = (
        "const int N = 1 << 20, M = N;\nint K = 5;\nvoid f() { int J = 3; }\nint main() { int K = 7; return N + K; }\n"
    )
    (tmp_path / "a.cu").write_text(text)
    (tmp_path / "copy").mkdir()
    source = ProgramSource.of([tmp_path / "a.cu"])
    changed, told = with_values(source, {"N": "64", "K": "9"}, tmp_path / "copy")
    assert told["N"] == "a.cu:1: N = 64 in place of 1 << 20"
    assert told["K"] == "a.cu:4: K = 9 in place of 7"
    assert (changed.folder / "a.cu").read_text() == text.replace("1 << 20", "64").replace("K = 7", "K = 9")
    with pytest.raises(NotFoundError, match=r"no variable J .*there are K, M, N"):
        with_values(source, {"J": "1"}, tmp_path / "copy")


def test_a_list_in_braces_gets_other_values(tmp_path: Path) -> None:
    text = "int main() { std::vector<int> SIZE = {128,\n 256}; int n = 4; return run(SIZE, n); }\n"
    (tmp_path / "a.cu").write_text(text)
    (tmp_path / "copy").mkdir()
    source = ProgramSource.of([tmp_path / "a.cu"])
    changed, told = with_values(source, {"SIZE": "64, 96"}, tmp_path / "copy")
    assert told["SIZE"] == "a.cu:1: SIZE = {64, 96} in place of {128, 256}"
    assert (changed.folder / "a.cu").read_text() == text.replace("{128,\n 256}", "{64, 96}\n")
    with pytest.raises(NotFoundError, match="n is declared with one value"):
        with_values(source, {"n": "1,2"}, tmp_path / "copy")


def test_a_macro_of_a_header_can_be_set(tmp_path: Path) -> None:
    header = "#pragma once\n#define RUNS (100 * \\\n 2)  // launches\n#define SQUARE(x) ((x) * (x))\n#define GUARD\n"
    folder, copy = tmp_path / "program", tmp_path / "copy"
    folder.mkdir()
    (folder / "sizes.h").write_text(header)
    (folder / "a.cu").write_text('#include "sizes.h"\n#define N 8\nint main() { int n = RUNS; return n - N; }\n')
    (folder / "another.cu").write_text("#define N 5\n")
    source = ProgramSource.of([folder / "a.cu"])
    changed, told = with_values(source, {"RUNS": "3", "N": "2"}, copy)
    assert told["N"] == "a.cu:2: N = (2) in place of 8"
    assert told["RUNS"] == "sizes.h:2: RUNS = (3) in place of (100 * 2)"
    assert (changed.folder / "sizes.h").read_text() == header.replace("(100 * \\\n 2)", "(3)\\\n")
    for name in ("SQUARE", "GUARD"):
        with pytest.raises(NotFoundError, match=f"no variable {name}"):
            with_values(source, {name: "1"}, copy)
    (folder / "other.h").write_text("#define RUNS 5\n")
    with pytest.raises(NotFoundError, match="RUNS is defined 2 times"):
        with_values(source, {"RUNS": "3"}, copy)


def test_options_reach_the_program_and_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(SIZES)
    done = called(ROOT, "cuda", "check", "a.cu", "--set", "T=64", "--annotations", "github", cwd=tmp_path)
    assert (done.returncode, "note: built with a.cu:6: T = 64 in place of 1024 * 2\n" in done.stdout) == (1, True)
    assert "::error file=a.cu,line=2,title=out of bounds::" in done.stdout
    wrong = called(ROOT, "cuda", "check", "a.cu", "--set", "T=system(1)", cwd=tmp_path)
    assert (wrong.returncode, "--set T" in wrong.stderr) == (2, True)
