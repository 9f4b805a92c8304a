"""The C++ compiler's messages on rewritten source, in the author's terms."""

import re
from collections.abc import Sequence

from harness.cuda.rewriting import UnsupportedConstruct
from harness.cuda.rewriting.text.fragment import PREFIX
from harness.cuda.rewriting.unsupported import UNREAD, is_name, words_of_thrust

_SAID_AT = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_UNKNOWN = re.compile(
    r"was not declared|has not been declared|does not name a|is not a member of|undeclared identifier|unknown type name"
    r"|no member named|no template named"
)
_QUOTED = re.compile("[‘'`]([^’']+)[’']")
_GENERATED_NAME = re.compile(PREFIX.decode() + r"(?:body(?:_\d+)?|type|slot|symbol)")
_ASSEMBLY = "inline assembly"
_INSIDE = re.compile(r"(?:/submission|/extra/\w+|\S*/harness-\d+-\w+/(?:source|host))/")


def clean(text: str) -> str:
    """Strip folders and names unknown to the author."""
    return _INSIDE.sub("", _GENERATED_NAME.sub("", text)).strip()


def select_runtime_suspects(suspects: Sequence[UnsupportedConstruct]) -> tuple[UnsupportedConstruct, ...]:
    """Return the suspects of compiled source that end the run when reached."""
    return tuple(suspect for suspect in suspects if suspect.what.startswith(_ASSEMBLY))


def reasons(errors: str, suspects: Sequence[UnsupportedConstruct]) -> tuple[UnsupportedConstruct, ...]:
    """Return the suspects that stopped the compiler, and constructs unreadable to the rewriting."""
    said = [(match["file"], int(match["line"]), match["text"]) for match in _SAID_AT.finditer(errors)]
    found = [
        suspect
        for suspect in suspects
        if _is_of(suspect, [text for file, line, text in said if (file, line) == (suspect.file, suspect.line)])
    ]
    for file, line, text in said:
        found += [UnsupportedConstruct(what, file, line) for mark, what in UNREAD.values() if mark.decode() in text]
    return tuple(dict.fromkeys(found))


def _is_of(suspect: UnsupportedConstruct, errors: Sequence[str]) -> bool:
    # an unknown name must be one that the device lacks, not one whose include the author forgot; further errors follow
    # from the first
    unknown = [error for error in errors if _UNKNOWN.search(error)]
    if suspect.what.startswith(_ASSEMBLY) or not unknown:
        return bool(errors)
    return any(_lacks(suspect, _QUOTED.findall(error)) for error in unknown)


def _lacks(suspect: UnsupportedConstruct, quoted: Sequence[str]) -> bool:
    missing = set(re.findall(r"\w+", "".join(quoted[:1]))) - {"thrust"}
    if suspect.what.startswith("Thrust") and missing & words_of_thrust():
        return False
    return any(is_name(word.encode()) for word in re.findall(r"\w+", " ".join(quoted)))
