"""A workspace with the toy challenge and its prompt, and the command that asks a model in it."""

from pathlib import Path

import pytest
from asked_models import Ask, Ran

from harness.asking import patience
from harness.asking.run import KEYS
from harness.workspace import Workspace
from tests.commands import called
from tests.toy import CHALLENGE_ID, make_workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """No key in the environment, no proxy for loopback, no pause that a test would wait for."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(patience, "FIRST_PAUSE", 0.001)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    workspace = make_workspace(tmp_path / "workspace")
    challenge = workspace.challenge_folder(CHALLENGE_ID)
    (challenge / "PROMPT.md").write_text("Sum the rows of x and scale the sums.\n")
    (challenge / "contract.py").write_text("def scaled(x, scale): ...\n")
    return workspace


@pytest.fixture
def ask(workspace: Workspace) -> Ask:
    """Ask for attempts at the toy challenge."""

    def run(url: str, *more: str) -> Ran:
        return called(workspace.root, "ask", "acme/M 1", "--server", url, *more)

    return run
