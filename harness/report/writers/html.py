"""Documents as HTML, in which everything is escaped."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, singledispatchmethod

from markupsafe import Markup, escape

from harness.model import Score
from harness.report import document as doc
from harness.report.document import Block, Cell, Inline, TextRun
from harness.report.escape import block_lines, html, plain

MOST_WIDE = 200
"""Most characters on a line of code or of a compiler's output."""
NEWLINE = Markup("\n")
_TAGS = {"strong": "strong", "code": "code", "quote": "q"}


def render(blocks: Iterable[Block]) -> Markup:
    """Write blocks as HTML; a link to a place that is not among them is plain text."""
    every = tuple(blocks)
    return Pages(every).every(every)


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; underscores in names of attributes stand for hyphens, and None leaves an attribute out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(bare(value))}"' if value is not True else f" {key}"
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = "".join([child if isinstance(child, Markup) else html(child) for child in children])
    return Markup(f"<{name}{given}>{inside}</{name}>")


def bare(text: object) -> str:
    """Return text without backticks, for attributes and menus, which cannot contain tags."""
    return plain(text).replace("`", "")


def block_text(text: str, first: int = 0, marked: Iterable[int] = ()) -> Markup:
    """Return escaped lines for `<pre>`, limited in number and width; with numbers from `first` on unless it is 0."""
    lines = block_lines(text, MOST_WIDE)
    if not first:
        return NEWLINE.join(map(escape, lines))
    numbered = ((n, Markup("<i>{:>4} </i>{}").format(n, line)) for n, line in enumerate(lines, first))
    return NEWLINE.join(Markup("<b>{}</b>").format(line) if n in marked else line for n, line in numbered)


def inside(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks and all blocks inside them."""
    for block in blocks:
        yield block
        if isinstance(block, doc.Fold | doc.Group):
            yield from inside(block.blocks)
        elif isinstance(block, doc.List):
            yield from inside(b for item in block.items if isinstance(item, doc.ListItem) for b in item.blocks)


def _ids(blocks: Iterable[Block]) -> Iterator[str]:
    for block in inside(blocks):
        parts = block.rows if isinstance(block, doc.Table) else block.items if isinstance(block, doc.List) else ()
        yield from (getattr(each, "id", "") for each in (block, *parts))


class Pages:
    """Writes blocks of one page; a link to a place that is not among all of them is plain text."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._ids = frozenset(_ids(blocks))

    def every(self, blocks: Iterable[Block]) -> Markup:
        """Write some of the blocks."""
        return Markup("\n".join(map(self.block, blocks)))

    def inline(self, value: Inline) -> Markup:
        """Write runs of text."""
        if isinstance(value, tuple):
            return Markup("".join(map(self.inline, value)))
        if isinstance(value, str):
            return _spaced(value)
        if value.style == "badge":
            kind = value.text if value.text in ("critical", "major") else None
            shown = element("span", value.text, class_=f"badge {kind}" if kind else "badge")
        else:
            name = _TAGS.get(value.style)
            shown = Markup(f"<{name}>{{}}</{name}>").format(_words(value)) if name else _spaced(value.text)
        if value.to and value.to.id in self._ids:
            return element("a", shown, href=f"#{value.to.id}")
        return shown

    @singledispatchmethod
    def block(self, block: Block) -> Markup:
        """Write one block."""
        raise TypeError(f"{type(block).__name__} is no block")

    @block.register
    def _(self, block: doc.Heading) -> Markup:
        return element(f"h{min(block.level, 6)}", block.text, id=block.id or None)

    @block.register
    def _(self, block: doc.Paragraph) -> Markup:
        if block.kind == "note":
            return element("div", element("p", self.inline(block.text)), class_="note")
        return element("p", self.inline(block.text), class_={"": None, "small": "rest"}.get(block.kind, block.kind))

    @block.register
    def _(self, block: doc.Facts) -> Markup:
        pairs = ((label, self._value(value)) for label, value in block.pairs)
        return element("dl", *(part for label, value in pairs for part in (element("dt", label), element("dd", value))))

    def _value(self, value: Inline | doc.Code) -> Markup:
        return self.block(value) if isinstance(value, doc.Code) else self.inline(value)

    @block.register
    def _(self, block: doc.List) -> Markup:
        entries = (item if isinstance(item, doc.ListItem) else doc.ListItem(item) for item in block.items)
        items = (
            element("li", self.inline(entry.head), *map(self.block, entry.blocks), id=entry.id or None)
            for entry in entries
        )
        return element("ol", *items, class_="findings") if block.numbered else element("ul", *items)

    @block.register
    def _(self, block: doc.Code) -> Markup:
        lines = element("pre", block_text(block.text, block.first, block.marked), tabindex=0)
        title = element("figcaption", element("code", block.title)) if block.title else ""
        return element("figure", title, lines, class_="code") if title else lines

    @block.register
    def _(self, block: doc.Figure) -> Markup:
        caption = element("figcaption", block.title)
        drawing = element("div", block.svg, class_="scroll", tabindex=0, role="region", aria_label=block.title)
        if block.table is None:
            return element("figure", caption, drawing)
        title = f"The figures as a table{f'; {block.note}' if block.note else ''}"
        return element(
            "figure", caption, drawing, element("details", element("summary", title), self.block(block.table))
        )

    @block.register
    def _(self, block: doc.Fold) -> Markup:
        summary = element("summary", self.inline(block.title))
        return element(
            "details",
            summary,
            self.every(block.blocks),
            id=block.id or None,
            class_="submission" if block.id else None,
            **_data(block.tags),
        )

    @block.register
    def _(self, block: doc.Group) -> Markup:
        return element("div", self.every(block.blocks), **_data(block.tags))

    @block.register
    def _(self, block: doc.Table) -> Markup:
        columns = [c if isinstance(c, doc.Column) else doc.Column(c) for c in block.columns]
        head = element("tr", *(self._title(column, block.sortable) for column in columns))
        body = (
            element(
                "tr",
                *(self._cell(cell, columns[n], row.heads or n < block.heading) for n, cell in enumerate(row.cells)),
                id=row.id or None,
                class_="dimension" if row.heads else None,
                **_data(row.tags),
            )
            for row in block.rows
        )
        caption = element("caption", block.caption) if block.caption else ""
        table = element(
            "table",
            caption,
            element("thead", head),
            element("tbody", Markup("\n".join(body))),
            id=block.id or None,
            class_=block.kind or None,
        )
        kinds = "scroll pinned" if block.sortable or block.whole else "scroll"
        return element("div", table, class_=kinds, tabindex=0, role="region", aria_label=block.caption or "Table")

    def _title(self, column: doc.Column, sortable: bool) -> Markup:
        return element(
            "th",
            element("button", column.title, type="button") if sortable and column.title else column.title,
            scope="col",
            data_kind="number" if column.numeric else None,
            data_first="ascending" if column.ascending else None,
            **_data(column.tags),
        )

    def _cell(self, value: Inline | Cell, column: doc.Column, heads: bool) -> Markup:
        cell = value if isinstance(value, Cell) else Cell((value,))
        first, *rest = map(self.inline, cell.lines)
        below = [element("span", line, class_="rest") for line in rest]
        kinds = " ".join(filter(None, (cell.kind, "mark" if cell.score is not None else "")))
        return element(
            "th" if heads else "td",
            first,
            _bar(cell.score) if cell.score is not None else "",
            _strip(cell.strip) if cell.strip else "",
            *below,
            scope="row" if heads else None,
            class_=kinds or None,
            data_sort=None if cell.sort == "" else cell.sort if cell.sort is not None else "",
            **_data(column.tags),
        )


def _data(tags: Mapping[str, str]) -> dict[str, str]:
    return {f"data_{name}": value for name, value in tags.items()}


def _spaced(text: str) -> Markup:
    lead, trail = (" " if end == " " else "" for end in (text[:1], text[1:][-1:]))
    return Markup("".join((lead, html(text), trail)))


def _words(run: TextRun) -> Markup:
    return escape(bare(run.text)) if run.style == "code" else html(run.text)


@cache
def _bar(score: Score) -> Markup:
    """Draw a mark as a bar: its hue is the mark, its opacity the coverage, a line its interval."""
    if score.score is None:
        return Markup("")
    hue = min(4, int(score.score // 20))
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rail" width="100" height="8"></rect><rect class="m{hue}" width="{score.score:.3g}" height="8" '
        f'fill-opacity="{0.2 + 0.8 * score.coverage:.2f}"></rect>'
        f'<path class="span" d="M{score.low:.3g} 4H{score.high:.3g}"></path></svg>'
    )


def _strip(marks: Iterable[Score]) -> Markup:
    """Draw marks on one scale: the main one as a large dot with its interval, the others as small ones."""
    main, *others = marks
    grid = "".join(f'<path class="grid" d="M{x} 0V20"></path>' for x in (0, 25, 50, 75, 100))
    small = "".join(
        f'<path class="dot" d="M{m.score:.3g} 10h0" stroke-opacity="{0.25 + 0.75 * m.coverage:.2f}"></path>'
        for m in others
        if m.score is not None
    )
    large = (
        ""
        if main.score is None
        else (
            f'<path class="span" d="M{main.low:.3g} 10H{main.high:.3g}"></path>'
            f'<path class="main" d="M{main.score:.3g} 10h0"></path>'
        )
    )
    return Markup(
        '<svg class="strip" viewBox="-2 0 104 20" preserveAspectRatio="none" aria-hidden="true">'
        f"{grid}{small}{large}</svg>"
    )
