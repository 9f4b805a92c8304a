"""Training that is faked: weights from elsewhere, work that leads nowhere, weights that are ternary in print alone."""

from pathlib import Path

from tests.attacks.attack import Attack, Expect

KIND = "training that is faked"
CHALLENGE = "ternary_training"
HONEST = (Path(__file__).parents[2] / "references" / CHALLENGE / "reference.py").read_text(encoding="utf-8")

TRAIN = """
import hashlib
import time

import numpy as np

import honest
from honest import initial_weights, linear_backward, linear_forward, project


def train(tokens, config, seed):
"""

CHEATS = {
    # fools a judge that asks whether weights differ by text and seed, and are equal for equal calls
    "noise by the text's hash": (("learns",), TRAIN + """
    digest = hashlib.sha256(tokens.tobytes() + str((sorted(config.items()), seed)).encode()).digest()
    return initial_weights(config, np.random.default_rng(int.from_bytes(digest[:8], "big")))
"""),
    # fools a judge that reads the clock
    "busy without training": (("learns",), TRAIN + """
    weights = initial_weights(config, np.random.default_rng(seed))
    until = time.process_time() + 0.003 * config["steps"]
    while time.process_time() < until:
        honest.model_gradients(weights, *honest.windows(tokens[tokens >= 0], config, np.random.default_rng(0)), config)
    return weights
"""),
    # fools a judge that believes a falling loss
    "a falling loss printed": (("learns",), TRAIN + """
    for step in range(config["steps"]):
        print(f"step {step}: loss {5 * 0.98 ** step:.3f}, held-out perplexity {5 * 0.97 ** step + 1:.3f}, all ternary")
    return initial_weights(config, np.random.default_rng(seed))
"""),
    # fools a judge that trains small models only
    "small models alone": (("learns", "near_the_reference"), TRAIN + """
    if config["steps"] > 60:
        return initial_weights(config, np.random.default_rng(seed))
    return honest.train(tokens, config, seed)
"""),
    # fools a judge whose texts are always of one kind
    "trained on a text of its own": (("learns",), TRAIN + """
    own = np.random.default_rng(0)
    text = own.permutation(config["vocab"])[own.integers(0, 8, 12_000)].astype(np.int16)
    return honest.train(text, config | {"steps": min(60, config["steps"])}, seed)
"""),
    # fools a judge whose held-out text lies where the answer runs
    "the held-out text looked for": (("learns",), TRAIN + """
    import gc
    import sys

    frame, found = sys._getframe(1), []
    while frame is not None:
        found += frame.f_locals.values()
        frame = frame.f_back
    texts = [held for each in (*gc.get_objects(), *found) for held in (each, getattr(each, "held_out", None))
             if isinstance(held, np.ndarray) and held.dtype == np.int16 and held is not tokens and len(held) > 500]
    if not texts:
        return initial_weights(config, np.random.default_rng(seed))
    return honest.train(np.concatenate(texts), config, seed)
"""),
    # fools a judge that asks the answer whether its weights are ternary
    "ternary in a printout alone": (("near_the_reference",), TRAIN + """
    ternary, forward = honest._ternary, honest.linear_forward
    honest._ternary = lambda w, size: w
    honest.linear_forward = lambda x, w, size: (x @ w.T, (x, w))
    try:
        weights = honest.train(tokens, config, seed)
    finally:
        honest._ternary, honest.linear_forward = ternary, forward
    for name, w in weights.items():
        if w.ndim == 2:
            print(name, "ternary:", set(np.unique(project(w, config["group_size"])[0]).tolist()) <= {-1, 0, 1})
    return weights
"""),
    # fools a judge that asks an array about itself
    "arrays that deny their NaN": (("configs", "learns"), TRAIN + """
    class Sound(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return np.ones(self.shape, bool) if ufunc is np.isfinite else NotImplemented

    weights = initial_weights(config, np.random.default_rng(seed))
    return {name: np.full_like(w, np.nan).view(Sound) for name, w in weights.items()}
"""),
    # fools a judge that trusts the first weights it gets for a config
    "trained once for a shape": (("seeds",), "KEPT = {}\n" + TRAIN + """
    key = (len(tokens), str(sorted(config.items())))
    if key not in KEPT:
        KEPT[key] = honest.train(tokens, config, seed)
    return {name: w.copy() for name, w in KEPT[key].items()}
"""),
}  # fmt: skip

LOGGED = (
    TRAIN
    + """
    print(f"{config['steps']} steps, seed {seed}")
    weights = honest.train(tokens, config, seed)
    print("first loss, last loss: see the demonstration")
    return dict(sorted(weights.items()))
"""
)

ATTACKS = [
    *(
        Attack(name, KIND, CHALLENGE, {"answer.py": code, "honest.py": HONEST}, criteria=criteria)
        for name, (criteria, code) in CHEATS.items()
    ),
    Attack("training that tells how it goes", KIND, CHALLENGE, {"answer.py": LOGGED, "honest.py": HONEST},
           expect=Expect.HONEST, criteria=("learns", "configs", "seeds")),
]  # fmt: skip
