"""Code that a reply gives in HTML: `<pre><code>`, its escapes undone."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

_OPENS = re.compile(r"[ \t]{0,20}<pre\b[^<>]{0,300}>[ \t]*(?:<code\b(?P<about>[^<>]{0,300})>)?", re.IGNORECASE)
_CLOSES = re.compile(r"(?:</code>)?[ \t]*</pre>", re.IGNORECASE)
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#-]{1,40})", re.IGNORECASE)
_SHADES = re.compile(r"</?(?:span|b|i|em|strong|mark)(?:[ ][^<>]{0,300})?>|<code(?:[ ][^<>]{0,300})?>", re.IGNORECASE)
_TAG = re.compile(r"<[A-Za-z/!?]")


class Preformatted(NamedTuple):
    """Code in HTML: its last line in the reply, what its class calls the language, and the text."""

    last: int
    tongue: str
    text: str


def preformatted(lines: Sequence[str], first: int) -> Preformatted | None:
    """The code whose `<pre>` is on line `first`, from 1; None where there is none, or text that could be tags."""
    opened = _OPENS.match(lines[first - 1])
    if opened is None:
        return None
    named = _LANGUAGE.search(opened[0])
    body = [lines[first - 1][opened.end() :]]
    for number in range(first, len(lines) + 1):
        line = lines[number - 1] if number > first else body.pop()
        if closed := _CLOSES.search(line):
            text = _SHADES.sub("", "\n".join([*body, line[: closed.start()]]))
            if _TAG.search(text):
                return None
            bare = html.unescape(text).replace("\u00a0", " ").strip("\n")
            return Preformatted(number, named[1].lower() if named else "", f"{bare.rstrip()}\n")
        if _OPENS.match(line):
            return None
        body.append(line)
    return None
