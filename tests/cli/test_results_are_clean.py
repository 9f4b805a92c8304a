"""Results go to stdout and nothing else does: JSON parses, a pipe gets no escape codes, answers steer no terminal."""

import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest
from cli_runs import ZEROS, Run, Submit

from harness.cli import output
from harness.model import Record
from tests.commands import command, environment

KEYS = ("model", "challenge", "status", "overall", "dimensions", "evidence", "findings")


def test_graded_records_are_a_json_list_with_the_stable_keys(run: Run, submit: Submit, root: Path) -> None:
    submit("zeros", ZEROS)
    submit("good")
    done = run("grade", "--all", "--json")
    records = json.loads(done.stdout)
    assert [r["model"] for r in records] == ["good", "zeros"]
    for record in records:
        assert set(KEYS) <= set(record)
        assert set(record["overall"]) == {"score", "low", "high", "coverage"}
        kept = (root / "reports" / "records" / "rows" / f"{record['model']}.json").read_text()
        stored = {key: value for key, value in record.items() if key != "findings"}
        assert Record.from_json(json.dumps(stored)) == Record.from_json(kept)
    failed = next(e for e in records[1]["evidence"] if e["criterion"] == "values")
    assert {"dimension", "severity", "outcome", "measured", "detail"} <= set(failed)
    assert failed["outcome"] == "failed"
    assert {"criterion", "severity", "title", "detail", "diagnosis"} <= set(records[1]["findings"][0])


def test_a_second_grade_is_the_same_clean_list(run: Run, submit: Submit) -> None:
    """That a record was reused is said on stderr: stdout holds JSON and nothing else, both times."""
    submit("good")
    first, second = (run("grade", "good", "--json") for _ in range(2))
    assert json.loads(first.stdout) == json.loads(second.stdout) and len(json.loads(second.stdout)) == 1
    assert "1 reused" in second.stderr and "reused" not in first.stderr


def test_a_grade_takes_no_longer_than_the_time_that_passed(
    submit: Submit, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages run side by side: their times add up to more."""
    submit("good")
    sums = {"probes": 1e6, "own_tests": 1e6}
    monkeypatch.setattr(Record, "seconds", property(lambda record: sums), raising=False)
    begun = time.monotonic()
    (said,) = re.findall(r"graded: good/rows in ([0-9.]+) s", run("grade", "good").stderr)
    assert 0 < float(said) <= time.monotonic() - begun + 0.1


def test_nothing_to_grade_is_said(run: Run) -> None:
    done = run("grade", "--all", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "harness new submission" in done.stderr


def test_a_figure_that_is_not_finite_survives(run: Run, submit: Submit) -> None:
    submit("nan", "import numpy as np\n\n\ndef softmax(logits):\n    return np.full_like(logits, np.nan)\n")
    (record,) = json.loads(run("grade", "nan", "--json").stdout)
    values = next(e for e in record["evidence"] if e["criterion"] == "values")
    assert values["counterexample"]["got"] == "NaN"


def test_rejected_submissions_do_not_spoil_the_list(run: Run, submit: Submit) -> None:
    submit("good")
    (submit("bad") / "submission.toml").write_text("")
    done = run("grade", "--all", "--json")
    assert [r["model"] for r in json.loads(done.stdout)] == ["good"]
    assert "bad/rows/submission.toml: is empty" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "good/rows", "--json"],
        ["replay", "good/rows", "values", "--json"],
        ["check", "rows", "--json"],
        ["ls", "challenges", "--json"],
        ["ls", "models", "--json"],
        ["ls", "submissions", "--json"],
        ["scoreboard", "--format", "json"],
        ["doctor", "--json"],
    ],
    ids=" ".join,
)
def test_every_json_parses(run: Run, submit: Submit, arguments: list[str]) -> None:
    submit("good")
    run("grade", "good")
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_a_pipe_gets_plain_text(run: Run, submit: Submit) -> None:
    submit("zeros", ZEROS)
    for arguments in (["grade", "zeros"], ["show", "zeros/rows"], ["scoreboard"], ["ls", "submissions"], ["check"]):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
        assert "\x1b" not in done.stdout + done.stderr


def test_a_terminal_is_not_steered_by_an_answer(submit: Submit, root: Path) -> None:
    submit("evil", "raise RuntimeError('\\x1b]0;owned\\x07\\x1b[2J\\u202egnihton')\n")
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command("grade", "evil"), stdout=follower, stderr=follower, cwd=root, env=environment(root)
    ) as process:
        os.close(follower)
        shown = b""
        while chunk := _read(leader):
            shown += chunk
    os.close(leader)
    assert process.returncode == 0
    assert "does not load" in shown.decode()
    shown += subprocess.run(
        command("show", "evil/rows"), capture_output=True, cwd=root, env=environment(root), check=True
    ).stdout
    assert b"RuntimeError" in shown
    assert b"owned" in shown
    for code in (b"\x1b]0;", b"\x07", b"\x1b[2J", "\u202e".encode()):
        assert code not in shown


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except OSError:  # Linux says so when the other side of a pty is closed
        return b""


def test_clean_text_keeps_letters_and_lines() -> None:
    assert output.clean("é 数\n\tσ") == "é 数\n\tσ"
    assert output.clean("a\x1b[31mb\x00\u202e") == "a\ufffd[31mb\ufffd\ufffd"


def test_a_reader_that_goes_away_is_no_error(submit: Submit, root: Path, run: Run) -> None:
    submit("zeros", ZEROS)
    run("grade", "zeros")
    with subprocess.Popen(
        command("show", "zeros/rows", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root,
        env=environment(root),
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 0
    assert errors == b""


def test_a_reused_grade_says_why(run: Run, submit: Submit) -> None:
    submit("good")
    assert "not graded before" in run("grade", "good").stderr
    again = run("grade", "good")
    assert "nothing changed since" in again.stderr
    assert "good" in again.stdout
    assert "forced" in run("grade", "good", "--force").stderr
