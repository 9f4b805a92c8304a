"""The judge of ternary training is right: its forward pass is the reference's, its gradients and the reference's are
slopes, and a grammar's entropy rate is what its texts show."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness.probing import Draw
from tests.checkout import code_of

CODE = code_of("ternary_training")
CONFIG = {
    "layers": 2, "heads": 2, "width": 12, "context": 6, "vocab": 13, "group_size": 5, "steps": 3, "batch": 3,
    "learning_rate": 0.01,
}  # fmt: skip


def part(name: str) -> ModuleType:
    """A module of the challenge's package."""
    import importlib

    package = CODE.probes["any_size_is_right"].body.__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


@pytest.fixture
def weights() -> Iterator[dict[str, Any]]:
    """Weights in float64, as initialised, stirred."""
    rng = np.random.default_rng(0)
    found = part("reference").initial_weights(CONFIG, rng)
    yield {name: w + 0.1 * rng.normal(size=w.shape) for name, w in found.items()}


def test_the_judge_and_the_reference_run_the_same_model(weights: dict[str, Any]) -> None:
    windows = np.random.default_rng(1).integers(0, CONFIG["vocab"], (4, 6))
    logits, _ = part("reference").model_forward(weights, windows, CONFIG)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    judged = part("oracle").log_probabilities(weights, windows, CONFIG)
    # float64, sums of at most 48 terms of size 1
    assert np.abs(logs.reshape(judged.shape) - judged).max() < 1e-11


@pytest.mark.parametrize("name", ["position", "norm", "layer0.norm1", "layer0.norm2", "layer1.norm1", "layer1.norm2"])
def test_the_reference_follows_the_slope_of_the_judges_loss(weights: dict[str, Any], name: str) -> None:
    """Positions and gains are not projected, so their gradients are slopes; the way to them leads through all parts."""
    rng = np.random.default_rng(2)
    inputs, labels = rng.integers(0, CONFIG["vocab"], (2, 3, 6))
    gradients = part("reference").model_gradients(weights, inputs, labels, CONFIG)
    direction = rng.uniform(1, 2, weights[name].shape)

    def loss(t: float) -> float:
        logs = part("oracle").log_probabilities(weights | {name: weights[name] + t * direction}, inputs, CONFIG)
        return float(-np.take_along_axis(logs, labels[:, :, None], axis=2).mean())

    h = 1e-4
    slope = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)
    # truncation h^4 = 1e-16 times a fifth derivative, rounding 1e-16 over h
    assert float((gradients[name] * direction).sum()) == pytest.approx(slope, rel=1e-7, abs=1e-9)


TOKENS = np.array([[3, 5, 3, -1, 3, 7, 5], [-1, 1, -1, 1, 12, -1, -1], [4, -1, -1, -1, -1, -1, -1]], np.int16)
"""Padding before, between and after bytes, a byte that repeats, and a window of one byte."""


def test_the_judge_takes_the_loss_of_each_window_without_its_padding(weights: dict[str, Any]) -> None:
    oracle = part("oracle")
    used = {n: w if w.ndim == 1 or n == "position" else oracle.ternary(w, 5) for n, w in weights.items()}
    costs = []
    for text in (np.array([3, 5, 3, 3, 7, 5]), np.array([1, 1, 12])):
        logs = oracle.log_probabilities(weights, text[None, :-1], CONFIG)[0]
        costs.extend(-logs[np.arange(len(logs)), text[1:]])
    assert float(part("model_oracle").loss(used, TOKENS, CONFIG)) == pytest.approx(np.mean(costs), rel=1e-12)


def test_the_judges_gradients_are_slopes_of_its_loss_in_what_is_used(weights: dict[str, Any]) -> None:
    """Straight through: t * s is moved, not w. One direction of every weight, in long double."""
    oracle, rng = part("model_oracle"), np.random.default_rng(4)
    used = oracle.used_weights(weights, oracle.signs_of(weights, 5), 5)
    gradients = oracle.gradients(used, TOKENS, CONFIG)
    h = np.longdouble(1e-5)
    for name, w in used.items():
        direction = rng.uniform(1, 2, w.shape) * rng.choice((-1, 1), w.shape)
        up, down, far_up, far_down = (
            oracle.loss(used | {name: w + steps * h * direction}, TOKENS, CONFIG) for steps in (1, -1, 2, -2)
        )
        slope = (8 * (up - down) - (far_up - far_down)) / (12 * h)
        # truncation h^4 = 1e-20 times a fifth derivative, rounding 1e-19 over h
        assert float((gradients[name] * direction).sum()) == pytest.approx(float(slope), rel=1e-10, abs=1e-12), name


def test_the_reference_offers_the_judges_gradients(weights: dict[str, Any]) -> None:
    oracle = part("model_oracle")
    wanted = oracle.gradients(oracle.used_weights(weights, oracle.signs_of(weights, 5), 5), TOKENS, CONFIG)
    found = part("reference").gradients(weights, TOKENS, CONFIG)
    assert {*found} == {*wanted}
    assert all(np.abs(found[name] - wanted[name]).max() < 1e-14 for name in wanted)


@pytest.mark.parametrize("order", [1, 2])
def test_the_entropy_rate_is_that_of_the_text(order: int) -> None:
    """What each byte costs a reader who knows the grammar: counted over contexts, within four deviations."""
    text = part("texts").text_of(Draw(3, "text"), order, 6, 64, 30_000, 100)
    plain = text.training[text.training >= 0].astype(int)
    context = sum(plain[i : len(plain) - order + i] * 64 ** (order - 1 - i) for i in range(order))
    pairs = np.unique(context * 64 + plain[order:], return_counts=True)
    contexts = dict(zip(*np.unique(context, return_counts=True), strict=True))
    chances = np.array([n / contexts[key // 64] for key, n in zip(*pairs, strict=True)])
    costs = -np.log(chances)
    mean = float((pairs[1] * costs).sum() / pairs[1].sum())
    deviation = float(np.sqrt((pairs[1] * (costs - mean) ** 2).sum()) / pairs[1].sum())
    bias = len(chances) / (2 * len(plain))  # counting makes each chance fit its own text
    assert abs(mean - text.entropy_rate) <= 4 * deviation + bias


def test_no_text_holds_the_bytes_that_padding_would_be_taken_for() -> None:
    for seed in range(20):
        text = part("texts").text_of(Draw(seed, "text"), 1, 12, 64, 500, 50)
        assert not {0, 1, 63} & {*text.training.tolist()}
        assert (text.training == -1).any()
        assert (text.held_out >= 0).all()


def test_every_window_of_the_longest_run_holds_a_byte_twice() -> None:
    """40 bytes in windows of 64: the gradients of an embedding's row must add up there."""
    text = part("texts").text_of(Draw(1, "text"), 1, 40, 256, 24_000, 100).training
    plain = text[text >= 0]
    assert part("training").MAIN["context"] == 64
    assert all(len({*plain[i : i + 64].tolist()}) < 64 for i in range(0, len(plain) - 64, 7))


def test_a_text_spread_out_is_the_same_text_with_padding_around_every_byte() -> None:
    plain = np.arange(2, 60, dtype=np.int16)
    spread = part("texts").spread_out(Draw(1, "spread"), plain)
    assert spread[spread >= 0].tolist() == plain.tolist()
    assert spread[0] == spread[-1] == -1
    assert (spread[np.flatnonzero(spread >= 0) + 1] == -1).all()
    assert (spread < 0).mean() > 0.7


def test_weights_that_predict_with_the_entropy_rate_have_no_excess() -> None:
    losses = part("training").Losses(answer=1.0, unigram=3.0, reference=1.0, entropy=1.0)
    assert losses.gap == 0
    assert losses.figures["perplexity_ratio"] == 1
    assert losses.figures["perplexity"] == pytest.approx(np.e)


def test_the_gap_without_a_reference_is_the_most_that_it_can_be() -> None:
    Losses = part("training").Losses
    most = Losses(answer=1.3, unigram=3.0, entropy=1.0)
    assert most.figures["gap_at_most"] == most.gap
    assert all(Losses(1.3, 3.0, 1.0, reference).gap <= most.gap for reference in (1.0, 1.1, 1.3, 1.6))


def test_the_reference_is_trained_only_for_an_answer_that_may_be_too_far_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    training, texts = part("training"), part("texts")
    text = texts.text_of(Draw(1, "text"), 1, 8, 64, 400, 90)
    windows = texts.windows_of(text.held_out, training.SHORT["context"])
    logs = np.full((*windows[:, 1:].shape, 64), -text.entropy_rate - 0.2)
    monkeypatch.setattr(training, "reference_loss", lambda *given: text.entropy_rate + 0.1)
    share = training.losses_of(logs, text, training.SHORT, 1, limit=0.9)
    assert share.reference is None
    assert share.gap == training.losses_of(logs, text, training.SHORT, 1, limit=share.gap).gap
    behind = training.losses_of(logs, text, training.SHORT, 1, limit=share.gap * 0.99)
    assert behind.gap < share.gap
    assert "gap_at_most" not in behind.figures
