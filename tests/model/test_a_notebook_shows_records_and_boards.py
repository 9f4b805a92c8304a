"""A record and a board are shown by a notebook as they are printed, and nothing that an answer wrote is run there."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import harness
from harness.model import Record
from harness.report import formatting
from harness.workspace import Workspace

CHECKOUT = Workspace(Path(__file__).parents[2])
HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\N{RIGHT-TO-LEFT OVERRIDE}"


class Seen(HTMLParser):
    """Tags and text of a piece of HTML; every tag must end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes |= {name for name, _ in attrs}
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", [str(name) for name in CHECKOUT.list_recorded()])
def test_a_record_shows_its_marks_and_findings(name: str) -> None:
    record = CHECKOUT.record(name)
    text = Seen(record._repr_html_()).text
    assert name in text
    assert formatting.mark(record.overall.score) in text
    for finding in record.findings:
        assert finding.title in text and finding.detail in text, finding.criterion


def test_a_record_runs_nothing() -> None:
    values = json.loads(CHECKOUT.record("glm-5/kv_cache").to_json())
    for item in values["evidence"]:
        item |= {"detail": HOSTILE, **({"title": HOSTILE.replace("\x1b", "")} if item["title"] else {})}
    seen = Seen(Record.from_json(json.dumps(values))._repr_html_())
    assert not seen.attributes
    assert seen.tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ol", "li", "pre", "br"}
    assert "<script>" in seen.text and "\x1b" not in seen.text and "\N{RIGHT-TO-LEFT OVERRIDE}" not in seen.text


def test_a_board_shows_each_model_with_its_marks() -> None:
    board = harness.scoreboard(CHECKOUT.root)
    text = Seen(board._repr_html_()).text  # type: ignore[operator]
    assert all(model in text for model in board["model"])
    assert set(CHECKOUT.challenges()) >= {*board.columns} - {"rank", "medal", "model", "mean", "graded"} != set()
    ranked = board.dropna(subset=["rank"])
    assert list(ranked["rank"]) == sorted(ranked["rank"]) and list(ranked["mean"]) == sorted(ranked["mean"])[::-1]
    for model, score in zip(ranked["model"], ranked["layernorm_backward"], strict=True):
        assert CHECKOUT.record(f"{model}/layernorm_backward").overall.score == score


def test_an_empty_workspace_has_an_empty_board(tmp_path: Path) -> None:
    (tmp_path / "challenges").mkdir()
    assert harness.scoreboard(tmp_path).empty
