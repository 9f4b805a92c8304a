"""Device functions that use what the device lacks: emptied, to report it if called."""

from collections.abc import Sequence

from tree_sitter import Node

from harness.cuda.rewriting.text.edits import blank_lines
from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.syntax import line_of
from harness.cuda.rewriting.unsupported import Lacking


def rewrite(fragment: Fragment, functions: Sequence[Node], lacking: Lacking) -> int:
    """Empty the bodies with a lacking line; return their number."""
    emptied = 0
    for function in functions:
        body = function.child_by_field_name("body")
        if body is None or body.type != "compound_statement":
            continue
        text = fragment.syntax.text
        first, last = line_of(text, body.start_byte), line_of(text, body.end_byte)
        line = next((line for line in sorted(lacking) if first <= line <= last), None)
        if line is None:
            continue
        start, end = body.start_byte + 1, body.end_byte - 1
        what = lacking[line].replace("\\", "").replace('"', "'").encode()
        said = b' ::emu::unsupported("%s", {__builtin_FILE(), %d}); ' % (what, line)
        fragment.edits.replace(start, end, said + blank_lines(text[start:end]))
        emptied += 1
    return emptied
