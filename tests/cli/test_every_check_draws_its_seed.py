"""`harness check` draws other inputs each time and says from which seed, so that no mutant lives by one lucky draw."""

import json

from harness.mutation.checks.check import CheckResult


def test_two_checks_draw_different_seeds_and_print_them(run, monkeypatch):
    drawn = []

    def noted(code, seed, progress):
        drawn.append(seed)
        yield CheckResult("reference", "reference", "every criterion passes", right=True)

    monkeypatch.setattr("harness.mutation.checks.check.check", noted)
    printed = [json.loads(run("check", "rows", "--json").stdout)[0]["seed"] for _ in range(3)]
    assert printed == drawn
    assert len(set(drawn)) == 3
    assert f"seed {drawn[-1] + 1}" in run("check", "rows", "--seed", str(drawn[-1] + 1)).stdout
