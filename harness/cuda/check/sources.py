"""A check that CUDA source reads only the submission and the compiler's own headers.

It refuses the source before a compiler runs, on every machine alike; not every sandbox hides all other files.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

FILE_LIMIT = 4 << 20
"""Most bytes of one source file."""

_SPLICE = re.compile(r"\\[ \t]*\r?\n")
# an unclosed literal ends with its line, as in gcc
TOKEN = re.compile(
    r"""(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z))
    |(?P<word>[^\W\d]\w*)
    |(?P<number>\.?\d(?:'?[\w.])*)
    |(?P<string>"(?:\\[^\n]|[^"\\\n])*+"?)
    |(?P<character>'(?:\\[^\n]|[^'\\\n])*+'?)
    |(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[^\S\n]*(?:\#|%:)[^\S\n]*(?P<name>\w+)(?P<rest>[^\n]*)", re.MULTILINE)
_OPERAND = re.compile(r"""\s*(?:"(?P<quoted>[^"\n]*)"|<(?P<angle>[^>\n]*)>)""")
_QUERY = re.compile(r"__has_(?:include|include_next|embed)\s*\((?P<operand>[^\n)]*)\)?")
_ESCAPE = re.compile(r"\\(?:x(?P<hex>[0-9a-fA-F]+)|(?P<octal>[0-7]{1,3})|(?P<plain>.))", re.DOTALL)
_ASSEMBLER = re.compile(r"\.\s{0,8}(incbin|include)\b", re.IGNORECASE)
_READS = frozenset({"include", "include_next", "import", "embed"})


@dataclass(frozen=True)
class Refusal:
    """A line that would read outside the submission, with the file relative to it."""

    file: str
    line: int
    text: str


@dataclass
class _Walk:
    root: Path
    seen: set[Path] = field(default_factory=set)

    def file(self, path: Path) -> Iterator[Refusal]:
        if path in self.seen:
            return
        self.seen.add(path)
        name = path.relative_to(self.root).as_posix()
        if path.stat().st_size > FILE_LIMIT:
            yield Refusal(name, 0, f"larger than the {FILE_LIMIT >> 20} MiB that one source file may have")
            return
        text = _splice(path.read_text(encoding="utf-8", errors="replace"))
        bare = _blank_comments(text)
        yield from _find_embedded(name, bare)
        line, counted = 1, 0
        for found in _DIRECTIVE.finditer(bare):
            line, counted = line + bare.count("\n", counted, found.start()), found.start()
            yield from self.directive(path, Refusal(name, line, ""), found["name"], found["rest"])

    def directive(self, path: Path, at: Refusal, name: str, rest: str) -> Iterator[Refusal]:
        for query in _QUERY.finditer(rest):
            operand = _OPERAND.match(query["operand"])
            if operand is None or self.outside(path, operand):
                yield Refusal(at.file, at.line, f"{query[0].strip()}: asks for a file outside the submission")
        if name in _READS:
            operand = _OPERAND.match(rest)
            if operand is None:
                yield Refusal(at.file, at.line, f"#{name} of a name that a macro makes up: state the file itself")
            elif self.outside(path, operand) or name == "embed":
                yield Refusal(at.file, at.line, f"#{name} {operand[0].strip()}: outside the submission")
            elif operand["quoted"] is not None:
                for found in self.inside(path, operand["quoted"]):
                    yield from self.file(found)
        elif name == "line" or name.isdigit() or (name == "pragma" and re.match(r"\s*GCC\s+dependency\b", rest)):
            named = re.search(r'["<]([^">\n]*)', rest)
            if named and _is_leaving(named[1]):
                yield Refusal(at.file, at.line, f"#{name} names a file outside the submission")

    def outside(self, path: Path, operand: re.Match[str]) -> bool:
        name = operand["quoted"] if operand["quoted"] is not None else operand["angle"]
        # wherever the compiler would look for it
        if PurePosixPath(name).is_absolute() or "\\" in name or "\0" in name:
            return True
        if ".." not in PurePosixPath(name).parts:
            return False
        # relative to the including file, a path may go up inside the submission
        return operand["quoted"] is None or not (path.parent / name).resolve().is_relative_to(self.root)

    def inside(self, path: Path, name: str) -> Iterator[Path]:
        for folder in (path.parent, self.root):
            found = (folder / name).resolve()
            if found.is_file() and found.is_relative_to(self.root):
                yield found


def refusals(folder: Path, entries: Sequence[str]) -> tuple[Refusal, ...]:
    """Return every line of the entries and their includes that would read outside `folder`."""
    root = folder.resolve()
    walk = _Walk(root)
    found: list[Refusal] = []
    for entry in entries:
        path = (root / entry).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            found.append(Refusal(entry, 0, "no such file in the submission"))
        else:
            found += walk.file(path)
    return tuple(found)


def _is_leaving(name: str) -> bool:
    return PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts


def _splice(text: str) -> str:
    """Join continued lines, and move their breaks behind them so that later lines keep their numbers."""
    if "\\" not in text:
        return text
    lines: list[str] = []
    owed = 0
    for line in text.splitlines(keepends=True):
        joined = _SPLICE.sub("", line)
        owed += joined != line
        lines.append(joined)
        if joined == line:
            lines.append("\n" * owed)
            owed = 0
    return "".join(lines)


def _blank_comments(text: str) -> str:
    """Blank comments except line breaks, and `#` in raw strings, which starts no directive."""

    def keep(found: re.Match[str]) -> str:
        if found["comment"] is not None:
            return " " + "\n" * found[0].count("\n")
        return found[0].replace("#", " ").replace("%:", "  ") if found["raw"] else found[0]

    return TOKEN.sub(keep, text)


def _find_embedded(name: str, bare: str) -> Iterator[Refusal]:
    before = ""
    for found in TOKEN.finditer(bare):
        if found["string"] is not None or found["raw"] is not None:
            # pieces of one directive may lie in neighbouring literals
            text = before[-32:] + _decode(found)
            match, before = _ASSEMBLER.search(text), text
        else:
            match = re.fullmatch("(incbin)", found["word"] or "")
        if match:
            line = bare.count("\n", 0, found.start()) + 1
            yield Refusal(name, line, f".{match[1].lower()} makes the assembler read a file")
            return


def _decode(found: re.Match[str]) -> str:
    if found["raw"]:
        return found[0].partition("(")[2].rpartition(")")[0]

    def character(escape: re.Match[str]) -> str:
        code = int(escape["hex"], 16) if escape["hex"] else int(escape["octal"], 8) if escape["octal"] else None
        return escape["plain"] if code is None else chr(code) if code < 0x110000 else "?"

    return _ESCAPE.sub(character, found[0].strip('"'))
