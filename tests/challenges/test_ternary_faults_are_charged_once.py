"""A fault of ternary training fails the criterion that asks for it, whatever the design around it, and no other."""

from functools import cache

import pytest

from harness.model import Evidence, Obstacle, Outcome
from harness.probing.evidence.charging import charge_once
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.root_causes import judge_without_conditions
from tests.checkout import answer_of, code_of, mutated

CODE = code_of("ternary_training")
SEED = 11
LAYERS = ("reference", "loops over groups", "group by group", "compared with half the scale")
"""Right answers that project and multiply in other ways."""
TRAININGS = ("reference", "signs of the momentum", "uniform initialisation")
"""Right answers that train in other ways."""
FORM = (
    "configs",
    "short_texts",
    "seeds",
    "near_the_reference",
    "context",
    "padding",
    "training_cost",
    "finite_training",
)
"""Criteria that need weights of the contract's form."""
WRAPPED = """

_PROJECT, _FORWARD, _BACKWARD, _TRAIN, _CALLS = project, linear_forward, linear_backward, train, []


def project(w, group_size={default}):
    _CALLS.append(1)
    {arguments}
    t, s = _PROJECT(w, group_size)
    {project}
    return t, s


def linear_forward(x, w, group_size):
    y, cache = _FORWARD(x, w, group_size)
    {forward}
    return y, (cache, w.copy())


def linear_backward(dy, cache):
    cache, w = cache
    dx, dw = _BACKWARD(dy, cache)
    {backward}
    return dx, dw


def train(tokens, config, seed):
    {before}
    weights = _TRAIN(tokens, config, seed)
    {after}
    return weights
"""
PLAIN = dict.fromkeys(("arguments", "project", "forward", "backward", "before", "after"), "pass") | {"default": "32"}
SHORT = "s = s * np.where(np.arange(s.shape[1]) == w.shape[1] // group_size, w.shape[1] % group_size / group_size, 1)"
SHORT_GROUP = {"project": f"{SHORT}.astype(s.dtype)"}
FLOOR = {"project": "s = np.where(s > 0, np.maximum(s, s.dtype.type(1e-6)), 0).astype(s.dtype)"}
CEILING = {"project": "s = np.minimum(s, s.dtype.type(1e6))"}
ONE_FOR_ZERO = {"project": "s = np.where(s > 0, s, 1).astype(s.dtype)"}
LAYER_FAULTS = {
    "projection": {"project": "s = s * s.dtype.type(1.01)"},
    "linear": {"forward": "y = 2 * y"},
    "gradients": {"backward": "dx = 2 * dx"},
    "statelessness": {"forward": "y = y * y.dtype.type(1 + 1e-3 * len(_CALLS))"},
    "any_size": {"forward": "y = y.copy(); y[128:] = 0"},
    "straight_through": {"backward": "dw = dw * (abs(w) < 5 * abs(w).mean())"},
    "groups": {"project": "s = (0.9 * s + 0.1 * s.mean(axis=1, keepdims=True)).astype(s.dtype)"},
    "dtype": {"project": "s = s.astype('float64')"},
    "ragged_groups": SHORT_GROUP,
    "group_sizes": {"default": "64"},
    "argument_errors": {"arguments": "group_size = max(1, group_size)"},
    "zero_groups": ONE_FOR_ZERO,
    "extreme_scale": FLOOR,
    "accuracy": {"forward": "y = y + abs(y).max() * y.dtype.type(300 * np.finfo(y.dtype).eps)"},
}
"""A fault of the layer by the criterion that it fails."""
TRAINING_FAULTS = {
    ("seeds", "noise"): {"after": "weights['norm'] = weights['norm'] + np.float32(np.random.default_rng().normal())"},
    ("seeds", "one seed"): {"before": "seed = 0"},
    ("seeds", "text"): {"before": "tokens[tokens < 0] = 0"},
    ("configs", "a weight"): {"after": "del weights['norm']"},
    ("short_texts", "refused"): {"before": "assert (tokens >= 0).sum() > config['context']"},
    ("finite_training", "nan"): {
        "after": "weights['norm'] = weights['norm'] / np.float32(config['learning_rate'] < 1)"
    },
    ("learns", "untrained"): {"before": "config = config | {'steps': 1}"},
    ("padding", "a zero byte"): {"before": "tokens = np.where(tokens < 0, 0, tokens)"},
    ("context", "shuffled pairs"): {
        "before": "text = tokens[tokens >= 0]; pairs = text[: len(text) // 2 * 2].reshape(-1, 2); "
        "tokens = np.random.default_rng(seed).permutation(pairs).ravel()"
    },
    ("near_the_reference", "few steps"): {"before": "config = config | {'steps': 20}"},
}
"""Faults of training by the criterion that they fail, and a word."""
AVERAGED = {
    "after": "start = _TRAIN(tokens, config | {'steps': 1, 'learning_rate': 1e-30}, seed); "
    "weights = {n: np.float32(0.95) * start[n] + np.float32(0.05) * w for n, w in weights.items()}"
}
"""Weights averaged over a few steps, and so near those at the beginning."""
ALONE = {**{(id,): LAYER_FAULTS[id] for id in ("dtype", "group_sizes", "any_size")}}
"""Faults that touch nothing that another criterion asks for."""


@cache
def design(name: str) -> str:
    variants = {variant.name: variant for variant in CODE.variants}
    return CODE.source(variants.get(name))


def wrapped(name: str, *faults: dict[str, str]) -> str:
    lines = {place: [fault[place] for fault in faults if place in fault] for place in PLAIN}
    return design(name) + WRAPPED.format(**{place: "; ".join(lines[place]) or PLAIN[place] for place in PLAIN})


def judged(source: str, *only: str) -> dict[str, Evidence]:
    """The evidence of an answer, each fault charged once; of the layer's criteria by default."""
    answer = answer_of(source)
    asked = [c for c in CODE.challenge.criteria if c.id in (only or LAYER_FAULTS)]
    evidence = [probe_criterion(CODE, c, answer, seed_of(SEED, c.id), explain=False) for c in asked]
    return {e.criterion: e for e in charge_once(CODE, judge_without_conditions(CODE, evidence, answer))}


def faulty(evidence: dict[str, Evidence]) -> set[str]:
    return {id for id, e in evidence.items() if e.faulty}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("criterion", LAYER_FAULTS)
def test_a_fault_of_the_layer_is_seen_around_any_design(criterion: str, name: str) -> None:
    assert faulty(judged(wrapped(name, LAYER_FAULTS[criterion]), criterion)) == {criterion}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize(("criterion", "word"), TRAINING_FAULTS)
def test_a_fault_of_training_is_seen_around_any_design(criterion: str, word: str, name: str) -> None:
    (found,) = judged(wrapped(name, TRAINING_FAULTS[criterion, word]), criterion).values()
    assert found.faulty and found.obstacle is not Obstacle.FAULT


@pytest.mark.parametrize(
    ("criteria", "faults"),
    [
        *((criteria, [fault]) for criteria, fault in ALONE.items()),
        (("linear", "accuracy"), [LAYER_FAULTS["accuracy"]]),
        (("linear",), [{"forward": "y = y + 0.01 * abs(y).max() * np.sign(y)"}]),
        (("gradients",), [LAYER_FAULTS["gradients"]]),
        (("gradients",), [{"backward": "dw = dw * (abs(w) > 0.5 * abs(w).mean())"}]),
        (("gradients",), [{"backward": "dx = dy @ w"}]),
        (("straight_through",), [{"backward": "dw = dw * (abs(w) < 50 * abs(w).mean())"}]),
        (("ragged_groups",), [SHORT_GROUP]),
        (("extreme_scale",), [FLOOR]),
        (("extreme_scale",), [CEILING]),
        (("extreme_scale",), [FLOOR, CEILING]),
        (("zero_groups",), [ONE_FOR_ZERO]),
        (("ragged_groups", "extreme_scale"), [SHORT_GROUP, FLOOR]),
        (("ragged_groups", "zero_groups"), [SHORT_GROUP, ONE_FOR_ZERO]),
    ],
)
def test_a_fault_is_charged_to_no_other_criterion(criteria: tuple[str, ...], faults: list[dict[str, str]]) -> None:
    evidence = judged(wrapped("reference", *faults))
    assert faulty(evidence) == {*criteria}, {id: (e.title, e.detail) for id, e in evidence.items() if e.faulty}


def test_weights_that_hardly_learn_are_not_charged_to_what_is_special() -> None:
    evidence = judged(wrapped("reference", AVERAGED), "learns", "context", "short_texts")
    assert faulty(evidence) == {"learns"}
    assert {evidence[id].rests_on for id in ("context", "short_texts")} == {"learns"}


def test_weights_of_other_names_are_charged_once() -> None:
    named = {"after": "weights = {name.replace('.', '_'): w for name, w in weights.items()}"}
    evidence = judged(wrapped("reference", named), "learns", *FORM)
    assert faulty(evidence) == {"learns"}
    assert {evidence[id].rests_on for id in FORM} == {"learns"}


def test_training_is_finite_after_every_number_of_steps() -> None:
    evidence = judged(mutated(CODE, "nothing between warm-up and the last step"), "configs", "seeds", "short_texts")
    assert faulty(evidence) == {"configs"}
    assert evidence["configs"].title == "weights are not finite"
    assert evidence["configs"].counterexample is not None
    assert evidence["configs"].counterexample.case == {"kind": "11 steps"}


def test_gradients_that_cannot_be_taken_are_charged_once() -> None:
    raising = "\n\ndef gradients(weights, tokens, config):\n    return weights['layers']\n"
    evidence = judged(CODE.source() + raising, "model_gradients", "window_errors")
    assert faulty(evidence) == {"model_gradients"}
    assert evidence["window_errors"].rests_on == "model_gradients"


@pytest.mark.parametrize("name", ["softmax overflows", "SiLU overflows", "slope of SiLU overflows"])
def test_what_overflows_is_charged_to_finite_training_alone(name: str) -> None:
    """Rewards judge no training of this kind: there gradients that are not finite are charged where they are seen."""
    wrong = mutated(CODE, name)
    assert faulty(judged(wrong, "model_gradients")) == {"model_gradients"}
    evidence = judged(wrong, "finite_training", "model_gradients")
    assert faulty(evidence) == {"finite_training"}
    assert evidence["model_gradients"].rests_on == "finite_training"


@pytest.mark.parametrize("criterion", ["projection", "linear", "gradients"])
def test_a_fault_of_the_layer_is_not_charged_to_the_models_gradients(criterion: str) -> None:
    evidence = judged(wrapped("reference", LAYER_FAULTS[criterion]), criterion, "model_gradients")
    assert faulty(evidence) == {criterion}
    assert evidence["model_gradients"].rests_on == criterion


@pytest.mark.parametrize(
    ("mutant", "title"),
    [
        ("repeats lost", "the gradient of embed is wrong"),
        ("short windows without positions", "the gradient of position is wrong"),
        ("softmax without its sum", "the gradient of layer0.wk is wrong"),
        ("second residual lost", "the gradient of layer0.w_down is wrong"),
        ("embedding in float32", "the gradient of embed loses digits"),
        ("padding keeps its places", "the gradients of all weights are wrong where padding stands before bytes"),
        ("padding out of the loss alone", "the gradients of all weights are wrong where padding stands before bytes"),
        (
            "mean of means",
            "the gradients of all weights are wrong where 2 windows of different lengths are in one batch",
        ),
        (
            "means of eight windows",
            "the gradients of all weights are wrong where 9 windows of different lengths are in one batch",
        ),
        ("bytes to come at -1e4", "the gradient of norm is wrong where wq and wk are 300 times as large"),
    ],
)
def test_the_weight_next_to_the_fault_is_named(mutant: str, title: str) -> None:
    assert judged(mutated(CODE, mutant), "model_gradients")["model_gradients"].title == title


@pytest.mark.parametrize(
    ("mutant", "title"),
    [
        ("halves up", "a half is not rounded to even"),
        ("halves away from zero", "a half is not rounded to even"),
        ("halves of rounded shares", "w / s is not exact at a half in float32"),
    ],
)
def test_a_rounded_quotient_is_told_from_wrong_rounding(mutant: str, title: str) -> None:
    assert judged(mutated(CODE, mutant), "projection")["projection"].title == title


@pytest.mark.parametrize(
    ("faults", "where"),
    [([FLOOR], "a scale is tiny"), ([CEILING], "a scale is huge"), ([FLOOR, CEILING], "a scale is tiny or huge")],
    ids=["tiny", "huge", "both"],
)
def test_only_the_scale_that_decides_is_named(faults: list[dict[str, str]], where: str) -> None:
    evidence = judged(wrapped("reference", *faults), "extreme_scale", "any_size")
    assert f"fails where {where}, which `extreme_scale` is charged with" in evidence["any_size"].detail


def test_a_short_group_of_a_long_row_loses_no_digits() -> None:
    """Against the sums of a long row the scale of one group is small; what is seen of it is a wrong output."""
    evidence = judged(wrapped("reference", SHORT_GROUP), "ragged_groups", "any_size")
    assert evidence["any_size"].detail.endswith(": y is wrong")


def test_what_fails_where_a_group_is_short_is_left_to_that_criterion() -> None:
    evidence = judged(wrapped("loops over groups", SHORT_GROUP))
    for id in ("group_sizes", "any_size"):
        assert (evidence[id].outcome, evidence[id].rests_on) == (Outcome.NOT_RUN, "ragged_groups")
        assert "fails where the last group is short" in evidence[id].detail


OWN_PROJECTION = {"project": "s = 2 * s"}
"""The layer multiplies by what it projects."""


def test_a_dtype_is_judged_where_a_group_is_short_and_a_refusal_there_is_not() -> None:
    wrong = next(m for m in CODE.mutants if m.name == "short group in float64")
    assert faulty(judged(CODE.source(wrong), "dtype", "ragged_groups", "accuracy")) == {"dtype"}
    end = CODE.module("lines").PROJECT
    refusing = CODE.source().replace(end, f"    _require(counts[-1] == group_size, 'short')\n{end}")
    assert faulty(judged(refusing, "dtype", "ragged_groups")) == {"ragged_groups"}


def test_a_layer_that_is_right_for_its_own_projection_is_charged_with_the_projection_alone() -> None:
    evidence = judged(wrapped("reference", OWN_PROJECTION), "projection", "linear", "gradients")
    assert faulty(evidence) == {"projection"}
    assert {evidence[id].rests_on for id in ("linear", "gradients")} == {"projection"}
    assert evidence["linear"].outcome is Outcome.FAILED, "the anchor stays failed"


def test_a_gradient_that_no_projection_explains_is_charged_beside_it() -> None:
    """dx is that of the answer's own projection, and dw of none."""
    fault = OWN_PROJECTION | {"backward": "dw = 2 * dw"}
    evidence = judged(wrapped("reference", fault), "projection", "linear", "gradients")
    assert faulty(evidence) == {"projection", "gradients"} and evidence["gradients"].title == "dw is wrong"
