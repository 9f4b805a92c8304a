"""A failure shrinks to a small case and is named, and nothing is shrunk after a crash."""

from dataclasses import replace

from harness.model import Outcome
from harness.mutation.checks.check import open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.failures import OtherRaised
from harness.probing.probe import run
from harness.workspace import Workspace
from tests.checkout import answer_of


def assess(toy, source, criterion="values"):
    answer = answer_of(source)
    return probe_criterion(toy, toy.challenge.criterion(criterion), answer, seed=7)


def test_a_right_answer_passes_with_its_figure(toy):
    evidence = assess(toy, toy.source())
    assert (evidence.outcome, evidence.title) == (Outcome.PASSED, "")
    assert 0 <= evidence.measured["error_ratio"] <= 4


def test_the_counterexample_is_the_smallest_that_fails(toy):
    evidence = assess(toy, toy.source(toy.mutants[1]))
    assert evidence.title == "out is wrong"
    assert evidence.counterexample.probe == "rows_match_the_oracle"
    assert evidence.counterexample.case == {"B": 4, "D": 1}
    assert evidence.counterexample.where == "out[3]" and evidence.counterexample.got == 0


def test_a_trivial_output_is_left_at_the_case_where_it_is_no_right_one(toy):
    """Of one row the right sums are one number as well, and of one column those are the input."""
    probes = toy.workspace.root / "challenges" / "scaled_sum" / "probes.py"
    probes.write_text(
        probes.read_text().replace("    expect.same(", "    expect.alive('out', ask(answer, x, 1.0))\n    expect.same(")
    )
    evidence = assess(toy, "def scaled(x, scale):\n    return x.sum(axis=-1) * 0\n", "linear")
    assert evidence.title == "out is constant" and evidence.counterexample.case == {"B": 4, "D": 5}


def test_a_different_program_with_the_same_fault_is_named(toy):
    body = "return np.array([scale * sum(row[:-1].tolist()) for row in x])"
    evidence = assess(toy, f"import numpy as np\ndef scaled(x, scale):\n    {body}\n")
    assert (evidence.diagnosis.mutant, evidence.diagnosis.established) == ("last column dropped", "agreement")
    assert evidence.diagnosis.words.endswith(": the answer leaves the last column out")


def test_an_unknown_fault_is_not_named(toy):
    evidence = assess(toy, "def scaled(x, scale):\n    return x.sum(axis=-1) * scale * 1.001\n")
    assert evidence.outcome is Outcome.FAILED and evidence.diagnosis is None


def test_a_probe_that_breaks_is_a_judge_error_and_blames_nobody(toy):
    (toy.workspace.root / "challenges" / "scaled_sum" / "probes.py").write_text(
        "from harness.probing import probe\n"
        "@probe(n=1)\ndef rows_match_the_oracle(answer, draw, *, n):\n    return 1 / 0\n"
        "@probe(n=1)\ndef doubling_doubles(answer, draw, *, n):\n    return {}\n"
    )
    evidence = assess(toy, toy.source())
    assert (evidence.outcome, evidence.title) == (Outcome.JUDGE_ERROR, "")
    assert "ZeroDivisionError" in evidence.detail


def test_a_figure_of_a_probe_that_passed_is_compared_with_claims_and_not_shown_for_one_that_failed(toy):
    criterion = toy.challenge.criterion("values").model_copy(update={"probes": tuple(toy.probes)})
    wrong_once = answer_of("def scaled(x, scale):\n    return x.sum(axis=-1) * scale + (scale == 1)")
    evidence = probe_criterion(toy, criterion, wrong_once, seed=7)
    assert (evidence.title, list(evidence.measured)) == ("is not linear", ["difference"])
    assert 0 <= evidence.unshown["error_ratio"] <= 4 and "unshown" not in evidence.model_dump()


def test_a_share_of_nothing_without_words_fails_beside_another_failure(toy):
    probes = toy.workspace.root / "challenges" / "scaled_sum" / "probes.py"
    nothing = "\n@probe()\ndef nothing_is_earned(answer, draw):\n    return Partial(0.0, {})\n"
    probes.write_text(probes.read_text().replace("import Array,", "import Array, Partial,") + nothing)
    rubric = probes.with_name("challenge.toml")
    rubric.write_text(rubric.read_text().replace('["doubling_doubles"]', '["doubling_doubles", "nothing_is_earned"]'))
    fresh = ChallengeCode(Workspace(toy.workspace.root), Workspace(toy.workspace.root).challenge("scaled_sum"))
    evidence = assess(fresh, "def scaled(x, scale):\n    return x.sum(axis=-1) ** 2\n", "linear")
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "is not linear")
    assert [further.title for further in evidence.also] == ["`nothing_is_earned` earns nothing"]


CRASHES = "import os\ndef scaled(x, scale): os._exit(9)\n"
WRONG = "def scaled(x, scale): return x.sum(axis=-1)\n"
PROBE = "rows_match_the_oracle"


def test_an_answer_that_crashed_is_not_called_again(toy):
    with open_in_sandbox(toy, CRASHES) as answer:
        evidence = probe_criterion(toy, toy.challenge.criterion("values"), answer, 5)
        assert answer.calls == 1
    assert (evidence.outcome, evidence.title) == (Outcome.FAILED, "the process ends inside `scaled`")
    assert evidence.counterexample.case == {"B": 6, "D": 40}
    assert evidence.diagnosis is None


def test_a_wrong_value_is_shrunk(toy):
    with open_in_sandbox(toy, WRONG) as answer:
        evidence = probe_criterion(toy, toy.challenge.criterion("values"), answer, 5)
        assert answer.calls > 2
    assert evidence.counterexample.case == {"B": 1, "D": 1}


def test_a_case_that_fails_while_it_is_drawn_again_stays_as_it_is(toy):
    """A cache that cannot be made fails in the shrinker's own calls as well."""

    def fail(*failed):
        raise OtherRaised("`create_cache` raises TypeError")

    answer = LocalAnswer(module_of("submission", WRONG))
    result = run(replace(toy.probes[PROBE], shrinker=fail), answer, seed=5)
    assert (result.passed, result.title) == (False, "out is wrong")
    assert result.counterexample.case == {"B": 6, "D": 40}
