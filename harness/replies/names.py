"""File names of blocks, from the info string, the first line, or a label above."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from harness.errors import ReplyError
from harness.languages import Language, every_language
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.model.submissions.file_names import is_reserved, name_problem
from harness.replies.blocks import MARKDOWN, NEW, SHELL, CodeBlock
from harness.replies.text import ReplyProblem

_DOCUMENTS = {
    "md": MARKDOWN,
    "toml": {"toml", "ini"},
    "yaml": {"yaml", "yml"},
    "yml": {"yaml", "yml"},
    "json": {"json", "jsonc"},
    "sh": SHELL,
    "cmake": {"cmake"},
    "rst": {"rst"},
    "txt": {"cmake"},
    "cfg": {"ini"},
    "ini": {"ini"},
    "csv": {"csv"},
    "rs": {"rust"},
    "js": {"javascript"},
    "ts": {"typescript"},
    "go": {"go"},
    "java": {"java"},
    "jl": {"julia"},
    "ipynb": {"json"},
    "tex": {"latex", "tex"},
    "ptx": {"ptx"},
    "pyi": {"python"},
}
"""Suffixes of files in unsupported languages, with the names that info strings use."""
_WHOLE_NAMES = ("Makefile", "CMakeLists.txt", "Dockerfile")
PLAIN = frozenset({"", "text", "txt", "plaintext", "plain", "output", "code", "none", "file", "title", NEW})
_LONGEST = 500
"""Characters of a line in which names are sought."""
_NEAR, _FAR = 4, 12
"""Lines above a block in which a line with a colon, or a heading, names it."""
_ATTRIBUTE = re.compile(
    r"\b(?:title|file|filename|name|path|filepath)[ ]?=[ ]?"
    r"(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'|([^\s\"'}>]{1,300}))"
)
_SUFFIX = re.compile(r"\.[A-Za-z]\w{0,9}\.?$")
_COMMENT = re.compile(r"[ \t]{0,9}(?:#|//|/\*\*?|<!--|;|%%(?:write)?file|%|\"\"\"|''')[ \t/*#=-]{0,40}(?P<said>.*)")
_MAGIC = re.compile(r"%%(?:write)?file[ ]")
_FIRST = re.compile(
    r"(?:\w{1,20}[ ]?[:\uff1a][ ]?)?[`\"']?(?P<name>[^\s`\"':(]{1,300})[`\"':]?"
    r"(?:[ ]{0,9}[-(\u2013\u2014].*|[ \t*/=>#\"'-]*)$"
)
_HEADING = re.compile(
    r"[ \t>]{0,20}(?:#{1,6}[ \t]|(?:[-*+]|[0-9]{1,3}[.)])?[ ]?(?:\*\*|__).*(?:\*\*|__)[^\w]{0,3}"
    r"|.*<(?:summary|h[1-6])\b)"
)
_COLON = re.compile(r".*[:\uff1a][\s*_`]{0,9}$")
_BARE = re.compile(r"[\W_]{0,9}(?:\w{1,20}[ ]?[:\uff1a][\W_]{0,9})?(?P<name>[\w.+/\\~-]{1,300}?)[\W_]{0,9}")


class NamedBy(StrEnum):
    """Source of a file name."""

    INFO = "info string"
    FIRST_LINE = "first line"
    LABEL = "label above"
    MENTION = "the only name in the reply"
    IMPORT = "import in another block"
    SETTINGS = "the reply's submission.toml"
    PATCH = "patch"
    TAKE = "--take"
    DEFAULT = "default"


class FileName(NamedTuple):
    """A relative path, and its source."""

    path: str
    by: NamedBy


def name_of(block: CodeBlock) -> FileName | None:
    """Return the name of a block's file; None without one that fits its language."""
    return next(
        (name for name in _find_names(block) if name.by is NamedBy.INFO or _fits(name.path, block.tongue)), None
    )


def text_of(block: CodeBlock) -> str:
    """Return a block's text without a notebook's `%%writefile` line."""
    return block.text.partition("\n")[2] if _MAGIC.match(block.text) else block.text


def names_in(text: str) -> list[str]:
    """Return the distinct file names in a line."""
    found = (match["path"] for match in _build_pattern().finditer(text[:_LONGEST]))
    return list(dict.fromkeys(name for name in found if "//" not in name))


def only_name(lines: Iterable[str], used: Language, others: Iterable[str]) -> str:
    """Return the only source file that lines mention, `others` aside, or ""."""
    taken = set(others)
    found = {
        name
        for line in lines
        for name in names_in(line)
        if name.endswith(used.suffix) and not used.syntax.is_test(name) and name not in taken
    }
    return found.pop() if len(found) == 1 else ""


def find_language(tongue: str, path: str, default: Language) -> Language | None:
    """Return the language of a file's suffix, or of a nameless block's info string; try `default` first."""
    dot = path.rpartition(".")[2].lower() if "." in path else ""
    for used in (default, *(each for each in _load_languages() if each is not default)):
        if (dot and f".{dot}" in used.syntax.suffixes) or (not path and tongue in _list_fences(used)):
            return used
    return None


def labels_within(text: str, own: str) -> Iterator[int]:
    """Yield the numbers of lines that are comments with just the name of a file other than `own`."""
    for number, line in enumerate(text.split("\n"), 1):
        said = _COMMENT.match(line[:_LONGEST]) if not line.startswith((" ", "\t")) else None
        found = _FIRST.match(said["said"].strip()) if said else None
        if found and found["name"] != own and names_in(found["name"]) == [found["name"]]:
            yield number


def safe(path: str, reply: str, line: int) -> str:
    """Return a name as a relative path for the submission's folder.

    Raises:
        ReplyError: it leads out of the folder, or is reserved.
    """
    name = path.replace("\\", "/").removeprefix("./")
    problem = name_problem(name)
    if not problem and (":" in name or name.startswith("~")):
        problem = "is an absolute path"
    elif not problem and any(part.startswith((".", "-")) for part in name.split("/")):
        problem = "is hidden, or begins with '-'"
    elif not problem and is_reserved(name) and name != SUBMISSION_FILE:
        problem = "is kept for the harness"
    if problem:
        raise ReplyError(
            reply,
            ReplyProblem.UNSAFE_NAME,
            f"names the file {path!r} in line {line}, which {problem}",
            hint="change that name in the reply, and import it again",
        )
    return name


def _find_names(block: CodeBlock) -> Iterator[FileName]:
    if name := _find_in_info(block.info):
        yield FileName(name, NamedBy.INFO)
        return
    first = next((line for line in block.text.split("\n", 2)[:2] if not line.startswith(("#!", "# -*-", "<?"))), "")
    if (said := _COMMENT.match(first[:_LONGEST])) and (found := _FIRST.match(said["said"].strip())):
        yield from (FileName(name, NamedBy.FIRST_LINE) for name in names_in(found["name"]) if name == found["name"])
    yield from (FileName(name, NamedBy.LABEL) for name in _find_labels(block.above))


def _find_in_info(info: str) -> str:
    if found := _ATTRIBUTE.search(info[:_LONGEST]):
        name = next(group for group in found.groups() if group)
        return name if _SUFFIX.search(name) or name in _WHOLE_NAMES else ""
    names = names_in(info.replace(":", " ", 1)) or names_in(info)
    return names[0] if len(names) == 1 else ""


def _find_labels(above: Iterable[str]) -> Iterator[str]:
    for distance, line in enumerate(above):
        names = names_in(line)
        if distance >= _FAR:
            return
        if len(names) != 1:
            continue
        bare = _BARE.fullmatch(line[:_LONGEST])
        near = distance < _NEAR and (_COLON.match(line[:_LONGEST]) or (bare and bare["name"] == names[0]))
        if near or _HEADING.match(line[:_LONGEST]):
            yield names[0]


def _fits(path: str, tongue: str) -> bool:
    if tongue in PLAIN:
        return True
    suffix = path.rpartition(".")[2].lower()
    fits = set(_DOCUMENTS.get(suffix, ()))
    for used in _load_languages():
        if f".{suffix}" in used.syntax.suffixes:
            fits |= _list_fences(used)
    return not fits or tongue in fits


@cache
def _build_pattern() -> re.Pattern[str]:
    sources = {suffix.lstrip(".") for used in _load_languages() for suffix in used.syntax.suffixes}
    suffixes = "|".join(sorted({*sources, *_DOCUMENTS}, key=len, reverse=True))
    whole = "|".join(map(re.escape, _WHOLE_NAMES))
    part = r"[\w.+\\/~-]"  # ASCII only: some scripts put no space between a word and a name
    return re.compile(
        rf"(?<![\w.+\\/~:-])(?P<path>(?:[A-Za-z]:)?(?:{part}{{0,198}}\w\.(?:{suffixes})|{whole}))(?![\w/\\]|\.\w)",
        re.ASCII,
    )


@cache
def _load_languages() -> tuple[Language, ...]:
    # cached: finding them reads the metadata of every package
    return tuple(every_language())


def _list_fences(used: Language) -> frozenset[str]:
    return used.fences | {used.name, used.suffix.lstrip(".")}
