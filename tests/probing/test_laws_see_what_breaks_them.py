"""A law is silent on any right answer, and fails one that breaks what it states, whatever the answer computes."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from harness.probing import Answer, Array, InputUse, Keep, ProbeFailure, expect, laws
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.failures import ArgumentsRejected, FaultElsewhere, NotOffered
from tests.checkout import answer_of

DESIGNS = {
    "at once": "def double(x):\n    return x + x\n",
    "by entries": "def double(x):\n    return np.reshape([2 * v for v in x.ravel().tolist()], x.shape)\n",
    "in its own buffer": (
        "def double(x):\n    made = np.empty(x.shape, x.dtype)\n    np.add(x, x, out=made)\n    return made\n"
    ),
}
AROUND = "import numpy as np\n{design}\nright, kept = double, {{}}\n\ndef double(x):\n    {body}\n"
FLOATS = np.arange(1.0, 13.0).reshape(3, 4)


class Restarted(LocalAnswer):
    """An answer whose module is run again where a new process is asked for."""

    def __init__(self, source: str) -> None:
        super().__init__(module_of("answer", source))
        self.source = source

    def fresh(self) -> None:
        self.__init__(self.source)


def judge(design: str, body: str, law: Callable[[Answer], None]) -> str:
    """The title under which a law fails an answer of a design with a body of its own; none where it is silent."""
    answer = Restarted(AROUND.format(design=DESIGNS[design], body=body))
    try:
        law(answer)
    except ProbeFailure as failure:
        return failure.title
    return ""


def run_of(answer: Answer, x: np.ndarray) -> Any:
    def run(*, inputs: InputUse = InputUse.FRESH) -> Mapping[str, Any]:
        y = answer.call("double", x, returns=Array(x.shape, x.dtype.name), inputs=inputs, echo=True)
        laws.inputs_stay({"x": x}, answer.echo)
        expect.alive("y", y, x)
        return {"y": y}

    return run


def layouts(answer: Answer) -> None:
    laws.layouts_do_not_matter(run_of(answer, FLOATS))
    laws.layouts_do_not_matter(run_of(answer, np.tile(FLOATS[:1], (3, 1))), [InputUse.BROADCAST])


def read_anew(answer: Answer) -> None:
    other = laws.rearranged(FLOATS, np.random.default_rng(0))
    laws.arrays_are_read_anew(run_of(answer, FLOATS), run_of(answer, other))


def equal_replies(answer: Answer) -> None:
    other = laws.rearranged(FLOATS, np.random.default_rng(0))
    laws.equal_calls_get_equal_replies(answer, run_of(answer, FLOATS), run_of(answer, other))


def own_results(answer: Answer) -> None:
    def program(caller: laws.Caller) -> laws.Arrays:
        (x,) = caller.keeps(FLOATS)
        ys = [answer.call("double", x, returns=Keep()) for _ in range(2)]
        taken = {f"y{n}": caller.takes(y, FLOATS.shape, "float64") for n, y in enumerate(ys)}
        return taken | {"x": caller.takes(x, FLOATS.shape, "float64")}

    laws.results_belong_to_the_caller(answer, program)


LAWS = {"layouts": layouts, "read anew": read_anew, "equal replies": equal_replies, "own results": own_results}
BROKEN = {
    "layouts": {
        "memory order": "return right(x.ravel(order='K').reshape(x.shape))",
        "the buffer": "return right(np.frombuffer(x.data, x.dtype).reshape(x.shape))",
        "strides of its own": "return right(np.lib.stride_tricks.as_strided(x, x.shape, (32, 8)))",
        "rows side by side": "strides = (8 * x.shape[1], 8)\n    close = x.strides[-1] == 8\n"
        "    return right(np.lib.stride_tricks.as_strided(x, x.shape, strides) if close else x)",
        "a view written to": "made = right(x)\n    if not x.flags.c_contiguous and x.flags.writeable:\n"
        "        x[...] = made\n    return made",
        "a broadcast axis once": "made = right(x)\n    return made if all(x.strides) else made * 0 + made[:, :1]",
    },
    "read anew": {
        "by identity": "kept.setdefault(id(x), (x, right(x)))\n    return kept[id(x)][1].copy()",
        "by address": "made = kept.setdefault(x.ctypes.data, (x, right(x)))\n    return made[1].copy()",
    },
    "equal replies": {
        "by corners and sum": "looks = x.shape, x[0, 0], x[-1, -1], x.sum()\n"
        "    return kept.setdefault(looks, right(x)).copy()",
    },
    "own results": {
        "the argument": "made = right(x) / 2\n    x[...] = made\n    return x",
        "kept by content": "return kept.setdefault(x.tobytes(), right(x))",
        "one buffer": "made = kept.setdefault('y', np.empty_like(x))\n    made[...] = right(x)\n    return made",
    },
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("law", LAWS)
def test_a_right_answer_keeps_every_law(design: str, law: str) -> None:
    assert judge(design, "return right(x)", LAWS[law]) == ""


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("law", "fault"), [(law, fault) for law, faults in BROKEN.items() for fault in faults])
def test_a_broken_law_is_seen_around_any_design(design: str, law: str, fault: str) -> None:
    assert judge(design, BROKEN[law][fault], LAWS[law])


@pytest.mark.parametrize("law", ["layouts", "own results"])
def test_a_fault_of_plain_calls_is_left_to_those_who_judge_them(law: str) -> None:
    counts = "kept['calls'] = kept.get('calls', 0) + 1\n    return right(x) * kept['calls']"
    with pytest.raises(ProbeFailure) as found:
        LAWS[law](Restarted(AROUND.format(design=DESIGNS["at once"], body=counts)))
    assert isinstance(found.value, FaultElsewhere)


@pytest.mark.parametrize("use", InputUse)
@pytest.mark.parametrize("array", [FLOATS, np.arange(6).reshape(1, 2, 3), np.array([True, False]), np.array(2.0)])
def test_a_view_holds_what_was_passed(array: np.ndarray, use: InputUse) -> None:
    answer = answer_of("def same(x):\n    return x\n")
    got = answer.call("same", array, returns=Array(array.shape, array.dtype.name), inputs=use)
    assert np.array_equal(got, array)


@pytest.mark.parametrize(
    ("use", "strides"),
    [(InputUse.SLICED, (40, 8)), (InputUse.STRIDED, (128, -16)), (InputUse.TRANSPOSED, (8, 24)),
     (InputUse.STEPPED, (64, 16)), (InputUse.BROADCAST, (0, 8))],
)  # fmt: skip
def test_a_view_lies_as_it_is_called(use: InputUse, strides: tuple[int, ...]) -> None:
    answer = answer_of("import numpy as np\n\ndef strides(x):\n    return np.array(x.strides)\n")
    given = np.tile(FLOATS[:1], (3, 1))
    assert tuple(answer.call("strides", given, returns=Array((2,), "int64"), inputs=use)) == strides


def test_arrays_that_are_laid_out_differently_take_turns_and_begin_with_another_each_time() -> None:
    answer = answer_of("import numpy as np\n\ndef rows(x):\n    return np.array(x.flags.c_contiguous)\n")

    def rows(use: InputUse) -> bool:
        return bool(answer.call("rows", FLOATS, returns=Array((), "bool"), inputs=use))

    uses = [*[InputUse.UNLIKE] * 3, InputUse.FRESH, *[InputUse.UNLIKE] * 2]
    assert [rows(use) for use in uses] == [False, True, False, True, True, False]


def test_arrays_passed_again_are_the_same_objects() -> None:
    answer = answer_of("import numpy as np\n\ndef of(x):\n    return np.array(id(x))\n")
    ids = {int(answer.call("of", x, returns=Array((), "int64"), inputs=InputUse.REUSED)) for x in (FLOATS, -FLOATS)}
    assert len(ids) == 1


def test_a_rearranged_array_looks_the_same_in_brief() -> None:
    other = laws.rearranged(FLOATS, np.random.default_rng(0))
    assert not np.array_equal(other, FLOATS) and np.array_equal(np.sort(other, None), np.sort(FLOATS, None))
    assert (other[0, 0], other[-1, -1]) == (FLOATS[0, 0], FLOATS[-1, -1])


def test_every_argument_that_is_not_refused_is_named() -> None:
    def accepted() -> None:
        return None

    def refused() -> None:
        raise ArgumentsRejected("`f` raises ValueError")

    attempts = {"a tile of 0": accepted, "a tile of -1": refused, "a k of one head": accepted}
    with pytest.raises(ProbeFailure) as seen:
        laws.each_refused(attempts)
    assert seen.value.title == "accepts a tile of 0"
    assert seen.value.detail == "a tile of 0 must raise ValueError; as little refused: a k of one head"
    assert laws.each_refused({"a tile of -1": refused}).fraction == 1
    not_offered = {"a tile of 0": _raises(NotOffered("`f` raises NotImplementedError"))}
    assert laws.each_refused(not_offered, otherwise=0.5).fraction == 0.5


def _raises(failure: ProbeFailure) -> Callable[[], None]:
    def attempt() -> None:
        raise failure

    return attempt
