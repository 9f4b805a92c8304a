"""A small workspace made by `harness new`."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cli_runs import ABOUT, Run, Submit

from harness.cli import scaffold
from harness.workspace import Workspace
from tests.commands import called, started


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template")
    (root / "challenges").mkdir()
    scaffold.challenge(Workspace(root), "rows")
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """A workspace with the challenge `rows` and nothing submitted."""
    return shutil.copytree(template, tmp_path / "workspace")


@pytest.fixture
def submit(root: Path) -> Submit:
    """Put an answer into the workspace; the reference by default."""

    def put(model: str, source: str | None = None, about: str = ABOUT) -> Path:
        folder = root / "submissions" / model / "rows"
        folder.mkdir(parents=True)
        (folder / "submission.toml").write_text(about.format(model=model))
        (folder / "answer.py").write_text(source or (root / "references" / "rows" / "reference.py").read_text())
        return folder

    return put


@pytest.fixture
def run(root: Path) -> Run:
    """Run the command in the workspace; in a process of its own where its environment is not this one's."""

    def call(*arguments: str, cwd: Path | None = None, **variables: str) -> "subprocess.CompletedProcess[str]":
        if variables:
            return started(root, *arguments, cwd=cwd, **variables)
        return called(root, *arguments, cwd=cwd)

    return call
