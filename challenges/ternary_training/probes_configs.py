"""Probes of the form of training: every config, short texts, seeds, inputs, and what a run costs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, Draw, NotMeasurable, Partial, ProbeFailure, Tree, expect, probe, scratch_folder
from harness.probing.answers import SandboxedAnswer

from . import model_oracle, oracle, reference
from .texts import config_of, text_of, windows_of
from .training import MAIN, WORSE_THAN_COUNTS, Weights, checked, expected_by, is_ternary, loss_of, trained

TINY = {"layers": 1, "heads": 1, "width": 8, "context": 6, "vocab": 16, "group_size": 4, "steps": 3, "batch": 2}
CONFIGS: dict[str, dict[str, Any]] = {
    "tiny": TINY,
    "three layers": TINY | {"layers": 3, "heads": 4, "width": 24},
    "groups that do not divide a row": TINY | {"width": 20, "heads": 2, "group_size": 16},
    "groups larger than a row": TINY | {"group_size": 100},
    "windows of one byte": TINY | {"context": 1},
    "one window a step": TINY | {"batch": 1, "steps": 1},
    "all bytes": TINY | {"vocab": 256},
    **{f"{steps} steps": TINY | {"steps": steps} for steps in range(1, 25)},
}
"""Every number of steps up to 24 among them: schedules divide by what is left behind a warm-up of 10 or 20."""
ONE_WINDOW = TINY | {"heads": 2, "width": 16, "context": 12}
"""Of a text that holds one window, every batch is known, and the direction of every step."""
STILL, SLOW = 1e-30, 1e-4
"""Learning rates at which weights stay what they were at first, and at which hardly a sign of t changes."""
OTHER_SIZE = 32
"""The group size that a call of `project` without one takes."""
FEWEST, FITS = 20, 0.9
"""By how many entries another group size must fit better to be the one used, and the share that it must fit. The best
fit of right answers is that of the config by 57 entries and more; where a matrix has the other groups, they fit all."""
CLEAR = 1e-3
"""Of the largest gradient of a weight, what a gradient must be for its sign to count."""
LONG = 400
"""Bytes of a text that is short for nobody."""
COST_STEPS = 8
TIMES, MOST_TIMES = 4.0, 20.0
"""Times the reference's processor time that earn full credit, then a share of 4 over the ratio, and nothing."""


@probe(*({"kind": kind} for kind in CONFIGS), traced=False)
def every_config_is_followed(answer: Answer, draw: Draw, *, kind: str) -> None:
    """Weights of the names, shapes and dtype that the config says, finite, and not all the same."""
    config = config_of(**CONFIGS[kind])
    text = text_of(draw, 1, 8, config["vocab"], 400, 60)
    weights = trained(answer, text.training, config, 7, exact=True)
    expect.alive("embed", weights["embed"])
    expect.that(not projected(weights["embed"], config["group_size"]), "the weights are projected, not latent",
                "every group of `embed` holds one size beside zero")  # fmt: skip
    expected_by(weights, windows_of(text.held_out, config["context"]), config)


@probe(seed=7, fixed=("seed",), traced=False)
def every_matrix_has_the_groups_of_the_config(answer: Answer, draw: Draw, *, seed: int) -> None:
    """Weights move against the gradients of a model whose matrices are all projected in the groups of the config.

    Other models have one matrix, or every one, in groups of the default size. An answer trains such a one where its
    weights move against the gradients of that model and not against those of the config's, whatever the optimiser.
    """
    text = draw.rng.integers(0, ONE_WINDOW["vocab"], ONE_WINDOW["context"] + 1).astype(np.int16)
    first = trained(answer, text, ONE_WINDOW | {"learning_rate": STILL}, seed)
    moved = trained(answer, text, ONE_WINDOW | {"learning_rate": SLOW}, seed)
    moves = {name: moved[name] - w for name, w in first.items()}
    size = ONE_WINDOW["group_size"]
    used = model_oracle.used_weights(first, model_oracle.signs_of(first, size), size)
    stated = model_oracle.gradients(used, text[None], ONE_WINDOW)
    matrices = [name for name, w in first.items() if is_ternary(name, w)]
    for names in (*([name] for name in matrices), matrices):
        regrouped = used | {name: oracle.ternary(first[name], OTHER_SIZE) for name in names}
        other = model_oracle.gradients(regrouped, text[None], ONE_WINDOW)
        fits = np.concatenate([_fits(move, stated[n], other[n]) for n, move in moves.items()], axis=1)
        own, others = fits.sum(axis=1)
        moving = f"{others} of {fits.shape[1]} weights move as with groups of {OTHER_SIZE}, {own} as with {size}"
        wrong = others >= own + FEWEST and others >= FITS * fits.shape[1]
        title = "matrices are trained in groups of another size than the config's"
        expect.that(not wrong, title, f"{', '.join(names)}: {moving}")


def _fits(move: NDArray[Any], *gradients: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each gradient which entries move against it, of those that move and where all gradients are clear."""
    clear = np.all([np.abs(gradient) > CLEAR * np.abs(gradient).max() for gradient in gradients], axis=0)
    kept = clear & (move != 0)
    return np.array([move[kept] * gradient[kept] < 0 for gradient in gradients])


def projected(w: NDArray[Any], group_size: int) -> bool:
    """Whether a matrix looks like t * s: in every group all entries but the zeros are of one size."""
    sizes = [np.abs(w[:, first : first + group_size]) for first in range(0, w.shape[1], group_size)]
    largest = [group.max(axis=1, keepdims=True) for group in sizes]
    return all(((group == 0) | (group >= most * (1 - 1e-6))).all() for group, most in zip(sizes, largest, strict=True))


@probe(*({"length": n} for n in (2, 5, 40, 64, 65)), fixed=("length",), traced=False)
def short_texts_are_served(answer: Answer, draw: Draw, *, length: int) -> None:
    """A text of two bytes, shorter than a window, exactly a window, and one byte more; 30 steps learn it by heart.

    Where they do not learn a long text either, shortness does not decide.
    """
    with expect.apart_from(lambda: _learned_by_heart(WORSE_THAN_COUNTS, answer, LONG)):
        weights = _learned_by_heart("a short text is not learned", answer, length)
    expect.alive("embed", weights["embed"])


def _learned_by_heart(title: str, answer: Answer, length: int) -> Weights:
    """Return weights that expect the text they were trained on more than by chance; fail under `title` otherwise."""
    config = config_of(width=16, group_size=16, vocab=16, steps=30, batch=4)
    text = (np.arange(length) % 5 + 3).astype(np.int16)
    weights = trained(answer, text, config, 3)
    window = text[None, : config["context"] + 1]
    loss = loss_of(expected_by(weights, window, config), window)
    limit = np.log(config["vocab"])
    seen = f"{loss:.3g} nats a byte after 30 steps on a text of {length}; knowing nothing costs {limit:.3g}"
    expect.that(loss < limit, title, seen, short_text_loss=loss)
    return weights


@probe(symbols=6, fixed=("symbols",), traced=False)
def the_seed_decides_everything_random(answer: Answer, draw: Draw, *, symbols: int) -> None:
    """Equal calls give equal weights, also in a new process; another seed gives others."""
    config = config_of(**TINY)
    text = text_of(draw, 1, symbols, config["vocab"], 300, 10).training
    first = trained(answer, text, config, 5)
    again = trained(answer, text, config, 5)
    answer.fresh()
    if isinstance(answer, SandboxedAnswer):
        answer.close()  # another interpreter hashes strings in another way
    fresh, other = trained(answer, text, config, 5), trained(answer, text, config, 6)
    expect.alive("embed", first["embed"])
    for name, weights in first.items():
        expect.same(name, again[name], weights, "equal calls of `train` give different weights")
        expect.same(name, fresh[name], weights, "equal calls of `train` give different weights in a new process")
    same = all(np.array_equal(other[name], weights) for name, weights in first.items())
    expect.that(not same, "`train` gives the same weights for every seed", "seeds 5 and 6, one text and one config")


@probe(symbols=6, fixed=("symbols",), traced=False)
def training_leaves_the_text_alone(answer: Answer, draw: Draw, *, symbols: int) -> None:
    """`tokens` is as it was after training, padding included."""
    config = config_of(**TINY)
    text = text_of(draw, 1, symbols, config["vocab"], 300, 10).training
    weights = trained_with_echo(answer, text, config)
    expect.same("tokens", answer.echo[0], text, "`train` changes the text")
    expect.alive("embed", weights["embed"])


def trained_with_echo(answer: Answer, text: Any, config: dict[str, Any]) -> Weights:
    """As `trained`, with the text brought back."""
    return checked(answer.call("train", text, dict(config), 5, returns=Tree(1 << 20), echo=True), config)


@probe(symbols=40, fixed=("symbols",), traced=False, times=True)
def training_costs_little_more_than_the_reference(answer: Answer, draw: Draw, *, symbols: int) -> Partial:
    """Processor time of eight steps of the largest config against the reference's, each in a process of its own."""
    config = MAIN | {"steps": COST_STEPS}
    text = text_of(draw, 1, symbols, config["vocab"], 8_000, 10).training
    weights = trained(answer, text, config, 1)
    expect.alive("embed", weights["embed"])
    if not isinstance(answer, SandboxedAnswer):
        raise NotMeasurable("processor time is measured in the box only")
    own = answer.cost.processor
    ratio = own / _reference_seconds(answer, text, config)
    seen = f"{own:.3g} s, {ratio:.2g} times the reference's; {TIMES:g} times earn full credit"
    figures = {"training_cost_ratio": round(ratio, 2)}
    share = float(f"{min(1.0, TIMES / ratio):.1g}") if ratio > TIMES else 1.0
    if ratio > MOST_TIMES:
        raise ProbeFailure("training costs far more than a plain solution does", seen, measured=dict(figures))
    return Partial(share, figures, seen if share < 1 else "")


def _reference_seconds(answer: SandboxedAnswer, text: Any, config: dict[str, Any]) -> float:
    """Processor seconds of the reference, in a box like the answer's."""
    with scratch_folder() as folder:
        (folder / "reference.py").write_bytes(Path(reference.__file__).read_bytes())
        other = SandboxedAnswer(replace(answer.target, folder=folder, entry="reference.py"))
        try:
            trained(other, text, config, 1)
            return max(other.cost.processor, 1e-3)
        finally:
            other.close()
