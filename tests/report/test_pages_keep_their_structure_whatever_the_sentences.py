"""Reports follow from fields: with every sentence of the bundled records rewritten at random, all but the words stays.

Here whole pages are compared: the tags, drawings and code of `index.html`; the lines, links and cells of the Markdown.
"""

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from page_reader import read

from harness.model import Record
from harness.report import ReportInputs, gather, render_all
from harness.workspace import Workspace
from tests.shares import seed

SENTENCES = {"title", "detail", "words", "text", "output", "reason", "error"}
"""Fields of a record, at any depth, that hold sentences."""
LISTS = {"remarks"}


class Rewriter:
    """Gives every sentence other words: the same sentence always the same ones, and as many lines."""

    def __init__(self, seed: object) -> None:
        self._random = random.Random(str(seed))
        self._known: dict[str, str] = {}

    def sentence(self, text: str) -> str:
        if text and text not in self._known:
            self._known[text] = "\n".join(self._line() if line.strip() else line for line in text.split("\n"))
        return self._known.get(text, "")

    def record(self, record: Record) -> Record:
        return Record.model_validate(self._value(json.loads(record.model_dump_json())))

    def _line(self) -> str:
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = ("".join(self._random.choices(letters, k=self._random.randint(2, 9))) for _ in range(7))
        return " ".join(words)

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {name: self._field(name, each) for name, each in value.items()}

    def _field(self, name: str, value: Any) -> Any:
        if name in SENTENCES and isinstance(value, str):
            return self.sentence(value)
        if name in LISTS:
            return [self.sentence(each) for each in value]
        return self._value(value)


@pytest.fixture(scope="module")
def before() -> ReportInputs:
    return gather(Workspace.find())


@pytest.fixture(scope="module")
def after(before: ReportInputs) -> ReportInputs:
    rewriter = Rewriter(seed())
    return replace(before, records=tuple(map(rewriter.record, before.records)))


@pytest.fixture(scope="module")
def pages(before: ReportInputs, after: ReportInputs) -> tuple[dict[str, str], dict[str, str]]:
    return render_all(before), render_all(after)


def test_the_rewritten_records_share_no_sentence(before: ReportInputs, after: ReportInputs) -> None:
    for one, other in zip(before.records, after.records, strict=True):
        assert (one.overall, one.dimensions, one.status) == (other.overall, other.dimensions, other.status)
        titles = {f.title.partition(" (")[0] for f in one.findings if f.criterion not in ("build", "integrity")}
        assert not titles & {f.title.partition(" (")[0] for f in other.findings}


def test_the_page_keeps_its_structure_its_code_and_its_loss_maps(pages: tuple[dict[str, str], ...]) -> None:
    def structure(text: str) -> list[tuple[str, tuple[str, ...]]]:
        return [(e.tag, tuple(e.attributes)) for e in read(text).all()]

    def drawn(text: str) -> list[str | None]:
        return [e.attributes.get("d") for e in read(text).all("path")]

    def code(text: str) -> list[str]:
        return [e.text for e in read(text).all("figure", class_="code")]

    one, other = (page["index.html"] for page in pages)
    assert structure(one) == structure(other)
    assert drawn(one) == drawn(other)
    assert code(one) == code(other) != []


def test_markdown_keeps_its_lines_links_and_cells(pages: tuple[dict[str, str], ...]) -> None:
    def shape(text: str) -> list[tuple[str, int, list[str]]]:
        return [
            (re.match(r"\s*(?:#+|\*|\||\d+\.)?", line)[0], len(re.findall(r"(?<!\\)\|", line)),  # type: ignore[index]
             re.findall(r"(?<!\\)\]\(([^)]*)\)", line))
            for line in text.splitlines()
        ]  # fmt: skip

    one, other = pages
    assert list(one) == list(other)
    for name in one:
        if name.endswith(".md"):
            assert shape(one[name]) == shape(other[name]), name
