"""One cause is named for several failures, and none that criteria which passed refute."""

from pathlib import Path

import numpy as np
import pytest

from harness.model import Diagnosis, Evidence, Outcome
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import Mutant
from harness.probing.diagnosis import Fit, drop_refuted
from harness.probing.evidence.common_causes import settle_names
from harness.probing.evidence.criteria import probe_criterion, seed_of
from tests.checkout import answer_of, code_of
from tests.toy import CHALLENGE_ID, REFERENCE, TOML, make_workspace

CODE = code_of("kv_cache")
KEEP_PROMPT = "        store.append(slot, to_rows(pair(k[row, :, :n], v[row, :, :n]), cache.bits))\n"
FAULT = next(mutant for mutant in CODE.mutants if mutant.name == "one overwritten entry a layer")


def probed(answer: LocalAnswer, *criteria: str) -> list[Evidence]:
    return [probe_criterion(CODE, CODE.challenge.criterion(id), answer, seed_of(3, id), share=0.02) for id in criteria]


def names(evidence: list[Evidence]) -> list[str | None]:
    return [e.diagnosis.mutant if e.diagnosis else None for e in evidence]


def test_a_fault_listed_first_for_one_criterion_gives_way_to_the_one_behind_them_all() -> None:
    """A cache of one entry a layer shows the slots of a call as one cache for all of them does."""
    answer = LocalAnswer(CODE.import_source(FAULT))
    alone = probed(answer, "decode_history", "batch_isolation", "slots")
    assert names(alone) == ["cache never grows", FAULT.name, FAULT.name]
    assert names(settle_names(CODE, alone, answer)) == [FAULT.name] * 3


def test_a_name_that_fits_the_smallest_input_only_takes_no_others_place() -> None:
    """Of two rows, one of them full, the first row's length looks like padding stored; of three rows it does not."""
    stores_padding = Mutant(
        "padding stored by batches", "stores padding where a call has several rows", criterion="ragged_lengths",
        edits=((KEEP_PROMPT, KEEP_PROMPT.replace(":n]", ": n if len(slots) == 1 else q.shape[2]]")),),
    )  # fmt: skip
    answer = LocalAnswer(CODE.import_source(stores_padding))
    rows = CODE.challenge.criterion("ragged_lengths").model_copy(update={"probes": ("ragged_rows_decode_as_alone",)})
    ragged = probe_criterion(CODE, rows, answer, seed_of(3, rows.id), share=0.02)
    assert names([ragged]) == ["padding stored"]
    first = next(mutant for mutant in CODE.mutants if mutant.name == "lengths of row 0 for all rows")
    assert ragged.counterexample is not None
    seen = ragged.counterexample
    fit = Fit(CODE, CODE.probes[seen.probe], [seen.case], None, answer, ragged.seed or 0)
    assert fit.gap(first) is not None
    wrong = Diagnosis(words=first.fault, established="agreement", mutant=first.name)
    misled = [ragged.model_copy(update={"criterion": id, "diagnosis": wrong}) for id in ("slots", "gqa")]
    assert names(settle_names(CODE, [ragged, *misled], answer))[0] == "padding stored"


def test_two_faults_stay_two() -> None:
    """Nothing about the order of layers explains what a prompt sees."""
    answer = LocalAnswer(CODE.import_source(next(m for m in CODE.mutants if m.name == "no causal mask")))
    other = LocalAnswer(CODE.import_source(next(m for m in CODE.mutants if m.name == "layers share storage")))
    seen = [*probed(answer, "causality"), *probed(other, "layer_isolation")]
    assert names(seen) == ["no causal mask", "layers share storage"]
    assert names(settle_names(CODE, seen, answer))[0] == "no causal mask"


class LosesDigits(LocalAnswer):
    """Results that are off by one in a hundred million."""

    def call(self, function, *args, **options):  # type: ignore[no-untyped-def]
        value = super().call(function, *args, **options)
        return value * (1 + 1e-8) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("criterion", "named"), [("causality", "no causal mask"), ("dtype", None)])
def test_lost_digits_hide_no_name_and_are_given_none(criterion: str, named: str | None) -> None:
    mask = next(mutant for mutant in CODE.mutants if mutant.name == "no causal mask")
    assert names(probed(LosesDigits(CODE.import_source(mask)), criterion)) == [named]


NAMED = Diagnosis(words="agrees with `no causal mask`", established="agreement", mutant="no causal mask")


def evidence(criterion: str, outcome: Outcome, diagnosis: Diagnosis | None = None) -> Evidence:
    return Evidence.of(CODE.challenge.criterion(criterion), outcome, seed=3, title="", diagnosis=diagnosis)


@pytest.mark.parametrize(("passed", "kept"), [("first_token", True), ("causality", False)])
def test_a_name_stands_while_nothing_that_passed_contradicts_it(passed: str, kept: bool) -> None:
    """An answer without a mask returns first tokens as they are, and never passes `causality`."""
    failed = evidence("prefill_then_decode", Outcome.FAILED, NAMED)
    seen, _ = drop_refuted(CODE, [failed, evidence(passed, Outcome.PASSED)], LocalAnswer(CODE.import_source()))
    assert seen.diagnosis == (NAMED if kept else None)


def test_what_was_observed_is_no_name() -> None:
    """A pattern in the answer's own output stays, whatever passed."""
    observed = Diagnosis(words="every second row", established="observation")
    failed = evidence("prefill_then_decode", Outcome.FAILED, observed)
    seen, _ = drop_refuted(CODE, [failed, evidence("causality", Outcome.PASSED)], LocalAnswer(CODE.import_source()))
    assert seen.diagnosis == observed


ROWS, DOUBLING = "rows_match_the_oracle", "doubling_doubles"
ADDS_ONE = """
from harness.probing import Mutant
MUTANTS = (Mutant("one added", "adds one", criterion="values", edits=(("total * scale", "total * scale + 1"),)),)
"""


@pytest.mark.parametrize(("probes", "added", "named"), [
    ((ROWS,), "(scale == 3)", "one added"),
    ((ROWS, DOUBLING), "(scale == 3)", None),
    ((ROWS, DOUBLING), "1", "one added"),
])  # fmt: skip
def test_no_name_fails_what_the_answer_passes_in_a_probe_beside(
    tmp_path: Path, probes: tuple[str, ...], added: str, named: str | None
) -> None:
    """Rows are scaled by 3 and doubled ones by 1: who adds one to every sum breaks both."""
    rubric = TOML.replace(f'["{ROWS}"]', str(list(probes)))
    workspace = make_workspace(tmp_path, toml=rubric, mutants=ADDS_ONE)
    code = ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))
    answer = answer_of(REFERENCE.replace("total * scale", f"total * scale + {added}"))
    seen = probe_criterion(code, code.challenge.criterion("values"), answer, seed=7)
    assert seen.counterexample is not None and seen.counterexample.probe == ROWS
    assert (seen.diagnosis.mutant if seen.diagnosis else None) == named
