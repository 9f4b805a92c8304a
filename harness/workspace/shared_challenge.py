"""The challenge whose modules another challenge imports."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from harness.errors import SpecError, nearest
from harness.model import Challenge
from harness.model.manifest import read_toml

RUBRIC = "challenge.toml"
_FIELD = "shares"


def find_shared(folders: Mapping[str, Path], challenge: Challenge) -> Path | None:
    """Return the folder of the challenge that one shares modules of: that beside it, else that of the workspace.

    A bundled challenge therefore never gets the modules of a workspace's own challenge of an equal name.

    Args:
        folders: those of all challenges, by id.

    Raises:
        SpecError: there is none, it shares modules itself, or a file of the challenge has its name.
    """
    shared = challenge.shares
    if shared is None:
        return None
    own = folders[challenge.id]
    beside = own.with_name(shared)
    place = beside if (beside / RUBRIC).is_file() else folders.get(shared)
    if place is None:
        _refuse(own, f"there is no challenge {shared!r}{nearest(shared, folders)}", "harness ls challenges lists them")
    if place == own:
        _refuse(own, f"{shared!r} is the challenge itself", "name another one, or leave the field out")
    if (further := read_toml(place / RUBRIC, Challenge).shares) is not None:
        _refuse(own, f"{shared!r} itself shares {further!r}", "name a challenge that shares no other's modules")
    if (hidden := own / f"{shared}.py").exists():
        _refuse(own, f"{shared!r} is also the name of {hidden}", "rename that file: nothing could import it")
    return place


def _refuse(own: Path, problem: str, hint: str) -> NoReturn:
    raise SpecError(own / RUBRIC, problem, field=_FIELD, hint=hint)
