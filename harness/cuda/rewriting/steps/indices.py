"""`threadIdx.x` and its like become calls that the compiler may keep in a register."""

import re

from harness.cuda.rewriting.text.fragment import Fragment

_CALLS = {b"threadIdx": b"thread", b"blockIdx": b"block", b"blockDim": b"block_dim", b"gridDim": b"grid_dim"}
_AXES = (b"x", b"y", b"z")
_DECLARED = re.compile(
    rb"\b(?:dim3|uint3|int3|auto|int|unsigned|size_t)\b[\s&*]*(threadIdx|blockIdx|blockDim|gridDim)\b"
)


def rewrite(fragment: Fragment, start: int, end: int) -> None:
    """Rewrite indices between two offsets of device code, except names declared there."""
    tokens = list(fragment.syntax.words(start, end))
    declared = {match.group(1) for match in _DECLARED.finditer(fragment.text(start, end))}
    for index, token in enumerate(tokens[:-2]):
        if token.text not in _CALLS or token.text in declared or tokens[index + 1].text != b".":
            continue
        axis = tokens[index + 2]
        if axis.text in _AXES and not (index and tokens[index - 1].text in (b".", b"->", b"::")):
            fragment.edits.replace(token.start, axis.end, b"emu_%s_%s()" % (_CALLS[token.text], axis.text))
