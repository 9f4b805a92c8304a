"""Answers of collections: graded only as they were published, behind the adapter that is ours now."""

from collections.abc import Collection, Iterable
from pathlib import Path

from harness.errors import SpecError
from harness.model import Evidence, Origin, Outcome
from harness.model.collection import hash_problem
from harness.probing.criteria import UNSHOWN
from harness.sandbox import Snapshot
from harness.workspace import Workspace


def origin_of(workspace: Workspace, folder: Path, files: Snapshot) -> Origin | None:
    """Where the answer in `folder` comes from; None where it is of no collection.

    Args:
        workspace: holds the collection's manifest and our adapter.
        folder: the submission.
        files: what was read of it, and is graded.

    Raises:
        SpecError: a file is missing, is not the one published, or is none of the answer's; nothing was graded.
    """
    found = workspace.collected(folder)
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
    return collection.origin(answer)


def charged_to_the_answer(evidence: Iterable[Evidence], adapters: Collection[str]) -> list[Evidence]:
    """Evidence in which no criterion fails for what lines of our adapters alone raised: that one is not run.

    Args:
        evidence: of a published answer.
        adapters: files that are ours.
    """
    return [_not_served(e) if _ours_alone(e, adapters) else e for e in evidence]


def _ours_alone(evidence: Evidence, adapters: Collection[str]) -> bool:
    seen = (evidence.counterexample, *(other.counterexample for other in evidence.also))
    values = any(example is not None and example.where for example in seen)
    raised = bool(evidence.locations) and all(place.file in adapters for place in evidence.locations)
    return evidence.outcome is Outcome.FAILED and raised and not values


def _not_served(evidence: Evidence) -> Evidence:
    changes = {**UNSHOWN, "outcome": Outcome.NOT_RUN, "detail": f"our adapter does not serve it: {evidence.seen}"}
    return Evidence.model_validate({**evidence.model_dump(), **changes})
