"""Greedy decoding misses what two beams find, and a length penalty changes the winner. Run: python demo.py"""

import math

from beam_search import batched_beam_search
from tables import SeededModel, TableModel


def main() -> None:
    """Print three searches, each beside what it must come to."""
    garden = TableModel(3, {(0,): [0.55, 0.45, 1e-9], (0, 0): [0.4, 0.3, 0.3], (0, 1): [0.05, 0.9, 0.05]})
    for width, wanted in ((1, [0, 0]), (2, [1, 1])):
        tokens, score = batched_beam_search(garden, [[0]], width, 2, 0.0, 2)[0][0]
        print(f"K = {width}: {tokens}, probability {math.exp(score):.3f}")
        assert tokens == wanted
    ends = TableModel(3, {(0,): [0.5, 0.05, 0.45], (0, 0): [0.05, 0.15, 0.8]})
    for alpha, wanted in ((0.0, [2]), (1.5, [0, 2])):
        tokens, score = batched_beam_search(ends, [[0]], 2, 2, alpha, 2)[0][0]
        print(f"alpha = {alpha}: {tokens}, score {score:.3f}")
        assert tokens == wanted
    model, prompts = SeededModel(9, seed=1), [[1], [2, 3, 4]]
    together = batched_beam_search(model, prompts, 3, 5, 0.6, 8)
    assert together == [batched_beam_search(model, [prompt], 3, 5, 0.6, 8)[0] for prompt in prompts]
    print(f"two prompts, {model.calls} model calls in all: together as alone")


if __name__ == "__main__":
    main()
