"""Origins of published answers, and their terms."""

from collections.abc import Collection as Names

from harness.model import Record
from harness.workspace import Workspace

Facts = tuple[tuple[str, str], ...]
"""Pairs of label and text."""
NOT_RERUN = "not re-run here"


def unfetched(workspace: Workspace) -> frozenset[str]:
    """Return the collections whose answers are not on this machine, so that other machines made their records."""
    return frozenset(id for id in workspace.collections() if not workspace.fetched_folder(id).is_dir())


def origin_facts(record: Record, unfetched: Names[str] = ()) -> Facts:
    """Describe the origin of an answer; empty outside collections.

    Args:
        unfetched: collections whose answers are not on this machine.
    """
    origin = record.origin
    if origin is None:
        return ()
    made = f"harness {record.environment.harness}"
    if origin.collection in unfetched:
        made += f", {NOT_RERUN}; to grade it again: harness import collection {origin.collection}"
    facts = [
        ("Published", f"{origin.repository}, commit {origin.commit}, folder {origin.folder}; licence {origin.licence}"),
        ("Graded by", made),
        ("Our adapter", f"{origin.adapter}, no line of it counted. {origin.decides}"),
    ]
    facts += [("Not charged", f"{criterion}: {why}") for criterion, why in origin.not_charged.items()]
    gating = record.build.criteria if record.build else ()  # asked for or not, a failed build lowers every mark
    if beside := [criterion for criterion in origin.not_asked if criterion not in gating]:
        prompt = f"{origin.prompt}, SHA-256 {origin.prompt_sha256}"
        facts.append(("Not asked", f"{', '.join(beside)}: not by its prompt ({prompt}), so in no mark"))
    if not origin.redistribute:
        facts.append(("Its own words", "not shown: they may not be passed on; files and lines are named instead"))
    return (*facts, ("A wrong finding", origin.dispute))
