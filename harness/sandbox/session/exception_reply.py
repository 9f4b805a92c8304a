"""A submission's exception, as its worker describes it."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from harness.model import Location
from harness.sandbox.inside import wire
from harness.sandbox.session.reply import CallStatus, Reply
from harness.sandbox.session.snapshots import has_line


def make_exception_reply(claim: Any, folder: Path, sources: Collection[str]) -> Reply | None:
    """Return the reply to a call that raised; None if malformed.

    Args:
        claim: type name, message, built-in base types, file and line.
        sources: files in `folder` whose locations count.
    """
    if not isinstance(claim, list) or len(claim) != 4:
        return None
    kind, text, lineage, place = claim
    if not (_is_text(kind, wire.NAME_LIMIT) and _is_text(text, wire.TEXT_LIMIT) and isinstance(lineage, list)):
        return None
    if not all(_is_text(name, wire.NAME_LIMIT) for name in lineage):
        return None
    said = f"{kind}: {text}" if text else kind
    locations = _locations(place, folder, sources)
    return Reply(
        CallStatus.RAISED,
        text=f"{said} ({locations[0]})" if locations else said,
        exception=kind,
        lineage=tuple(lineage),
        locations=locations,
    )


def _locations(place: Any, folder: Path, sources: Collection[str]) -> tuple[Location, ...]:
    if not isinstance(place, list) or len(place) != 2:
        return ()
    file, line = place
    if not isinstance(file, str) or file not in sources or type(line) is not int or line < 1:
        return ()
    return tuple(location for location in Location.within(file, line) if has_line(folder, location))


def _is_text(item: Any, limit: int) -> bool:
    return isinstance(item, str) and len(item) <= limit
