"""Documents as Markdown for code hosts: what folds is `<details>`, links lead to files and headings."""

import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import singledispatchmethod

from markupsafe import Markup

from harness.report import document as doc
from harness.report.document import Block, Cell, Inline, LinkTarget
from harness.report.escape import code, fenced, html, markdown, within
from harness.report.escape import plain as on_a_line


def render(blocks: Iterable[Block], path: str = "") -> str:
    """Write blocks as a page of Markdown.

    Args:
        path: of the page below the reports, from which links lead.
    """
    return "\n\n".join(_Page(path).every(blocks)).rstrip() + "\n"


def anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return "".join(c for c in heading.lower() if c.isalnum() or c in " -_").replace(" ", "-")


class _Page:
    def __init__(self, path: str) -> None:
        self._path = path

    def every(self, blocks: Iterable[Block]) -> Iterator[str]:
        for block in blocks:
            yield from self.block(block)

    def inline(self, value: Inline | Cell, escaped: Callable[[object], Markup] = markdown) -> str:
        if isinstance(value, Cell):
            first, *rest = (self.inline(line, escaped) for line in value.lines)
            return "; ".join([f"**{first}**" if value.kind in ("failed", "zero") and first else first, *rest])
        if isinstance(value, tuple):
            # only what begins a line could begin a block
            return "".join(self.inline(part, within if number else escaped) for number, part in enumerate(value))
        if isinstance(value, str):
            return _spaced(value, escaped(value))
        shown = {"code": code, "strong": _bold}.get(value.style, escaped)(value.text)
        target = self._target(value.to) if value.to else ""
        return f"[{shown}]({target})" if target else _spaced(value.text, shown)

    def _target(self, place: LinkTarget) -> str:
        if not place.page:
            return ""
        fragment = f"#{anchor(place.heading)}" if place.heading else ""
        if place.page == self._path:
            return fragment
        return posixpath.relpath(place.page, posixpath.dirname(self._path) or ".") + fragment

    @singledispatchmethod
    def block(self, block: Block) -> Iterator[str]:
        """Yield the parts of a block; a figure has none here."""
        yield from ()

    @block.register
    def _(self, block: doc.Heading) -> Iterator[str]:
        yield f"{'#' * block.level} {markdown(block.text)}"

    @block.register
    def _(self, block: doc.Paragraph) -> Iterator[str]:
        yield self.inline(block.text)

    @block.register
    def _(self, block: doc.Facts) -> Iterator[str]:
        yield "\n".join(self._fact(label, value) for label, value in block.pairs)

    def _fact(self, label: str, value: Inline | doc.Code) -> str:
        if isinstance(value, doc.Code):
            return f"* {markdown(label)}:\n\n{_deeper(str(fenced(value.text)))}\n"
        return f"* {markdown(label)}: {self.inline(value)}"

    @block.register
    def _(self, block: doc.List) -> Iterator[str]:
        items = []
        for number, item in enumerate(block.items, 1):
            entry = item if isinstance(item, doc.ListItem) else doc.ListItem(item)
            lines = [f"{f'{number}.' if block.numbered else '*'} {self.inline(entry.head)}"]
            lines += [_deeper(text, 3) for text in self.every(entry.blocks)]
            items.append("\n".join(lines))
        yield "\n".join(items)

    @block.register
    def _(self, block: doc.Code) -> Iterator[str]:
        if block.title:
            yield f"{code(block.title)}:"
        yield str(fenced(block.text))

    @block.register
    def _(self, block: doc.Fold) -> Iterator[str]:
        yield f"<details>\n<summary>{html(on_a_line(doc.plain_text(block.title)).replace('`', ''))}</summary>"
        yield from self.every(block.blocks)
        yield "</details>"

    @block.register
    def _(self, block: doc.Group) -> Iterator[str]:
        yield from self.every(block.blocks)

    @block.register
    def _(self, block: doc.Table) -> Iterator[str]:
        columns = [c if isinstance(c, doc.Column) else doc.Column(c) for c in block.columns]
        lines = [self._row([c.title for c in columns]), f"|{'|'.join('--:' if c.numeric else ':--' for c in columns)}|"]
        yield "\n".join([*lines, *(self._row(row.cells) for row in block.rows)])

    def _row(self, cells: Iterable[Inline | Cell]) -> str:
        return f"| {' | '.join(self.inline(cell, within) for cell in cells)} |"


def _bold(text: str) -> Markup:
    return Markup("**{}**").format(within(text)) if text.strip() else Markup("")


def _spaced(text: str, shown: str) -> str:
    """Keep the space that parts a run from its neighbours."""
    lead = " " * (text[:1] == " ")
    return f"{lead}{shown}{' ' if shown and text[-1:] == ' ' else ''}"


def _deeper(text: str, by: int = 2) -> str:
    return "\n".join(f"{' ' * by}{line}" if line else line for line in text.split("\n"))
