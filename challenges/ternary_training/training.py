"""Training runs: an answer's weights, their form, and what the model they make expects of a text it never saw.

The harness projects the weights and runs the forward pass itself (`oracle.log_probabilities`). A loss is set against
three others on the same continuation of the same text: that of a model which knows only how frequent each byte is, that
of the reference trained with the same config and seed, and the entropy rate of the grammar. Training the reference
costs as much as training an answer, so it is left out where the entropy rate alone shows that an answer is near enough.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, ProbeFailure, Tree, converted

from . import oracle, reference
from .texts import Bytes, Text, config_of, windows_of

Weights = dict[str, NDArray[np.float32]]
Config = Mapping[str, Any]
ROOM = 4
"""Times the bytes of the weights that a result may take to cross."""
UNSEEN = 1e-30
"""Least probability that is told apart: a loss stays finite, at 69 nats a byte at most."""

MAIN = config_of()
"""Near the smallest text and fewest steps at which the reference comes within 0.1 nats of the entropy rate."""
SHORT = config_of(width=32, context=8, vocab=64, group_size=16, steps=250, batch=32)
"""Windows of 8 bytes: what attention may see weighs more in each position, and a step costs a tenth."""
SMALL = config_of(layers=1, heads=1, width=16, context=8, vocab=16, group_size=8, steps=120)
"""The smallest in which every optimiser tried learns which byte follows which: a run costs a fiftieth of `MAIN`'s."""

WORSE_THAN_COUNTS = "the trained model predicts worse than byte counts do"


@dataclass(frozen=True)
class Losses:
    """What models lose on one held-out text, in nats a byte.

    Attributes:
        answer: the model that the answer trained.
        unigram: one that knows how frequent each byte is.
        entropy: what the grammar leaves open.
        reference: the one that the reference trained; None where it was not trained.
    """

    answer: float
    unigram: float
    entropy: float
    reference: float | None = None

    @property
    def gap(self) -> float:
        """How far the answer is behind the reference, of what the reference gains over the unigram model.

        Without a reference it is the most that the gap can be, as if the reference lost no more than the entropy rate.
        """
        least = self.entropy if self.reference is None else self.reference
        return (self.answer - least) / (self.unigram - least)

    @property
    def figures(self) -> dict[str, float]:
        """Perplexities, and the ratio of the answer's to that of the entropy rate."""
        return {
            "perplexity": float(np.exp(self.answer)),
            "perplexity_unigram": float(np.exp(self.unigram)),
            "perplexity_entropy_rate": float(np.exp(self.entropy)),
            "perplexity_ratio": float(np.exp(self.answer - self.entropy)),
        } | (
            {"gap_at_most": self.gap}
            if self.reference is None
            else {"perplexity_reference": float(np.exp(self.reference)), "gap": self.gap}
        )

    def __str__(self) -> str:
        trained = "" if self.reference is None else f", reference {np.exp(self.reference):.3g}"
        others = f"unigram {np.exp(self.unigram):.3g}{trained}, entropy rate {np.exp(self.entropy):.3g}"
        return f"perplexity {np.exp(self.answer):.4g} ({others})"


def shapes_of(config: Config) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights."""
    width = config["width"]
    shapes: dict[str, tuple[int, ...]] = {"embed": (config["vocab"], width), "position": (config["context"], width)}
    for i in range(config["layers"]):
        shapes |= {f"layer{i}.{name}": (width,) for name in ("norm1", "norm2")}
        shapes |= {f"layer{i}.{name}": (width, width) for name in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layer{i}.w_up": (4 * width, width), f"layer{i}.w_down": (width, 4 * width)}
    return shapes | {"norm": (width,)}


def is_ternary(name: str, w: NDArray[Any]) -> bool:
    """Return whether a weight is used in ternary form."""
    return w.ndim == 2 and name != "position"


def trained(answer: Answer, tokens: Bytes, config: Config, seed: int, *, exact: bool = False) -> Weights:
    """The weights that an answer trains; of another dtype only where `exact` does not ask for float32 itself.

    Raises:
        ProbeFailure: it does not return, or they are not of the form that the contract asks for.
    """
    size = sum(4 * int(np.prod(shape)) for shape in shapes_of(config).values())
    found = answer.call("train", tokens, dict(config), seed, returns=Tree(ROOM * size))
    return checked(found, config, exact=exact)


def checked(
    found: Any, config: Config, *, exact: bool = False, dtype: str = "float32", function: str = "train",
    noun: str = "weight",
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Return weights whose names, shapes and dtypes are those of the contract, all finite; or gradients of theirs.

    Those of another dtype are converted, where that loses no more than digits, unless `exact`.

    Args:
        found: what came back.
        config: of the call.
        exact: whether the dtype itself is asked.
        dtype: of each.
        function: that returned them.
        noun: what each is.

    Raises:
        ProbeFailure: they are not.
    """
    shapes = shapes_of(config)
    if not isinstance(found, dict):
        raise _WrongForm(noun, f"`{function}` returns no dict of {noun}s", f"it returns {type(found).__name__}")
    missing, other = [n for n in shapes if n not in found], [str(n) for n in found if n not in shapes]
    if missing:
        named = f"{', '.join(missing[:5])}{', ...' * (len(missing) > 5)}: {len(missing)} of {len(shapes)}"
        raise _WrongForm(noun, f"{noun}s are missing", f"{named}{'; others are there: ' * bool(other)}{_some(other)}")
    if other:
        raise _WrongForm(noun, f"there are {noun}s that the contract does not name", _some(other))
    return {name: _checked(name, found[name], shape, dtype, exact, noun) for name, shape in shapes.items()}


class _WrongForm(ProbeFailure):
    """A result that no model can be made of: if they are weights, the fault is that of `learns`, charged once."""

    def __init__(self, noun: str, title: str, detail: str) -> None:
        super().__init__(title, detail, fault_of="learns" * (noun == "weight"))


def _some(names: list[str]) -> str:
    """A few names, cut short: an answer may have made them as long as it likes."""
    return ", ".join(names[:5])[:200]


def _checked(name: str, values: Any, shape: tuple[int, ...], dtype: str, exact: bool, noun: str) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        raise _WrongForm(noun, f"a {noun} is no array", f"{name} is {type(values).__name__}")
    if values.shape != shape:
        raise _WrongForm(noun, f"a {noun} has another shape", f"{name} is {values.shape} instead of {shape}")
    made = None if exact and values.dtype != dtype else converted(values, dtype)
    if made is None:
        raise _WrongForm(noun, f"a {noun} is not {dtype}", f"{name} is {values.dtype.name}")
    if not np.isfinite(made).all():
        count = int((~np.isfinite(made)).sum())
        raise ProbeFailure(f"{noun}s are not finite", f"{count:,} of {made.size:,} entries of {name}")
    return made


def expected_by(weights: Weights, windows: Bytes, config: Config) -> NDArray[np.float64]:
    """Log-probabilities (k,T,vocab) of what comes after each byte of windows (k,T+1).

    Raises:
        ProbeFailure: a model of finite weights expects something that is not finite.
    """
    logs = oracle.log_probabilities(weights, windows[:, :-1], config)
    if np.isnan(logs).any():
        raise ProbeFailure("the model's predictions are not finite", "its finite weights overflow in the forward pass")
    return logs


def loss_of(logs: NDArray[np.float64], windows: Bytes, first: int = 0) -> float:
    """Mean loss over the labels from position `first` of each window on, nats a byte."""
    labels = windows[:, 1:, None].astype(np.int64)
    found = np.take_along_axis(logs, labels, axis=2)[:, first:]
    return float(-np.maximum(found, np.log(UNSEEN)).mean())


def losses_of(logs: NDArray[np.float64], text: Text, config: Config, seed: int, limit: float) -> Losses:
    """Return an answer's loss beside the others.

    The reference is trained only where the answer may be further behind it than `limit`: the less a reference loses,
    the larger is the gap of an answer that is better than the unigram model, and none loses less than the entropy rate.
    """
    windows = windows_of(text.held_out, config["context"])
    found = Losses(loss_of(logs, windows), text.unigram_loss(windows), text.entropy_rate)
    return found if found.gap <= limit else replace(found, reference=reference_loss(text, config, seed))


def reference_loss(text: Text, config: Config, seed: int) -> float:
    """The loss of the reference, trained with the same text, config and seed."""
    digest = hashlib.sha256(text.training.tobytes() + text.held_out.tobytes()).hexdigest()
    return _reference_loss(_Held(digest, text), json.dumps(dict(config), sort_keys=True), seed)


class _Held:
    """A text that is the same as another one where their bytes are."""

    def __init__(self, digest: str, text: Text) -> None:
        self.digest, self.text = digest, text

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.digest == self.digest


@lru_cache(maxsize=32)
def _reference_loss(held: _Held, settings: str, seed: int) -> float:
    """Once for all answers that are judged by the same text."""
    config = json.loads(settings)
    weights = reference.train(held.text.training, config, seed)
    windows = windows_of(held.text.held_out, config["context"])
    return loss_of(oracle.log_probabilities(weights, windows[:, :-1], config), windows)
