"""Suite of a workspace's own challenges that passed their check and have not changed since.

Functions that return suites raise `SpecError` for a malformed file of suites.
"""

from pathlib import Path

from harness.errors import StoreError
from harness.model import ChallengeSuite, Identifier
from harness.model.base import Stored
from harness.scoring.suites import ALL_MARKED, SUITES_FILE, board_suite, find_suite, read_suites
from harness.store.content_key import probe_set
from harness.workspace import Workspace
from harness.workspace.stored_files import read_stored, write_atomically
from harness.workspace.submission_folders import subfolders

OWN = "own"
"""Id of this suite, which has no file."""
CHECKS = Path("reports", "checks")
"""Folder with the outcome of each challenge's last check."""


class ChallengeCheck(Stored):
    """Outcome of the last `harness check`."""

    challenge: Identifier
    """Id of the challenge."""
    probe_set: str
    """Probe set that was checked."""
    passed: bool
    """True if every verdict was right."""


def own_challenges(workspace: Workspace) -> list[str]:
    """Return the challenges that a workspace adds to the bundled ones; none if it has its own file of suites."""
    if not workspace.settings.bundled_challenges or (workspace.root / SUITES_FILE).is_file():
        return []
    return subfolders(workspace.root / "challenges", "challenge.toml")


def remember_check(workspace: Workspace, challenge: str, version: str, passed: bool) -> None:
    """Save the outcome of a check of an own challenge.

    Args:
        version: its probe set before the check, during which files may change.

    Raises:
        StoreError: the file cannot be written.
    """
    done = ChallengeCheck(challenge=challenge, probe_set=version, passed=passed)
    write_atomically(_get_path(workspace, challenge), done.to_json())


def explain_missing_rank(workspace: Workspace, challenge: str) -> str:
    """Return why a challenge does not count for ranks, or an empty string."""
    path = _get_path(workspace, challenge)
    try:
        done = read_stored(path, ChallengeCheck) if path.is_file() else None
    except StoreError:
        done = None
    if done is None:
        return f"{challenge} was not checked yet: run harness check {challenge}"
    if done.probe_set != probe_set(workspace, challenge):
        return f"{challenge} has changed since its last check: run harness check {challenge}"
    return "" if done.passed else f"the last check of {challenge} failed: mend it and run harness check {challenge}"


def every_suite(workspace: Workspace) -> tuple[ChallengeSuite, ...]:
    """Return all suites, that of the workspace's own challenges first."""
    checked = tuple(id for id in own_challenges(workspace) if not explain_missing_rank(workspace, id))
    title = "the challenges of this workspace that passed their check"
    own = (ChallengeSuite(id=OWN, title=title, challenges=checked),) if checked else ()
    return (*own, *read_suites(workspace))


def ranking_suite(workspace: Workspace, name: str | None = None) -> ChallengeSuite | None:
    """Return the suite called `name`; by default the own suite if it has records, else that of boards.

    Raises:
        NotFoundError: the suite is unknown.
    """
    suites = every_suite(workspace)
    answered = {recorded.challenge for recorded in workspace.list_recorded()}
    own = next((suite for suite in suites if suite.id == OWN and answered & {*suite.challenges}), None)
    return own if name is None and own else find_suite(suites, name or board_suite(workspace))


def suites_beside(workspace: Workspace) -> tuple[ChallengeSuite, ...]:
    """Return the suites that boards show beside their own."""
    suites = every_suite(workspace)
    return (*suites, ALL_MARKED) if suites else ()


def list_missing_ranks(workspace: Workspace) -> tuple[str, ...]:
    """Return `explain_missing_rank` of the own challenges with records."""
    answered = {recorded.challenge for recorded in workspace.list_recorded()}
    reasons = (explain_missing_rank(workspace, id) for id in own_challenges(workspace) if id in answered)
    return tuple(filter(None, reasons))


def _get_path(workspace: Workspace, challenge: str) -> Path:
    return workspace.root / CHECKS / f"{challenge}.json"
