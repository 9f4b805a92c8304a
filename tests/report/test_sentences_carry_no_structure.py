"""Reports read fields, never sentences: with every sentence of every record rewritten at random, their structure stays.

Equal sentences are rewritten alike, since one fault that several criteria saw in the same words is listed once.
"""

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from page_reader import read

from harness.model import LossMap, Record
from harness.report.exports.junit import junit
from harness.report.exports.sarif import sarif
from harness.report.figures.losses import losses
from harness.report.figures.series import error_ratios
from harness.report.pages import render_all
from harness.report.views.challenge import challenge_report
from harness.report.views.finding import weaknesses
from harness.report.views.inputs import gather
from harness.report.views.submission import not_assessed, without_credit
from harness.workspace import Workspace
from tests import shares

LOSS = LossMap(unit="columns", size=1104, period=256, runs=((10, 246),))


def losing(record: Record) -> Record:
    """The record with a loss map wherever it holds a diagnosis: no bundled answer loses anything that can be mapped."""
    evidence = (e.model_copy(update={"loss": LOSS}) if e.diagnosis else e for e in record.evidence)
    return record.model_copy(update={"evidence": tuple(evidence)})


WORKSPACE = Workspace(Path(__file__).parents[2])
RECORDS = [losing(record) for record in WORKSPACE.records()]
CHALLENGES = [WORKSPACE.challenge(id) for id in WORKSPACE.challenges()]
SENTENCES = {"title", "detail", "words", "text", "output", "reason", "error"}
"""Fields written for people, wherever in a record they stand."""
LISTS = {"remarks", "program"}
LETTERS = "abcdefghij :;,.()`0123456789"


class Rewriting:
    """Replaces every sentence by a random one of as many lines, equal sentences by equal ones."""

    def __init__(self, seed: object) -> None:
        self._draw = random.Random(str(seed))
        self._known: dict[str, str] = {}

    def sentence(self, text: str) -> str:
        if text and text not in self._known:
            lines = (self._line() if line.strip() else line for line in text.split("\n"))
            self._known[text] = "\n".join(lines)
        return self._known.get(text, "")

    def of(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.of(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.sentence(item) if name in LISTS else self.of(item, name) for item in value]
        return self.sentence(value) if name in SENTENCES and isinstance(value, str) else value

    def _line(self) -> str:
        words = "".join(self._draw.choices(LETTERS, k=self._draw.randint(12, 60)))
        return f"w{words.strip()}{len(self._known)}"


def rewritten(seed: object) -> list[Record]:
    rewriting = Rewriting(seed)
    return [Record.from_json(json.dumps(rewriting.of(json.loads(record.to_json())))) for record in RECORDS]


def findings(records: list[Record]) -> list[Any]:
    return [
        (r.name, f.criterion, f.severity, f.locations, f.loss, f.counterexample and f.counterexample.probe, len(f.also))
        for r in records
        for f in r.findings
    ]


def sarif_structure(records: list[Record]) -> list[Any]:
    (run,) = json.loads(sarif(CHALLENGES, records, "1"))["runs"]
    return [{key: value for key, value in result.items() if key != "message"} for result in run["results"]]


def junit_structure(records: list[Record]) -> list[Any]:
    cases = ElementTree.fromstring(junit(records)).iter("testcase")
    return [(case.get("classname"), case.get("name"), [(c.tag, c.get("type")) for c in case]) for case in cases]


def pages_structure(records: list[Record]) -> list[Any]:
    """Everything of a challenge's page but its sentences: order of answers and weaknesses, groups, rows, failures."""
    found: list[Any] = []
    for challenge in CHALLENGES:
        view = challenge_report(challenge, [r for r in records if r.challenge == challenge.id])
        for answer in view.answers:
            record = answer.shown
            found.append((record.model, answer.marked.overall, view.critical(answer)))
            for w in weaknesses(challenge, record):
                found.append((w.criteria, w.weight, w.figures, len(w.seen), len(w.example.program), w.replay))
            found += [ids for _, ids in (*without_credit(record), *not_assessed(challenge, record).items())]
        found += [[(c.kind, c.share) for c in row.cells] for part in view.sections for row in part.rows]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_order_locations_and_losses_stay(seed: int) -> None:
    changed = rewritten(seed)
    assert [r.to_json() for r in changed] != [r.to_json() for r in RECORDS], "something was rewritten"
    assert findings(changed) == findings(RECORDS)
    assert losses(RECORDS)
    assert [(x.unit, x.runs, x.found) for x in losses(changed)] == [(x.unit, x.runs, x.found) for x in losses(RECORDS)]
    for challenge in CHALLENGES:
        assert error_ratios(challenge, changed) == error_ratios(challenge, RECORDS)


@pytest.mark.parametrize("seed", range(3))
def test_ci_files_stay(seed: int) -> None:
    changed = rewritten(seed)
    assert sarif_structure(changed) == sarif_structure(RECORDS)
    assert junit_structure(changed) == junit_structure(RECORDS)


@pytest.mark.parametrize("seed", range(3))
def test_pages_stay(seed: int) -> None:
    assert pages_structure(rewritten(seed)) == pages_structure(RECORDS)


def test_no_original_sentence_is_left() -> None:
    """The rewriting reaches every sentence: what is left of a long one would be a field that it misses."""
    changed = rewritten(0)
    told = "\n".join(r.to_json() for r in changed)
    for record, other in zip(RECORDS, changed, strict=True):
        titles = {e.title for e in record.evidence if e.title}
        assert not titles & {e.title for e in other.evidence}
        for finding in record.findings:
            for sentence in re.split(r"[\n;]", finding.detail):
                assert len(sentence) < 30 or sentence not in told


@pytest.fixture(scope="module")
def pages() -> tuple[dict[str, str], dict[str, str]]:
    """All reports of the bundled records, and of the rewritten ones, with a file at each place they name."""
    files = {r.name: {p.file: "a line\n" * 2000 for f in r.findings for p in f.locations} for r in RECORDS}
    inputs = replace(gather(WORKSPACE), sources=files)
    return render_all(replace(inputs, records=tuple(RECORDS))), render_all(
        replace(inputs, records=tuple(rewritten(shares.seed())))
    )


def test_the_page_keeps_its_structure_its_code_and_its_loss_maps(pages: tuple[dict[str, str], ...]) -> None:
    def structure(text: str) -> list[tuple[str, tuple[str, ...]]]:
        # what a sentence quotes as code is part of it
        return [(e.tag, tuple(e.attributes)) for e in read(text).all() if (e.tag, e.attributes) != ("code", {})]

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
