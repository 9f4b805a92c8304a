"""All files of a submission that its entries reach, rewritten into another folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from harness.cuda.rewriting import assembly, includes, lexer, source, syntax, unsupported
from harness.cuda.rewriting.edits import Edits, blank_lines
from harness.cuda.rewriting.includes import Includes, IncludeTarget, SourceTree
from harness.cuda.rewriting.lexer import Directive, Lexed, Macro
from harness.cuda.rewriting.shared import SharedVariable
from harness.cuda.rewriting.syntax import QUALIFIERS, line_of
from harness.cuda.rewriting.unsupported import Lacking, UnsupportedConstruct

MAX_FILE_BYTES = 1 << 20
MAX_FILES = 256
C_SUFFIX = ".c"
_SPECIFIERS = QUALIFIERS | frozenset(
    b'inline static extern "C" void const volatile __forceinline__ __noinline__ __inline__ constexpr'.split()
)


@dataclass(frozen=True)
class Rewriting:
    """A submission for the emulated device.

    Attributes:
        files: their new text by path in the submission.
        suspects: what the device may lack; it does where the compiler reports it, too.
        problems: why it must not be compiled, each naming file and line.
        left_out: how many device functions are built without their bodies.
    """

    files: Mapping[str, bytes]
    suspects: tuple[UnsupportedConstruct, ...]
    problems: tuple[str, ...]
    left_out: int = 0


@dataclass
class _File:
    """A file on its way: its text, and the edits to its directives."""

    path: str
    text: bytes
    lexed: Lexed
    edits: Edits = field(default_factory=Edits)
    follows: list[str] = field(default_factory=list)


@dataclass
class _Reader:
    """Reads entries and what they include."""

    tree: SourceTree
    lacking: Mapping[str, Lacking] = field(default_factory=dict)
    files: dict[str, _File] = field(default_factory=dict)
    macros: dict[bytes, list[Macro]] = field(default_factory=dict)
    suspects: list[UnsupportedConstruct] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def read(self, entries: Sequence[str]) -> None:
        """Read all that the entries reach."""
        waiting = list(reversed(entries))
        while waiting:
            path = waiting.pop()
            if path in self.files:
                continue
            if len(self.files) == MAX_FILES:
                self.problems.append(f"{path}: more than {MAX_FILES} files are included")
                return
            text = self._load(path)
            if text is not None:
                file = self.files[path] = _File(path, text, lexer.lex(text))
                self._directives(file)
                waiting += reversed(file.follows)

    def ordered(self, entries: Sequence[str]) -> list[_File]:
        """The files, each after those that it includes."""
        done: dict[str, _File] = {}
        entered: set[str] = set()
        waiting = [(path, False) for path in reversed(entries)]
        while waiting:
            path, left = waiting.pop()
            file = self.files.get(path)
            if file is None or path in done or (path in entered and not left):
                continue
            if left:
                done[path] = file
            else:
                entered.add(path)
                waiting += [(path, True), *((follow, False) for follow in reversed(file.follows))]
        return list(done.values())

    def _load(self, path: str) -> bytes | None:
        place = self.tree.find(path)
        if place is None:
            self.problems.append(f"{path}: no such file in the submission")
            return None
        text = place.read_bytes()
        if len(text) > MAX_FILE_BYTES:
            self.problems.append(f"{path}: larger than {MAX_FILE_BYTES >> 10} KiB")
            return None
        return text.removeprefix(b"\xef\xbb\xbf")

    def _directives(self, file: _File) -> None:
        for macro in filter(None, map(lexer.macro, file.lexed.directives)):
            self.macros.setdefault(macro.name, []).append(macro)
        asked = Includes(self.tree, file.path, self.macros)
        for directive in file.lexed.directives:
            line = line_of(file.text, directive.start)
            for target in asked.of(directive):
                if not target.known:
                    what = f"the header <{target.name}>"
                    self.suspects.append(UnsupportedConstruct(what, file.path, line))
                    if line in self.lacking.get(file.path, {}):
                        file.edits.replace(directive.start, directive.end, b"")
                        continue
                    includes.refuse(directive, f"{what} is not available on the emulated device", file.text, file.edits)
                self._follow(file, target, line)
            for start, end, target in asked.asked(directive.tokens):
                if not target.known:
                    file.edits.replace(start, end, b"0")
                self._follow(file, target, line)
            if _is_blanked(directive):
                lines = blank_lines(file.text[directive.start : directive.end])
                file.edits.replace(directive.start, directive.end, b"\n" * lines.count(b"\n"))
            if directive.name == b"embed":
                self.problems.append(f"{file.path}:{line}: #embed is not allowed")

    def _follow(self, file: _File, target: IncludeTarget, line: int) -> None:
        if target.problem:
            self.problems.append(f'{file.path}:{line}: #include "{target.name}" {target.problem}')
        elif target.file is not None:
            file.follows.append(target.file)


def rewrite(
    folder: Path, entries: Sequence[str], tree: SourceTree | None = None,
    lacking: Mapping[str, Lacking] = MappingProxyType({}),
) -> Rewriting:  # fmt: skip
    """Rewrite the entries of a submission and everything they include from it.

    Args:
        folder: the submission's files.
        entries: paths relative to it.
        tree: it and the folders that are searched for headers; None without any.
        lacking: by file, lines over which the compiler stumbled: device functions that hold one lose their bodies, and
            includes of headers that are not there are passed over.
    """
    reader = _Reader(tree or SourceTree(folder), lacking)
    reader.read(entries)
    expansions = {name: text for name, macros in reader.macros.items() if (text := _qualifiers(macros))}
    known: Mapping[bytes, SharedVariable] = {}
    files = {}
    left_out = 0
    for file in reader.ordered(entries):
        if file.path in entries and file.path.endswith(C_SUFFIX):  # C is no CUDA
            files[file.path] = _named(file.path, file.edits.apply(file.text))
            continue
        reader.suspects += _suspects(file)
        text, edits = _expand(file, expansions)
        done = source.rewrite(text, known, edits, lacking.get(file.path, {}))
        left_out += done.left_out
        known = done.shared
        files[file.path] = _named(file.path, done.text)
    return Rewriting(files, tuple(reader.suspects), tuple(dict.fromkeys(reader.problems)), left_out)


def _named(path: str, text: bytes) -> bytes:
    """A text whose lines the compiler tells as those of `path`."""
    return b'#line 1 "' + path.encode() + b'"\n' + text


def _is_blanked(directive: Directive) -> bool:
    """Whether a directive would move lines, or ask about a file outside."""
    if directive.name == b"line" or directive.name.isdigit():
        return True
    return [token.text for token in directive.tokens[:3]] == [b"pragma", b"GCC", b"dependency"]


def _qualifiers(macros: Sequence[Macro]) -> bytes:
    """What a macro that stands for CUDA qualifiers expands to; empty for any other."""
    for macro in macros:
        texts = [token.text for token in macro.body]
        if macro.parameters is None and QUALIFIERS & set(texts) and set(texts) <= _SPECIFIERS:
            return b" ".join(texts)
    return b""


def _expand(file: _File, expansions: Mapping[bytes, bytes]) -> tuple[bytes, Edits]:
    """The text with such macros expanded, and the edits to its directives where they have come to be."""
    expanding = Edits()
    shifts: list[tuple[int, int]] = []
    for token in file.lexed.tokens:
        if token.kind == "word" and (text := expansions.get(token.text)):
            expanding.replace(token.start, token.end, text)
            shifts.append((token.start, len(text) - (token.end - token.start)))
    if not shifts:
        return file.text, file.edits
    moved = Edits()
    for edit in file.edits.edits:
        by = sum(shift for at, shift in shifts if at < edit.start)
        moved.replace(edit.start + by, edit.end + by, edit.text)
    return expanding.apply(file.text), moved


def _suspects(file: _File) -> Iterator[UnsupportedConstruct]:
    runs = [
        file.lexed.tokens,
        *(directive.tokens for directive in file.lexed.directives if directive.name == b"define"),
    ]
    for tokens in runs:
        for token, what in unsupported.names(tokens):
            yield UnsupportedConstruct(what, file.path, line_of(file.text, token.start))
        for start, end in syntax.asm(tokens, lexer.brackets(tokens)):
            if assembly.translated(tokens[start:end], file.text) is None:
                what = assembly.mnemonic(tokens[start:end])
                yield UnsupportedConstruct(what, file.path, line_of(file.text, tokens[start].start))
