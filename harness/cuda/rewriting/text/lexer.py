"""C++ tokens with byte offsets, even without a tree, as in a macro's body."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(
    rb"""
    (?P<blank>(?:[ \t\r\v\f]|\\\r?\n|//(?:\\\r?\n|[^\n])*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))++)
    | (?P<newline>\n)
    | (?P<string>(?:u8|[uUL])?(?:R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*+"?))
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*+'?)
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*+)
    | (?P<word>[A-Za-z_$\x80-\xff](?:[\w$\x80-\xff]|\\\r?\n(?=[\w$\x80-\xff]))*+)
    | (?P<sign><<<|<<[ \t\r\n]+<|>>>|::|->|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSERS = {closer: opener for opener, closer in _PAIRS.items()}


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its continued lines joined; `kind` is string, character, number, word or sign."""

    kind: str
    text: bytes
    start: int
    end: int


@dataclass
class Directive:
    """A preprocessor line: tokens after the `#`, and offsets from the `#` to its logical end."""

    start: int
    end: int = 0
    tokens: list[Token] = field(default_factory=list)

    @property
    def name(self) -> bytes:
        """`include`, `define`, ...; empty for a lone `#`."""
        return self.tokens[0].text if self.tokens else b""


@dataclass(frozen=True)
class Macro:
    """A `#define`; object-like macros have None as parameters."""

    name: bytes
    parameters: frozenset[bytes] | None
    body: tuple[Token, ...]


@dataclass(frozen=True)
class Lexed:
    """A file's tokens outside directives, and its directives."""

    tokens: list[Token]
    directives: list[Directive]


def lex(text: bytes) -> Lexed:
    """Split `text`; unknown bytes become signs."""
    tokens: list[Token] = []
    directives: list[Directive] = []
    directive: Directive | None = None
    fresh = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind == "mark":
            kind = "string"
        if kind == "newline":
            if directive is not None:
                directive.end = match.start()
                directive = None
            fresh = True
        elif kind == "blank":
            continue
        elif fresh and match.group() in (b"#", b"%") and directive is None:
            directive = Directive(match.start(), len(text))
            directives.append(directive)
            fresh = False
        else:
            fresh = False
            joined = match.group().replace(b"\\\r\n", b"").replace(b"\\\n", b"")
            if joined.startswith(b"<<"):
                # `<< <` also opens a launch: two operators cannot follow each other
                joined = b"<<<"
            token = Token(kind, joined, match.start(), match.end())
            (tokens if directive is None else directive.tokens).append(token)
    for directive in directives:
        # the digraph `%:` opens a directive as `#` does
        if text[directive.start : directive.start + 1] == b"%" and directive.name == b":":
            directive.tokens = directive.tokens[1:]
    return Lexed(tokens, directives)


def macro(directive: Directive) -> Macro | None:
    """Return the macro that a directive defines, or None."""
    if directive.name != b"define" or len(directive.tokens) < 2:
        return None
    name, rest = directive.tokens[1], directive.tokens[2:]
    if not rest or rest[0].text != b"(" or rest[0].start != name.end:
        return Macro(name.text, None, tuple(rest))
    end = brackets(rest).get(0)
    if end is None:
        return None
    parameters = frozenset(token.text for token in rest[1:end] if token.kind == "word")
    return Macro(name.text, parameters, tuple(rest[end + 1 :]))


def brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Map the index of every matched bracket to its partner's."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.text in _PAIRS:
            opened.append(index)
        elif token.text in _CLOSERS and opened and tokens[opened[-1]].text == _CLOSERS[token.text]:
            start = opened.pop()
            partners[start], partners[index] = index, start
    return partners


def flat(text: bytes) -> bytes:
    """Return `text` on one line, without comments and directives."""
    tokens = lex(text).tokens
    pieces = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        apart = before is not None and before.end != token.start
        pieces.append(b" " + token.text if apart else token.text)
    return b"".join(pieces)


def groups(tokens: Sequence[Token], partners: dict[int, int], names: frozenset[bytes]) -> Iterator[tuple[int, int]]:
    """Yield index ranges of `name ( ... )` for the given names, or of the name alone."""
    for index, token in enumerate(tokens):
        if token.kind == "word" and token.text in names:
            called = index + 1 < len(tokens) and tokens[index + 1].text == b"("
            end = partners.get(index + 1) if called else None
            yield index, index + 1 if end is None else end + 1
