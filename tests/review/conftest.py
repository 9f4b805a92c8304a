"""A workspace to review, and the command run in it."""

from pathlib import Path

import pytest
from judge_server import Command, Ran, make_workspace

from harness.cli.main import main
from harness.review.endpoint import KEYS


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with one challenge that nobody has answered; no key in the environment, no proxy for loopback."""
    monkeypatch.setenv("HARNESS_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    return make_workspace(tmp_path)


@pytest.fixture
def command(root: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `harness` in the workspace."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run
