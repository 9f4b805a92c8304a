"""A probe can treat the arrays it passes as any caller may: an answer that leans on them is seen, boxed or local."""

from collections.abc import Iterator

import numpy as np
import pytest

from harness.model import Limits
from harness.probing import Answer, Array, InputUse, Keep, ProbeFailure
from harness.probing.answers import SandboxedAnswer
from harness.sandbox import Scalar, WorkerSpec
from tests.checkout import answer_of

SOURCE = """
import numpy as np

kept = []

def keep(x):
    kept.append(x)
    return x * 1

def keep_copy(x):
    kept.append(x.copy())
    return x * 1

def first(x):
    return kept[0] * 1

def scaled_in_place(x):
    x *= 2
    return x * 1

def itself(x):
    return x

def refuse(x):
    kept.append(x)
    raise ValueError("no")
"""
X, OTHER = np.arange(6.0).reshape(2, 3), np.full((2, 3), 7.0)


@pytest.fixture(params=["in the box", "local"])
def answer(request: pytest.FixtureRequest, tmp_path) -> Iterator[Answer]:
    if request.param == "local":
        yield answer_of(SOURCE)
        return
    (tmp_path / "answer.py").write_text(SOURCE)
    boxed = SandboxedAnswer(WorkerSpec(tmp_path, "answer.py", ("keep",), Limits()))
    yield boxed
    boxed.close()


def call(answer: Answer, function: str, x: np.ndarray, use: InputUse) -> np.ndarray:
    return answer.call(function, x, returns=Array(x.shape, str(x.dtype)), inputs=use)


def seen_later(answer: Answer, function: str, use: InputUse) -> np.ndarray:
    """What the answer kept of X, after a second call with other content."""
    assert np.array_equal(call(answer, function, X, use), X)
    return call(answer, "first", OTHER, use)


@pytest.mark.parametrize("use", [InputUse.FRESH, InputUse.READ_ONLY])
def test_arrays_that_nobody_touches_stay(answer, use):
    assert np.array_equal(seen_later(answer, "keep", use), X)


@pytest.mark.parametrize(("use", "left"), [(InputUse.OVERWRITTEN, np.full((2, 3), np.nan)), (InputUse.REUSED, OTHER)])
def test_an_answer_that_kept_the_callers_array_reads_what_the_caller_wrote_there(answer, use, left):
    assert np.array_equal(seen_later(answer, "keep", use), left, equal_nan=True)


@pytest.mark.parametrize("use", InputUse)
def test_an_answer_that_kept_a_copy_is_never_disturbed(answer, use):
    assert np.array_equal(seen_later(answer, "keep_copy", use), X)


@pytest.mark.parametrize("use", InputUse)
def test_only_read_only_and_broadcast_arrays_refuse_to_be_written(answer, use):
    if use in (InputUse.READ_ONLY, InputUse.BROADCAST):
        with pytest.raises(ProbeFailure, match="raises ValueError"):
            call(answer, "scaled_in_place", X, use)
    else:
        assert np.array_equal(call(answer, "scaled_in_place", X, use), 2 * X)


def test_a_result_is_taken_before_the_arguments_are_overwritten(answer):
    assert np.array_equal(call(answer, "itself", X, InputUse.OVERWRITTEN), X)


def test_a_refused_call_has_ended_too(answer):
    with pytest.raises(ProbeFailure):
        call(answer, "refuse", X, InputUse.OVERWRITTEN)
    assert np.isnan(call(answer, "first", OTHER, InputUse.OVERWRITTEN)).all()


def test_integers_are_overwritten_with_what_no_index_can_be(answer):
    answer.call("keep", np.arange(3), returns=Keep(), inputs=InputUse.OVERWRITTEN)
    assert (call(answer, "first", np.arange(3), InputUse.FRESH) == np.iinfo(np.int64).max).all()


def test_memory_grows_with_what_is_passed(answer):
    for n in (3, 50, 7):
        x = np.arange(float(n))
        assert np.array_equal(call(answer, "keep_copy", x, InputUse.REUSED), x)


def test_equal_arrays_are_passed_as_one_where_that_is_asked(answer):
    answer.load("counter", "def count(*arrays):\n    return len({id(array) for array in arrays})\n")
    for use, objects in ((InputUse.FRESH, 4), (InputUse.ALIASED, 3)):
        given = X, OTHER, X.copy(), X.astype("float32")
        assert answer.call("count", *given, returns=Scalar(int), inputs=use, module="counter") == objects
