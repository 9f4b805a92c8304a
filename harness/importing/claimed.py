"""Claims of optional features on the command line."""

from collections.abc import Iterable

from harness.errors import SpecError, nearest
from harness.model import Challenge
from harness.model.submissions.submission import Capability

OPTION = "--claim"


def options_of(challenge: Challenge) -> list[str]:
    """Return the sorted optional features that the rubric has criteria on."""
    return sorted({criterion.capability for criterion in challenge.criteria if criterion.capability})


def parse_claims(words: Iterable[str], challenge: Challenge) -> dict[str, Capability]:
    """Return the `[capabilities]` table of a submission.toml for some claims.

    `words` are `fork`, `quantized:int8`, `quantized` for all of its values, `paged.page_size=16`, or `max_k=64`.

    Raises:
        SpecError: the rubric lacks an option, or a setting is not a whole number.
    """
    known = options_of(challenge)
    found: dict[str, Capability] = {}
    for word in words:
        name, setting, number = _split_claim(word)
        values = tuple(v for n, _, v in (one.partition(":") for one in known) if v and word in (n, f"{n}:{v}"))
        if name not in known and not values and (number is None or setting):
            problem = f"{challenge.id} has no option {word!r}{nearest(word, known)}"
            raise SpecError(OPTION, problem, hint=f"try: one of {', '.join(known)}" if known else "try: leave it out")
        before = found.get(name)
        if setting and number is not None:
            found[name] = {**(before if isinstance(before, dict) else {}), setting: number}
        elif values:
            found[name] = tuple(dict.fromkeys((*(before if isinstance(before, tuple) else ()), *values)))
        else:
            found[name] = True if number is None else number
    return found


def _split_claim(word: str) -> tuple[str, str, int | None]:
    # a claim is NAME, NAME:VALUE, NAME=NUMBER or NAME.SETTING=NUMBER
    place, equals, value = word.partition("=")
    if equals and not value.isdigit():
        raise SpecError(OPTION, f"{word!r}: {value!r} is no whole number", hint=f"try: {OPTION} {place}=16")
    name, _, setting = place.partition(":")[0].partition(".")
    return name, setting, int(value) if equals else None
