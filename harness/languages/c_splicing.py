"""Functions of one source in C, C++ or CUDA put in place of those of another, where names leave one way to do it."""

import bisect
import re
from collections import defaultdict

from harness.cuda.rewriting import lexer
from harness.cuda.rewriting.syntax import SyntaxTree, name_of, parse, within

_INCLUDE = re.compile(rb"^[ \t]{0,99}#[ \t]{0,99}include\b[^\n]*", re.MULTILINE)
_DIRECTIVE = re.compile(rb"^[ \t]{0,99}#(?![ \t]{0,99}include\b)", re.MULTILINE)
_ENDS = frozenset((b";", b"{", b"}"))

_Span = tuple[int, int]


def c_splice(text: str, part: str) -> str | None:
    """As `Syntax.spliced`, of a part that consists of functions alone."""
    data, given = text.encode(errors="replace"), part.encode(errors="replace")
    try:
        known, new = (_functions(parse(source, lexer.lex(source))) for source in (data, given))
        left = [token for token in lexer.lex(given).tokens if not within(_spans(new), token.start)]
    except (ValueError, RecursionError, MemoryError):
        return None
    includes = {b"".join(found.split()) for found in _INCLUDE.findall(data)}
    added = {b"".join(found.split()) for found in _INCLUDE.findall(given)} - includes
    if not new or left or added or _DIRECTIVE.search(_outside(given, _spans(new))):
        return None
    if any(len(spans) != 1 or len(known.get(name, ())) != 1 for name, spans in new.items()):
        return None
    changes = [(known[name][0], given[slice(*spans[0])]) for name, spans in new.items()]
    for (start, end), body in sorted(changes, reverse=True):
        data = data[:start] + body + data[end:]
    return data.decode(errors="replace")


def _functions(tree: SyntaxTree) -> dict[bytes, list[_Span]]:
    """Where the functions stand that are in no other, by name, with all that belongs to their heads."""
    found = defaultdict[bytes, list[_Span]](list)
    starts = [token.start for token in tree.tokens]
    for function in tree.functions:
        name = name_of(function.child_by_field_name("declarator"))
        if name is None or tree.in_function(function.start_byte):
            continue
        index = bisect.bisect_left(starts, function.start_byte)
        while index and tree.tokens[index - 1].text not in _ENDS:
            index -= 1
        found[tree.text[name.start_byte : name.end_byte]].append((starts[index], function.end_byte))
    return found


def _spans(functions: dict[bytes, list[_Span]]) -> list[_Span]:
    return sorted(span for spans in functions.values() for span in spans)


def _outside(data: bytes, spans: list[_Span]) -> bytes:
    for start, end in reversed(spans):
        data = data[:start] + data[end:]
    return data
