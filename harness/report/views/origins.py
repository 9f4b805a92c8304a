"""Origins of published answers, and their terms."""

from collections.abc import Collection as Names

from harness.model import Record
from harness.report.views.submission import grouped
from harness.workspace import Workspace

Facts = tuple[tuple[str, str], ...]
"""Pairs of label and text."""
NOT_RERUN = "not re-run here"


def unfetched(workspace: Workspace) -> frozenset[str]:
    """Return the collections whose answers are not on this machine, so that other machines made their records."""
    return frozenset(id for id in workspace.collections() if not workspace.fetched_folder(id).is_dir())


def origin_facts(record: Record, unfetched: Names[str] = (), asked_too: bool = True) -> Facts:
    """Describe the origin of an answer; empty outside collections.

    Args:
        unfetched: collections whose answers are not on this machine.
        asked_too: false to leave out what its prompt did not ask for.
    """
    origin = record.origin
    if origin is None:
        return ()
    made = f"harness {record.environment.harness}"
    if origin.collection in unfetched:
        made += f", {NOT_RERUN}; to grade it again: harness import collection {origin.collection}"
    facts = [
        ("Published", f"{origin.repository}, commit {origin.commit}; licence {origin.licence}"),
        ("Graded by", made),
        ("Our adapter", f"{origin.adapter} for {origin.folder}, no line of it counted. {origin.decides}"),
    ]
    reasons = grouped((why, criterion) for criterion, why in origin.not_charged.items())
    facts += [("Not charged", f"{', '.join(criteria)}: {why}") for why, criteria in reasons.items()]
    gating = record.build.criteria if record.build else ()  # asked for or not, a failed build lowers every mark
    beside = [criterion for criterion in origin.not_asked if criterion not in gating]
    if beside and asked_too:
        prompt = f"{origin.prompt}, SHA-256 {origin.prompt_sha256}"
        facts.append(("Not asked", f"{', '.join(beside)}: not by its prompt ({prompt}), so in no mark"))
    if not origin.redistribute:
        facts.append(("Its own words", "not shown: they may not be passed on; files and lines are named instead"))
    return (*facts, ("A wrong finding", origin.dispute))
