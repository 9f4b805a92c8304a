"""`kernel<<<grid, block, shared, stream>>>(arguments)` becomes a configuration and a call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.cuda.rewriting.text.edits import Edits, blank_lines
from harness.cuda.rewriting.text.lexer import Token

_REACH = 4096
"""Most tokens of a configuration or template argument list."""
_JOINTS = (b"::", b".", b"->", b"##")
_STATEMENTS = frozenset((b"if", b"else", b"for", b"while", b"do", b"switch", b"case", b"return"))


@dataclass(frozen=True)
class LaunchSite:
    """Byte offsets of a launch: `start` kernel `left` <<< `inner` ... `outer` >>> `right` ( ... ) `end`."""

    start: int
    left: int
    inner: int
    outer: int
    right: int
    end: int


def find(tokens: Sequence[Token], partners: Mapping[int, int]) -> Iterator[LaunchSite]:
    """Yield the launches among tokens."""
    for index, token in enumerate(tokens):
        if token.text == b"<<<":
            start, close = _find_kernel(tokens, partners, index), _find_configuration_end(tokens, partners, index)
            if start is None or close is None or close[1] + 1 >= len(tokens) or tokens[close[1] + 1].text != b"(":
                continue
            first, last = close
            end = partners.get(last + 1)
            if end is not None:
                outer, right = tokens[first].start, tokens[last].end
                yield LaunchSite(tokens[start].start, token.start, token.end, outer, right, tokens[end].end)


def rewrite(launch: LaunchSite, text: bytes, edits: Edits) -> None:
    """Rewrite a launch: configure first, then call the stub."""
    configuration = text[launch.inner : launch.outer]
    edits.insert(launch.start, b"(::emu::configured(" + configuration + b"), ")
    edits.replace(launch.left, launch.right, b"")
    edits.insert(launch.end, b")")


def refuse(launch: LaunchSite, text: bytes, edits: Edits) -> None:
    """Make a launch by a kernel end the run."""
    lines = blank_lines(text[launch.start : launch.end])
    edits.replace(launch.start, launch.end, b'::emu::unsupported("a launch by a kernel", EMU_HERE)' + lines)


def _find_configuration_end(tokens: Sequence[Token], partners: Mapping[int, int], at: int) -> tuple[int, int] | None:
    """Return the first and last token of the `>>>`, or else `>> >`, for the configuration opened at `at`."""
    index = at + 1
    spaced = None
    while index < min(len(tokens), at + _REACH):
        text = tokens[index].text
        if text == b">>>":
            return index, index
        if text in (b"(", b"[", b"{"):
            end = partners.get(index)
            if end is None:
                return None
            index = end
        elif text in (b")", b"]", b"}", b";", b"<<<"):
            break
        elif _is_spaced_end(tokens[index : index + 4]):
            spaced = index, index + 2
        index += 1
    return spaced


def _is_spaced_end(tokens: Sequence[Token]) -> bool:
    return [token.text for token in tokens] == [b">", b">", b">", b"("] and tokens[0].end == tokens[1].start


def _find_kernel(tokens: Sequence[Token], partners: Mapping[int, int], at: int) -> int | None:
    """Return the first token of the expression before `at`: a name with scopes and arguments, or a bracket."""
    index = _find_primary(tokens, partners, at - 1)
    while index is not None and index > 0:
        before = tokens[index - 1].text
        if before == b"template" and index > 1 and tokens[index - 2].text in _JOINTS:
            index -= 1
        elif before in _JOINTS:
            qualified = index > 1 and (_is_name(tokens[index - 2]) or tokens[index - 2].text in (b">", b")", b"]"))
            index = _find_primary(tokens, partners, index - 2) if qualified else index - 1
        else:
            break
    return index


def _find_primary(tokens: Sequence[Token], partners: Mapping[int, int], at: int) -> int | None:
    while at >= 0:
        text = tokens[at].text
        if text in (b")", b"]"):
            start = partners.get(at)
            if start is None:
                return None
            if start == 0 or not (_is_name(tokens[start - 1]) or tokens[start - 1].text in (b"]", b">")):
                return start
            at = start - 1
        elif text in (b">", b">>>"):
            start = _find_angle(tokens, partners, at)
            if start is None:
                return None
            at = start - 1
        else:
            return at if _is_name(tokens[at]) else None
    return None


def _find_angle(tokens: Sequence[Token], partners: Mapping[int, int], at: int) -> int | None:
    depth = 0
    least = max(0, at - _REACH)
    while at >= least:
        text = tokens[at].text
        if text in (b">", b">>>"):
            depth += len(text)
        elif text == b"<":
            depth -= 1
            if depth == 0:
                return at
        elif text in (b")", b"]", b"}"):
            start = partners.get(at)
            if start is None:
                return None
            at = start
        elif text in (b";", b"(", b"[", b"{"):
            return None
        at -= 1
    return None


def _is_name(token: Token) -> bool:
    return token.kind == "word" and token.text not in _STATEMENTS
