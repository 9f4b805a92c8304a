"""An audit of preprocessed source, for constructs that would hide memory accesses.

It refuses source that differs between the two builds, which detects the instrumentation, and words that hide code from
the hooks, even if macros assemble them.
"""

import hashlib
import itertools
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from harness.cuda.rewriting.text import lexer
from harness.cuda.rewriting.text.fragment import PREFIX
from harness.cuda.rewriting.text.syntax import ASM, line_of

MAX_BYTES = 64 << 20
"""Most bytes of preprocessed text."""
_MARKER = re.compile(rb'^# (?P<line>\d+) "(?P<file>(?:[^"\\\n]|\\.)*)"[ \d]*$', re.MULTILINE)
_LIKE_A_MARKER = re.compile(rb"\n[ \t]*#[ \t]*\d")
_OF_THE_DEVICE = re.compile(rb"(?:__)?(?:emu|EMU)_\w*|__tsan_\w*")
_UNSEEN = re.compile(rb"_*(?:no_sanitize|disable_sanitizer|no_thread_safety)\w*")
_COPIES = re.compile(rb"(?:__builtin_+)?(?:mem(?:cpy|move|set|pcpy|ccpy)|bcopy|bzero)(?:_chk)?")
"""Functions that move memory unseen by hooks; the rewriting replaces every plain call."""
_DEVICE_CALLS = (b"access", b"atomic")
"""Functions of the device for the shims alone."""
_STUB = tuple(b"emu :: launch ( emu_kernel , [ = ] ( ) __attribute__ ( (".split())
_STUBBED = tuple(b'no_sanitize ( " ) ) ) {'.split())
_NAME = re.compile(rb"[A-Za-z_$]\w*")
_ATTRIBUTES = frozenset(b"section alias ifunc weakref symver naked no_instrument_function".split())
_PRAGMAS = ((b"clang", b"attribute"), (b"weak",), (b"redefine_extname",))


@dataclass(frozen=True)
class Word:
    """A token and its place."""

    text: bytes
    file: str
    line: int

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class SourceAudit:
    """The audit of one source file with its includes.

    Attributes:
        digest: of the author's own text.
        reasons: for refusal, with file and line.
    """

    digest: str
    reasons: tuple[str, ...]


def device_names(file: str, text: bytes) -> Iterator[str]:
    """Yield reasons to refuse a file before preprocessing: the device's own names, or faked line markers."""
    lexed = lexer.lex(text)
    tokens = [*lexed.tokens, *(token for directive in lexed.directives for token in directive.tokens)]
    for token, after in itertools.zip_longest(tokens, tokens[1:]):
        place = f"{file}:{line_of(text, token.start)}"
        scoped = token.text == b"emu" and after is not None and after.text in (b"::", b"{")
        if token.kind == "word" and (scoped or _OF_THE_DEVICE.fullmatch(token.text)):
            yield f"{place}: names `{token.text.decode(errors='replace')}`, which is the emulated device's own"
        if token.kind == "string" and _LIKE_A_MARKER.search(token.text):
            yield f"{place}: holds a text that reads like the preprocessor's own lines"


def audit(preprocessed: bytes, files: Collection[str]) -> SourceAudit:
    """Audit the author's part of a preprocessed source.

    Args:
        preprocessed: output of the compiler's -E.
        files: the author's files, as line markers name them.
    """
    words: list[Word] = []
    pragmas: list[Sequence[Word]] = []
    for file, line, chunk in _split_chunks(preprocessed, files):
        lexed = lexer.lex(chunk)
        words += _read_words(lexed.tokens, file, line, chunk)
        pragmas += [_read_words(d.tokens, file, line, chunk) for d in lexed.directives if d.name == b"pragma"]
    digest = hashlib.sha256(b"\0".join(word.text for word in words)).hexdigest()
    reasons = [*_find_hidden(words), *_find_attributes(words), *_find_device_calls(words), *_find_steering(pragmas)]
    return SourceAudit(digest, tuple(dict.fromkeys(reasons)))


def _split_chunks(text: bytes, files: Collection[str]) -> Iterator[tuple[str, int, bytes]]:
    marks = list(_MARKER.finditer(text))
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        file = posixpath.normpath(mark["file"].decode(errors="replace"))
        if file in files:
            yield file, int(mark["line"]), text[mark.end() + 1 : after.start() if after else len(text)]


def _read_words(tokens: Sequence[lexer.Token], file: str, line: int, chunk: bytes) -> list[Word]:
    words, at = [], 0
    for token in tokens:
        line += chunk.count(b"\n", at, token.start)
        at = token.start
        words.append(Word(token.text, file, line) if token.kind != "string" else Word(b'"', file, line))
    return words


def _find_hidden(words: Sequence[Word]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word.text in ASM:
            yield f"{word.place}: inline assembly that macros put together"
        elif word.text.startswith(b"__tsan_"):
            yield f"{word.place}: names `{word.text.decode(errors='replace')}`, which is the emulated device's own"
        elif _COPIES.fullmatch(word.text) and not _is_named(words, index):
            yield f"{word.place}: `{word.text.decode()}` is not called by its name, so what it moves is not seen"
        elif _UNSEEN.fullmatch(word.text) and not _is_in_stub(words, index):
            yield f"{word.place}: `{word.text.decode()}` keeps accesses from being seen"


def _is_named(words: Sequence[Word], index: int) -> bool:
    # a member, or brought into scope by `using`
    before = tuple(word.text for word in words[max(0, index - 3) : index])
    return before[-1:] in ((b".",), (b"->",)) or before == (b"using", b"std", b"::")


def _is_in_stub(words: Sequence[Word], index: int) -> bool:
    # the rewriting puts it into a kernel's stub, which only calls the kernel's body
    before = tuple(word.text for word in words[max(0, index - len(_STUB)) : index])
    opened, ending = index + len(_STUBBED), index + len(_STUBBED)
    while ending < len(words) and words[ending].text != b";":
        ending += 1
    call = [word.text for word in words[opened:ending]]
    plain = all(_NAME.fullmatch(text) or text in (b",", b".", b"<", b">", b"(", b")") for text in call)
    once = call[:1] != [] and PREFIX + b"body" in call[0] and call.count(b"(") == 1 and call[-1] == b")"
    stubbed = tuple(word.text for word in words[index:opened]) == (words[index].text, *_STUBBED[1:])
    return before == _STUB and stubbed and plain and once and words[ending + 1].text == b"}"


def _find_attributes(words: Sequence[Word]) -> Iterator[str]:
    partners = lexer.brackets([lexer.Token("sign", w.text, i, i) for i, w in enumerate(words)])
    for index, word in enumerate(words[:-1]):
        follows = words[index + 1].text
        if word.text in (b"__attribute__", b"__attribute") and follows == b"(":
            end = partners.get(index + 1, index)
        elif word.text == b"[" and follows == b"[":
            end = partners.get(index, index)
        else:
            continue
        for inner in words[index:end]:
            if inner.text.strip(b"_") in _ATTRIBUTES:
                yield f"{inner.place}: the attribute `{inner.text.decode()}` puts code into a section of its own"


def _find_device_calls(words: Sequence[Word]) -> Iterator[str]:
    for first, sign, name in zip(words, words[1:], words[2:], strict=False):
        if (first.text, sign.text) == (b"emu", b"::") and name.text in _DEVICE_CALLS:
            yield f"{name.place}: names `emu::{name.text.decode()}`, which is the emulated device's own"


def _find_steering(pragmas: Sequence[Sequence[Word]]) -> Iterator[str]:
    for words in pragmas:
        texts = tuple(word.text for word in words[1:])
        if any(texts[: len(refused)] == refused for refused in _PRAGMAS):
            said = b" ".join(texts[:2]).decode(errors="replace")
            yield f"{words[0].place}: `#pragma {said}` changes what is watched or linked"
