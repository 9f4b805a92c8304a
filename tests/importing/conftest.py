"""A collection of one answer, published in a small git repository."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from collected_answers import ADAPTER, FILES, NAME, Published, commit, git

from tests.toy import SUBMISSION, make_workspace


@pytest.fixture
def published(tmp_path: Path) -> Published:
    workspace, clone = make_workspace(tmp_path / "workspace"), tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet")
    made = Published(workspace, clone, commit(clone, FILES))
    ours = made.manifest.parent / NAME
    ours.mkdir(parents=True)
    (ours / "adapter.py").write_text(ADAPTER)
    (ours / "submission.toml").write_text(SUBMISSION.format(model="m").replace("answer.py", "adapter.py"))
    made.state()
    return made


@pytest.fixture
def copied(published: Published, tmp_path: Path) -> Callable[..., Path]:
    """A clone of the repository, made by git with further options."""

    def make(*options: str) -> Path:
        place = tmp_path / "copy"
        shutil.rmtree(place, ignore_errors=True)
        git(tmp_path, "clone", "--quiet", *options, f"file://{published.clone}", str(place))
        return place

    return make
