"""`harness doctor` says how an answer would be held here, what else a grade meets, and how to get better."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Run

from harness.cli import main
from harness.cli.workspace import doctor
from harness.errors import BoxError
from harness.model import UnusedCause, UnusedTier
from harness.sandbox import Tier, self_test
from harness.sandbox.confinement import bubblewrap
from harness.sandbox.session import tiers
from tests.broken_bubblewrap import WORDS, path_with

SENTENCE = "an answer can do something dreadful"
SECONDS = 1.5
"""Of processor time, which is what the command can be blamed for, whoever else uses the machine."""


def strongest() -> Tier:
    """The tier that this machine gives without being asked for one."""
    return tiers.detect()


def facts(run: Run, **variables: str) -> dict[str, Any]:
    done = run("doctor", "--json", **variables)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["can_grade"] else 3)
    return found


def test_the_page_names_the_tier_what_it_holds_and_what_it_does_not(run: Run) -> None:
    done = run("doctor", COLUMNS="80")
    assert done.returncode == 0, done.stdout
    tier = strongest()
    assert f"tier {tier} isolates answers" in done.stdout.partition("\n")[0]
    words = " ".join(done.stdout.split())
    tried = f"{len(self_test.ATTACKS)} escapes from the sandbox tried, none worked"
    for text in (tier.promise, *tier.weaknesses, tried):
        assert text in words
    assert {"gpu", "processor", "python", "packages"} <= {line.partition(" ")[0] for line in done.stdout.splitlines()}
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_says_the_same(run: Run) -> None:
    found = facts(run)
    assert found["can_grade"] and found["tier"] == strongest().value
    assert found["attacks_tried"] == len(self_test.ATTACKS) and found["attacks_open"] == []
    assert {"lacking", "weaknesses", "host compiler", "noise", "advice", "python", "packages"} <= found.keys()


def test_a_tier_that_was_asked_for_is_not_praised_above_a_stronger_one(run: Run) -> None:
    if tiers.why_not(Tier.C) or strongest() is Tier.C:
        pytest.skip("tier C does not work here, or nothing stronger does")
    found = facts(run, HARNESS_TIER="C")
    assert found["tier"] == "C"
    assert f"tier {strongest()} works here: unset HARNESS_TIER, or set it to {strongest()}" in found["advice"]


def test_without_isolation_it_says_so_and_names_what_is_open(run: Run) -> None:
    done = run("doctor", HARNESS_TIER="unsafe")
    assert done.returncode == 0
    assert "marked untrusted" in done.stdout.partition("\n")[0]
    assert "an answer can read files it was not given" in done.stdout


def test_a_missing_bubblewrap_is_named_with_its_package(run: Run, tmp_path: Path) -> None:
    found = facts(run, PATH=str(tmp_path))
    assert "bubblewrap" in found["lacking"]["B"]
    assert any("apt-get install bubblewrap" in text for text in found["advice"])


def test_a_tier_that_is_none_ends_with_3_and_a_whole_page(run: Run) -> None:
    done = run("doctor", HARNESS_TIER="fortress")
    assert done.returncode == 3
    assert "Cannot grade on this machine: HARNESS_TIER='fortress' names no tier" in done.stdout
    assert "python" in done.stdout and "unset HARNESS_TIER" in done.stdout
    assert not facts(run, HARNESS_TIER="fortress")["can_grade"]


def test_where_nothing_works_it_says_why_and_how_to_do_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HARNESS_TIER", raising=False)
    monkeypatch.delenv("HARNESS_UNSAFE", raising=False)

    def lacks(tier: Tier) -> UnusedTier | None:
        return None if tier is Tier.UNSAFE else UnusedTier(tier=tier, cause=UnusedCause.ABSENT, reason="no such thing")

    monkeypatch.setattr(tiers, "unusable", lacks)
    tiers.choose.cache_clear()
    try:
        assert main.main(["doctor"]) == 3
    finally:
        tiers.choose.cache_clear()
    told = capsys.readouterr().out
    assert "Cannot grade on this machine" in told and told.count("no such thing") == 3
    assert "harness grade --unsafe" in told


@pytest.mark.parametrize("named", ["no-such-compiler", "/bin/false", "'unclosed"])
def test_a_compiler_that_is_none_is_a_line(run: Run, named: str) -> None:
    found = facts(run, HARNESS_CXX=named)
    assert found["can_grade"]
    (line,) = [text for text in found["advice"] if "HARNESS_CXX" in text]
    assert named in line and "unset it" in line


def test_a_box_with_a_hole_makes_no_grade(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(self_test, "breaches", lambda tier: (SENTENCE,))
    assert main.main(["doctor"]) == 3
    told = capsys.readouterr().out
    assert f"Cannot grade on this machine: tier {strongest()} does not hold" in told
    assert SENTENCE in told and "please report" in told


def test_a_box_that_cannot_be_opened_makes_no_grade(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(tier: Tier) -> tuple[str, ...]:
        raise BoxError("no memory left")

    monkeypatch.setattr(self_test, "breaches", broken)
    assert main.main(["doctor", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["fault"] == "no memory left"


def test_a_bubblewrap_that_is_there_and_fails_is_quoted_and_not_to_be_installed(run: Run, tmp_path: Path) -> None:
    found = facts(run, PATH=path_with(tmp_path / "bin"))
    assert WORDS in found["lacking"]["B"]
    assert not any("apt-get install bubblewrap" in text for text in found["advice"])
    assert any(WORDS in text for text in found["advice"])


@pytest.mark.parametrize(
    ("words", "container", "advice"),
    [
        ("bwrap: Unknown option --size", False, "bwrap is too old: install bubblewrap"),
        ("bwrap: execvp /opt/odd/python: No such file or directory", False, "bwrap does not find the interpreter"),
        (WORDS, True, "this container may not make namespaces"),
        (WORDS, False, "see whether bwrap works alone: bwrap"),
    ],
)
def test_the_advice_fits_what_bubblewrap_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, container: bool, advice: str
) -> None:
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", words))
    (tmp_path / "mark").touch()
    monkeypatch.setattr(bubblewrap, "CONTAINER_MARKS", (str(tmp_path / "mark"),) if container else ())
    tiers.unusable.cache_clear()
    try:
        failures = [failure for tier in (Tier.A, Tier.B) if (failure := tiers.unusable(tier))]
    finally:
        tiers.unusable.cache_clear()
    found = [text for text in doctor.remedies(doctor.Isolation(Tier.C, failures), tmp_path) if words in text]
    assert len(found) == 1 and advice in found[0]


@pytest.mark.parametrize(
    ("setting", "bad", "good"),
    [
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("user/max_user_namespaces", "0", "1000"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ],
)
def test_a_setting_that_keeps_users_from_namespaces_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, bad: str, good: str
) -> None:
    path_with(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    failed = UnusedTier(tier=Tier.B, cause=UnusedCause.FAILED, reason="bwrap: no permission")
    isolation = doctor.Isolation(Tier.C, [failed])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / setting).parent.mkdir()
    (tmp_path / setting).write_text(f"{good}\n")
    command = f"sysctl -w {setting.replace('/', '.')}="
    assert not any(command in text for text in doctor.remedies(isolation, tmp_path))
    (tmp_path / setting).write_text(f"{bad}\n")
    assert any(command in text for text in doctor.remedies(isolation, tmp_path))


@pytest.mark.alone
def test_it_is_quick(run: Run) -> None:
    before = os.times()
    run("doctor")
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < SECONDS
