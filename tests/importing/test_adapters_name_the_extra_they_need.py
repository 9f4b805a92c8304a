"""An adapter of a collection that needs a package which is not installed names the extra that brings it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.workspace import Workspace

CHECKOUT = Path(__file__).parents[2]
WORKSPACE = Workspace(CHECKOUT)
NEEDED = re.compile(r"(?m)^    import (\w+)")
"""A package that is imported in a block of its own: one that may not be there."""
ADAPTERS = [
    WORKSPACE.collection_folder(id) / answer.name / answer.adapter
    for id in WORKSPACE.collections()
    for answer in WORKSPACE.collection(id).answers
    if answer.adapter.endswith(".py")
]
NEEDING = [path for path in ADAPTERS if NEEDED.search(path.read_text())]


def test_some_adapters_need_a_package() -> None:
    assert {path.parent.name for path in NEEDING} == {"ternary_training"} and len(NEEDING) == 5


@pytest.mark.parametrize("adapter", NEEDING, ids=lambda path: path.parent.parent.name)
def test_without_the_package_the_extra_is_named_before_the_answer_is_loaded(adapter: Path) -> None:
    found = NEEDED.search(adapter.read_text())
    assert found
    hidden = f"import runpy, sys; sys.modules[{found[1]!r}] = None; runpy.run_path({str(adapter)!r})"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True)
    *_, said = done.stderr.splitlines()
    extra = re.search(r"pip install 'kernel-harness\[(\w+)\]'$", said)
    assert done.returncode and said.startswith("ImportError: ") and extra, said
    brought = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra[1]]
    assert any(re.match(rf"{found[1]}\b", requirement) for requirement in brought)
