"""What an answer does with the functions that it is given is told in the same words in the box and beside it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from harness.model import Limits
from harness.probing import Answer, ArgumentsRejected, ProbeFailure, ServedFunction, Tree, WorkerLost
from harness.probing.answers import SandboxedAnswer
from harness.sandbox import WorkerSpec
from tests.checkout import answer_of

SOURCE = """
def halving():
    def half(number):
        if type(number) is not int:
            raise ValueError(f"number is {number!r}, not an int")
        return number / 2
    return half
"""
HALF = ServedFunction("half", SOURCE, "halving", attributes={"base": 10}, most=20)
ANSWER = """
def right(half, count):
    return [half(number) for number in range(count)] + [half.base]

def rubbish(half, count):
    return half("x")

def caught(half, count):
    try:
        half("x")
    except ValueError:
        return []

def endless(half, count):
    while True:
        half(1)

def refusing(half, count):
    raise ValueError("count")

def dying(half, count):
    half(1)
    import os
    os._exit(1)
"""
Opened = Callable[[], AbstractContextManager[Answer]]


@pytest.fixture(params=["boxed", "local"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    @contextmanager
    def boxed() -> Iterator[Answer]:
        (tmp_path / "answer.py").write_text(ANSWER)
        answer = SandboxedAnswer(WorkerSpec(tmp_path, "answer.py", (), Limits(), sources=("answer.py",)))
        try:
            yield answer
        finally:
            answer.close()

    @contextmanager
    def local() -> Iterator[Answer]:
        yield answer_of(ANSWER)

    return boxed if request.param == "boxed" else local


def test_calls_are_counted_for_each_call_of_the_answer(opened: Opened) -> None:
    with opened() as answer:
        for count in (3, 0, 20):
            found = answer.call("right", HALF, count, returns=Tree(0))
            assert found == [*(number / 2 for number in range(count)), 10]
            assert answer.served["half"].calls == count


@pytest.mark.parametrize("function", ["rubbish", "caught"])
def test_rubbish_fails_the_call_with_what_was_passed(opened: Opened, function: str) -> None:
    """And is not taken for a refusal of the answer's own arguments."""
    with opened() as answer, pytest.raises(ProbeFailure) as failed:
        answer.call(function, HALF, 1, returns=Tree(0))
    assert not isinstance(failed.value, ArgumentsRejected)
    assert failed.value.title == f"`{function}` calls `half` with what it does not take"
    assert failed.value.detail == "call 1: number is 'x', not an int"


def test_more_calls_than_are_answered_fail_the_call(opened: Opened) -> None:
    with opened() as answer, pytest.raises(ProbeFailure) as failed:
        answer.call("endless", HALF, 1, returns=Tree(0))
    assert str(failed.value) == "`endless` calls `half` more often than it is answered"
    assert failed.value.detail == "21 calls, and the last is not answered"


def test_an_answer_may_refuse_its_own_arguments(opened: Opened) -> None:
    with opened() as answer, pytest.raises(ArgumentsRejected):
        answer.call("refusing", HALF, 1, returns=Tree(0))


@pytest.mark.parametrize("opened", ["boxed"], indirect=True)
def test_the_next_process_is_served_after_one_died(opened: Opened) -> None:
    with opened() as answer:
        with pytest.raises(WorkerLost):
            answer.call("dying", HALF, 1, returns=Tree(0))
        assert answer.call("right", HALF, 2, returns=Tree(0)) == [0, 0.5, 10]
