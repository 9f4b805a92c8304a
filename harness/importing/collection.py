"""A collection as a source of answers: the files its manifest names, out of a clone, next to our adapters."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import SpecError, nearest
from harness.importing.git import Clone, fetched
from harness.model import CollectedAnswer, Collection
from harness.model.collection import hash_problem
from harness.workspace import COLLECTION_FILE, Workspace


class CollectionImporter:
    """An `Importer` of the answers of one collection.

    Args:
        collection: names the files.
        folder: holds the manifest and, by model and challenge, our adapters.
        clone: has the commit.
    """

    def __init__(self, collection: Collection, folder: Path, clone: Clone) -> None:
        self._collection = collection
        self._folder = folder
        self._clone = clone

    def discover(self) -> Sequence[str]:
        """As `Importer.discover`."""
        return sorted(self._collection.by_name)

    def read(self, name: str) -> Mapping[str, bytes]:
        """As `Importer.read`: every file as committed, and held to its SHA-256."""
        answer = self._collection.by_name[name]
        self._check_prompt(answer)
        ours = {path: (self._folder / name / path).read_bytes() for path in answer.own_files}
        return {path: self._file(answer, path) for path in answer.files} | ours

    def _file(self, answer: CollectedAnswer, path: str) -> bytes:
        field = f"answers.{answer.name}.files.{path}"
        return self._committed(f"{answer.folder}/{path}", answer.files[path], field)

    def _check_prompt(self, answer: CollectedAnswer) -> None:
        """Refuse a prompt that is not the one of which the manifest states what it did not ask."""
        if asked := self._collection.challenges.get(answer.challenge):
            self._committed(asked.prompt, asked.sha256, f"challenges.{answer.challenge}.prompt")
        if answer.prompt and answer.prompt_sha256:
            self._committed(answer.prompt, answer.prompt_sha256, f"answers.{answer.name}.prompt")

    def _committed(self, place: str, sha256: str, field: str) -> bytes:
        manifest, folder = self._folder / COLLECTION_FILE, place.rpartition("/")[0] or "."
        data = self._clone.file(place)
        if data is None:
            known = self._clone.files(folder)
            raise SpecError(
                manifest, f"{self._collection.commit} has no file {place!r}{nearest(place, known)}", field=field,
                hint=f"what it has:  git ls-tree -r --name-only {self._collection.commit} {folder}",
            )  # fmt: skip
        if problem := hash_problem(data, sha256):
            hint = f"what is committed:  git show {self._collection.commit}:{place} | sha256sum"
            raise SpecError(manifest, f"{place} {problem}", field=field, hint=hint)
        return data


@contextmanager
def opened(workspace: Workspace, id: str, clone: Path | None = None) -> Iterator[CollectionImporter]:
    """The importer of a collection.

    Args:
        workspace: holds its manifest.
        id: its name.
        clone: of its repository; without one the commit is fetched, and kept for the length of the block only.

    Raises:
        NotFoundError: there is no such collection, no such clone, or it lacks the commit.
        SpecError: the manifest is malformed.
        PrerequisiteError: git is not installed, or the repository cannot be reached.
    """
    collection, folder = workspace.collection(id), workspace.collection_folder(id)
    if clone is not None:
        yield CollectionImporter(collection, folder, Clone(clone, collection.commit))
        return
    with fetched(collection.repository, collection.commit) as made:
        yield CollectionImporter(collection, folder, made)
