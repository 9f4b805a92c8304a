"""Rendering of the packaged templates into folders of a workspace."""

import contextlib
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import TypeAdapter, ValidationError

from harness.errors import SpecError, StoreError
from harness.languages import language
from harness.model import Challenge, Identifier
from harness.model.submissions.name import SubmissionName
from harness.workspace import COLLECTIONS, SETTINGS_FILE, Workspace
from harness.workspace.bundled_challenges import find_bundle
from harness.workspace.stored_files import remedy

CHALLENGE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""Names of challenges, which are also names of Python packages."""


def challenge(workspace: Workspace, name: str, language: str = "python", shadow: bool = False) -> list[Path]:
    """Create `challenges/<name>` and `references/<name>`, and return the files.

    Args:
        shadow: replace a bundled challenge of that name.

    Raises:
        SpecError: the name is invalid or a bundled challenge's, a folder exists, or the language has no templates.
    """
    offered = sorted(
        {path.split("/")[1] for path in _load_templates().list_templates() if path.startswith("challenge/")}
    )
    if language not in offered:
        raise SpecError(name, f"there is no template of a challenge in {language!r}: {', '.join(offered)}")
    if not CHALLENGE_NAME.fullmatch(name):
        raise SpecError(name, "cannot name a challenge: a lower-case letter, then lower case, digits and '_'")
    places = {"challenge": workspace.root / "challenges" / name, "reference": workspace.root / "references" / name}
    for place in places.values():
        _refuse_existing(place)
    if name in workspace.challenges() and not shadow:
        hidden = "is a bundled challenge, which one of the same name would hide; nothing was changed"
        raise SpecError(name, hidden, hint=f"try: another name, or harness new challenge {name} --shadow")
    words = {"id": name, "title": name.replace("_", " ").strip().capitalize()}
    with _remove_on_failure(*places.values()):
        return [path for kind, place in places.items() for path in _render(f"{kind}/{language}", place, words)]


def list_template_parts(workspace: Workspace, challenge: Challenge) -> list[str]:
    """Return the parts of a challenge that still equal the template: `PROMPT.md`, `summary`."""
    folder = workspace.challenge_folder(challenge.id)
    texts = dict(_render_texts(f"challenge/{challenge.language}", {"id": challenge.id, "title": challenge.title}))
    found = []
    if (folder / "PROMPT.md").is_file() and (folder / "PROMPT.md").read_text("utf-8") == texts.get("PROMPT.md"):
        found.append("PROMPT.md")
    if challenge.summary == tomllib.loads(texts.get("challenge.toml", "")).get("summary"):
        found.append("summary")
    return found


def submission(workspace: Workspace, name: str, shadow: bool = False) -> list[Path]:
    """Create `submissions/<model>/<challenge>` for `MODEL/CHALLENGE`, and return the files.

    Args:
        shadow: replace a collection's submission of that name.

    Raises:
        SpecError: the name is malformed or a collection's, or the folder exists.
        NotFoundError: the challenge is unknown.
        StoreError: the folder cannot be written.
    """
    model, slash, id = name.partition("/")
    if not slash:
        hint = f"try: harness new submission {name}/CHALLENGE, or harness new model {name} for every challenge"
        raise SpecError(name, "is no MODEL/CHALLENGE", hint=hint)
    check_model(model)
    refuse_shadowing(workspace, [SubmissionName(model, id)], "harness new submission", shadow)
    return _make_submission(workspace, model, workspace.challenge(id))


def model(workspace: Workspace, name: str, shadow: bool = False) -> list[Path]:
    """Create `submissions/<name>/<challenge>` for every challenge, and return the files.

    Raises:
        SpecError: the name is invalid or, without `shadow`, used in a collection, or the folder exists.
    """
    check_model(name)
    refuse_shadowing(
        workspace, [SubmissionName(name, id) for id in workspace.challenges()], "harness new model", shadow
    )
    _refuse_existing(workspace.root / "submissions" / name)
    return [
        path for id in workspace.challenges() for path in _make_submission(workspace, name, workspace.challenge(id))
    ]


def workspace(folder: Path, with_challenges: bool = False) -> tuple[list[Path], list[Path]]:
    """Create a workspace, and return (new, existing) files and folders.

    Args:
        folder: its root, which may hold other files.
        with_challenges: copy the bundled challenges and their references, to edit them.

    Raises:
        SpecError: it is a workspace already.
        PrerequisiteError: this installation has no bundled challenges.
        StoreError: it cannot be written.
    """
    bundled = find_bundle()
    for taken in (folder / SETTINGS_FILE, folder / "challenges", folder / "references"):
        if taken.exists():
            raise SpecError(folder, f"is a workspace already: it holds {taken.name}; nothing was changed")
    made: list[Path] = []
    kept: list[Path] = []
    try:
        for name in ("submissions", "reports"):
            (made if not (folder / name).exists() else kept).append(folder / name)
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in _render_texts("workspace", {}):
            path = folder / name
            (kept if path.exists() else made).append(path)
            if not path.exists():
                path.write_text(text, encoding="utf-8")
        for name in ("challenges", "references") if with_challenges else ():
            shutil.copytree(bundled / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            made.append(folder / name)
    except OSError as error:
        todo = "make room or make it writable, remove what was made there, and run the command again"
        raise StoreError(f"{folder}: cannot be written: {error.strerror}\n  {todo}") from error
    return made, kept


def _make_submission(workspace: Workspace, model: str, challenge: Challenge) -> list[Path]:
    place = workspace.root / "submissions" / model / challenge.id
    _refuse_existing(place)
    used = language(challenge.language)
    offers = sorted({c.capability.partition(":")[0] for c in challenge.criteria if c.capability})
    words = {"model": model, "challenge": challenge.id, "language": used, "offers": offers}
    contract = _read_contract(workspace.challenge_folder(challenge.id) / used.contract)
    with _remove_on_failure(place):
        made = _render("submission", place, words)
        (place / used.entry).write_text(used.stub(contract), encoding="utf-8")
    return [place / used.entry, *made]


def _read_contract(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(path, f"cannot be read: {error}", hint="stubs are made of it") from None


def check_model(name: str) -> None:
    """Refuse an invalid model name.

    Raises:
        SpecError: the name is invalid.
    """
    try:
        TypeAdapter(Identifier).validate_python(name)
    except ValidationError:
        problem = "cannot name a model: lower case, digits, '.', '_' and '-', at most 64, no '.' or '-' first"
        raise SpecError(name, problem) from None
    if name == COLLECTIONS:
        raise SpecError(name, "cannot name a model: it is the folder of the collections")


def refuse_shadowing(workspace: Workspace, names: Iterable[SubmissionName], command: str, shadow: bool = False) -> None:
    """Refuse submissions that would hide fetched ones of a collection, unless `shadow`.

    Raises:
        SpecError: one would.
    """
    for name in names:
        if not shadow and (collection := hidden_collection(workspace, name)):
            problem = f"is an answer of the collection {collection}, which one of the same name would hide"
            hint = f"try: another model name, or {command} ... --shadow"
            raise SpecError(name.answer, f"{problem}; nothing was changed", hint=hint)


def hidden_collection(workspace: Workspace, name: SubmissionName) -> str | None:
    """Return the collection with a fetched submission of that name, or None."""
    places = ((id, workspace.fetched_folder(id) / name.answer) for id in workspace.collections())
    return next((id for id, place in places if place.is_dir()), None)


def _refuse_existing(place: Path) -> None:
    if place.exists():
        raise SpecError(place, "exists already; nothing was changed")


@contextlib.contextmanager
def _remove_on_failure(*places: Path) -> Iterator[None]:
    """Remove the folders again if writing them fails, and raise `StoreError`."""
    above = [folder for place in places for folder in place.parents if not folder.exists()]
    try:
        yield
    except OSError as error:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
        for folder in above:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise StoreError(f"{places[0]}: cannot be written: {error.strerror}\n  {remedy(error)}") from error


def _load_templates() -> Environment:
    # no autoescape: the output is TOML, Markdown, Python and C++, not HTML
    loader = PackageLoader("harness.cli")
    return Environment(
        loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False, trim_blocks=True
    )


def _render(folder: str, place: Path, words: Mapping[str, object]) -> list[Path]:
    place.mkdir(parents=True)
    made = []
    for name, text in _render_texts(folder, words):
        made.append(place / name)
        made[-1].write_text(text, encoding="utf-8")
    return made


def _render_texts(folder: str, words: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    templates = _load_templates()
    for name in templates.list_templates(filter_func=lambda name: name.startswith(f"{folder}/")):
        yield Path(name).name.removesuffix(".j2"), templates.get_template(name).render(words)
