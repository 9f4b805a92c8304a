"""A record reads back as it was written, whatever figures and words it holds; any other file is refused by name."""

import json
import math
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trees import changed, texts, trees

from harness.errors import StoreError
from harness.model import (
    BuildFailure,
    Counterexample,
    Diagnosis,
    Environment,
    Evidence,
    Gate,
    Limits,
    Location,
    LossByDistance,
    LossMap,
    Observation,
    Outcome,
    Provenance,
    Record,
    Score,
    Severity,
    Signal,
    SignalKind,
    Status,
    Tier,
)
from harness.store.record_rows import encode_record
from harness.workspace.stored_files import read_stored, write_atomically
from tests import shares

words = st.text(st.characters(codec=None), max_size=20)  # half surrogate pairs, as names of files may hold, included
some_words = words.filter(bool)
floats = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1])
figures = st.booleans() | floats | words | st.integers() | st.sampled_from([2**63, -(10**400)])
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
marks = st.floats(0, 100)
examples = st.builds(
    Counterexample, case=st.dictionaries(words, figures, max_size=3), where=words,
    expected=st.none() | figures, got=st.none() | figures,
)  # fmt: skip
losses = st.sampled_from([
    LossMap(unit="columns", size=1104, period=256, runs=((10, 246),)),
    LossMap(unit="rows", size=7, runs=((0, 1), (3, 4))),
    LossByDistance(found=((1, 0.25), (256, 1.0))),
])  # fmt: skip
places = st.lists(st.builds(Location, file=st.from_regex(r"[a-z]{1,9}\.cu", fullmatch=True),
                            line=st.none() | st.integers(1, 10**6), function=words), max_size=2)  # fmt: skip
causes = st.builds(Diagnosis, words=some_words, established=st.just("agreement"), mutant=some_words) | st.builds(
    Diagnosis, words=some_words, established=st.just("observation")
)
seen = st.builds(Observation, title=some_words, detail=words, counterexample=st.none() | examples)
scores = st.builds(Score, score=st.none() | marks, low=marks, high=marks, coverage=st.floats(0, 1))


@st.composite
def evidence(draw: st.DrawFn) -> Evidence:
    outcome = draw(st.sampled_from(Outcome))
    fields: dict[str, Any] = {"detail": draw(some_words)}
    if outcome.ran:
        fields["measured"] = draw(st.dictionaries(words, figures.filter(lambda f: f == f), max_size=4))
        fields["locations"] = draw(places)
    if outcome is Outcome.PARTIAL:
        fields["title"] = draw(some_words)
        fields["fraction"] = draw(st.floats(0, 1, exclude_min=True, exclude_max=True))
    if outcome is Outcome.FAILED and draw(st.booleans()):
        fields["rests_on"] = draw(names)
    elif outcome is Outcome.FAILED:
        fields |= {
            "title": draw(some_words), "counterexample": draw(st.none() | examples),
            "diagnosis": draw(st.none() | causes), "also": draw(st.lists(seen, max_size=2)),
            "loss": draw(st.none() | losses),
        }  # fmt: skip
    return Evidence(
        criterion=draw(names), dimension=draw(names), severity=draw(st.sampled_from(Severity)), outcome=outcome,
        seed=draw(st.none() | st.integers(0, 2**63)), **fields,
    )  # fmt: skip


plain = st.text(st.characters(codec="utf-8"), max_size=20)
plain_words = plain.filter(bool)
endings = st.sampled_from([
    {"status": Status.GRADED}, {"status": Status.JUDGE_ERROR, "error": "gone"},
    {"status": Status.BUILD_FAILED, "build": BuildFailure(stage="import", text="no", output="\ud800")},
])  # fmt: skip
records = st.builds(
    lambda ending, **fields: Record(**ending, **fields),
    endings,
    model=names, challenge=names, provenance=st.sampled_from(Provenance),
    key=plain_words, seed=st.integers(0, 2**63), ranked=st.booleans(), made=st.datetimes(timezones=st.just(UTC)),
    seconds=st.dictionaries(plain, floats, max_size=3),
    environment=st.builds(
        Environment, tier=st.sampled_from(Tier), device=plain_words, cpu=plain, platform=plain, python=plain,
        packages=st.dictionaries(plain, plain, max_size=3), harness=plain,
    ),
    limits=st.builds(Limits, call_seconds=st.floats(0, 86_400, exclude_min=True)),
    overall=scores, dimensions=st.dictionaries(plain, scores, max_size=3),
    gates=st.lists(st.builds(Gate, criteria=st.lists(names, max_size=2), dimension=st.none() | names, ceiling=marks,
                             reason=plain_words), max_size=2),
    evidence=st.lists(evidence(), max_size=4),
    signals=st.lists(st.builds(Signal, kind=st.sampled_from(SignalKind), detail=words), max_size=2),
    remarks=st.lists(plain, max_size=2),
)  # fmt: skip
SAMPLE = json.loads((Path(__file__).parents[2] / "reports" / "records" / "kv_cache" / "glm-5.json").read_text())
SAMPLE["evidence"] = SAMPLE["evidence"][:3]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("records") / "m.json"


def same(one: Any, other: Any) -> bool:
    """Whether two dumps are equal in value and type, NaN counting as equal to itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    return type(one) is type(other) and bool(one == other)


@settings(max_examples=shares.examples(150))
@given(records)
def test_a_record_reads_back_as_it_was_written(path: Path, record: Record):
    write_atomically(path, record.to_json())
    # as published, and as the store has it
    for back in (read_stored(path, Record), Record.from_json(encode_record(record))):
        assert same(back.model_dump(), record.model_dump())
        assert back.to_json() == record.to_json(), "equal records give equal bytes"
    json.loads(record.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def read_or_refused(path: Path, written: bytes) -> None:
    path.write_bytes(written)
    try:
        record = read_stored(path, Record)
    except StoreError as error:
        assert str(path) in str(error) and "harness" in str(error)
        str(error).encode()
    else:
        assert Record.from_json(record.to_json()).to_json() == record.to_json()


@settings(max_examples=shares.examples(150))
@given(changed(SAMPLE))
def test_a_changed_record_is_read_or_refused(path: Path, table: dict[str, Any]):
    read_or_refused(path, json.dumps(table).encode())


@settings(max_examples=shares.examples(150))
@given(trees.map(json.dumps).map(str.encode) | st.binary(max_size=60) | texts.map(str.encode))
@example(b"[" * 100_000)
@example(b'{"schema_version": 1' + b"0" * 5000 + b"}")
@example(b'{"schema_version": 1e999}')
@example(b'{"schema_version": "\\ud800"}')
@example(b'{"schema_version": 3}')
@example(b"")
def test_anything_else_is_refused_by_name(path: Path, written: bytes):
    path.write_bytes(written)
    with pytest.raises(StoreError, match=r"m\.json"):
        read_stored(path, Record)
