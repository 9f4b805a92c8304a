"""Reports read fields, never sentences: with every sentence of every record rewritten at random, their structure stays.

Equal sentences are rewritten alike, since one fault that several criteria saw in the same words is listed once.
"""

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.model import LossMap, Record
from harness.report.challenge_report import challenge_report
from harness.report.junit import junit
from harness.report.page.losses import losses
from harness.report.page.series import error_ratios
from harness.report.sarif import sarif
from harness.workspace import Workspace

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
LISTS = {"remarks"}
LETTERS = "abcdefghij :;,.()`0123456789"


class Rewriting:
    """Replaces sentences by random ones, equal sentences by equal ones."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._known: dict[str, str] = {}

    def sentence(self, text: str) -> str:
        if not text:
            return ""
        if text not in self._known:
            length = self._draw.randint(12, 60)
            self._known[text] = "w" + "".join(self._draw.choices(LETTERS, k=length)).strip() + str(len(self._known))
        return self._known[text]

    def of(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.of(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.sentence(item) if name in LISTS else self.of(item, name) for item in value]
        return self.sentence(value) if name in SENTENCES and isinstance(value, str) else value


def rewritten(seed: int) -> list[Record]:
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
            found.append((answer.model, answer.overall, answer.critical, answer.not_offered))
            found += [(w.criteria, w.weight, w.figures, len(w.seen), w.failure) for w in answer.weaknesses]
            found += [[group.criteria for group in groups] for groups in (answer.uncredited, answer.unassessed)]
        found += [[(cell.outcome, cell.failed) for cell in row.cells] for part in view.sections for row in part.rows]
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
    told = "\n".join(r.to_json() for r in rewritten(0))
    for record in RECORDS:
        for finding in record.findings:
            for sentence in re.split(r"[\n;]", finding.detail):
                assert len(sentence) < 30 or sentence not in told
