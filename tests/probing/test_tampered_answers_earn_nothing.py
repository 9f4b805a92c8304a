"""A right answer whose results are averaged, made noise, rounded, replayed or kept by shape has no credit anywhere."""

from pathlib import Path

import numpy as np
import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.model import Outcome, Severity
from harness.mutation.checks.check import assess, check, list_crediting_criteria, open_in_sandbox
from harness.mutation.checks.tampering import TAMPERINGS, TamperedAnswer, Tampering
from harness.probing.answers import Cost
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.sandbox import Array, Scalar, Tree
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
KERNEL = "fused_softmax_topk"
PYTHON = ("layernorm_backward", "kv_cache")
OF_LISTS = ("beam_search", "tree_verification")
"""Whose results are numbers in lists, which have no type that could be narrowed."""
SEED = 11


def code_of(challenge: str) -> ChallengeCode:
    return ChallengeCode(WORKSPACE, WORKSPACE.challenge(challenge))


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("challenge", PYTHON)
def test_no_criterion_of_a_challenge_pays_for_it(challenge, name):
    code = code_of(challenge)
    answer = TamperedAnswer(LocalAnswer(code.import_source()), TAMPERINGS[name]())
    assert list_crediting_criteria(code, answer, SEED, loses_digits=answer.tampering.loses_digits) == []
    assert answer.tampering.applied


@pytest.mark.parametrize("name", ["float16 inside", "float32 inside float64"])
@pytest.mark.parametrize("challenge", ["flash_attention", "flash_attention_backward"])
def test_lost_digits_are_held_down_by_the_criterion_of_digits(challenge, name):
    """Others may pay: who sees whom, and which tiles are skipped, is right."""
    code = code_of(challenge)
    answer = TamperedAnswer(LocalAnswer(code.import_source()), TAMPERINGS[name]())
    (accuracy,) = assess(code, answer, SEED, "accuracy")
    assert (accuracy.outcome, accuracy.severity) == (Outcome.FAILED, Severity.CRITICAL)


@pytest.mark.parametrize("name", [name for name in TAMPERINGS if "float" not in name])
@pytest.mark.parametrize("challenge", OF_LISTS)
def test_numbers_in_lists_are_tampered_with_as_well(challenge, name):
    code = code_of(challenge)
    assert (
        list_crediting_criteria(code, TamperedAnswer(LocalAnswer(code.import_source()), TAMPERINGS[name]()), SEED) == []
    )


@pytest.mark.parametrize("challenge", (*PYTHON, *OF_LISTS))
def test_each_one_fails_for_what_was_done_to_it(challenge):
    code = code_of(challenge)
    answer = TamperedAnswer(LocalAnswer(code.import_source()), Tampering())
    assert [e.satisfied for e in assess(code, answer, SEED, code.challenge.anchor)] == [1]


@pytest.mark.skipif(host_compiler() is None, reason="the emulated device needs a C++ compiler")
def test_a_kernel_is_tampered_with_behind_the_driver():
    code = code_of(KERNEL)
    anchor = code.challenge.anchor
    with open_in_sandbox(code, code.source()) as answer:
        assert [e.satisfied for e in assess(code, TamperedAnswer(answer, Tampering()), SEED, anchor)] == [1]
        for name in TAMPERINGS.keys() - {"float32 inside float64"}:
            answer.fresh()
            assert list_crediting_criteria(code, TamperedAnswer(answer, TAMPERINGS[name]()), SEED) == [], name


@pytest.mark.parametrize("name", TAMPERINGS)
def test_an_earlier_process_leaves_no_memory(toy, name):
    answer = TamperedAnswer(LocalAnswer(toy.import_source()), TAMPERINGS[name]())
    first, second = (np.arange(12.0).reshape(3, 4) + shift for shift in (0.1, 0.3))
    plan = Array((3,), "float64")
    answer.call("scaled", first, 2.0, returns=plan)
    wrong = answer.call("scaled", second, 2.0, returns=plan)
    right = 2 * second.sum(axis=-1)
    assert not np.array_equal(wrong, right)
    answer.fresh()
    remembers = name in ("an earlier output replayed", "a cache keyed by shape")
    assert np.array_equal(answer.call("scaled", second, 2.0, returns=plan), right) == remembers


class Driver:
    """A device whose kernel halves its input, between guards: what `launch` brings back, and nothing else."""

    capabilities, cost, echo, served = {}, Cost(), (), {}

    def call(self, function, symbol, arguments, *, returns, **options):
        given, out = arguments[0]["buffer"], arguments[2]["buffer"].copy()
        out[1:-1] = given[1:-1] / 2
        return 0, given.copy(), out, np.zeros(8, np.uint8)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_what_a_launch_did_not_write_comes_back_as_it_was(name):
    rng = np.random.default_rng(3)
    answer = TamperedAnswer(Driver(), TAMPERINGS[name]())
    outs = []
    for _ in range(2):
        given, before = rng.standard_normal(6), rng.integers(0, 2**63, 6, np.uint64).view(np.float64)
        given[[0, -1]] = np.nan
        buffers = [{"buffer": array, "shift": 0, "name": "", "back": True} for array in (given, before)]
        plan = (Scalar(int), Array((6,), "float64"), Array((6,), "float64"), Array((8,), "uint8"))
        code, after, out, _ = answer.call("launch", "halve", [buffers[0], 6, buffers[1], "stream"], returns=plan)
        assert (code, after.tobytes()) == (0, given.tobytes())
        assert out[[0, -1]].tobytes() == before[[0, -1]].tobytes()
        outs.append(np.array_equal(out[1:-1], given[1:-1] / 2))
    assert not outs[1]


def test_an_anchor_of_one_call_a_shape_is_told(toy):
    path = toy.workspace.root / "challenges" / "scaled_sum" / "probes.py"
    path.write_text(
        path.read_text().replace("for x in (draw.normal(B, D), draw.normal(B, D)):", "for x in (draw.normal(B, D),):")
    )
    wrong = [v for v in check(toy, SEED) if not v.right]
    assert {v.name for v in wrong} == {"an earlier output replayed", "a cache keyed by shape"}
    assert all("credited or excused by values" in v.detail for v in wrong)


def test_what_has_nothing_to_lose_is_not_counted(toy):
    path = toy.workspace.root / "challenges" / "scaled_sum" / "probes.py"
    single = path.read_text().replace('"float64"', '"float32"').replace("normal(B, D)", 'normal(B, D, dtype="float32")')
    path.write_text(single.replace("1e-12", "1e-5"))
    verdicts = {v.name: v for v in check(toy, SEED) if v.kind == "tampered"}
    assert [name for name, verdict in verdicts.items() if not verdict.applies] == ["float32 inside float64"]
    assert all(v.right for v in verdicts.values())


class Returning:
    """An answer that returns what it is given, as an array, a number or plain data."""

    capabilities, cost, echo, served = {}, Cost(), (), {}

    def call(self, function, value, *, returns, **options):
        return value.copy() if isinstance(value, np.ndarray) else value


def tampered(name, value, plan):
    answer = TamperedAnswer(Returning(), TAMPERINGS[name]())
    return answer.call("f", value, returns=plan), answer.tampering.applied


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64", "bool"])
def test_integers_and_booleans_become_others_of_their_range(dtype):
    values = np.arange(64).reshape(8, 8) % (2 if dtype == "bool" else 5)
    values = values.astype(dtype)
    mean, applied = tampered("mean of the right values", values, None)
    assert applied and mean.dtype == dtype and set(mean.flat) == {np.rint(values.mean()).astype(dtype)}
    noise, applied = tampered("noise of the right size", values, None)
    assert applied and noise.dtype == dtype and (noise != values).any()
    assert noise.min() >= values.min() and noise.max() <= values.max()
    for name in ("float16 inside", "float32 inside float64"):
        same, applied = tampered(name, values, None)
        assert not applied and np.array_equal(same, values)


@pytest.mark.parametrize("value", [3, 7.5, True, [1, 2, 5], (0, [1.5, 2])])
def test_numbers_in_no_array_are_changed_as_well(value):
    answer = TamperedAnswer(Returning(), TAMPERINGS["noise of the right size"]())
    plan = Tree(0) if isinstance(value, list | tuple) else Scalar(type(value))
    changed = [answer.call("f", value, returns=plan) for _ in range(20)]
    assert answer.tampering.applied
    assert any(each != value for each in changed)
    assert {type(each) for each in changed} == {type(value)}


def test_what_changes_nothing_has_not_been_applied():
    for value in (np.full(3, 7), np.full(3, 0.5), np.empty(0)):
        same, applied = tampered("mean of the right values", value, None)
        assert np.array_equal(same, value) and not applied
    assert tampered("mean of the right values", 3, Scalar(int)) == (3, False)
    large = 2**53 + 1
    assert tampered("mean of the right values", [large], Tree(0)) == ([large], False)
