"""Train on a drawn text, print the loss as it falls and the perplexity of text kept apart: `python demo.py`."""

import numpy as np
from model import loss_of
from ternary import train

CONFIG = {"layers": 2, "heads": 2, "width": 64, "context": 64, "vocab": 256, "group_size": 32, "steps": 100,
          "batch": 16, "learning_rate": 0.01}
CHANCES = 0.55, 0.25, 0.15, 0.05


def draw_text(length: int, seed: int) -> np.ndarray:
    """Bytes each of which is followed by one of four, with the same chances after every byte."""
    rng = np.random.default_rng(seed)
    followers = [rng.permutation(40)[:4] for _ in range(40)]
    text = [0]
    for choice in rng.choice(4, length - 1, p=CHANCES):
        text.append(int(followers[text[-1]][choice]))
    return (np.array(text) + 60).astype(np.int16)


def main() -> None:
    """One run."""
    text = draw_text(28_000, 0)
    training, held_out = text[:24_000], text[24_000:]

    def report(step: int, loss: float) -> None:
        if step % 10 == 0:
            print(f"step {step:3}  loss {loss:.3f}")

    weights = train(training, CONFIG, 0, report)
    count = len(held_out) // 65
    windows = held_out[: count * 65].reshape(count, 65)
    loss = loss_of(weights, windows[:, :-1], windows[:, 1:], CONFIG)
    entropy = -sum(p * np.log(p) for p in CHANCES)
    print(f"held out: {loss:.3f} nats a byte, perplexity {np.exp(loss):.2f}; entropy rate {entropy:.3f} ({np.exp(entropy):.2f})")


if __name__ == "__main__":
    main()
