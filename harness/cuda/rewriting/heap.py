"""`malloc`, `free` and `clock` of device code become the device's; `new` there is what the device does not have."""

from harness.cuda.rewriting.fragment import Fragment

_CALLS = {b"malloc": b"::emu::kernel_malloc", b"free": b"::emu::kernel_free", b"clock": b"::emu::kernel_clock"}
_MEMBERS = (b".", b"->", b"::")


def rewrite(fragment: Fragment, start: int, end: int) -> None:
    """Rewrite what lies between two offsets of device code."""
    tokens = list(fragment.syntax.words(start, end))
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if before is not None and before.text in _MEMBERS:
            continue
        if token.text in _CALLS and after.text == b"(":
            fragment.edits.replace(token.start, token.end, _CALLS[token.text])
        elif token.text == b"new" and after.text != b"(" and (before is None or before.text != b"operator"):
            fragment.edits.insert(token.end, b" (::emu::KernelHeap{EMU_HERE})")
