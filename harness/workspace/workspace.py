"""Folders of challenges, submissions, collections, references and records."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path

from harness.errors import NotFoundError, PrerequisiteError, SpecError, StoreError, nearest
from harness.model import Challenge, CollectedAnswer, Collection, Record, Submission, WorkspaceSettings
from harness.model.manifest import read_toml
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.name import SubmissionName
from harness.workspace.bundled_challenges import find_bundle
from harness.workspace.shared_challenge import find_shared
from harness.workspace.signatures import verify
from harness.workspace.stored_files import read_stored
from harness.workspace.submission_folders import (
    attempt_folders,
    in_its_place,
    instead_of,
    subfolders,
    submission_folders,
)

LANGUAGES = "harness.languages"
"""Entry point group of the submissions' languages."""
COLLECTIONS = "collections"
COLLECTION_FILE = "collection.toml"
"""Folder of collections under submissions/, and of fetched ones in the local folder; reserved as a model name."""
SETTINGS_FILE = "harness.toml"
"""Optional settings in the root of a workspace."""


@dataclass(frozen=True)
class Workspace:
    """A folder with `challenges/`, `references/`, `submissions/` and `reports/`.

    Its `harness.toml` may add the challenges bundled with the package. Unknown names raise `NotFoundError`. A manifest
    that is malformed or names what is missing raises `SpecError`.
    """

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Workspace":
        """Return the workspace in HARNESS_WORKSPACE, else the nearest at or above `start`, else our checkout."""
        here = (start or Path.cwd()).resolve()
        named = os.environ.get("HARNESS_WORKSPACE")
        if named:
            return cls.at(Path(named), f"HARNESS_WORKSPACE names {named}, which")
        for place in (here, *here.parents, Path(__file__).resolve().parents[2]):
            if _is_workspace(place):
                return cls(place)
        raise NotFoundError(
            f"no workspace at or above {here}\n  try: harness init DIR, or cd into one, or set HARNESS_WORKSPACE"
        )

    @classmethod
    def at(cls, folder: Path, called: str = "") -> "Workspace":
        """Return the workspace with the root `folder`, named `called` in messages."""
        place = folder.resolve()
        if not _is_workspace(place):
            problem = f"{called or place} holds neither challenges/ nor {SETTINGS_FILE}"
            raise NotFoundError(f"{problem}\n  try: harness init DIR")
        return cls(place)

    @property
    def records_folder(self) -> Path:
        """Folder of published records."""
        return self.root / "reports" / "records"

    @property
    def cache_folder(self) -> Path:
        """Folder of local records and fetched collections, outside git."""
        return self.root / ".harness"

    @property
    def submissions_folder(self) -> Path:
        """Folder of submissions and manifests of collections."""
        return self.root / "submissions"

    @property
    def keys_folder(self) -> Path:
        """Folder of trusted public keys."""
        return self.root / "keys"

    def challenge_folder(self, id: str) -> Path:
        """Return a challenge's folder."""
        folders = self.challenge_folders()
        _assert_exists("challenge", id, sorted(folders), "harness ls challenges")
        return folders[id]

    def reference_folder(self, id: str) -> Path:
        """Return the folder of a challenge's reference and oracle."""
        return self.challenge_folder(id).parents[1] / "references" / id

    def folders_of_challenge(self, id: str) -> dict[str, Path]:
        """Return the folders of a challenge's files by their place in a workspace: its own two, then two it shares."""
        folders = self.challenge_folders()
        places = (self.challenge_folder(id), find_shared(folders, self.challenge(id)))
        kinds = ("challenges", "references")
        return {f"{kind}/{p.name}": p.parents[1] / kind / p.name for p in places if p for kind in kinds}

    def challenges(self) -> list[str]:
        """Return the sorted challenge ids."""
        return sorted(self.challenge_folders())

    def challenge_folders(self) -> dict[str, Path]:
        """Return the folder of each challenge; this workspace's own override bundled ones."""
        homes = [*([find_bundle()] if self.settings.bundled_challenges else []), self.root]
        places = [home / "challenges" for home in homes]
        return {id: place / id for place in places for id in subfolders(place, "challenge.toml")}

    @cached_property
    def settings(self) -> WorkspaceSettings:
        """Content of its `harness.toml`."""
        path = self.root / SETTINGS_FILE
        return read_toml(path, WorkspaceSettings) if path.exists() else WorkspaceSettings()

    def models(self) -> list[str]:
        """Return the sorted models with a folder under submissions/ or in a collection."""
        collected = [model for id in self.collections() for model in subfolders(self.collection_folder(id))]
        return sorted({*self._list_own_models(), *collected})

    def submissions(self) -> list[Path]:
        """Return all submission folders, fetched ones included, by model, challenge and attempt.

        Of one submission in several places, that in submissions/ wins, then the first collection by name.
        """
        places = [(self.submissions_folder, self._list_own_models())]
        places += [(place, subfolders(place)) for place in map(self.fetched_folder, self.collections())]
        found: dict[SubmissionName, Path] = {}
        for place, models in places:
            answered = {name.answer for name in found}
            here = submission_folders(place, models)
            found |= {name: folder for name, folder in here.items() if name.answer not in answered}
        return [found[name] for name in sorted(found, key=lambda name: name.order)]

    def folder_of(self, record: Record) -> Path:
        """Return the place of a record's submission, which may be missing."""
        place = self.fetched_folder(record.origin.collection) if record.origin else self.submissions_folder
        return place.joinpath(*record.submission_name.parts)

    def find_folder_of(self, record: Record) -> Path:
        """Return the folder of a record's submission; raise `NotFoundError` if it is not on this machine."""
        folder = self.folder_of(record)
        if os.path.lexists(folder / SUBMISSION_FILE):
            return folder
        if record.origin:
            raise _make_unfetched_error(record.name, record.origin.collection)
        raise NotFoundError(f"the files of {record.name} are not in {folder}")

    def holds(self, folder: Path) -> bool:
        """Return whether a folder is in a submission's place."""
        return self._is_place_of(folder.absolute()) or self._is_place_of(folder.resolve())

    def _is_place_of(self, folder: Path) -> bool:
        places = (self.submissions_folder, *map(self.fetched_folder, self.collections()))
        parts = SubmissionName.of_folder(folder).parts
        return any(folder == root.joinpath(*parts) for place in places for root in (place, place.resolve()))

    def _list_own_models(self) -> list[str]:
        return [name for name in subfolders(self.submissions_folder) if name != COLLECTIONS]

    def collections(self) -> list[str]:
        """Return the sorted collection ids."""
        return subfolders(self.submissions_folder / COLLECTIONS, COLLECTION_FILE)

    def collection_folder(self, id: str) -> Path:
        """Return the folder of a collection's manifest and our adapters."""
        _assert_exists("collection", id, self.collections(), "harness ls collections")
        return self.submissions_folder / COLLECTIONS / id

    def collection(self, id: str) -> Collection:
        """Read a collection's manifest and check that its own files exist."""
        path = self.collection_folder(id) / COLLECTION_FILE
        collection = read_toml(path, Collection)
        if collection.id != id:
            raise SpecError(path, f"is {collection.id!r}, but the folder is {id!r}", field="id")
        for answer in collection.answers:
            for name in answer.own_files:
                if not os.path.isfile(path.parent / answer.name / name):
                    problem = f"{answer.name}/{name} is missing beside it"
                    raise SpecError(path, problem, field=f"answers.{answer.name}")
        return collection

    def fetched_folder(self, id: str) -> Path:
        """Return the folder of a collection's fetched submissions."""
        return self.cache_folder / COLLECTIONS / id

    def find_collection_entry(self, folder: Path) -> tuple[Collection, CollectedAnswer] | None:
        """Return the collection and entry of a fetched submission's folder; None for other submissions.

        Raises:
            SpecError: the manifest lacks this submission.
        """
        place = folder.resolve()
        root = (self.cache_folder / COLLECTIONS).resolve()
        if root not in place.parents or len(place.relative_to(root).parts) != 3:
            return None
        collection = self.collection(place.parent.parent.name)
        name = f"{place.parent.name}/{place.name}"
        if name not in collection.by_name:
            path = self.collection_folder(collection.id) / COLLECTION_FILE
            raise SpecError(path, f"names no answer {name!r}{nearest(name, collection.by_name)}", field="answers")
        return collection, collection.by_name[name]

    def challenge(self, id: str) -> Challenge:
        """Read a challenge's rubric."""
        path = self.challenge_folder(id) / "challenge.toml"
        challenge = read_toml(path, Challenge)
        if challenge.id != id:
            raise SpecError(path, f"is {challenge.id!r}, but the folder is {id!r}", field="id")
        _check_language(path, "language", challenge.language)
        find_shared(self.challenge_folders(), challenge)
        return challenge

    def submission(self, folder: Path) -> Submission:
        """Read `<folder>/submission.toml` and check that the files that it names exist."""
        path = folder / "submission.toml"
        submission = read_toml(path, Submission)
        about = submission.about
        try:
            _assert_exists("challenge", about.challenge, self.challenges(), "harness ls challenges")
        except NotFoundError as error:
            raise SpecError(path, str(error), field="submission.challenge") from None
        _check_language(path, "submission.language", about.language)
        if self._is_place_of(folder.resolve()):
            submission = in_its_place(folder.resolve(), submission)
        named = [("submission.entry", entry) for entry in submission.entries]
        for field, name in (*named, *(("claims.where", claim.where) for claim in submission.claims if claim.where)):
            if not os.path.isfile(folder / name):
                hint = instead_of(folder, name) if field == "submission.entry" else ""
                raise SpecError(path, f"names {name!r}, which is not in {folder}", field=field, hint=hint)
        return submission

    def select(self, names: Sequence[str]) -> list[Path]:
        """Return the submission folders for names on the command line.

        A name is MODEL/CHALLENGE (with all its attempts), MODEL/CHALLENGE/attempt-N, MODEL, CHALLENGE, or a path.
        """
        chosen: dict[Path, None] = {}
        for name in names:
            for folder in self._match_name(name):
                chosen[folder] = None
        return list(chosen)

    def _match_name(self, name: str) -> list[Path]:
        everything = self.submissions()
        root = self.submissions_folder
        found = [folder for folder in everything if name.rstrip("/") in _list_names(folder)]
        if found:
            return found
        path = Path(name)
        if os.path.exists(path / "submission.toml"):
            return [path]
        if attempts := attempt_folders(path):
            return attempts
        if os.path.isdir(path):
            raise NotFoundError(
                f"{name} holds no submission.toml\n  say what it answers:  harness grade {name} --challenge CHALLENGE"
            )
        if "/" in name and os.path.isdir(root / name):
            raise NotFoundError(f"submissions/{name} holds no submission.toml")
        for id in self.collections():
            place = self.collection_folder(id)
            if any(name.rstrip("/") in (str(n), n.model) for n in submission_folders(place, subfolders(place))):
                raise _make_unfetched_error(name.rstrip("/"), id)
        known = [str(SubmissionName.of_folder(p)) for p in everything] + self.models() + self.challenges()
        if name in known:
            raise NotFoundError(f"nothing is submitted for {name!r}\n  try: harness new submission MODEL/CHALLENGE")
        if _looks_like_path(name):
            raise NotFoundError(f"no such file: {name}{nearest(name, known)}")
        raise NotFoundError(_describe_unknown("submission, model or challenge", name, known, "harness ls submissions"))

    def record_path(self, model: str, challenge: str, attempt: int | None = None) -> Path:
        """Return the path of a submission's record."""
        return self.records_folder / SubmissionName(model, challenge, attempt).record

    def list_recorded(self) -> list[SubmissionName]:
        """Return the submissions with a published record, by challenge, model and attempt."""
        root = self.records_folder
        paths = (path.relative_to(root) for depth in ("*/*.json", "*/*/*.json") for path in root.glob(depth))
        found = [name for path in paths if (name := SubmissionName.of_record(path))]
        return sorted(found, key=lambda name: (name.challenge, name.order))

    def records(self) -> list[Record]:
        """Return all published records in the order of `list_recorded`."""
        return [self.record_in(self.records_folder / name.record) for name in self.list_recorded()]

    def record(self, name: str) -> Record:
        """Return the record of `MODEL/CHALLENGE` or `MODEL/CHALLENGE/attempt-N`, or in a file.

        Raises:
            NotFoundError: there is none, or several attempts.
            StoreError: it is unreadable.
        """
        path = Path(name)
        if path.suffix == ".json" and os.path.isfile(path):
            return self._verify_and_read(path)
        wanted = SubmissionName.parse(name.rstrip("/"))
        if wanted and os.path.lexists(self.records_folder / wanted.record):
            return self.record_in(self.records_folder / wanted.record)
        known = self.list_recorded()
        if attempts := [str(each) for each in known if each.answer == name.rstrip("/")]:
            raise NotFoundError(f"{name} has the records of several attempts; name one: {', '.join(attempts)}")
        raise NotFoundError(_describe_unknown("record", name, list(map(str, known)), f"harness grade {name}"))

    def record_in(self, path: Path) -> Record:
        """Read a published record in its place: a misplaced copy would count twice.

        Raises:
            StoreError: unreadable, misplaced, or with an invalid signature.
            PrerequisiteError: signed, and cryptography is not installed.
        """
        record, place = self._verify_and_read(path), SubmissionName.of_record(path.relative_to(self.records_folder))
        if record.submission_name != place:
            raise StoreError(
                f"{path}: is the record of {record.name}, whose place is {record.submission_name.record}\n"
                "  move it there, or remove it"
            )
        return record

    def _verify_and_read(self, path: Path) -> Record:
        verify(path, self.keys_folder)
        return read_stored(path, Record)


def _list_names(folder: Path) -> tuple[str, ...]:
    name = SubmissionName.of_folder(folder)
    return str(name), name.answer, name.model, name.challenge


def _looks_like_path(name: str) -> bool:
    # models may have dots in their names, as in qwen3.6-27b
    letters = Path(name).suffix[1:].isalpha()
    return letters or name.startswith((".", "/")) or ("/" in name and SubmissionName.parse(name) is None)


def _make_unfetched_error(name: str, collection: str) -> NotFoundError:
    problem = f"the files of {name} are not on this machine: they belong to the collection {collection}"
    return NotFoundError(f"{problem}\n  try: harness import collection {collection}")


def _is_workspace(folder: Path) -> bool:
    return (folder / SETTINGS_FILE).is_file() or (folder / "challenges").is_dir()


def list_known_languages() -> list[str]:
    """Return the sorted names of installed languages.

    Raises:
        PrerequisiteError: the installed package predates languages.
    """
    names = _find_languages(tuple(sys.path))
    if not names:
        command = f"{sys.executable} -m pip install --no-deps -e {Path(__file__).resolve().parents[2]}"
        raise PrerequisiteError(f"the installed harness registers no languages; install it again:\n  {command}")
    return list(names)


@cache
def _find_languages(path: tuple[str, ...]) -> tuple[str, ...]:
    # cached by search path, as this takes 10 ms
    return tuple(sorted({point.name for point in entry_points(group=LANGUAGES)}))


def _check_language(path: Path, field: str, name: str) -> None:
    known = list_known_languages()
    if name not in known:
        hint = f"languages are {', '.join(known)}"
        raise SpecError(path, f"no language {name!r}{nearest(name, known)}", field=field, hint=hint)


def _assert_exists(kind: str, name: str, known: Sequence[str], command: str) -> None:
    if name not in known:
        raise NotFoundError(_describe_unknown(kind, name, known, command))


def _describe_unknown(kind: str, name: str, known: Sequence[str], command: str) -> str:
    return f"no {kind} {name!r}{nearest(name, known)}\n  try: {command}"
