"""Submissions of collections, graded only as published."""

from collections.abc import Collection, Iterable
from pathlib import Path

from harness.errors import SpecError
from harness.model import BuildFailure, CollectedAnswer, Evidence, Origin, Outcome
from harness.model.submissions.collection import hash_problem
from harness.probing.evidence.charging import UNSHOWN
from harness.sandbox import Snapshot
from harness.workspace import COLLECTION_FILE, Workspace


def origin_of(workspace: Workspace, folder: Path, files: Snapshot) -> Origin | None:
    """Verify a collection's files and return their origin; None outside collections.

    Raises:
        SpecError: a file is missing, unknown or not as published, or the manifest is malformed.
    """
    found = workspace.find_collection_entry(folder)
    if found is None:
        return None
    collection, answer = found
    hint = f"harness import collection {collection.id}  lays all of its answers out anew"
    ours = workspace.collection_folder(collection.id) / answer.name
    for name in sorted(files.hashes.keys() - {*answer.files, *answer.own_files}):
        raise SpecError(folder / name, "is no file of the answer", field=f"answers.{answer.name}.files", hint=hint)
    for name in (*answer.files, *answer.own_files):
        if name not in files.hashes:
            raise SpecError(folder / name, "is missing", field=f"answers.{answer.name}.files", hint=hint)
        data = (files.path / name).read_bytes()
        if name in answer.files and (problem := hash_problem(data, answer.files[name])):
            raise SpecError(folder / name, problem, field=f"answers.{answer.name}.files.{name}", hint=hint)
        if name in answer.own_files and data != (ours / name).read_bytes():
            raise SpecError(folder / name, f"differs from {ours / name}", field=f"answers.{answer.name}", hint=hint)
    origin = collection.origin(answer)
    _check_exemptions(workspace, answer, origin)
    return origin


def _check_exemptions(workspace: Workspace, answer: CollectedAnswer, origin: Origin) -> None:
    rubric = workspace.challenge(answer.challenge)
    known = {criterion.id for criterion in rubric.criteria}
    manifest = workspace.collection_folder(origin.collection) / COLLECTION_FILE
    for table, names in (
        (f"answers.{answer.name}.not_charged", origin.not_charged),
        (f"challenges.{answer.challenge}.not_asked", origin.not_asked),
        (f"challenges.{answer.challenge}.contradicted", origin.contradicted),
    ):
        for name in sorted(names):
            if name not in known:
                raise SpecError(manifest, f"is no criterion of {answer.challenge}", field=f"{table}.{name}")
            if name == rubric.anchor and names is not origin.contradicted:
                raise SpecError(manifest, "is the anchor, and enters every mark", field=f"{table}.{name}")


def adapter_is_at_fault(failure: BuildFailure, adapters: Collection[str]) -> bool:
    """Return whether a build failed only in our adapters."""
    return bool(failure.locations) and {place.file for place in failure.locations} <= {*adapters}


def excuse_criteria(evidence: Iterable[Evidence], origin: Origin | None) -> list[Evidence]:
    """Mark excused criteria as not run, even if passed."""
    excused = origin.not_charged if origin else {}
    judged = (Outcome.FAILED, Outcome.PARTIAL, Outcome.PASSED, Outcome.NOT_RUN)
    return [
        _mark_not_run(e, excused[e.criterion]) if e.criterion in excused and e.outcome in judged else e
        for e in evidence
    ]


def _mark_not_run(evidence: Evidence, why: str) -> Evidence:
    shown = {"outcome": Outcome.NOT_RUN, "fraction": None, "detail": f"not charged to the answer: {why}"}
    return Evidence.model_validate({**evidence.model_dump(), **UNSHOWN, **shown})
