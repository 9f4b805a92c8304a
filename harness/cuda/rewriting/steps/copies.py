"""Replacements for `memcpy`, `memmove` and `memset`, which compilers expand out of the hooks' sight."""

from harness.cuda.rewriting.text.fragment import Fragment

_NAMES = (b"memcpy", b"memmove", b"memset")


def rewrite(fragment: Fragment) -> None:
    """Rewrite calls by plain or `std::` names only."""
    tokens = fragment.syntax.tokens
    for index, token in enumerate(tokens[:-1]):
        if token.text not in _NAMES or tokens[index + 1].text != b"(":
            continue
        start = index
        if index and tokens[index - 1].text == b"::":
            scope = tokens[index - 2] if index > 1 else None
            start = index - 1
            if scope is not None and scope.text == b"std":
                start = index - 2
            elif scope is not None and scope.kind == "word" and scope.text != b"return":
                continue
        before = tokens[start - 1] if start else None
        if before is not None and (before.text in (b".", b"->", b"*") or before.text in (b"void", b"define")):
            continue
        fragment.edits.replace(tokens[start].start, token.end, b"::emu::seen_" + token.text)
