"""A program of calls that fails is reported as the shortest one that fails alike, with the size where that begins."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pytest

from harness.probing import ProbeFailure
from harness.probing.programs import DRAWN, MAX_TRIES, Program, Size, StepFailed, shortest


@dataclass(frozen=True)
class Push:
    """Puts `count` things on a stack; `loud` does not matter."""

    count: int
    loud: bool = False

    def sizes(self) -> Mapping[str, Size]:
        return {"count": Size(self.count, 1, 4)}

    def resized(self, name: str, size: int) -> "Push":
        return replace(self, count=size)

    def plainer(self) -> Iterator["Push"]:
        if self.loud:
            yield replace(self, loud=False)


@dataclass(frozen=True)
class Clear(Push):
    """Empties the stack."""

    count: int = 0

    def sizes(self) -> Mapping[str, Size]:
        return {}


def stack(wrong: Callable[[int, int], bool]) -> Callable[[Program, int], None]:
    """Runs programs on a stack that goes wrong at a push where `wrong(held, clears)`."""

    def run(program: Program, draw: int = DRAWN) -> None:
        run.tried += 1
        held = clears = 0
        for at, step in enumerate(program):
            if isinstance(step, Clear):
                held, clears = 0, clears + 1
            else:
                held += step.count
                if wrong(held, clears):
                    raise StepFailed(ProbeFailure("goes wrong"), at)

    run.tried = 0
    return run


LONG: Program = (
    Push(3, True),
    Clear(),
    Push(40),
    Push(2),
    Clear(),
    Push(90, True),
    Push(80),
    Push(1),
    Clear(),
    Push(5),
)


def shrunk(wrong: Callable[[int, int], bool]) -> tuple[Program, list[str]]:
    run = stack(wrong)
    with pytest.raises(StepFailed) as failed:
        run(LONG)
    run.tried = 0
    found = shortest(run, LONG, failed.value)
    assert run.tried <= MAX_TRIES
    return found.steps, [str(threshold) for threshold in found.thresholds]


def test_one_call_at_the_size_where_it_begins():
    assert shrunk(lambda held, clears: held > 60) == (
        (Push(61),),
        ["right up to count = 60, wrong from count = 61 on"],
    )


def test_calls_that_it_needs_stay():
    assert shrunk(lambda held, clears: clears >= 2) == ((Clear(), Clear(), Push(1)), [])


def test_a_size_that_every_program_has_is_no_threshold():
    assert shrunk(lambda held, clears: held > 2) == ((Push(3),), [])


def test_a_fault_of_one_size_alone_is_told_as_such():
    steps, thresholds = shrunk(lambda held, clears: 40 <= held <= 44)
    assert steps == (Push(40),)
    assert thresholds == ["right at count = 39, wrong at count = 40"]


def test_a_size_at_which_it_fails_otherwise_is_not_called_right():
    def run(program: Program, draw: int) -> None:
        held = sum(step.count for step in program)
        if held > 50:
            raise StepFailed(ProbeFailure("goes wrong" if held > 60 else "goes wrong in another way"), len(program) - 1)

    failed = StepFailed(ProbeFailure("goes wrong"), 0)
    found = shortest(run, (Push(90),), failed)
    assert (found.steps, found.thresholds) == ((Push(61),), ())


def test_nor_is_one_that_matters_with_some_inputs_only():
    """What is drawn for another size is something else, and right or wrong by itself."""

    def run(program: Program, draw: int) -> None:
        if sum(step.count for step in program) > (60, 60, 59, 60)[draw]:
            raise StepFailed(ProbeFailure("goes wrong"), 0)

    found = shortest(run, (Push(90),), StepFailed(ProbeFailure("goes wrong"), 0))
    assert (found.steps, found.thresholds) == ((Push(61),), ())


def test_nor_is_one_at_which_its_calls_would_be_refused():
    """A program that uses the last slot is no program of a smaller cache, which refuses it."""
    failed = StepFailed(ProbeFailure("goes wrong"), 0)
    wrong = stack(lambda held, clears: held > 60)
    assert shortest(wrong, (Push(90),), failed).thresholds != ()
    found = shortest(wrong, (Push(90),), failed, fits=lambda program: program[0].count > 60)
    assert (found.steps, found.thresholds) == ((Push(61),), ())


def test_what_does_not_fail_again_stays_as_it_was():
    failed = StepFailed(ProbeFailure("goes wrong"), len(LONG) - 1)
    found = shortest(stack(lambda held, clears: False), LONG, failed)
    assert (found.steps, found.after_others) == (LONG, True)


def test_another_failure_is_not_the_same():
    def run(program: Program, draw: int) -> None:
        if len(program) < len(LONG):
            raise StepFailed(ProbeFailure("goes wrong in another way"), 0)
        raise StepFailed(ProbeFailure("goes wrong"), len(program) - 1)

    failed = StepFailed(ProbeFailure("goes wrong"), len(LONG) - 1)
    assert len(shortest(run, LONG, failed).steps) == len(LONG)
