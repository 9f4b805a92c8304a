"""A full grade lists every option of a rubric; a reward leaves out those that an answer does not claim."""

import shutil
from pathlib import Path

import pytest

from harness.grading.job import prepare_job
from harness.grading.options import Options
from harness.model import GradeProfile
from harness.workspace import Workspace

ROOT = Path(__file__).parents[2]
CLAIMED, UNCLAIMED = "fork", "gqa"
ABOUT = f"""
[submission]
model = "someone"
challenge = "kv_cache"
language = "python"
entry = "reference.py"
provenance = "model-output"

[capabilities]
{CLAIMED} = true
"""


@pytest.mark.parametrize("profile", GradeProfile)
def test_options_that_are_not_claimed_are_asked_by_full_grades_alone(profile: GradeProfile, tmp_path: Path) -> None:
    shutil.copy(ROOT / "references" / "kv_cache" / "reference.py", tmp_path)
    (tmp_path / "submission.toml").write_text(ABOUT)
    with prepare_job(Workspace(ROOT), tmp_path, Options(profile=profile), copied=False) as job:
        asked = {criterion.id for criterion in job.criteria}
    assert CLAIMED in asked
    assert (UNCLAIMED in asked) is (profile is GradeProfile.FULL)
