"""A collection as a source of submissions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import SpecError, nearest
from harness.importing.git import Clone, fetch_commit
from harness.model import CollectedAnswer, Collection
from harness.model.submissions.collection import hash_problem
from harness.workspace import COLLECTION_FILE, Workspace


class CollectionImporter:
    """An `Importer` of one collection: files from a clone, as its manifest lists them, with our adapters.

    Args:
        folder: folder of the manifest and our adapters.
        clone: clone that has the commit.
    """

    def __init__(self, collection: Collection, folder: Path, clone: Clone) -> None:
        self._collection = collection
        self._folder = folder
        self._clone = clone

    def discover(self) -> Sequence[str]:
        """See `Importer`."""
        return sorted(self._collection.by_name)

    def read(self, name: str) -> Mapping[str, bytes]:
        """See `Importer`; verify each committed file's SHA-256."""
        answer = self._collection.by_name[name]
        self._check_prompt(answer)
        ours = {path: (self._folder / name / path).read_bytes() for path in answer.own_files}
        return ours | {
            path: self._read_committed(f"{answer.folder}/{path}", sha256, f"answers.{answer.name}.files.{path}")
            for path, sha256 in answer.files.items()
        }

    def _check_prompt(self, answer: CollectedAnswer) -> None:
        # the manifest lists what the prompt did not ask for, which a changed prompt may
        if asked := self._collection.challenges.get(answer.challenge):
            self._read_committed(asked.prompt, asked.sha256, f"challenges.{answer.challenge}.prompt")
        if answer.prompt and answer.prompt_sha256:
            self._read_committed(answer.prompt, answer.prompt_sha256, f"answers.{answer.name}.prompt")

    def _read_committed(self, place: str, sha256: str, field: str) -> bytes:
        manifest, folder = self._folder / COLLECTION_FILE, place.rpartition("/")[0] or "."
        data = self._clone.file(place)
        if data is None:
            known = self._clone.files(folder)
            raise SpecError(
                manifest,
                f"{self._collection.commit} has no file {place!r}{nearest(place, known)}",
                field=field,
                hint=f"what it has:  git ls-tree -r --name-only {self._collection.commit} {folder}",
            )
        if problem := hash_problem(data, sha256):
            hint = f"what is committed:  git show {self._collection.commit}:{place} | sha256sum"
            raise SpecError(manifest, f"{place} {problem}", field=field, hint=hint)
        return data


@contextmanager
def open_collection(workspace: Workspace, id: str, clone: Path | None = None) -> Iterator[CollectionImporter]:
    """Open a collection as an importer.

    Args:
        clone: clone of its repository; None fetches the commit for the length of the block.

    Raises:
        NotFoundError: the collection, the clone or the commit is missing.
        SpecError: the manifest is malformed.
        PrerequisiteError: git is not installed, or the fetch fails.
    """
    collection, folder = workspace.collection(id), workspace.collection_folder(id)
    if clone is not None:
        yield CollectionImporter(collection, folder, Clone(clone, collection.commit))
        return
    with fetch_commit(collection.repository, collection.commit) as made:
        yield CollectionImporter(collection, folder, made)
