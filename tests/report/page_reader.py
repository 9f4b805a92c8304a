"""What a browser makes of a page, as far as tests want to know."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "input", "img", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    within: "Element | None"
    children: "list[Element | str]" = field(default_factory=list)

    @property
    def text(self) -> str:
        """All words inside, scripts and styles included, on one line."""
        return " ".join("".join(c if isinstance(c, str) else f" {c.text} " for c in self.children).split())

    def all(self, tag: str = "", **attributes: str) -> "list[Element]":
        """Elements inside, in their order; attributes must be equal, a class among those given."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in ("", child.tag) and all(child.has(k.rstrip("_"), v) for k, v in attributes.items()):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def has(self, name: str, value: str) -> bool:
        given = self.attributes.get(name)
        return value in (given or "").split() if name == "class" else given == value

    def one(self, tag: str = "", **attributes: str) -> "Element":
        (found,) = self.all(tag, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.at = Element("", {}, None)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.within is not None
        self.at = self.at.within

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")


def read(page: str) -> Element:
    """The page as a tree; every element must be closed where it was opened."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.at is reader.root, f"<{reader.at.tag}> stays open"
    return reader.root
