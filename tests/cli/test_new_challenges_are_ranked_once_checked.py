"""A workspace's own challenge ranks models once its check has passed, as long as it does not change."""

import json
import shutil
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.store.content_key import probe_set
from harness.store.own_suite import remember_check
from harness.workspace import Workspace
from tests.commands import called, started


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A workspace with the bundled challenges, one of its own, and an answer to that."""
    scaffold.workspace(tmp_path)
    workspace = Workspace(tmp_path)
    scaffold.challenge(workspace, "rows")
    scaffold.submission(workspace, "mine/rows")
    shutil.copy(tmp_path / "references/rows/reference.py", tmp_path / "submissions/mine/rows/answer.py")
    return tmp_path


def _rank(root: Path) -> tuple[int | None, list[str]]:
    """The rank of `mine`, and the notes of the board."""
    board = json.loads(started(root, "scoreboard", "--format", "json", HARNESS_WORKSPACE=str(root)).stdout)
    return next(row["rank"] for row in board["rows"] if row["model"] == "mine"), board["notes"]


def test_a_stranger_who_follows_the_readme_sees_the_model_ranked(kernels: Path) -> None:
    graded = called(kernels, "grade", "mine/rows")
    assert "not ranked: rows was not checked yet: run harness check rows" in graded.stderr
    rank, notes = _rank(kernels)
    assert rank is None and "Not ranked: rows was not checked yet: run harness check rows." in notes
    checked = called(kernels, "check", "rows", "--seed", "1")
    assert checked.returncode == 0
    assert "rows: models are ranked over it, in the suite own\n  try: harness scoreboard" in checked.stderr
    assert _rank(kernels) == (1, [])
    assert "own the challenges of this workspace rows" in " ".join(called(kernels, "ls", "suites").stdout.split())
    assert "not ranked" not in called(kernels, "grade", "mine/rows").stderr
    probes = kernels / "challenges/rows/probes.py"
    right = probes.read_text()
    probes.write_text(right + "\n# another\n")
    rank, notes = _rank(kernels)
    assert rank is None and "Not ranked: rows has changed since its last check: run harness check rows." in notes
    probes.write_text(right)
    (kernels / "challenges/rows/PROMPT.md").write_text("Only the words differ.")
    assert _rank(kernels) == (1, [])
    kept = kernels / "reports/checks/rows.json"
    kept.write_text(kept.read_text().replace("true", "false"))
    rank, notes = _rank(kernels)
    assert rank is None and any("failed: mend it and run harness check rows" in note for note in notes)


def test_a_check_that_fails_ranks_nobody(kernels: Path) -> None:
    mutants = kernels / "challenges/rows/mutants.py"
    text = "import numpy as np"
    edits = f"(({text!r}, '{text}  # the same'),)"
    harmless = f"Mutant('no fault', 'does nothing wrong', criterion='values', edits={edits})"
    mutants.write_text(f"from harness.probing import Mutant\n\nMUTANTS = ({harmless},)\n")
    done = called(kernels, "check", "rows", "--seed", "1")
    assert done.returncode == 1 and "rows: not ranked until its check passes" in done.stderr
    assert called(kernels, "ls", "suites").stdout.count("own ") == 0


def test_a_file_of_suites_decides_alone(kernels: Path) -> None:
    (kernels / "challenges/suites.toml").write_text(
        '[[suites]]\nid = "core"\ntitle = "mine"\nchallenges = ["kv_cache"]\n'
    )
    remember_check(workspace := Workspace(kernels), "rows", probe_set(workspace, "rows"), passed=True)
    assert [line.split()[0] for line in called(kernels, "ls", "suites").stdout.splitlines()] == ["suite", "core"]


def test_no_name_is_hidden_without_a_word(kernels: Path) -> None:
    refused = called(kernels, "new", "challenge", "kv_cache")
    assert refused.returncode == 2 and not (kernels / "challenges/kv_cache").exists()
    assert "is a bundled challenge" in refused.stderr and "--shadow" in refused.stderr
    assert called(kernels, "new", "challenge", "kv_cache", "--shadow").returncode == 0
    fetched = kernels / ".harness/collections/others/theirs/rows"
    fetched.mkdir(parents=True)
    manifest = kernels / "submissions/collections/others/collection.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("")
    for line in (["new", "submission", "theirs/rows"], ["new", "model", "theirs"]):
        done = called(kernels, *line)
        assert done.returncode == 2 and "theirs/rows: is an answer of the collection others" in done.stderr
        assert not (kernels / "submissions/theirs").exists()
    reply = kernels / "reply.md"
    reply.write_text(f"```python\n{(kernels / 'references/rows/reference.py').read_text()}\n```\n")
    imported = ["import", "reply", str(reply), "--model", "theirs", "--challenge", "rows"]
    assert "others, which one of the same name would hide" in called(kernels, *imported).stderr
    assert called(kernels, *imported, "--shadow").returncode == 0
