"""The wheel, installed in an empty environment on a machine without bubblewrap, grades an answer in tier C."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from harness.sandbox import Tier
from harness.sandbox.session.tiers import why_not
from tests.fewer_criteria import struck
from tests.installed import needed

CHECKOUT = Path(__file__).parents[2]
CHALLENGE = "layernorm_backward"
ANSWER = f"baseline/{CHALLENGE}"
HURRIED = ("--set", "probes_seconds=60", "--set", "tests_seconds=20")


def linked(source: str, target: str) -> str:
    """A second name for a file, a copy on another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires; the packages are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"))
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=True)
    packages = next((folder / "venv" / "lib").glob("python3*/site-packages"))
    for found in needed("kernel-harness"):
        for file in found.files or ():
            target = packages / file
            if file.locate().exists():  # what was compiled as well: it is as old as its source says
                target.parent.mkdir(parents=True, exist_ok=True)
                linked(str(file.locate()), str(target))
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(packages)
    return folder / "venv"


def harness(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a folder, with nothing on PATH but its own environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS", "PYTHON"))}
    program = "import sys; from harness.cli.main import run; sys.exit(run())"
    command = (str(installed / "bin" / "python"), "-c", program, *words)
    env = kept | {"PATH": str(installed / "bin")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_its_challenges_are_in_the_package(installed: Path, tmp_path: Path) -> None:
    """A workspace needs no copy of them, and none holds what was compiled where the wheel was built."""
    assert harness(installed, tmp_path, "ls", "challenges").returncode == 2
    assert harness(installed, tmp_path, "init").returncode == 0
    listed = harness(installed, tmp_path, "ls", "challenges")
    assert all(id in listed.stdout for id in ("layernorm_backward", "kv_cache", "fused_softmax_topk")), listed.stderr
    (wheel,) = (installed.parent / "dist").glob("*.whl")
    assert wheel.name.startswith("kernel_harness-")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "__pycache__" in name]
    assert "harness/py.typed" in names


def test_it_grades_a_bundled_answer_in_tier_c(installed: Path, tmp_path: Path) -> None:
    if reason := why_not(Tier.C):
        pytest.skip(f"no tier C: {reason}")
    assert harness(installed, tmp_path, "init", "--with-challenges").returncode == 0
    struck(CHALLENGE, tmp_path, without=("any_size", "backward_speed", "kill_rate"))
    answer = CHECKOUT / "submissions" / ANSWER
    shutil.copytree(answer, tmp_path / "submissions" / ANSWER, ignore=shutil.ignore_patterns("__pycache__"))
    done = harness(installed, tmp_path, "grade", ANSWER, "--json", *HURRIED)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)[0]
    assert record["status"] == "graded", record["error"]
    assert record["environment"]["tier"] == "C"
    outcomes = {evidence["criterion"]: evidence["outcome"] for evidence in record["evidence"]}
    assert outcomes["gradients"] == "passed"
    assert "judge_error" not in outcomes.values()
    assert not [finding for finding in record["findings"] if finding["criterion"] == "integrity"]
