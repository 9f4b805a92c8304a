"""Where an answer is held less well than it could be, the run says so once and the record keeps the reason."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Run, Submit

from harness.model import Environment, Record, Tier, TierChoice, UnusedCause, UnusedTier
from harness.report import formatting
from harness.sandbox.confinement.implementations import new_sandbox
from harness.sandbox.session.tiers import why_not
from harness.store.content_key import content_key, environment
from harness.workspace import Workspace
from tests.broken_bubblewrap import WORDS, path_with

pytestmark = pytest.mark.skipif(why_not(Tier.C) is not None, reason=f"no tier C: {why_not(Tier.C)}")
STRONGER = list(Tier)[: list(Tier).index(Tier.C)]
SAID = "weaker isolation than this machine is set up for: tier C"
QUICK = ("--profile", "reward")


def unused(record: dict[str, Any]) -> dict[str, dict[str, str]]:
    assert record["environment"]["tier"] == "C"
    return {one["tier"]: one for one in record["environment"]["unused_tiers"]}


def test_a_tier_chosen_by_hand_is_said(run: Run, submit: Submit) -> None:
    submit("m")
    done = run("grade", "m", "--json", *QUICK, HARNESS_TIER="C")
    (record,) = json.loads(done.stdout)
    lacking = {tier.value for tier in STRONGER if new_sandbox(tier).missing()}
    causes = {name: one["cause"] for name, one in unused(record).items()}
    assert causes == {tier.value: "absent" if tier.value in lacking else "not_named" for tier in STRONGER}
    assert done.stderr.count("weaker isolation") == (len(lacking) < len(STRONGER))
    assert len(lacking) == len(STRONGER) or "HARNESS_TIER=C names a weaker one" in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_bubblewrap_that_fails_is_said_once_in_its_own_words(
    run: Run, submit: Submit, tmp_path: Path, jobs: str
) -> None:
    for name in "mno":
        submit(name)
    done = run("grade", "--all", "-j", jobs, "--json", *QUICK, PATH=path_with(tmp_path / "bin"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SAID) == 1 and done.stderr.count(WORDS) == 1 and "try: harness doctor" in done.stderr
    for record in json.loads(done.stdout):
        found = unused(record)
        assert found.keys() == {tier.value for tier in STRONGER}
        assert found["B"]["cause"] == "failed" and WORDS in found["B"]["reason"]
        assert os.geteuid() == 0 or found["A"]["cause"] == "absent"


def test_what_the_machine_does_not_have_is_kept_and_not_said(run: Run, submit: Submit, tmp_path: Path) -> None:
    submit("m")
    done = run("grade", "m", "--json", *QUICK, PATH=str(tmp_path))
    assert {one["cause"] for one in unused(json.loads(done.stdout)[0]).values()} == {"absent"}
    assert "isolation" not in done.stderr


def test_the_pages_about_a_record_say_it(run: Run, submit: Submit, tmp_path: Path) -> None:
    submit("m")
    assert run("grade", "m", PATH=path_with(tmp_path / "bin")).returncode == 0
    assert run("report").returncode == 0
    (page,) = (tmp_path / "workspace" / "reports").glob("rows.md")
    shown = (run("show", "m/rows").stdout, run("show", "m/rows", "--format", "md").stdout, page.read_text())
    for text in shown:
        assert "tier C; not " in text and "Creating new namespace failed" in " ".join(text.split())


API = """
import sys
import harness
record = harness.grade(sys.argv[1], profile="reward")
harness.grade(sys.argv[1], profile="reward", force=True)
(other,) = harness.grade_many([sys.argv[1]], profile="reward", force=True)
print(record.environment.model_dump_json())
"""


def test_a_program_is_warned_once(root: Path, submit: Submit, tmp_path: Path) -> None:
    variables = {"HARNESS_WORKSPACE": str(root), "PATH": path_with(tmp_path / "bin")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", API, str(submit("m"))],
        env=os.environ | variables, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(SAID) == 1 and done.stderr.count(WORDS) == 1
    assert WORDS in unused({"environment": json.loads(done.stdout)})["B"]["reason"]


FAILED = UnusedTier(tier=Tier.B, cause=UnusedCause.FAILED, reason="bwrap: no")


def test_the_reason_moves_no_key(root: Path) -> None:
    choices = (TierChoice(tier=Tier.C), TierChoice(tier=Tier.C, unused=(FAILED,)))
    first, second = (content_key(Workspace(root), "rows", {}, {}, environment(choice)) for choice in choices)
    assert first == second
    assert first != content_key(Workspace(root), "rows", {}, {}, environment(TierChoice(tier=Tier.B)))


def test_a_record_without_the_field_says_nothing_of_it(run: Run, submit: Submit, root: Path) -> None:
    submit("m")
    assert run("grade", "m").returncode == 0
    (path,) = (root / "reports" / "records").rglob("*.json")
    old = json.loads(path.read_text())
    del old["environment"]["unused_tiers"]
    where = Record.from_json(json.dumps(old)).environment
    assert where.unused_tiers is None and where.isolation.warning == ""
    assert formatting.isolation(where) == f"tier {where.tier}"


def test_absent_causes_alone_are_no_warning() -> None:
    absent = UnusedTier(tier=Tier.A, cause=UnusedCause.ABSENT, reason="needs root")
    assert TierChoice(tier=Tier.B, unused=(absent,)).warning == ""
    assert "not B (failed: bwrap: no)" in TierChoice(tier=Tier.C, unused=(absent, FAILED)).warning
    assert "unused_tiers" in Environment.model_fields
