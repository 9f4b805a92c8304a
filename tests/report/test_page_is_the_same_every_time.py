"""The same records give the same bytes, in any order and on any machine's settings, and few enough to open at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sample_records as sample

from harness.report.page import page
from harness.report.views.inputs import ReportInputs, gather
from harness.workspace import Workspace

ROOT = Path(__file__).parents[2]
RECORDS = [sample.record(), sample.unbuilt(), sample.record("good", sample.RIGHT)]

MOST_BYTES = 1_500_000
"""What the page of the bundled submissions may weigh."""


def test_the_order_of_records_does_not_matter():
    assert page(ReportInputs([sample.CHALLENGE], RECORDS)) == page(ReportInputs([sample.CHALLENGE], RECORDS[::-1]))


def test_another_process_with_other_settings_makes_the_same_bytes(tmp_path):
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nlines.linewidth: 5\nsvg.fonttype: path\n")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import sample_records as s;"
        "from harness.report.views.inputs import ReportInputs;"
        "from harness.report.page import page; records = [s.record(), s.unbuilt(), s.record('good', s.RIGHT)];"
        "sys.stdout.buffer.write(page(ReportInputs([s.CHALLENGE], records)).encode())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "MATPLOTLIBRC": str(tmp_path / "matplotlibrc")}
    made = subprocess.run([sys.executable, "-c", script, str(Path(__file__).parent)], env=environment,
                          capture_output=True, check=True).stdout  # fmt: skip
    assert made == page(ReportInputs([sample.CHALLENGE], RECORDS)).encode()


@pytest.fixture(scope="module")
def bundled() -> str:
    return page(gather(Workspace(ROOT)))


def test_the_page_of_the_bundled_submissions_is_light(bundled):
    assert len(bundled.encode()) < MOST_BYTES


def test_every_bundled_submission_is_on_it(bundled):
    for record in Workspace(ROOT).records():
        assert f'id="{record.name}"' in bundled
