"""Suites of challenges for ranks."""

from collections.abc import Iterable
from pathlib import Path

from harness.errors import NotFoundError, SpecError, nearest
from harness.model import ChallengeSuite, ChallengeSuites
from harness.model.challenges.suite import EVERYTHING
from harness.model.manifest import read_toml
from harness.workspace import Workspace
from harness.workspace.bundled_challenges import find_bundle

CORE = "core"
"""Suite for ranks unless another is named, here or in the file of suites."""
SUITES_FILE = Path("challenges", "suites.toml")

ALL_MARKED = ChallengeSuite(id=EVERYTHING, title="every challenge with a mark")


def read_suites(workspace: Workspace) -> tuple[ChallengeSuite, ...]:
    """Read the suites of `challenges/suites.toml`, else the package's if the workspace uses bundled challenges.

    Raises:
        SpecError: the file is malformed, or names an unknown challenge.
    """
    path = _find_file(workspace)
    if path is None:
        return ()
    suites = read_toml(path, ChallengeSuites).suites
    known = workspace.challenges()
    for suite in suites:
        for id in suite.challenges:
            if id not in known:
                problem = f"no challenge {id!r}{nearest(id, known)}"
                raise SpecError(path, problem, field=f"suites.{suite.id}", hint="try: harness ls challenges")
    return suites


def board_suite(workspace: Workspace) -> str | None:
    """Return the suite for boards, if the file of suites states one.

    Raises:
        SpecError: the file is malformed.
    """
    path = _find_file(workspace)
    return read_toml(path, ChallengeSuites).board if path else None


def find_suite(suites: Iterable[ChallengeSuite], name: str | None) -> ChallengeSuite | None:
    """Return the suite called `name`, by default `core`; None if that is missing.

    Raises:
        NotFoundError: the suite is unknown.
    """
    by_id = {suite.id: suite for suite in (*suites, ALL_MARKED)}
    if name is None:
        return by_id.get(CORE)
    if name not in by_id:
        known = ", ".join(by_id)
        raise NotFoundError(
            f"no suite {name!r}{nearest(name, by_id)}\n  suites are {known}; {SUITES_FILE} names them\n"
            "  try: harness ls suites"
        )
    return by_id[name]


def _find_file(workspace: Workspace) -> Path | None:
    homes = [workspace.root, *([find_bundle()] if workspace.settings.bundled_challenges else [])]
    return next((home / SUITES_FILE for home in homes if (home / SUITES_FILE).is_file()), None)
