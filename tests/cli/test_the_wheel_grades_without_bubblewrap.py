"""The wheel, installed in an empty environment on a machine without bubblewrap, grades an answer in tier C."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from harness.sandbox import Tier
from harness.sandbox.tiers import why_not

CHECKOUT = Path(__file__).parents[2]
CHALLENGE = "layernorm_backward"
ANSWER = f"baseline/{CHALLENGE}"
HURRIED = ("--set", "probes_seconds=60", "--set", "tests_seconds=20")
pytestmark = pytest.mark.slow


def needed(name: str, seen: dict[str, Distribution]) -> Iterator[Distribution]:
    """What an installation of `name` brings along, by the packages of this environment."""
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.name not in seen and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            seen[requirement.name] = distribution(requirement.name)
            yield seen[requirement.name]
            yield from needed(requirement.name, seen)


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
    for found in needed("harness", {}):
        for file in found.files or ():
            target = packages / file
            if "__pycache__" not in target.parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                linked(str(file.locate()), str(target))
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(packages)
    return folder / "venv"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one challenge and one bundled answer."""
    folder = tmp_path_factory.mktemp("workspace")
    for name in (f"challenges/{CHALLENGE}", f"references/{CHALLENGE}", f"submissions/{ANSWER}"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def harness(installed: Path, workspace: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed command, with nothing on PATH but its own environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS", "PYTHON"))}
    env = kept | {"PATH": str(installed / "bin"), "HARNESS_WORKSPACE": str(workspace)}
    program = "import sys; from harness.cli.main import run; sys.exit(run())"
    command = (str(installed / "bin" / "python"), "-c", program, *words)
    return subprocess.run(command, cwd=workspace, env=env, capture_output=True, text=True, check=False)


def test_it_grades_a_bundled_answer_in_tier_c(installed: Path, workspace: Path) -> None:
    if reason := why_not(Tier.C):
        pytest.skip(f"no tier C: {reason}")
    done = harness(installed, workspace, "grade", ANSWER, "--json", *HURRIED)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)[0]
    assert record["status"] == "graded", record["error"]
    assert record["environment"]["tier"] == "C"
    outcomes = {evidence["criterion"]: evidence["outcome"] for evidence in record["evidence"]}
    assert outcomes["gradients"] == "passed"
    assert "judge_error" not in outcomes.values()
    assert not [finding for finding in record["findings"] if finding["criterion"] == "integrity"]
