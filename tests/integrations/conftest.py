"""A small workspace made by `harness new`."""

from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.workspace import Workspace


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the challenge `rows`."""
    root = tmp_path_factory.mktemp("workspace")
    (root / "challenges").mkdir()
    scaffold.challenge(Workspace(root), "rows")
    return root


@pytest.fixture(scope="session")
def right(root: Path) -> str:
    """The text of a right answer to it."""
    return (root / "references" / "rows" / "reference.py").read_text()
