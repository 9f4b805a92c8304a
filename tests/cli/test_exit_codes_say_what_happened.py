"""Exit codes say what happened: 0 done, 1 a gate failed, 2 usage or malformed input, 3 our fault, 130 interrupted."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from cli_runs import ZEROS, Run, Submit

from tests.commands import command, environment, started


def test_a_bad_mark_is_no_error(run: Run, submit: Submit) -> None:
    submit("zeros", ZEROS)
    assert run("grade", "zeros").returncode == 0


def test_a_submission_that_does_not_build_is_no_error(run: Run, submit: Submit) -> None:
    submit("broken", "import nothing_of_that_name\n")
    done = run("grade", "broken")
    assert done.returncode == 0
    assert "does not load" in done.stdout


def test_fail_under_is_a_gate(run: Run, submit: Submit) -> None:
    submit("good")
    submit("zeros", ZEROS)
    assert run("grade", "good", "--fail-under", "60").returncode == 0
    done = run("grade", "--all", "--fail-under", "60")
    assert done.returncode == 1
    assert "under 60: zeros/rows" in done.stderr
    assert "under 60: good/rows" not in done.stderr


def test_a_mark_that_equals_the_gate_passes_it(run: Run, submit: Submit) -> None:
    submit("zeros", ZEROS)
    (record,) = json.loads(run("grade", "zeros", "--json").stdout)
    mark = record["overall"]["score"]
    assert 0 < mark < 100
    assert run("grade", "zeros", "--fail-under", str(mark)).returncode == 0
    assert run("grade", "zeros", "--fail-under", str(mark + 0.5)).returncode == 1


def test_an_answer_without_a_mark_fails_every_gate(run: Run, submit: Submit, root: Path) -> None:
    """No device could assess it: that is no pass, not even of a gate at 0."""
    submit("good")
    probes = root / "challenges" / "rows" / "probes.py"
    raising = "    raise __import__('harness.probing.failures').probing.failures.NotMeasurable('no device')\n"
    source = probes.read_text()
    assert source.count("    first, second = ") == 1
    probes.write_text(source.replace("    first, second = ", f"{raising}    first, second = "))
    done = run("grade", "good", "--json", "--fail-under", "0")
    (record,) = json.loads(done.stdout)
    assert (record["status"], record["overall"]["score"]) == ("graded", None)
    assert done.returncode == 1 and "under 0: good/rows" in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_a_wrong_verdict_fails_the_check(run: Run, root: Path, as_json: bool) -> None:
    mutants = root / "challenges" / "rows" / "mutants.py"
    mutants.write_text(
        mutants.read_text().replace("np.exp(np.maximum(logits - largest, -30.0))", "np.exp(logits - largest)")
    )
    done = run("check", "rows", *(["--json"] if as_json else []))
    assert done.returncode == 1
    if as_json:
        assert [v["name"] for v in json.loads(done.stdout) if not v["right"]] == ["mask too weak"]
    else:
        assert "WRONG: mutant `mask too weak`: should be: killed by `masked_logits`" in done.stdout


def test_a_criterion_that_no_mutant_names_is_pointed_out(run: Run, root: Path) -> None:
    assert "no mutant proves" not in run("check", "rows").stderr
    mutants = root / "challenges" / "rows" / "mutants.py"
    mutants.write_text(mutants.read_text().replace('criterion="masked_logits"', 'criterion="values"'))
    # in a process of its own: what was loaded before the edit stays loaded in this one
    assert "no mutant proves that these criteria can fail: masked_logits" in started(root, "check", "rows").stderr


def test_a_record_that_cannot_be_written_is_our_fault(run: Run, submit: Submit, root: Path) -> None:
    submit("good")
    (root / "reports").write_text("a file where a folder belongs")
    done = run("grade", "good")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "reports" in done.stderr


def test_a_machine_that_holds_nothing_grades_nothing_unless_told_to(run: Run, submit: Submit) -> None:
    submit("good")
    done = run("grade", "good", HARNESS_TIER="D")
    assert done.returncode == 3 and "'D' names no tier; they are A, B, C, unsafe" in done.stderr
    done = run("grade", "good", HARNESS_TIER="unsafe")
    assert done.returncode == 0
    assert "no isolation: answers could reach files, network and other processes" in done.stderr
    assert "not ranked" in run("scoreboard").stdout


def test_a_replay_that_comes_out_otherwise_is_a_gate(run: Run, submit: Submit, root: Path) -> None:
    folder = submit("zeros", ZEROS)
    run("grade", "zeros")
    done = run("replay", "zeros/rows", "values")
    assert (done.returncode, "as recorded" in done.stdout) == (0, True)
    (folder / "answer.py").write_text((root / "references" / "rows" / "reference.py").read_text())
    done = run("replay", "zeros/rows", "values")
    assert (done.returncode, "not the one recorded" in done.stdout) == (1, True)


def test_a_replay_of_what_is_charged_elsewhere_compares_nothing(run: Run, submit: Submit, root: Path) -> None:
    rubric = root / "challenges" / "rows" / "challenge.toml"
    text = rubric.read_text()
    for name in ("rows_independent", "inputs_unchanged"):  # zeros hide whether they hold
        text = text.replace(f'probes = ["{name}"]', f'probes = ["{name}"]\njudges = "property"')
    rubric.write_text(text)
    submit("zeros", ZEROS)
    run("grade", "zeros")
    done = run("replay", "zeros/rows", "rows_independent")
    *_, last = done.stdout.splitlines()
    command = "harness replay zeros/rows values"
    assert last == f"nothing to compare: the record charges this to `values`; replay that one: {command}", done
    assert done.returncode == 0
    assert json.loads(run("replay", "zeros/rows", "rows_independent", "--json").stdout)["same"] is None


def test_a_replay_prints_findings_that_differ_in_numbers_once(run: Run, submit: Submit, root: Path) -> None:
    rubric = root / "challenges" / "rows" / "challenge.toml"
    rubric.write_text(rubric.read_text().replace('["masked_logits"]', '["large_logits", "masked_logits"]'))
    submit("zeros", ZEROS)
    run("grade", "zeros")
    text = " ".join(run("replay", "zeros/rows", "masked_logits").stdout.split())
    assert text.count("is 0 instead of") == text.count("(1 more like it)") == 1, text


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["grade"], "--all"),
        (["grade", "--all", "good"], "--all"),
        (["grade", "god"], "did you mean 'good'"),
        (["grade", "good/row"], "did you mean 'good/rows'"),
        (["grade", "good", "--set", "start_second=3"], "did you mean 'start_seconds'"),
        (["grade", "good", "--set", "start_seconds=soon"], "needs a number"),
        (["grade", "good", "--set", "start_seconds=-1"], "greater than 0"),
        (["grade", "good", "--device", "gpu"], "CUDA"),
        (["grade", "good", "--fail-under", "101"], "less than or equal to 100"),
        (["grad", "good"], "did you mean 'grade'"),
        (["show", "good/row"], "harness grade good/row"),
        (["check", "row"], "did you mean 'rows'"),
        (["replay", "good/rows"], "CRITERION"),
        (["ls", "challenge"], "challenges"),
        (["new", "submission", "good/row"], "did you mean 'rows'"),
    ],
)
def test_usage_is_2_and_says_what_would_be_right(run: Run, submit: Submit, arguments: list[str], hint: str) -> None:
    submit("good")
    done = run(*arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_wrong_workspace_is_not_replaced_by_another(run: Run, tmp_path: Path) -> None:
    done = run("ls", "models", HARNESS_WORKSPACE=str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "HARNESS_WORKSPACE names" in done.stderr


def test_our_own_failure_is_3_and_keeps_the_others(run: Run, submit: Submit, root: Path) -> None:
    submit("good")
    probes = root / "challenges" / "rows" / "probes.py"
    probes.write_text(probes.read_text().replace("    logits[:, 1::2] = -np.inf\n", "    logits[:, 1::2] = 1 / 0\n"))
    done = run("grade", "good")
    assert done.returncode == 3
    assert "judge error" in done.stdout
    assert (root / "reports" / "records" / "rows" / "good.json").is_file()


def test_a_traceback_is_shown_on_demand_only(run: Run) -> None:
    quiet, loud, after = run("show", "no/such"), run("--debug", "show", "no/such"), run("show", "no/such", "--debug")
    assert quiet.returncode == loud.returncode == after.returncode == 2
    assert "Traceback" not in quiet.stderr
    assert "Traceback" in loud.stderr
    assert "Traceback" in after.stderr


def heed_interruptions() -> None:
    """Undo what a shell does to its background jobs, this test run perhaps among them: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_is_130_and_keeps_what_is_finished(submit: Submit, root: Path, jobs: str) -> None:
    submit("first")
    submit("second", "import time\n\ntime.sleep(60)\n")
    submit("third", "import time\n\ntime.sleep(60)\n")
    with subprocess.Popen(
        command("grade", "first", "second", "third", "-j", jobs), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=root, env=environment(root), preexec_fn=heed_interruptions,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("graded: first/rows"), line
        process.send_signal(signal.SIGINT)  # lets what runs end
        assert process.stderr.readline().startswith("stopping after ")
        process.send_signal(signal.SIGINT)  # drops it
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "first" in out
    assert "interrupted: 1 of 3" in err
    assert "Traceback" not in err
    assert [p.name for p in (root / "reports" / "records" / "rows").iterdir()] == ["first.json"]


def test_the_codes_are_in_the_help(run: Run) -> None:
    told = run("--help").stdout
    assert all(f"\n    {code} " in told for code in (0, 1, 2, 3, 130))
