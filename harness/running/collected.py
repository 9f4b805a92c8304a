"""Answers of collections: graded only as they were published, behind the adapter that is ours now."""

from pathlib import Path

from harness.errors import SpecError
from harness.model import Origin
from harness.model.collection import hash_problem
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
