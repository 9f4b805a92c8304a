"""Renders the packaged templates into folders of a workspace."""

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import TypeAdapter, ValidationError

from harness.errors import SpecError
from harness.languages import language
from harness.model import Challenge, Identifier
from harness.workspace import COLLECTIONS, Workspace

CHALLENGE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A challenge's folders are imported as a Python package."""


def challenge(workspace: Workspace, name: str, language: str = "python") -> list[Path]:
    """Make `challenges/<name>` and `references/<name>`; the files made.

    Args:
        workspace: where.
        name: of the challenge.
        language: of its answers.

    Raises:
        SpecError: the name is not valid for a challenge, a folder exists already, or the language has no templates.
    """
    offered = sorted({path.split("/")[1] for path in _templates().list_templates() if path.startswith("challenge/")})
    if language not in offered:
        raise SpecError(name, f"there is no template of a challenge in {language!r}: {', '.join(offered)}")
    if not CHALLENGE_NAME.fullmatch(name):
        raise SpecError(name, "cannot name a challenge: a lower-case letter, then lower case, digits and '_'")
    places = {"challenge": workspace.root / "challenges" / name, "reference": workspace.root / "references" / name}
    for place in places.values():
        _refuse_existing(place)
    words = {"id": name, "title": name.replace("_", " ").strip().capitalize()}
    return [path for kind, place in places.items() for path in _render(f"{kind}/{language}", place, words)]


def submission(workspace: Workspace, name: str) -> list[Path]:
    """Make `submissions/<model>/<challenge>` for `MODEL/CHALLENGE`; the files made.

    Raises:
        SpecError: it is no such name, or the folder exists already.
        NotFoundError: there is no such challenge.
    """
    model, slash, id = name.partition("/")
    if not slash:
        raise SpecError(name, "is no MODEL/CHALLENGE", hint=f"harness new model {name} makes one for every challenge")
    _check_model(model)
    return _answer(workspace, model, workspace.challenge(id))


def model(workspace: Workspace, name: str) -> list[Path]:
    """Make `submissions/<name>/<challenge>` for every challenge; the files made.

    Raises:
        SpecError: the name is not valid for a model, or the folder exists already.
    """
    _check_model(name)
    _refuse_existing(workspace.root / "submissions" / name)
    return [path for id in workspace.challenges() for path in _answer(workspace, name, workspace.challenge(id))]


def _answer(workspace: Workspace, model: str, challenge: Challenge) -> list[Path]:
    place = workspace.root / "submissions" / model / challenge.id
    _refuse_existing(place)
    used = language(challenge.language)
    offers = sorted({c.capability.partition(":")[0] for c in challenge.criteria if c.capability})
    words = {
        "model": model, "challenge": challenge.id, "language": used, "offers": offers,
    }  # fmt: skip
    made = _render("submission", place, words)
    contract = (workspace.challenge_folder(challenge.id) / used.contract).read_text(encoding="utf-8")
    (place / used.entry).write_text(used.stub(contract), encoding="utf-8")
    return [place / used.entry, *made]


def _check_model(name: str) -> None:
    try:
        TypeAdapter(Identifier).validate_python(name)
    except ValidationError:
        raise SpecError(
            name,
            "cannot name a model: lower case, digits, '.', '_' and '-', at most 64, no '.' or '-' first",
        ) from None
    if name == COLLECTIONS:
        raise SpecError(name, "cannot name a model: it is the folder of the collections")


def _refuse_existing(place: Path) -> None:
    if place.exists():
        raise SpecError(place, "exists already; nothing was changed")


def _templates() -> Environment:
    # what is rendered is TOML, Markdown, Python and C++: escaping for HTML would spoil it
    return Environment(
        loader=PackageLoader("harness.cli"), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False,
        trim_blocks=True,
    )  # fmt: skip


def _render(folder: str, place: Path, words: Mapping[str, object]) -> list[Path]:
    """Render every template of a folder into `place`, under its name without `.j2`."""
    templates = _templates()
    place.mkdir(parents=True)
    made = []
    for name in templates.list_templates(filter_func=lambda name: name.startswith(f"{folder}/")):
        path = place / Path(name).name.removesuffix(".j2")
        path.write_text(templates.get_template(name).render(words), encoding="utf-8")
        made.append(path)
    return made
