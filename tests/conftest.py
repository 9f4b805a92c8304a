import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from harness.model import Challenge
from harness.probing.code import ChallengeCode
from harness.sandbox import detect
from harness.timing import exclusive
from tests import shares
from tests.toy import CHALLENGE_ID, SUBMISSION, add_submission, make_workspace

settings.register_profile("drawn", database=None, deadline=None)
settings.load_profile("drawn")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples of a property each time a commit is tested, and others for another commit."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(shares.number())
    # a test of a call that hangs must not keep the other test processes waiting
    locks = tempfile.TemporaryDirectory(prefix="harness-locks-")
    config.add_cleanup(locks.cleanup)
    os.environ[exclusive.FOLDER] = locks.name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the cases of `drawn` tests and those whose turn it is, keep those sharing a module's fixture in one process,
    and begin with slow ones: begun last, they would leave one process at work and the others idle."""
    for left_out in () if any("::" in named for named in config.args) else (_cases_left_out, _tests_left_out):
        names = left_out(items)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in names])
        items[:] = [item for item in items if item.nodeid not in names]
    for item in items:
        shared: dict[str, Sequence[Any]] = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
        if any(fixture.scope == "module" for found in shared.values() for fixture in found):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _cases_left_out(items: Iterable[pytest.Item]) -> set[str]:
    """The cases of tests marked `drawn(n)` that are not the one in n of this run."""
    cases: dict[tuple[str, int], list[str]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("drawn"):
            cases[item.nodeid.split("[")[0], *marker.args].append(item.nodeid)
    return _not_drawn(cases)


def _tests_left_out(items: Iterable[pytest.Item]) -> set[str]:
    """The tests marked `turns(n)` whose turn it is not: one in n of a folder's is drawn, a file marked whole as one."""
    tests: dict[str, list[str]] = defaultdict(list)
    folders: dict[tuple[str, int], list[str]] = defaultdict(list)
    for item in items:
        for node, marker in item.iter_markers_with_node("turns"):
            if node.nodeid not in tests:
                folders[str(item.path.parent.relative_to(shares.CHECKOUT)), *marker.args].append(node.nodeid)
            tests[node.nodeid].append(item.nodeid)
    return {id for node in _not_drawn(folders) for id in tests[node]}


def _not_drawn(corpora: Mapping[tuple[str, int], Sequence[str]]) -> set[str]:
    return {id for (_, one_in), ids in corpora.items() for id in {*ids} - {*shares.share(ids, one_in)}}


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
