"""Training of a language model with ternary weights (see ANALYSIS.md): Adam, a clipped norm, a linear schedule."""

from collections.abc import Callable

import numpy as np
from model import Config, Weights, gradients, initial_weights, loss_and_gradients
from projection import Array, linear_backward, linear_forward, project

__all__ = ["gradients", "linear_backward", "linear_forward", "project", "train"]

BETAS = 0.9, 0.99
CLIP_NORM = 1.0
WARM_UP = 10
END = 0.1       # of the learning rate, in the last step


def train(tokens: Array, config: Config, seed: int, report: Callable[[int, float], None] | None = None) -> Weights:
    """Latent float32 weights after `config["steps"]` steps on the text tokens (n,); -1 is padding and is left out.

    `report` is told every step and the loss of its batch.
    """
    rng = np.random.default_rng(seed)
    text = tokens[tokens >= 0]
    weights = initial_weights(config, rng)
    optimiser = Adam(weights)
    for step in range(config["steps"]):
        windows, labels = draw_batch(text, config, rng)
        loss, found = loss_and_gradients(weights, windows, labels, config)
        clip(found)
        optimiser.step(weights, found, rate_of(step, config))
        if report is not None:
            report(step, loss)
    return weights


def draw_batch(text: Array, config: Config, rng: np.random.Generator) -> tuple[Array, Array]:
    """Windows (batch,T) from anywhere in the text, and the byte after each of theirs; T is less in a short text."""
    length = min(config["context"], len(text) - 1)
    first = rng.integers(0, len(text) - length, size=(config["batch"], 1))
    places = first + np.arange(length)
    return text[places], text[places + 1]


def clip(gradients: Weights) -> float:
    """Scale all gradients so that their common norm is at most CLIP_NORM; the norm as it was."""
    norm = float(np.sqrt(sum(float(np.vdot(g, g)) for g in gradients.values())))
    if norm > CLIP_NORM:
        for gradient in gradients.values():
            gradient *= CLIP_NORM / norm
    return norm


def rate_of(step: int, config: Config) -> float:
    """The learning rate of a step: up over the first WARM_UP, then down to END of it."""
    rise = min(1.0, (step + 1) / WARM_UP)
    return float(config["learning_rate"]) * rise * (1 - (1 - END) * step / config["steps"])


class Adam:
    """Adam's running means for a set of weights."""

    def __init__(self, weights: Weights) -> None:
        self.means = {name: np.zeros_like(w) for name, w in weights.items()}
        self.squares = {name: np.zeros_like(w) for name, w in weights.items()}
        self.steps = 0

    def step(self, weights: Weights, gradients: Weights, rate: float) -> None:
        """Move the weights, in place."""
        self.steps += 1
        slow, fast = BETAS[1], BETAS[0]
        for name, g in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean += (1 - fast) * (g - mean)
            square += (1 - slow) * (g * g - square)
            rise = mean / (1 - fast**self.steps)
            spread = np.sqrt(square / (1 - slow**self.steps))
            weights[name] -= rate * rise / (spread + 1e-8)
