"""`deploy_challenges.sh` hands out prompts and contracts, nothing of the probes, and overwrites nothing."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.asking.task import task_prompt
from harness.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / "deploy_challenges.sh"


WITHOUT = "/usr/bin:/bin"


def deploy(
    *arguments: str, cwd: Path, script: Path = SCRIPT, path: str = WITHOUT
) -> "subprocess.CompletedProcess[str]":
    command = ["bash", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={"PATH": path}, check=False)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script and the challenges where no harness is installed."""
    shutil.copytree(CHECKOUT / "challenges", tmp_path / "checkout" / "challenges")
    return Path(shutil.copy(SCRIPT, tmp_path / "checkout"))


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.every_run
def test_each_challenge_gets_a_folder_with_prompt_and_contract(script: Path, tmp_path: Path, installed: bool) -> None:
    """The prompt is what `harness prompt` prints, the task and its contract; without harness it is the task alone."""
    path = f"{Path(sys.executable).parent}:{WITHOUT}" if installed else WITHOUT
    done = deploy("-n", "round one", cwd=tmp_path, script=script, path=path)
    assert done.returncode == 0, done.stderr
    specs = {p.parent.name: tomllib.loads(p.read_text()) for p in (CHECKOUT / "challenges").glob("*/challenge.toml")}
    made = tmp_path / "round one"
    assert specs
    assert {p.name for p in made.iterdir()} == set(specs)
    for name, spec in specs.items():
        source = CHECKOUT / "challenges" / name
        contracts = {p.name for p in source.glob("contract.*")}
        assert {p.name for p in (made / name).iterdir()} == {"PROMPT.md", *contracts}
        asked = f"{task_prompt(Workspace(CHECKOUT), name)}\n" if installed else (source / "PROMPT.md").read_text()
        assert (made / name / "PROMPT.md").read_text() == asked
        critical = sum(c["severity"] == "critical" for c in spec["criteria"])
        (line,) = [line for line in done.stdout.splitlines() if f" {name} " in line]
        assert f"{len(spec['criteria'])} criteria, {critical:2d} of them critical" in line


def test_the_order_goes_by_the_number_of_criteria(template: Path, tmp_path: Path) -> None:
    place = shutil.copytree(template, tmp_path / "workspace")
    shutil.copy(SCRIPT, place)
    shutil.copytree(place / "challenges" / "rows", place / "challenges" / "a_larger")
    spec = place / "challenges" / "a_larger" / "challenge.toml"
    last = spec.read_text()[spec.read_text().rindex("[[criteria]]") :]
    spec.write_text(spec.read_text() + "\n" + last.replace('id = "explanation"', 'id = "another"'))
    done = deploy("-n", "out", cwd=tmp_path, script=place / SCRIPT.name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("1. rows ") < done.stdout.index("2. a_larger ")
    assert (tmp_path / "out" / "rows" / "contract.py").is_file()


def test_what_is_handed_out_without_harness_is_what_a_model_is_asked(script: Path, tmp_path: Path) -> None:
    """By hand or by `harness ask`, a model reads the same task and the same contract."""
    assert deploy("-n", "out", cwd=tmp_path, script=script).returncode == 0
    for folder in (tmp_path / "out").iterdir():
        prompt = task_prompt(Workspace(CHECKOUT), folder.name)
        handed_out = [path.read_text().rstrip() for path in folder.iterdir()]
        assert handed_out and all(text in prompt for text in handed_out)
        assert len(prompt) < sum(map(len, handed_out)) + 80 * len(handed_out), "nothing but headings is added"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a name is missing"),
        (["-n"], "needs a name"),
        (["-n", ""], "a name is missing"),
        (["-n", "here"], "'here' exists"),
        (["-n", "dangling"], "'dangling' exists"),
        (["-n", "new", "more"], "one argument too many"),
        (["-x"], "unknown option -x"),
    ],
)
def test_it_refuses_what_it_cannot_do(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    done = deploy(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_prompt_that_cannot_be_made_is_told(script: Path, tmp_path: Path) -> None:
    (script.parent / "challenges" / "layernorm_backward" / "PROMPT.md").unlink()
    path = f"{Path(sys.executable).parent}:{WITHOUT}"
    done = deploy("-n", "out", cwd=tmp_path, script=script, path=path)
    assert done.returncode == 2
    assert "PROMPT.md: cannot be read" in done.stderr and "harness prompt layernorm_backward failed" in done.stderr


def test_help(tmp_path: Path) -> None:
    done = deploy("-h", cwd=tmp_path)
    assert done.returncode == 0
    assert "-n NAME" in done.stdout
