"""Folders are the registry: finds challenges, submissions, collections, references, records, and reads their files."""

import contextlib
import errno
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from harness.errors import NotFoundError, PrerequisiteError, SpecError, StoreError, nearest
from harness.model import Challenge, CollectedAnswer, Collection, Record, Stored, Submission
from harness.model.manifest import read_toml

S = TypeVar("S", bound=Stored)

LANGUAGES = "harness.languages"
"""Entry point group of the languages that answers are written in."""
COLLECTIONS = "collections"
"""Folder of the collections under submissions/, and of the fetched ones in the local folder; no model has this name."""


@dataclass(frozen=True)
class Workspace:
    """A folder that holds `challenges/`, `references/`, `submissions/` and `reports/`."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Workspace":
        """The workspace named by HARNESS_WORKSPACE, else the nearest at or above `start`, else our checkout.

        Raises:
            NotFoundError: there is none.
        """
        here = (start or Path.cwd()).resolve()
        named = os.environ.get("HARNESS_WORKSPACE")
        if named:
            if not (Path(named) / "challenges").is_dir():
                raise NotFoundError(f"HARNESS_WORKSPACE names {named}, which holds no challenges/")
            return cls(Path(named).resolve())
        for place in (here, *here.parents, Path(__file__).resolve().parents[1]):
            if (place / "challenges").is_dir():
                return cls(place)
        raise NotFoundError(f"no folder with challenges/ at or above {here}\n  cd into one, or set HARNESS_WORKSPACE")

    @property
    def records_folder(self) -> Path:
        """Where records are kept for reading and reporting."""
        return self.root / "reports" / "records"

    @property
    def cache_folder(self) -> Path:
        """Where records made on this machine and fetched collections are kept, outside git."""
        return self.root / ".harness"

    @property
    def submissions_folder(self) -> Path:
        """Where submissions and the manifests of collections are."""
        return self.root / "submissions"

    def challenge_folder(self, id: str) -> Path:
        """The folder of a challenge.

        Raises:
            NotFoundError: there is no such challenge.
        """
        _known("challenge", id, self.challenges(), "harness ls challenges")
        return self.root / "challenges" / id

    def reference_folder(self, id: str) -> Path:
        """The folder of a challenge's reference and oracle."""
        return self.root / "references" / id

    def challenges(self) -> list[str]:
        """Ids of all challenges, sorted."""
        return _folders(self.root / "challenges", "challenge.toml")

    def models(self) -> list[str]:
        """Names of all models with a folder under submissions/ or in a collection, sorted."""
        collected = [model for id in self.collections() for model in _folders(self.collection_folder(id))]
        return sorted({*self._own_models(), *collected})

    def submissions(self) -> list[Path]:
        """Folders of all submissions, fetched answers of collections included, sorted by model and challenge.

        Where two have one name, that under submissions/ counts, else that of the collection first by name.
        """
        root = self.submissions_folder
        own = {(m, c): root / m / c for m in self._own_models() for c in _folders(root / m)}
        places = (self.fetched_folder(id) for id in reversed(self.collections()))
        fetched = {(m, c): place / m / c for place in places for m in _folders(place) for c in _folders(place / m)}
        return [folder for _, folder in sorted((fetched | own).items())]

    def folder_of(self, record: Record) -> Path:
        """Where the submission of a record lies, if it is here."""
        place = self.fetched_folder(record.origin.collection) if record.origin else self.submissions_folder
        return place / record.model / record.challenge

    def _own_models(self) -> list[str]:
        return [name for name in _folders(self.submissions_folder) if name != COLLECTIONS]

    def collections(self) -> list[str]:
        """Ids of all collections, sorted."""
        return _folders(self.submissions_folder / COLLECTIONS, "collection.toml")

    def collection_folder(self, id: str) -> Path:
        """The folder of a collection's manifest and of our adapters.

        Raises:
            NotFoundError: there is no such collection.
        """
        _known("collection", id, self.collections(), "harness ls collections")
        return self.submissions_folder / COLLECTIONS / id

    def collection(self, id: str) -> Collection:
        """Read `submissions/collections/<id>/collection.toml`.

        Raises:
            NotFoundError: there is no such collection.
            SpecError: its file is malformed, or an adapter or submission.toml that it needs is missing.
        """
        path = self.collection_folder(id) / "collection.toml"
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
        """Where the answers of a collection lie once they are fetched; git ignores it."""
        return self.cache_folder / COLLECTIONS / id

    def collected(self, folder: Path) -> tuple[Collection, CollectedAnswer] | None:
        """The collection and the answer in it whose fetched files `folder` holds; None for any other submission.

        Raises:
            NotFoundError: the collection has no manifest any more.
            SpecError: it is malformed, or does not name this answer.
        """
        place = folder.resolve()
        root = (self.cache_folder / COLLECTIONS).resolve()
        if root not in place.parents or len(place.relative_to(root).parts) != 3:
            return None
        collection = self.collection(place.parent.parent.name)
        name = f"{place.parent.name}/{place.name}"
        if name not in collection.by_name:
            path = self.collection_folder(collection.id) / "collection.toml"
            raise SpecError(path, f"names no answer {name!r}{nearest(name, collection.by_name)}", field="answers")
        return collection, collection.by_name[name]

    def challenge(self, id: str) -> Challenge:
        """Read `challenges/<id>/challenge.toml`.

        Raises:
            NotFoundError: there is no such challenge.
            SpecError: its file is malformed.
        """
        path = self.challenge_folder(id) / "challenge.toml"
        challenge = read_toml(path, Challenge)
        if challenge.id != id:
            raise SpecError(path, f"is {challenge.id!r}, but the folder is {id!r}", field="id")
        _known_language(path, "language", challenge.language)
        return challenge

    def submission(self, folder: Path) -> Submission:
        """Read `<folder>/submission.toml` and check that its entry and claims name files of the folder.

        Raises:
            SpecError: the file is missing or malformed, or names an unknown challenge, an unknown language or a missing
                file.
        """
        path = folder / "submission.toml"
        submission = read_toml(path, Submission)
        about = submission.about
        try:
            _known("challenge", about.challenge, self.challenges(), "harness ls challenges")
        except NotFoundError as error:
            raise SpecError(path, str(error), field="submission.challenge") from None
        _known_language(path, "submission.language", about.language)
        places = (self.submissions_folder, *map(self.fetched_folder, self.collections()))
        if folder.resolve().parent.parent in [place.resolve() for place in places]:
            for field, value, place in (
                ("model", about.model, folder.resolve().parent.name),
                ("challenge", about.challenge, folder.resolve().name),
            ):
                if value != place:
                    raise SpecError(path, f"is {value!r}, but the folder is {place!r}", field=f"submission.{field}")
        named = [("submission.entry", entry) for entry in submission.entries]
        for field, name in (*named, *(("claims.where", claim.where) for claim in submission.claims if claim.where)):
            if not os.path.isfile(folder / name):
                raise SpecError(path, f"names {name!r}, which is not in {folder}", field=field)
        return submission

    def select(self, names: Sequence[str]) -> list[Path]:
        """Submission folders for names as the command line takes them: MODEL/CHALLENGE, MODEL, CHALLENGE, or a path.

        Raises:
            NotFoundError: a name fits nothing.
        """
        chosen: dict[Path, None] = {}
        for name in names:
            for folder in self._matching(name):
                chosen[folder] = None
        return list(chosen)

    def _matching(self, name: str) -> list[Path]:
        everything = self.submissions()
        root = self.submissions_folder
        found = [p for p in everything if name.rstrip("/") in (f"{p.parent.name}/{p.name}", p.parent.name, p.name)]
        if found:
            return found
        path = Path(name)
        if os.path.exists(path / "submission.toml"):
            return [path]
        if os.path.isdir(path):
            raise NotFoundError(f"{name} holds no submission.toml\n  harness new submission MODEL/CHALLENGE makes one")
        if "/" in name and os.path.isdir(root / name):
            raise NotFoundError(f"submissions/{name} holds no submission.toml")
        known = [f"{p.parent.name}/{p.name}" for p in everything] + self.models() + self.challenges()
        if name in known:
            raise NotFoundError(
                f"nothing is submitted for {name!r}\n  harness new submission MODEL/CHALLENGE makes a folder"
            )
        raise NotFoundError(_unknown("submission, model or challenge", name, known, "harness ls submissions"))

    def record_path(self, model: str, challenge: str) -> Path:
        """Where the record of a submission is kept."""
        return self.records_folder / challenge / f"{model}.json"

    def records(self) -> list[Record]:
        """All records under reports/records/, sorted by challenge and model.

        Raises:
            StoreError: one of them cannot be read.
        """
        return [self.record_in(path) for path in sorted(self.records_folder.glob("*/*.json"))]

    def record(self, name: str) -> Record:
        """The record of `MODEL/CHALLENGE`, or the record in a file.

        Raises:
            NotFoundError: there is none.
            StoreError: it cannot be read.
        """
        path = Path(name)
        if path.suffix == ".json" and os.path.isfile(path):
            return read_stored(path, Record)
        model, _, challenge = name.partition("/")
        path = self.record_path(model, challenge)
        if not os.path.isfile(path):
            known = [f"{p.stem}/{p.parent.name}" for p in self.records_folder.glob("*/*.json")]
            raise NotFoundError(_unknown("record", name, known, f"harness grade {name}"))
        return self.record_in(path)

    def record_in(self, path: Path) -> Record:
        """The record in the place where its model and challenge belong; a copy under another name would count twice.

        Raises:
            StoreError: it cannot be read, or belongs elsewhere.
        """
        record = read_stored(path, Record)
        if (record.model, record.challenge) != (path.stem, path.parent.name):
            raise StoreError(
                f"{path}: is the record of {record.name}, whose place is {record.challenge}/{record.model}.json\n"
                "  move it there, or remove it"
            )
        return record


def known_languages() -> list[str]:
    """Names of the languages that are installed, sorted.

    Raises:
        PrerequisiteError: there are none: this package was installed before it had any.
    """
    names = sorted({point.name for point in entry_points(group=LANGUAGES)})
    if not names:
        command = f"{sys.executable} -m pip install --no-deps -e {Path(__file__).resolve().parents[1]}"
        raise PrerequisiteError(f"the installed harness registers no languages; install it again:\n  {command}")
    return names


def _known_language(path: Path, field: str, name: str) -> None:
    known = known_languages()
    if name not in known:
        hint = f"languages are {', '.join(known)}"
        raise SpecError(path, f"no language {name!r}{nearest(name, known)}", field=field, hint=hint)


def read_stored(path: Path, kind: type[S]) -> S:
    """Read one stored JSON file.

    Raises:
        StoreError: it cannot be read, or a newer harness wrote it.
    """
    try:
        text = path.read_bytes()
        try:
            found = kind.from_json(text)
            version = found.schema_version
        except ValidationError:
            found, version = None, json.loads(text).get("schema_version")
            if not isinstance(version, int) or version <= kind.SCHEMA:
                raise
        if found is None or version > kind.SCHEMA:
            raise StoreError(
                f"{path}: schema {version} is newer than this harness knows ({kind.SCHEMA}); update the harness"
            )
        return found
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise StoreError(
            f"{path}: is not a {kind.__name__.lower()}: {reason}\n  harness grade --force makes a new one"
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step: a reader sees the old file or the new one.

    Raises:
        StoreError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{threading.get_ident()}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise StoreError(f"{path}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def remedy(error: OSError) -> str:
    """What to do about an error of the file system, in a line."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            cure = "make room there, or set TMPDIR to a folder with more"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            cure = "make it writable for this user"
        case errno.EEXIST | errno.ENOTDIR:
            cure = "move away the file that stands where a folder belongs"
        case errno.ENOENT:
            cure = "set TMPDIR to a folder that is not cleaned automatically"
        case _:
            cure = "see to it"
    return f"{cure}; then the same command goes on: finished grades are kept"


def _sweep(path: Path) -> None:
    """Remove what killed writers of `path` left beside it."""
    for left in path.parent.glob(f".{path.name}.*"):
        if left.suffix[1:].isdigit() and not Path("/proc", left.suffix[1:]).exists():
            left.unlink(missing_ok=True)


def _known(kind: str, name: str, known: Sequence[str], command: str) -> None:
    if name not in known:
        raise NotFoundError(_unknown(kind, name, known, command))


def _unknown(kind: str, name: str, known: Sequence[str], command: str) -> str:
    return f"no {kind} {name!r}{nearest(name, known)}\n  try: {command}"


def _folders(root: Path, marker: str | None = None) -> list[str]:
    if not root.is_dir():
        return []
    found = (p for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_")))
    return sorted(p.name for p in found if marker is None or (p / marker).exists())
