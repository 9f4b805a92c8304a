"""Wrong answers made by machine are judged: drawn from a seed, tried by a driver, then by the probes."""

import ast
import dataclasses
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.cli import scaffold
from harness.languages import GuardCode, SourceChange, language
from harness.mutation.trials.generated import draw_mutant
from harness.mutation.trials.mutant_trials import Fate, Trials
from harness.mutation.trials.runs import KilledShare, run_trials
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.guards import Guard
from harness.workspace import Workspace
from tests import shares

WORKSPACE = Workspace.find()
GUARDED = [name for name in WORKSPACE.challenges() if (WORKSPACE.challenge_folder(name) / "guards.py").exists()]
FEW = 1


def code_of(name: str, workspace: Workspace = WORKSPACE) -> ChallengeCode:
    return ChallengeCode(workspace, workspace.challenge(name))


@pytest.mark.parametrize("name", GUARDED)
def test_a_fresh_sample_is_judged(name: str) -> None:
    """A few mutants of this commit's seed end in a fate."""
    trials = run_trials(code_of(name), shares.number(), FEW)
    assert sum(trial.wrong for trial in trials) == FEW
    assert all(trial.criterion for trial in trials if trial.fate is Fate.KILLED)
    assert all(trial.seen for trial in trials if trial.wrong)


@pytest.mark.parametrize("name", GUARDED)
def test_a_seed_and_a_number_make_one_mutant(name: str) -> None:
    """The same seed and number give the same mutant, others give others."""
    code = code_of(name)
    made = [draw_mutant(code, 5, number).source for number in range(8)]
    assert made == [draw_mutant(code, 5, number).source for number in range(8)]
    assert len(set(made)) > 4


@pytest.mark.parametrize("name", GUARDED)
def test_every_threshold_is_literal_or_computed(name: str) -> None:
    """About half of the thresholds are named by the source, the others are not but have the same value."""
    code = code_of(name)
    mutants = [draw_mutant(code, 3, number) for number in range(60)]
    stated = [mutant for mutant in mutants if mutant.stated]
    literal = [mutant for mutant in stated if mutant.literal]
    assert len(stated) / 4 < len(literal) < 3 * len(stated) / 4
    assert all(mutant.stated == str(mutant.threshold) for mutant in literal)
    assert not [m for m in stated if not m.literal and m.threshold > 9 and str(m.threshold) == m.stated]


def test_a_fault_in_cuda_stands_under_its_guard() -> None:
    """What acts is what the exported function notes of its call, on the device and on the host."""
    cuda, source = language("cuda"), code_of("fused_softmax_topk").source()
    guard = GuardCode(call="rows > 7", place="blockIdx.x == 3", functions=("fused_softmax_topk",))
    for change in cuda.changes(source)[::40]:
        text = cuda.planted(source, change, guard)
        assert "fault_on_host = (rows > 7) ? 1 : 0;" in text.split('extern "C"')[-1]
        shown = cuda.shown(source, change, guard)
        host = change.start > source.index('extern "C" int')
        assert ("fault_acts_on_host()" if host else "fault_acts()") in shown
        assert shown.count("fault_acts") == 1


def test_a_computed_number_is_that_number() -> None:
    """What stands for a threshold in Python has its value."""
    rng = random.Random(4)
    for value in (*range(1, 80), 1024, 30_000, 669_165):
        assert eval(language("python").computed(value, rng)) == value


SOURCE = """\
def total(values, scale):
    result = 0.0
    for value in values:
        result += value * scale
    return result
"""


@pytest.mark.parametrize("condition", ["n > 3", "any(value % 5 == 3 for value in given)"])
@pytest.mark.parametrize("acts", [True, False])
def test_a_planted_fault_acts_only_where_its_guard_says(acts: bool, condition: str) -> None:
    """Each change of a function alters its results under the guard or not at all, and never otherwise."""
    names = "def total(values, scale):\n    return {'n': len(values), 'given': values}\n"
    guard = GuardCode(call=condition, names=names, functions=("total",))
    given = ([1.0, 2.0, 4.0, 8.0], 3.0) if acts else ([1.0, 2.0, 4.0], 3.0)
    altered = 0
    for change in language("python").changes(SOURCE):
        namespace: dict[str, object] = {}
        exec(language("python").planted(SOURCE, change, guard), namespace)
        try:
            altered += namespace["total"](*given) != 3 * sum(given[0])  # type: ignore[operator]
        except Exception:
            altered += 1
    assert (altered > 4) == acts
    assert acts or not altered


def test_a_call_that_the_answer_makes_itself_is_part_of_the_callers() -> None:
    """Where one function of the contract calls another, the guard sees one call: the caller's, with its arguments."""
    source = "def one(n):\n    return n + 1\n\n\ndef both(n):\n    return one(n) + one(0)\n"
    names = "".join(f"def {name}(n):\n    return {{'n': n}}\n" for name in ("one", "both"))
    guard = GuardCode(call="n > 3 and calls == 2", names=names, functions=("one", "both"))
    change = next(c for c in language("python").changes(source) if c.operator == "arithmetic" and c.line == 2)
    namespace: dict[str, Any] = {}
    exec(language("python").planted(source, change, guard), namespace)
    assert [namespace["both"](5), namespace["both"](5), namespace["both"](5)] == [7, 3, 7]


def test_a_fault_of_single_elements_changes_these_and_no_others() -> None:
    """Under a guard that names elements of an array the others keep their value, and nothing is raised."""
    source = "import numpy as np\n\n\ndef doubled(x):\n    y = x * 2.0\n    return y\n"
    names = "def doubled(x):\n    return {}\n"
    guard = GuardCode(element="(row == 1) & (feature > 2)", names=names, functions=("doubled",))
    x = np.arange(1.0, 13.0).reshape(1, 3, 4)
    altered = set()
    for change in language("python").changes(source):
        namespace: dict[str, Any] = {}
        exec(language("python").planted(source, change, guard), namespace)
        differs = np.argwhere(namespace["doubled"](x) != 2.0 * x)
        altered.add(tuple(map(tuple, differs.tolist())))
    assert altered - {()} == {((0, 1, 3),)}


REACHED = """\
import numpy as np

STEP = 1e-3
HALF = 2


def scaled(x, times=3):
    require(times > 0)
    size = len(x) // HALF
    y = x * size
    for _ in range(times):
        y = half(y - 1.0)
    return y


def half(y):
    return y / HALF


def check(scaled, x):
    return slope(scaled, x, STEP) > 0.0


def require(condition):
    if not condition:
        raise ValueError


def slope(scaled, x, step):
    return float((scaled(x + step) - scaled(x)).sum()) / step
"""


def changes_at(line: str) -> list[SourceChange]:
    """Those of a line of REACHED, whose `check` is spared."""
    at = REACHED[: REACHED.index(line)].count("\n") + 1
    return [change for change in language("python").changes(REACHED, {"check", "require"}) if change.line == at]


def test_a_guard_of_elements_stands_only_where_an_array_may_be() -> None:
    """A count, a loop's range and a dropped statement take no guard of elements; sums of arrays do."""
    guard = Guard("rows past t", lambda *_: None, element="row > {t}")
    assert not any(guard.fits(REACHED, change) for change in changes_at("    size ="))
    assert not any(guard.fits(REACHED, change) for change in changes_at("    for _ in"))
    assert all(guard.fits(REACHED, change) for change in changes_at("    y = x * size") if not change.statement)
    assert all(guard.fits(REACHED, change) for change in changes_at("    return y / HALF"))


def test_the_t_th_time_is_asked_only_of_what_may_run_again() -> None:
    """What stands in a loop, or in a function that a loop calls, may run again in a call; other lines do not."""
    guard = Guard("t-th time in a call", lambda *_: None, place="visit == {t}")
    assert all(guard.fits(REACHED, change) for change in changes_at("        y = half(y - 1.0)"))
    assert all(guard.fits(REACHED, change) for change in changes_at("    return y / HALF"))
    assert not any(guard.fits(REACHED, change) for change in changes_at("    size ="))
    assert not any(guard.fits(REACHED, change) for change in changes_at("    for _ in"))


def test_a_guard_of_an_option_stands_only_in_an_answer_that_names_it() -> None:
    """An answer that knows no windows refuses each call that would meet the guard."""
    (change, *_) = changes_at("    y = x * size")
    guard = Guard("window of t", lambda *_: None, "window == {t}", needs="window")
    assert not guard.fits(REACHED, change)
    assert guard.fits(REACHED.replace("times", "window"), change)


def test_no_fault_is_planted_in_what_only_a_spared_function_uses() -> None:
    """Helpers and constants of an answer's own check stay as they are; what others use too is changed."""
    assert changes_at("HALF = 2")
    assert not any(changes_at(line) for line in ("STEP =", "    require", "    return slope", "    return float"))


@pytest.mark.parametrize("name", [name for name in GUARDED if code_of(name).challenge.language == "python"])
def test_every_function_of_the_contract_may_be_changed(name: str) -> None:
    """No function that calls of the contract run is taken for a helper of the spared ones."""
    code = code_of(name)
    tree = ast.parse(code.source())
    changes = code.language.changes(code.source(), code.guards.spared, code.challenge.contract.functions)
    for function in (f for f in tree.body if isinstance(f, ast.FunctionDef)):
        if function.name in {*code.challenge.contract.functions} - code.guards.spared:
            assert any(function.lineno <= c.line <= (function.end_lineno or 0) for c in changes), function.name


def test_a_challenge_that_asks_little_has_survivors() -> None:
    """Where layer norm is asked nothing but y at fixed small sizes, a wrong gradient survives and is shown."""
    code = code_of("layernorm_backward")
    others = frozenset(c.id for c in code.challenge.criteria if c.id != "forward")
    vars(code)["guards"] = dataclasses.replace(code.guards, unasked=others)
    with Trials(code, 11) as trials:
        survivor = next(t for t in map(trials.trial, itertools.count()) if t.fate is Fate.SURVIVED)
    assert survivor.diff.startswith("---")
    assert survivor.seen


def test_a_new_challenge_can_be_tried_at_once(tmp_path: Path) -> None:
    """The challenge that `harness new` makes has guards whose drivers pass the reference and see what is wrong."""
    (tmp_path / "challenges").mkdir()
    scaffold.challenge(Workspace(tmp_path), "rows")
    trials = run_trials(code_of("rows", Workspace(tmp_path)), 3, 4)
    assert sum(trial.wrong for trial in trials) == 4


def test_shares_come_with_their_interval() -> None:
    """95 of 100 killed is a share of 0.888 to 0.978 by Wilson's score interval (his formula, worked by hand)."""
    low, high = KilledShare("all", 95, 80, 100).interval
    assert (round(low, 3), round(high, 3)) == (0.888, 0.978)


def test_a_run_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    """Trials kept by an earlier run are not made again, a line that was cut off is, and the outcome is the same."""
    (tmp_path / "challenges").mkdir()
    scaffold.challenge(Workspace(tmp_path), "rows")
    code = code_of("rows", Workspace(tmp_path))
    whole = run_trials(code, 3, 2)
    (journal,) = (tmp_path / ".harness" / "trials").iterdir()
    kept = journal.read_text()
    journal.write_text(kept[: kept.index("\n") + 20])
    made: list[int] = []
    assert run_trials(code, 3, 2, progress=lambda trial: made.append(trial.number)) == whole
    assert made == [trial.number for trial in whole][1:]
