"""The suite of a workspace's own challenges: those whose last check passed, and that have not changed since."""

from pathlib import Path

from harness.errors import StoreError
from harness.model import ChallengeSuite, Identifier
from harness.model.base import Stored
from harness.running.content_key import probe_set
from harness.scoring.suites import ALL_MARKED, SUITES_FILE, board_suite, read_suites, suite_named
from harness.stored_files import read_stored, write_atomically
from harness.submission_folders import subfolders
from harness.workspace import Workspace

OWN = "own"
"""The suite of these challenges; no file defines it."""
CHECKS = Path("reports", "checks")
"""Where the outcome of each challenge's last check is kept, published with the records."""


class ChallengeCheck(Stored):
    """Outcome of the last `harness check` of a challenge."""

    challenge: Identifier
    """Which."""
    probe_set: str
    """Version of its files that was checked."""
    passed: bool
    """Whether every verdict was right."""


def own_challenges(workspace: Workspace) -> list[str]:
    """Return the challenges that a workspace adds to the bundled ones.

    Where its own file of suites, or no suite at all, decides what is ranked, there are none.
    """
    if not workspace.settings.bundled_challenges or (workspace.root / SUITES_FILE).is_file():
        return []
    return subfolders(workspace.root / "challenges", "challenge.toml")


def remember_check(workspace: Workspace, challenge: str, version: str, passed: bool) -> None:
    """Keep the outcome of a check of one of its own challenges.

    Args:
        workspace: what holds it.
        challenge: its id.
        version: its probe set, taken before the check: files may change while that runs.
        passed: whether every verdict was right.

    Raises:
        StoreError: it cannot be written.
    """
    done = ChallengeCheck(challenge=challenge, probe_set=version, passed=passed)
    write_atomically(_place(workspace, challenge), done.to_json())


def why_unranked(workspace: Workspace, challenge: str) -> str:
    """Return why one of its own challenges ranks nobody, and what to do about it; empty where it does."""
    path = _place(workspace, challenge)
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
    """Return the suites of the workspace, that of its own challenges included.

    Raises:
        SpecError: the file of suites is malformed.
    """
    checked = tuple(id for id in own_challenges(workspace) if not why_unranked(workspace, id))
    title = "the challenges of this workspace that passed their check"
    own = (ChallengeSuite(id=OWN, title=title, challenges=checked),) if checked else ()
    return (*own, *read_suites(workspace))


def ranking_suite(workspace: Workspace, name: str | None = None) -> ChallengeSuite | None:
    """Return the suite of that name; without one its own suite where that has a mark, else that of boards.

    Raises:
        NotFoundError: there is no such suite.
        SpecError: the file of suites is malformed.
    """
    suites = every_suite(workspace)
    answered = {recorded.challenge for recorded in workspace.recorded()}
    own = next((suite for suite in suites if suite.id == OWN and answered & {*suite.challenges}), None)
    return own if name is None and own else suite_named(suites, name or board_suite(workspace))


def suites_beside(workspace: Workspace) -> tuple[ChallengeSuite, ...]:
    """Return the suites whose places boards show beside their own, that of every challenge included.

    Raises:
        SpecError: the file of suites is malformed.
    """
    suites = every_suite(workspace)
    return (*suites, ALL_MARKED) if suites else ()


def unranked_challenges(workspace: Workspace) -> tuple[str, ...]:
    """Return why each of its own challenges that has a mark ranks nobody."""
    answered = {recorded.challenge for recorded in workspace.recorded()}
    reasons = (why_unranked(workspace, id) for id in own_challenges(workspace) if id in answered)
    return tuple(filter(None, reasons))


def _place(workspace: Workspace, challenge: str) -> Path:
    return workspace.root / CHECKS / f"{challenge}.json"
