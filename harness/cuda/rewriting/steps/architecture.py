"""`__CUDA_ARCH__`: host and device code compile together, so each place gets the value meant for it.

Device code gets 800. Outside functions, tests of the value are for the device, tests of definedness for the host.
"""

from collections.abc import Sequence

from harness.cuda.rewriting.text.edits import Edits
from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Directive, Token
from harness.cuda.rewriting.text.syntax import within

_NAME = b"__CUDA_ARCH__"
_VALUE = b"800"


def rewrite(directive: Directive, device: Sequence[tuple[int, int]], edits: Edits) -> None:
    """Resolve the name in a conditional directive."""
    names = [index for index, token in enumerate(directive.tokens) if token.text == _NAME]
    if not names or directive.name not in (b"if", b"elif", b"ifdef", b"ifndef"):
        return
    inside = within(device, directive.start)
    if directive.name in (b"ifdef", b"ifndef"):
        answer = b"if 1" if inside == (directive.name == b"ifdef") else b"if 0"
        edits.replace(directive.tokens[0].start, directive.tokens[names[0]].end, answer)
        return
    asked = [_find_defined(directive.tokens, index) for index in names]
    defined = inside or any(start is None for start in asked)
    for index, start in zip(names, asked, strict=True):
        if start is None:
            edits.replace(directive.tokens[index].start, directive.tokens[index].end, _VALUE)
        else:
            end = index + 1 if directive.tokens[index - 1].text == b"(" else index
            edits.replace(directive.tokens[start].start, directive.tokens[end].end, b"1" if defined else b"0")


def rewrite_code(fragment: Fragment, start: int, end: int) -> None:
    """Replace the name in device code by its value."""
    for token in fragment.syntax.words(start, end):
        if token.text == _NAME:
            fragment.edits.replace(token.start, token.end, _VALUE)


def _find_defined(tokens: Sequence[Token], index: int) -> int | None:
    """Return the index of the `defined` that tests the name at `index`; None for a use of its value."""
    if tokens[index - 1].text == b"defined":
        return index - 1
    closed = index + 1 < len(tokens) and tokens[index + 1].text == b")"
    return index - 2 if closed and index > 1 and tokens[index - 2].text == b"defined" else None
