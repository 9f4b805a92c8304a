"""What `harness new` makes works at once: the challenge passes its check, a submission is graded."""

import json
from pathlib import Path

import pytest
from cli_runs import Run

from harness.cli import scaffold
from harness.errors import SpecError
from harness.model import Outcome
from harness.mutation.checks.check import assess
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.workspace import Workspace


@pytest.mark.parametrize("language", ["python", "cuda"])
def test_a_new_challenge_passes_its_check(run: Run, language: str) -> None:
    made = run("new", "challenge", "row_max", "--language", language)
    assert made.returncode == 0, made.stderr
    assert "harness check row_max" in made.stdout
    checked = run("check", "row_max", "--json")
    verdicts = json.loads(checked.stdout)
    assert checked.returncode == 0, [v for v in verdicts if not v["right"]]
    kinds = [v["kind"] for v in verdicts]
    assert (kinds.count("reference"), kinds.count("null")) == (1, 3)
    assert kinds.count("mutant") >= 2
    assert kinds.count("variant") >= 1


def test_a_check_says_what_still_stands_as_the_template_has_it(run: Run, root: Path) -> None:
    """A prompt that asks for another kernel than the probes judge is pointed out, until it is changed."""
    told = run("check", "rows").stderr
    assert "note: still as the template has it, about softmax by rows: PROMPT.md, summary" in told
    challenge = root / "challenges" / "rows"
    workspace = Workspace(root)
    (challenge / "PROMPT.md").write_text("# Rows\n")
    assert scaffold.list_template_parts(workspace, workspace.challenge("rows")) == ["summary"]
    rubric = challenge / "challenge.toml"
    rubric.write_text(rubric.read_text().replace('summary = "Softmax over', 'summary = "My softmax over'))
    assert scaffold.list_template_parts(workspace, workspace.challenge("rows")) == []


@pytest.mark.parametrize("language", ["python", "cuda"])
def test_a_new_challenge_shows_its_mutants_to_every_probed_criterion(tmp_path: Path, language: str) -> None:
    (tmp_path / "challenges").mkdir()
    scaffold.challenge(Workspace(tmp_path), "made", language)
    code = ChallengeCode(Workspace(tmp_path), Workspace(tmp_path).challenge("made"))
    probed = [c for c in code.challenge.criteria if c.probes]
    assert all(code.probes_of(criterion) for criterion in probed)
    assert {mutant.criterion for mutant in code.mutants} == {c.id for c in probed}
    assert all(code.source(edited) != code.source() for edited in (*code.mutants, *code.variants))
    prompt = " ".join((tmp_path / "challenges" / "made" / "PROMPT.md").read_text().split())
    assert [c.id for c in code.challenge.criteria if not c.asked or c.asked not in prompt] == []


def test_a_language_without_templates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "challenges").mkdir()
    with pytest.raises(SpecError, match="no template of a challenge in 'fortran': cuda, python"):
        scaffold.challenge(Workspace(tmp_path), "made", "fortran")
    assert not any((tmp_path / "challenges").iterdir())


@pytest.mark.parametrize("seed", range(20))
def test_its_probes_do_not_depend_on_luck(template: Path, seed: int) -> None:
    workspace = Workspace(template)
    code = ChallengeCode(workspace, workspace.challenge("rows"))
    for variant in (None, *code.variants):
        evidence = assess(code, LocalAnswer(module_of("variant", code.source(variant))), seed)
        assert {e.outcome for e in evidence} == {Outcome.PASSED}, variant


def test_everything_a_rubric_can_ask_is_shown(template: Path) -> None:
    challenge = Workspace(template).challenge("rows")
    assert all(any(getattr(c, feed) for c in challenge.criteria) for feed in ("probes", "metric", "tests", "review"))
    assert {c.severity.value for c in challenge.criteria} == {"critical", "major", "minor"}


def test_a_new_submission_is_graded(run: Run) -> None:
    made = run("new", "submission", "somebody/rows")
    assert made.returncode == 0, made.stderr
    assert "harness grade somebody/rows" in made.stdout
    done = run("grade", "somebody/rows", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert record["status"] == "graded"
    assert record["findings"][0]["title"] == "`softmax` raises NotImplementedError"
    assert record["dimensions"]["correctness"]["score"] == 0


def test_a_new_model_gets_a_submission_for_every_challenge(run: Run, root: Path) -> None:
    run("new", "challenge", "other")
    assert run("new", "model", "some-body-1.5").returncode == 0
    made = {p.relative_to(root / "submissions").as_posix() for p in (root / "submissions").rglob("*.*") if p.is_file()}
    folders = ("some-body-1.5/other", "some-body-1.5/rows")
    assert made == {f"{folder}/{name}" for folder in folders for name in ("answer.py", "submission.toml")}


@pytest.mark.parametrize("kind", ["challenge", "model"])
@pytest.mark.parametrize("name", ["Upper", "../up", "a/b", "", "-x", ".hidden", "with space", "x" * 65, "é"])
def test_bad_names_are_refused(run: Run, root: Path, kind: str, name: str) -> None:
    before = sorted(root.rglob("*"))
    done = run("new", kind, "--", name)
    assert done.returncode == 2
    assert f"cannot name a {kind}" in done.stderr
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("arguments", [["challenge", "rows"], ["submission", "m/rows"], ["model", "m"]])
def test_existing_folders_are_left_alone(run: Run, root: Path, arguments: list[str]) -> None:
    run("new", "submission", "m/rows")
    before = {p: p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
    done = run("new", *arguments)
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert {p: p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()} == before


def test_the_challenge_for_a_submission_must_exist(run: Run, root: Path) -> None:
    done = run("new", "submission", "m/row")
    assert done.returncode == 2
    assert "did you mean 'rows'" in done.stderr
    assert not (root / "submissions" / "m").exists()
