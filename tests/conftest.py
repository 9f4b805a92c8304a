import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from harness.model import Challenge
from harness.probing.challenge_code.code import ChallengeCode
from harness.sandbox import detect
from harness.timing import exclusive
from tests import shares
from tests.toy import CHALLENGE_ID, SUBMISSION, add_submission, make_workspace

settings.register_profile("drawn", database=None, deadline=None)
settings.load_profile("drawn")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples of a property in every run, unless a seed chooses others."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(shares.number())
    # a test of a call that hangs must not keep the other test processes waiting
    locks = tempfile.TemporaryDirectory(prefix="harness-locks-")
    config.add_cleanup(locks.cleanup)
    os.environ[exclusive.FOLDER] = locks.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases whose turn it is not, keep those sharing a module's fixture in one process, and begin with
    long ones: begun last, they would leave one process at work and the others idle."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    if not any("::" in named for named in config.args):
        chosen = {id for name, of in cases.items() for id in shares.cases_of_turn(name, [item.nodeid for item in of])}
        chosen |= {item.nodeid for item in items if item.get_closest_marker("every_run")}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
    for item in items:
        shared: dict[str, Sequence[Any]] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        if any(fixture.scope == "module" for found in shared.values() for fixture in found):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
    seconds = {name: shares.seconds_of_functions().get(name, 0.0) / len(of) for name, of in cases.items()}
    items.sort(key=lambda item: -seconds[item.nodeid.split("[")[0]])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a run whose groups are lost: every process would run the fixtures that they share, and say nothing."""
    if session.config.getoption("loadgroup", False):
        lost = next((i for i in session.items if i.get_closest_marker("xdist_group") and "@" not in i.nodeid), None)
        if lost is not None:
            raise pytest.UsageError(f"{lost.nodeid}: pytest-xdist lost the group of this test\n  try: make environment")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in which tier answers were held, the corpus of attacks among them, and what was drawn."""
    tier = detect()
    terminalreporter.write_line(f"answers held in tier {tier}: {tier.promise}")
    terminalreporter.write_line(shares.told())


@pytest.fixture
def toy(tmp_path: Path) -> ChallengeCode:
    """A tiny challenge in a workspace of its own."""
    workspace = make_workspace(tmp_path)
    read = workspace.challenge(CHALLENGE_ID)
    assert isinstance(read, Challenge)
    return ChallengeCode(workspace, read)


@pytest.fixture
def submit(toy: ChallengeCode) -> Callable[..., Path]:
    """Puts an answer into the toy workspace; further files by keyword, dots as double underscores."""

    def put(model: str, source: str, toml: str = SUBMISSION, **files: str) -> Path:
        folder = add_submission(toy.workspace, model, source, toml)
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return folder

    return put
