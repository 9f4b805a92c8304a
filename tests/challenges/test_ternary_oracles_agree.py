"""The judge of ternary training is right: its forward pass is the reference's, the reference's gradients are slopes,
and a grammar's entropy rate is what its texts show."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness.probing import Draw
from harness.probing.code import ChallengeCode
from harness.workspace import Workspace

WORKSPACE = Workspace(Path(__file__).parents[2])
CODE = ChallengeCode(WORKSPACE, WORKSPACE.challenge("ternary_training"))
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
