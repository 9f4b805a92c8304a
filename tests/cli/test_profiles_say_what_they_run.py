"""Before anything is graded, a user can see which criteria each profile runs."""

import json
from pathlib import Path

from cli_runs import Run

from harness.model import GradeProfile
from harness.workspace import Workspace


def test_the_criteria_of_each_profile_are_listed(run: Run, root: Path) -> None:
    challenge = Workspace.at(root).challenge("rows")
    rows = json.loads(run("ls", "profiles", "--json").stdout)
    assert [row["profile"] for row in rows] == list(GradeProfile)
    asked = run("prompt", "rows")
    assert "profile" not in asked.stdout.splitlines()[0]
    for row in rows:
        ids = [c.id for c in challenge.criteria if c.id in GradeProfile(row["profile"]).criteria(challenge)]
        assert row["criteria"] == len(ids)
        assert row["which"] == (", ".join(ids) if len(ids) < len(challenge.criteria) else "all of the rubric")
        assert f"profile {row['profile']}: {len(ids)} criteria: {', '.join(ids)}\n" in asked.stderr
    assert rows[0]["criteria"] > rows[1]["criteria"]
