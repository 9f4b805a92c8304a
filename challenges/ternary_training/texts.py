"""Texts of bytes from grammars whose entropy rate is known exactly.

A grammar says what may follow the last byte, or the last two: as many different bytes as `CHANCES` has, with these
probabilities, in every context. So what comes next is as uncertain in every context as in any other, and the entropy
rate is the entropy of `CHANCES`, to the last digit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Draw

Bytes = NDArray[np.int16]
CHANCES = {1: (0.55, 0.25, 0.15, 0.05), 2: (0.8, 0.2)}
"""Of the bytes that may follow, by how many bytes the context holds."""
PADDING = -1
STRETCH = 12.0
"""Mean bytes between two runs of padding, drawn geometrically: one label in twelve would be padding."""
LONGEST_RUN = 6
APART = (1, 2, 3, 5, 30)
"""Lengths of the runs between which a byte stands alone; the longest is longer than a window."""


@dataclass(frozen=True)
class Text:
    """A text and its continuation, from one grammar.

    Attributes:
        training: (n,) bytes with runs of padding between.
        held_out: (m,) the bytes that come next.
        order: bytes of a context.
    """

    training: Bytes
    held_out: Bytes
    order: int

    @property
    def entropy_rate(self) -> float:
        """Nats a byte that no model can do without."""
        return float(-sum(p * np.log(p) for p in CHANCES[self.order]))

    def unigram_loss(self, windows: Bytes) -> float:
        """Nats a byte, over the labels of windows (k,T+1), of a model that knows how frequent each byte is."""
        counts = np.bincount(self.training[self.training >= 0], minlength=256) + 1e-3
        return float(-np.log(counts / counts.sum())[windows[:, 1:]].mean())

    def bigram_loss(self, windows: Bytes) -> float:
        """The same of a model that knows how frequent each pair of neighbours is."""
        text = self.training[self.training >= 0].astype(np.int64)
        counts = np.bincount(text[:-1] * 256 + text[1:], minlength=256 * 256).reshape(256, 256) + 1e-3
        chances = counts / counts.sum(axis=1, keepdims=True)
        return float(-np.log(chances[windows[:, :-1], windows[:, 1:]]).mean())


def text_of(draw: Draw, order: int, symbols: int, vocab: int, training: int, held_out: int) -> Text:
    """A text of a new grammar over `symbols` bytes, none of them 0, 1 or the largest: what -1 may be taken for."""
    alphabet = np.sort(2 + draw.rng.permutation(vocab - 3)[:symbols])
    chances = CHANCES[order]
    contexts = symbols**order
    followers = np.stack([draw.rng.permutation(symbols)[: len(chances)] for _ in range(contexts)])
    length = training + held_out
    choices = draw.rng.choice(len(chances), length, p=chances)
    picks, found, context = followers.tolist(), [0] * length, 0
    for i, choice in enumerate(choices.tolist()):
        found[i] = picks[context][choice]
        context = (context * symbols + found[i]) % contexts
    text = alphabet[np.array(found)].astype(np.int16)
    return Text(_padded(draw, text[:training]), text[training:], order)


def _padded(draw: Draw, text: Bytes) -> Bytes:
    """The text with runs of padding between stretches of it."""
    ends = np.cumsum(draw.rng.geometric(1 / STRETCH, len(text)))
    places = ends[ends < len(text)]
    runs = draw.rng.integers(1, LONGEST_RUN + 1, len(places))
    return np.insert(text, np.repeat(places, runs), PADDING)


def spread_out(draw: Draw, text: Bytes) -> Bytes:
    """Return a text with runs of padding before, between and after all its bytes: nine tenths of it are padding."""
    runs = draw.rng.choice(APART, len(text) + 1)
    return np.insert(text, np.repeat(np.arange(len(text) + 1), runs), PADDING)


def windows_of(text: Bytes, length: int) -> Bytes:
    """The text cut into windows (k,length+1) that do not overlap; what is left over is dropped."""
    count = len(text) // (length + 1)
    return text[: count * (length + 1)].reshape(count, length + 1)


def config_of(**settings: Any) -> dict[str, Any]:
    """A config: what the contract names, with some settings changed."""
    plain = {
        "layers": 2, "heads": 2, "width": 64, "context": 64, "vocab": 256, "group_size": 32, "steps": 100, "batch": 16,
        "learning_rate": 0.01,
    }  # fmt: skip
    return plain | settings
