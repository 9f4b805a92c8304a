"""Where an adapter of ours refuses a call, the answer is judged by what is left, and the record says without what."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.model import Evidence, Location, Outcome
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.conditions import PartlyServedAnswer
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.failures import ArgumentsRejected, CallFailed, NotOffered
from harness.probing.submissions.reply_failure import misuse
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Keep, Plan, ServedUse
from tests.checkout import code_of

CODE = code_of("ternary_training")
ADAPTER = "adapter.py"
Refuses = Callable[[str, tuple[Any, ...]], bool]


class BehindAdapter(AnswerWrapper):
    """A right or wrong answer of which an adapter serves not all."""

    def __init__(self, refuses: Refuses, mutant: str = "") -> None:
        known = {mutant.name: mutant for mutant in CODE.mutants}
        super().__init__(LocalAnswer(CODE.import_source(known.get(mutant))))
        self.refuses = refuses

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        if self.refuses(function, args):
            title = f"`{function}` raises NotImplementedError"
            raise NotOffered(title, "NotImplementedError: not here", locations=[Location(file=ADAPTER, line=6)])
        return super().call(function, *args, returns=returns, **options)


def judged(criterion: str, refuses: Refuses, mutant: str = "") -> Evidence:
    answer, asked = BehindAdapter(refuses, mutant), CODE.challenge.criterion(criterion)
    return probe_criterion(CODE, asked, answer, seed_of(5, criterion), explain=False, adapters={ADAPTER})


def no_backward(function: str, args: tuple[Any, ...]) -> bool:
    return function == "linear_backward"


def no_short_group(function: str, args: tuple[Any, ...]) -> bool:
    w, *group = args[function == "linear_forward" :]
    return function != "linear_backward" and bool(w.shape[1] % (group[0] if group else 32))


@pytest.mark.parametrize("criterion", ["zero_groups", "dtype", "accuracy", "group_sizes", "any_size"])
def test_a_function_that_is_never_served_leaves_the_rest_to_judge(criterion: str) -> None:
    found = judged(criterion, no_backward)
    assert found.outcome is Outcome.PASSED
    assert "without what our adapter does not serve: `linear_backward`: NotImplementedError: not here" in found.detail


@pytest.mark.parametrize(
    ("criterion", "mutant"),
    [("zero_groups", "zero group one"), ("dtype", "scales in float64"), ("accuracy", "digits lost")],
)
def test_a_fault_of_the_rest_is_charged(criterion: str, mutant: str) -> None:
    assert judged(criterion, no_backward, mutant).faulty


def test_what_needs_the_function_itself_is_not_run() -> None:
    found = judged("gradients", no_backward)
    assert found.outcome is Outcome.NOT_RUN
    assert (
        found.detail == "our adapter does not serve what is asked of `linear_backward`: NotImplementedError: not here"
    )


@pytest.mark.parametrize("criterion", ["gradients", "statelessness"])
def test_a_reason_is_stated_once_whatever_probes_and_functions_share_it(criterion: str) -> None:
    """One probe asks for a projection first, another for a forward: the adapter refuses either, and the gradient."""
    found = judged(criterion, lambda function, args: function != "train")
    assert (found.outcome, found.detail.count("NotImplementedError")) == (Outcome.NOT_RUN, 1)
    assert (
        found.detail.startswith("our adapter does not serve what is asked of `") and "`linear_forward`" in found.detail
    )


def test_drawn_cases_that_are_not_served_are_no_wrong_ones_and_no_praise() -> None:
    found = judged("any_size", no_short_group)
    assert found.outcome is Outcome.NOT_RUN and found.draws is not None
    assert 0 < found.draws.tried < found.draws.planned and found.draws.failed == 0
    fixed = sum(len(probe.cases) for probe in CODE.probes_of(CODE.challenge.criterion("any_size")))
    assert f" of {fixed + found.draws.planned} cases, and the others are right" in found.detail


def test_a_case_that_is_served_and_wrong_is_charged() -> None:
    assert judged("any_size", no_short_group, "scale the largest").faulty


class RefusingAdapter(BehindAdapter):
    """A right answer of which an adapter refuses calls with ValueError."""

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        try:
            return super().call(function, *args, returns=returns, **options)
        except NotOffered as why:
            raise ArgumentsRejected(why.title, "ValueError: ours", locations=why.locations) from None


def test_a_call_that_the_adapter_refuses_with_value_error_is_not_called_unserved() -> None:
    answer, asked = RefusingAdapter(no_backward), CODE.challenge.criterion("gradients")
    found = probe_criterion(CODE, asked, answer, seed_of(5, "gradients"), explain=False, adapters={ADAPTER})
    assert found.outcome is Outcome.NOT_RUN
    assert found.detail == "our adapter refuses what is asked of `linear_backward`: ValueError: ours"


def test_a_wrong_argument_that_is_not_served_leaves_the_others_to_judge() -> None:
    def no_flat_w(function: str, args: tuple[Any, ...]) -> bool:
        return function == "project" and args[0].ndim == 1

    class Crashing(BehindAdapter):
        def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
            try:
                return super().call(function, *args, returns=returns, **options)
            except NotOffered as why:
                raise CallFailed("`project` raises IndexError", "IndexError: ours", locations=why.locations) from None

    def found(mutant: str = "") -> Evidence:
        asked, answer = CODE.challenge.criterion("argument_errors"), Crashing(no_flat_w, mutant)
        return probe_criterion(CODE, asked, answer, seed_of(5, asked.id), explain=False, adapters={ADAPTER})

    assert found().outcome is Outcome.PASSED and "not tried: w of shape (6,)" in found().detail
    assert found("wrong shapes pass").title.startswith("accepts x")


def test_what_an_adapter_passes_to_a_function_of_ours_is_no_refusal() -> None:
    """The function refuses it, and so it counts as what the answer's code made of the call."""
    fault = misuse({"model": ServedUse(1, fault="mask is wrong")}, "ask", (Location(file=ADAPTER, line=6),))

    class Misusing(BehindAdapter):
        def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
            assert fault is not None
            raise fault

    with pytest.raises(CallFailed):
        PartlyServedAnswer(Misusing(no_backward), {ADAPTER}).call("project", returns=Keep())
