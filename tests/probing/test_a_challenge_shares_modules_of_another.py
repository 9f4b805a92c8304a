"""`shares` in `challenge.toml`: a challenge imports another's modules, and is another version once these change."""

import shutil
from pathlib import Path

import pytest

from harness.cli.scaffold import workspace as make_bundled_workspace
from harness.errors import SpecError
from harness.executors.ray_cluster.file_bundle import FileBundle
from harness.grading.submission_grade import grade_one
from harness.integrations.harbor_task import write_harbor_task
from harness.model import Outcome
from harness.mutation.trials.journal import version_of
from harness.probing.challenge_code.code import ChallengeCode
from harness.store import content_key
from harness.store.content_key import probe_set
from harness.workspace import Workspace
from harness.workspace.bundled_challenges import find_bundle
from tests.toy import CHALLENGE_ID, PROBES, TOML, add_submission, make_workspace

OTHER = "sums"
SHARED = """
from . import oracle
from .asking import ask

def right(x):
    return oracle.total(x) * 3
"""
ASKING = """
from harness.probing import Array

def ask(answer, x, scale):
    return answer.call("scaled", x, scale, returns=Array(x.shape[:1], "float64"))
"""
IMPORTS = f"""
from harness.probing import expect, probe
from .{OTHER}.asking import ask
from .{OTHER}.judged import right as exact

"""
SHARING = IMPORTS + PROBES[PROBES.index("@probe") :].replace(
    "right = x.astype(np.longdouble).sum(axis=-1) * 3", "right = exact(x)"
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def share(root: Path, name: str = OTHER) -> Workspace:
    """A workspace of the toy that shares the modules of a second challenge."""
    workspace = make_workspace(root, toml=f'shares = "{name}"\n{TOML}', probes=SHARING)
    write(root / "challenges" / OTHER / "challenge.toml", TOML.replace(CHALLENGE_ID, OTHER))
    write(root / "challenges" / OTHER / "PROMPT.md", "Add up.\n")
    write(root / "challenges" / OTHER / "judged.py", SHARED)
    write(root / "challenges" / OTHER / "asking.py", ASKING)
    write(root / "challenges" / CHALLENGE_ID / "PROMPT.md", "Scale.\n")
    write(
        root / "references" / OTHER / "oracle.py",
        "import numpy as np\n\ndef total(x):\n    return x.astype(np.longdouble).sum(axis=-1)\n",
    )
    return workspace


def code_in(workspace: Workspace) -> ChallengeCode:
    return ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))


def forget_hashes() -> None:
    content_key._hashes.cache_clear()
    content_key._find_folders.cache_clear()


def test_an_answer_is_judged_by_modules_of_both(tmp_path):
    workspace = share(tmp_path)
    code = code_in(workspace)
    right, wrong = (grade_one(workspace, add_submission(workspace, m, s)).record
                    for m, s in (("right", code.source()), ("wrong", code.source(code.mutants[0]))))  # fmt: skip
    assert [e.outcome for e in right.evidence] == [Outcome.PASSED, Outcome.PASSED]
    assert wrong.evidence[0].outcome is Outcome.FAILED


def test_modules_of_equal_names_are_two(tmp_path):
    workspace = share(tmp_path)
    write(tmp_path / "challenges" / CHALLENGE_ID / "judged.py", "own = True\n")
    package = code_in(workspace).package.__name__
    assert code_in(workspace).module("judged").own
    assert code_in(workspace).module("probes").exact.__module__ == f"{package}.{OTHER}.judged"


@pytest.mark.parametrize("changed", [f"challenges/{OTHER}/judged.py", f"references/{OTHER}/oracle.py"])
def test_a_change_of_what_is_shared_makes_records_stale(tmp_path, changed):
    workspace = share(tmp_path)
    code = code_in(workspace)
    folder = add_submission(workspace, "right", code.source())
    record, trials = grade_one(workspace, folder).record, version_of(code)
    forget_hashes()
    assert grade_one(workspace, folder).reused
    with (tmp_path / changed).open("a") as file:
        file.write("\n")
    forget_hashes()
    again = grade_one(workspace, folder)
    assert not again.reused and again.record.key != record.key and again.record.probe_set != record.probe_set
    assert version_of(code) != trials


def test_the_prompt_of_what_is_shared_is_no_part_of_the_probes(tmp_path):
    workspace = share(tmp_path)
    before = probe_set(workspace, CHALLENGE_ID)
    (tmp_path / "challenges" / OTHER / "PROMPT.md").write_text("Other words.\n")
    assert probe_set(workspace, CHALLENGE_ID, fresh=True) == before


def test_the_shared_challenge_itself_depends_on_no_other(tmp_path):
    workspace = share(tmp_path)
    assert list(workspace.folders_of_challenge(OTHER)) == [f"challenges/{OTHER}", f"references/{OTHER}"]


@pytest.mark.parametrize(
    ("name", "problem", "hint"),
    [
        ("sum", "there is no challenge 'sum'; did you mean 'sums'?", "harness ls challenges"),
        (CHALLENGE_ID, f"'{CHALLENGE_ID}' is the challenge itself", "name another one"),
    ],
)
def test_an_impossible_name_is_an_error_with_the_next_step(tmp_path, name, problem, hint):
    workspace = share(tmp_path, name)
    with pytest.raises(SpecError) as caught:
        workspace.challenge(CHALLENGE_ID)
    assert caught.value.field == "shares" and caught.value.path.name == "challenge.toml"
    assert f"challenges/{CHALLENGE_ID}/challenge.toml: shares: {problem}" in str(caught.value)
    assert hint in str(caught.value)


def test_a_circle_is_an_error_on_either_side(tmp_path):
    workspace = share(tmp_path)
    rubric = tmp_path / "challenges" / OTHER / "challenge.toml"
    rubric.write_text(f'shares = "{CHALLENGE_ID}"\n{rubric.read_text()}')
    for one, other in ((CHALLENGE_ID, OTHER), (OTHER, CHALLENGE_ID)):
        with pytest.raises(SpecError, match=f"'{other}' itself shares '{one}'"):
            workspace.challenge(one)


def test_a_module_that_would_be_hidden_is_an_error(tmp_path):
    workspace = share(tmp_path)
    write(tmp_path / "challenges" / CHALLENGE_ID / f"{OTHER}.py", "")
    with pytest.raises(SpecError, match="nothing could import it"):
        workspace.challenge(CHALLENGE_ID)


def test_a_missing_module_of_the_other_is_named(tmp_path):
    workspace = share(tmp_path)
    (tmp_path / "challenges" / OTHER / "asking.py").unlink()
    with pytest.raises(SpecError, match=rf"probes\.py: does not import: .*{OTHER}\.asking"):
        code_in(workspace).module("probes")


def test_an_own_challenge_shares_a_bundled_one_and_none_takes_its_place(tmp_path):
    """Of two challenges of one name, that beside the sharing one counts: a bundled challenge keeps what it was."""
    make_bundled_workspace(tmp_path)
    make_workspace(tmp_path, toml=f'shares = "flash_attention"\n{TOML}')
    bundled = find_bundle() / "challenges" / "flash_attention"
    workspace = Workspace(tmp_path)
    folders = workspace.folders_of_challenge(CHALLENGE_ID)
    assert folders["challenges/flash_attention"] == bundled
    own = shutil.copytree(bundled, tmp_path / "challenges" / "flash_attention")
    assert workspace.folders_of_challenge(CHALLENGE_ID)["challenges/flash_attention"] == own
    assert workspace.folders_of_challenge("flash_attention_backward")["challenges/flash_attention"] == bundled


def test_what_travels_holds_what_is_shared(tmp_path):
    """Files for a cluster's node and for a task of Harbor's make a workspace that judges alike."""
    workspace = share(tmp_path / "here")
    FileBundle.of(workspace.folders_of_challenge(CHALLENGE_ID)).lay_out(tmp_path / "node")
    write_harbor_task(workspace, CHALLENGE_ID, tmp_path / "task")
    for place in (tmp_path / "node", tmp_path / "task" / "tests" / "workspace"):
        there = Workspace(place)
        assert set(code_in(there).probes) == set(code_in(workspace).probes)
        assert probe_set(there, CHALLENGE_ID) == probe_set(workspace, CHALLENGE_ID)
    handed_out = [
        p.name for p in (tmp_path / "task").rglob("*") if "tests" not in p.relative_to(tmp_path / "task").parts
    ]
    assert "asking.py" not in handed_out
