"""The pre-commit hook and the workflow of the docs do what the docs say, on a program with a fault and one without."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.commands import called, command

ROOT = Path(__file__).parents[2]
TRIED = re.compile(r"<!-- try: (\w+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
FAULTY = ROOT / "tests" / "cuda" / "faults" / "double_free.cu"


def recipes() -> dict[str, str]:
    return dict(TRIED.findall((ROOT / "docs" / "cuda-check.md").read_text(encoding="utf-8")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one staged program that has a fault, and a header without a `main`."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "softmax.cu").write_bytes(FAULTY.read_bytes())
    (tmp_path / "src" / "kernels.cu").write_text("__global__ void k() {}\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "src"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_the_hook_stops_a_commit_with_a_fault(project: Path) -> None:
    (project / "bin").mkdir()
    (project / "bin" / "harness").write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n', encoding="utf-8")
    (hook := project / ".git" / "hooks" / "pre-commit").write_text(recipes()["hook"], encoding="utf-8")
    for path in (project / "bin" / "harness", hook):
        path.chmod(0o755)
    words = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
    env = {**os.environ, "PATH": f"{project / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    stopped = subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert (stopped.returncode, "double free" in stopped.stdout + stopped.stderr) == (1, True), stopped
    subprocess.run(["git", "rm", "-q", "--cached", "src/softmax.cu"], cwd=project, check=True)
    assert subprocess.run(words, cwd=project, env=env, capture_output=True, check=False).returncode == 0


def test_the_workflow_calls_commands_that_tell_of_the_fault(project: Path) -> None:
    lines = [line.partition("- run: ")[2] for line in recipes()["workflow"].splitlines()]
    annotated, sarif = (shlex.split(line.partition(" > ")[0])[1:] for line in lines if line.startswith("harness "))
    told = called(ROOT, *annotated, cwd=project)
    assert (told.returncode, "::error file=src/softmax.cu,line=12,title=double free::" in told.stdout) == (1, True)
    told = called(ROOT, *sarif, cwd=project)
    assert (told.returncode, '"ruleId": "double_free"' in told.stdout) == (1, True)
