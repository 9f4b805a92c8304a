"""`harness init` makes a workspace with the challenges of the package, and overwrites nothing."""

from pathlib import Path

import pytest

from harness.model import Status
from harness.workspace import Workspace
from harness.workspace.bundled_challenges import find_bundle
from tests.commands import called

BUNDLED = tuple(sorted(place.parent.name for place in find_bundle().glob("challenges/*/challenge.toml")))


@pytest.fixture
def made(tmp_path: Path) -> Path:
    assert called(tmp_path, "init", "kernels").returncode == 0
    return tmp_path / "kernels"


def test_the_challenges_of_the_package_belong_to_it(made: Path) -> None:
    assert tuple(Workspace(made).challenges()) == BUNDLED
    assert {"fused_softmax_topk", "kv_cache", "layernorm_backward"} <= set(BUNDLED)
    assert not (made / "challenges").exists()
    listed = called(made, "ls", "challenges")
    assert listed.returncode == 0
    assert all(id in listed.stdout for id in BUNDLED)


def test_an_answer_can_be_written_and_graded_at_once(made: Path) -> None:
    """One that does not import is found not to: the challenge of the package was read, and the answer loaded."""
    assert called(made, "new", "submission", "m/layernorm_backward").returncode == 0
    (made / "submissions/m/layernorm_backward/answer.py").write_text("import missing_module\n")
    done = called(made, "grade", "m/layernorm_backward")
    assert done.returncode == 0, done.stderr
    assert Workspace(made).record("m/layernorm_backward").status is Status.BUILD_FAILED


def test_a_challenge_of_its_own_stands_beside_the_bundled_ones(made: Path) -> None:
    assert called(made, "new", "challenge", "rows").returncode == 0
    workspace = Workspace(made)
    assert workspace.challenges() == sorted((*BUNDLED, "rows"))
    assert workspace.challenge_folder("rows") == made / "challenges" / "rows"
    assert workspace.challenge_folder("kv_cache") == find_bundle() / "challenges" / "kv_cache"
    assert workspace.reference_folder("rows") == made / "references" / "rows"


def test_copied_challenges_are_taken_instead_of_the_bundled_ones(tmp_path: Path) -> None:
    assert called(tmp_path, "init", "--with-challenges").returncode == 0
    workspace = Workspace(tmp_path)
    assert [workspace.challenge_folder(id) for id in BUNDLED] == [tmp_path / "challenges" / id for id in BUNDLED]
    assert [workspace.reference_folder(id) for id in BUNDLED] == [tmp_path / "references" / id for id in BUNDLED]
    assert not list(tmp_path.rglob("__pycache__"))
    rubric = tmp_path / "challenges" / "kv_cache" / "challenge.toml"
    rubric.write_text(rubric.read_text().replace('title = "Key/value cache"', 'title = "Mine"'))
    assert Workspace(tmp_path).challenge("kv_cache").title == "Mine"


def test_what_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    done = called(tmp_path, "init")
    assert done.returncode == 0
    assert "kept README.md" in done.stdout
    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / "harness.toml").exists()


@pytest.mark.parametrize("holds", ["harness.toml", "challenges"])
def test_a_workspace_is_not_made_twice(tmp_path: Path, holds: str) -> None:
    (tmp_path / holds).mkdir()
    done = called(tmp_path, "init")
    assert done.returncode == 2
    assert "is a workspace already" in done.stderr and "nothing was changed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [holds]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "submissions").write_text("")
    done = called(tmp_path, "init")
    assert done.returncode == 3
    assert "cannot be written" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bundled = true", "did you mean 'bundled_challenges'"),
        ("schema = 9", "schema: unknown key\n  remove it; or update the harness"),
        ('bundled_challenges = "some"', "bundled_challenges"),
        ("bundled_challenges = ", "is not TOML"),
    ],
)
def test_malformed_settings_are_named(made: Path, text: str, told: str) -> None:
    (made / "harness.toml").write_text(text)
    done = called(made, "ls", "challenges")
    assert done.returncode == 2
    assert "harness.toml" in done.stderr and told in done.stderr


def test_outside_of_every_workspace_the_message_says_how_to_make_one(tmp_path: Path) -> None:
    done = called(tmp_path, "ls", "models")
    assert done.returncode == 2
    assert "try: harness init DIR" in done.stderr


def test_the_prompt_holds_the_task_and_the_contract(made: Path) -> None:
    done = called(made, "prompt", "kv_cache")
    challenge = find_bundle() / "challenges" / "kv_cache"
    assert done.returncode == 0
    for name in ("PROMPT.md", "contract.py"):
        assert (challenge / name).read_text().strip() in done.stdout
    assert done.stdout.count("```") % 2 == 0
