"""All files that a submission's entries reach, rewritten."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from harness.cuda.rewriting import assembly, includes, source, unsupported
from harness.cuda.rewriting.includes import Includes, IncludeTarget, SourceTree
from harness.cuda.rewriting.steps.shared import SharedVariable
from harness.cuda.rewriting.text import lexer, syntax
from harness.cuda.rewriting.text.edits import Edits, blank_lines
from harness.cuda.rewriting.text.lexer import Directive, Lexed, Macro
from harness.cuda.rewriting.text.syntax import QUALIFIERS, line_of
from harness.cuda.rewriting.unsupported import Lacking, UnsupportedConstruct

MAX_FILE_BYTES = 1 << 20
MAX_FILES = 256
MAX_FILES_OF_MACHINE = 2000
C_SUFFIX = ".c"
HOST_SUFFIXES = frozenset({C_SUFFIX, ".cc", ".cpp", ".cxx"})
_CUDA = frozenset({b"<<<", b"__global__", b"cudaLaunchKernel", b"cudaLaunchCooperativeKernel"})
"""Tokens that need nvcc in host code."""
_SPECIFIERS = QUALIFIERS | frozenset(
    b'inline static extern "C" void const volatile __forceinline__ __noinline__ __inline__ constexpr'.split()
)


@dataclass(frozen=True)
class Rewriting:
    """A submission rewritten for the emulated device.

    Attributes:
        files: new text by path in the submission.
        suspects: constructs that the device may lack; compiler errors confirm them.
        problems: reasons not to compile it, each with file and line.
        left_out: number of emptied device functions.
        host: files as host code sees them, by path.
    """

    files: Mapping[str, bytes]
    suspects: tuple[UnsupportedConstruct, ...]
    problems: tuple[str, ...]
    left_out: int = 0
    host: Mapping[str, bytes] = field(default_factory=dict)
    host_entries: frozenset[str] = frozenset()


@dataclass
class _File:
    path: str
    text: bytes
    lexed: Lexed
    edits: Edits = field(default_factory=Edits)
    follows: list[str] = field(default_factory=list)


@dataclass
class _Reader:
    tree: SourceTree
    lacking: Mapping[str, Lacking] = field(default_factory=dict)
    files: dict[str, _File] = field(default_factory=dict)
    macros: dict[bytes, list[Macro]] = field(default_factory=dict)
    suspects: list[UnsupportedConstruct] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    computed: list[tuple[_File, Directive]] = field(default_factory=list)

    def read(self, entries: Sequence[str]) -> None:
        most = MAX_FILES_OF_MACHINE if self.tree.whole else MAX_FILES
        waiting = list(reversed(entries))
        while waiting or (waiting := self._resolve_computed()):
            path = waiting.pop()
            if path in self.files:
                continue
            if len(self.files) == most:
                self.problems.append(f"{path}: more than {most} files are included")
                return
            text = self._load(path)
            if text is not None:
                file = self.files[path] = _File(path, text, lexer.lex(text))
                self._read_directives(file)
                waiting += reversed(file.follows)

    def order_files(self, entries: Sequence[str]) -> list[_File]:
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

    def _read_directives(self, file: _File) -> None:
        for macro in filter(None, map(lexer.macro, file.lexed.directives)):
            self.macros.setdefault(macro.name, []).append(macro)
        asked = Includes(self.tree, file.path, self.macros)
        for directive in file.lexed.directives:
            line = line_of(file.text, directive.start)
            targets = list(asked.of(directive))
            if any(target.computed for target in targets):
                self.computed.append((file, directive))
            else:
                self._include(file, directive, targets)
            for start, end, target in asked.find_has_include(directive.tokens):
                if not (target.known or self.tree.whole):
                    file.edits.replace(start, end, b"0")
                self._follow(file, target, line)
            if _is_blanked(directive):
                lines = blank_lines(file.text[directive.start : directive.end])
                file.edits.replace(directive.start, directive.end, b"\n" * lines.count(b"\n"))
            if directive.name == b"embed":
                self.problems.append(f"{self.tree.format_path(file.path)}:{line}: #embed is not allowed")

    def _include(self, file: _File, directive: Directive, targets: Sequence[IncludeTarget]) -> None:
        line, told = line_of(file.text, directive.start), self.tree.format_path(file.path)
        for target in targets:
            if not target.known:
                what = f"the header <{target.name}>"
                self.suspects.append(UnsupportedConstruct(what, told, line))
                if line in self.lacking.get(told, {}):
                    file.edits.replace(directive.start, directive.end, b"")
                    continue
                # of several targets of a macro, one is enough
                if not (self.tree.whole or any(other.known for other in targets)):
                    said = f"{what} is not available on the emulated device"
                    includes.refuse(directive, said, file.text, file.edits)
            self._follow(file, target, line)

    def _resolve_computed(self) -> list[str]:
        """Return the files that computed includes now name; if there are none, refuse the remaining ones."""
        left, reached = [], list[str]()
        for file, directive in self.computed:
            targets = list(Includes(self.tree, file.path, self.macros).of(directive))
            if any(target.computed for target in targets):
                left.append((file, directive))
                continue
            before = len(file.follows)
            self._include(file, directive, targets)
            reached += file.follows[before:]
        if not reached:
            for file, directive in left:
                line = line_of(file.text, directive.start)
                for target in Includes(self.tree, file.path, self.macros).of(directive):
                    self._follow(file, target, line)
            left = []
        self.computed = left
        return reached

    def _follow(self, file: _File, target: IncludeTarget, line: int) -> None:
        if target.computed and self.tree.whole:
            return
        if target.problem:
            told = self.tree.format_path(file.path)
            self.problems.append(f'{told}:{line}: #include "{target.name}" {target.problem}')
        elif target.file is not None:
            file.follows.append(target.file)


def rewrite(
    folder: Path,
    entries: Sequence[str],
    tree: SourceTree | None = None,
    lacking: Mapping[str, Lacking] = MappingProxyType({}),
    *,
    host_too: bool = False,
    own_unit: bool = False,
    counted: bool = False,
) -> Rewriting:
    """Rewrite the entries of a submission and their includes.

    Args:
        entries: paths relative to `folder`.
        tree: the submission with its header folders; None for `folder` alone.
        lacking: by file, lines that stopped the compiler: their device functions are emptied, and includes of missing
            headers are dropped.
        host_too: True if C and C++ entries without CUDA are host code, compiled as written.
        own_unit: True if device functions and variables are their unit's, as without nvcc's `-rdc=true`.
        counted: True if device code counts its arithmetic.
    """
    tree = tree or SourceTree(folder)
    reader = _Reader(tree, lacking)
    reader.read(entries)
    host = [path for path in entries if host_too and _is_host_code(reader.files.get(path))]
    expansions = {name: text for name, macros in reader.macros.items() if (text := _find_qualifiers(macros))}
    known: Mapping[bytes, SharedVariable] = {}
    files = {}
    left_out = 0
    as_written = {
        file.path: _add_line_marker(tree.format_path(file.path), file.edits.apply(file.text))
        for file in reader.order_files(host)
    }
    for file in reader.order_files([path for path in entries if path not in host]):
        told = tree.format_path(file.path)
        if file.path in entries and file.path.endswith(C_SUFFIX):  # C is never CUDA
            files[file.path] = _add_line_marker(told, file.edits.apply(file.text))
            continue
        reader.suspects += _find_suspects(file, told)
        text, edits = _expand(file, expansions)
        done = source.rewrite(text, known, edits, lacking.get(told, {}), own_unit=own_unit, counted=counted)
        left_out += done.left_out
        known = done.shared
        files[file.path] = _add_line_marker(told, done.text)
    problems = tuple(dict.fromkeys(reader.problems))
    return Rewriting(files, tuple(reader.suspects), problems, left_out, as_written, frozenset(host))


def _is_host_code(file: _File | None) -> bool:
    if file is None or Path(file.path).suffix not in HOST_SUFFIXES:
        return False
    tokens = [*file.lexed.tokens, *(token for directive in file.lexed.directives for token in directive.tokens)]
    return not any(token.text in _CUDA for token in tokens)


def _add_line_marker(path: str, text: bytes) -> bytes:
    return b'#line 1 "' + path.encode() + b'"\n' + text


def _is_blanked(directive: Directive) -> bool:
    # these would move lines, or depend on a file outside
    if directive.name == b"line" or directive.name.isdigit():
        return True
    return [token.text for token in directive.tokens[:3]] == [b"pragma", b"GCC", b"dependency"]


def _find_qualifiers(macros: Sequence[Macro]) -> bytes:
    # only macros that stand for CUDA qualifiers
    for macro in macros:
        texts = [token.text for token in macro.body]
        if macro.parameters is None and QUALIFIERS & set(texts) and set(texts) <= _SPECIFIERS:
            return b" ".join(texts)
    return b""


def _expand(file: _File, expansions: Mapping[bytes, bytes]) -> tuple[bytes, Edits]:
    expanding = Edits()
    shifts: list[tuple[int, int]] = []
    for token in file.lexed.tokens:
        if token.kind == "word" and (text := expansions.get(token.text)):
            expanding.replace(token.start, token.end, text)
            shifts.append((token.start, len(text) - (token.end - token.start)))
    if not shifts:
        return file.text, file.edits
    # the edits to directives move with the text
    moved = Edits()
    for edit in file.edits.edits:
        by = sum(shift for at, shift in shifts if at < edit.start)
        moved.replace(edit.start + by, edit.end + by, edit.text)
    return expanding.apply(file.text), moved


def _find_suspects(file: _File, told: str) -> Iterator[UnsupportedConstruct]:
    defines = (directive.tokens for directive in file.lexed.directives if directive.name == b"define")
    for tokens in (file.lexed.tokens, *defines):
        for token, what in unsupported.names(tokens):
            yield UnsupportedConstruct(what, told, line_of(file.text, token.start))
        for start, end in syntax.asm(tokens, lexer.brackets(tokens)):
            if assembly.translate(tokens[start:end], file.text) is None:
                what = assembly.mnemonic(tokens[start:end])
                yield UnsupportedConstruct(what, told, line_of(file.text, tokens[start].start))
