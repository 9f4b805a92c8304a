"""Reports are a pure function of their records: same records, same bytes, and nothing unchanged is written again."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import sample_records as sample

from harness.model import Record
from harness.report.pages import INDEX, render_all, write
from harness.report.views.inputs import ReportInputs, gather, read_earlier
from harness.report.writers.page import page
from harness.store.record_store import Store
from harness.workspace import Workspace

MOST_BYTES = 1_500_000
"""What the page of the bundled submissions may weigh."""
OTHER = sample.CHALLENGE.model_copy(update={"id": "another", "title": "Another"})


def records() -> list[Record]:
    return [sample.record(), sample.baseline(), sample.unbuilt(), sample.record("qwen3.6-27b", challenge=OTHER)]


def test_the_order_of_records_and_challenges_does_not_matter():
    expected = render_all(ReportInputs([sample.CHALLENGE, OTHER], records()))
    assert sorted(expected) == [
        "another.md",
        "head_to_head/broken_vs_glm-5.md",
        "index.html",
        "kv_cache.md",
        "scoreboard.md",
        "scoreboard.svg",
    ]
    for order in itertools.permutations(records()):
        assert render_all(ReportInputs([OTHER, sample.CHALLENGE], order)) == expected


def test_a_record_read_back_from_its_file_gives_the_same_report():
    again = [Record.from_json(r.to_json()) for r in records()]
    assert render_all(ReportInputs([sample.CHALLENGE, OTHER], again)) == render_all(
        ReportInputs([sample.CHALLENGE, OTHER], records())
    )


def test_another_process_renders_the_same_bytes():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import sample_records as s; from harness.report.views.inputs import ReportInputs;"
        "from harness.report.pages import render_all;"
        "reports = render_all(ReportInputs([s.CHALLENGE], [s.record(), s.unbuilt()]));"
        "sys.stdout.buffer.write(''.join(reports.values()).encode())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).parent)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert texts == {
        "".join(render_all(ReportInputs([sample.CHALLENGE], [sample.record(), sample.unbuilt()])).values()).encode()
    }


def test_equal_outcomes_give_equal_pages():
    """A grade made again on another day, with another seed and other times, changes no committed page."""
    made = sample.record()
    again = made.model_copy(update={
        "made": made.made + timedelta(days=9), "seed": made.seed + 1, "seconds": {"build": 9.0}, "key": "a0" * 32,
        "evidence": tuple(e.model_copy(update={"seed": e.seed and e.seed + 1}) for e in made.evidence),
    })  # fmt: skip
    one, other = (render_all(ReportInputs([sample.CHALLENGE], [r, sample.baseline()])) for r in (made, again))
    assert {name for name in one if one[name] != other[name]} == {"index.html"}


def test_only_what_changed_is_written(tmp_path):
    reports = render_all(ReportInputs([sample.CHALLENGE], [sample.record()]))
    assert [path.name for path in write(reports, tmp_path)] == [
        "index.html",
        "kv_cache.md",
        "scoreboard.md",
        "scoreboard.svg",
    ]
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert write(reports, tmp_path) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stamps
    changed = reports | {"kv_cache.md": "new\n"}
    assert write(changed, tmp_path) == [tmp_path / "kv_cache.md"]
    assert (tmp_path / "kv_cache.md").read_text() == "new\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "index.html",
        "kv_cache.md",
        "scoreboard.md",
        "scoreboard.svg",
    ]


def test_every_bundled_submission_is_on_a_page_that_opens_at_once():
    ours = Workspace(Path(__file__).parents[2])
    text = page(gather(ours))
    assert len(text.encode()) < MOST_BYTES
    assert all(f'id="{record.name}"' in text for record in ours.records())


def test_earlier_grades_made_here_can_be_compared_and_change_no_report(tmp_path: Path) -> None:
    now = sample.record()
    before = now.model_copy(update={"key": "before", "made": now.made - timedelta(days=1)})
    store = Store(Workspace(tmp_path))
    assert read_earlier(store, [now]) == ()
    store.add_many([now])
    assert read_earlier(store, [now]) == ()
    store.add_many([before])
    assert [r.key for r in read_earlier(store, [now])] == ["before"]
    assert read_earlier(store, []) == ()
    given = ReportInputs([sample.CHALLENGE], [now])
    plain, compared = (render_all(inputs) for inputs in (given, replace(given, earlier=(before,))))
    assert {name for name in plain if plain[name] != compared[name]} == {INDEX}
    name = f"glm-5/kv_cache, {before.made:%Y-%m-%d %H:%M}, harness {before.environment.harness}"
    assert f"<option>{name}</option>" in compared[INDEX] and name not in plain[INDEX]
