"""The model's gradients agree with finite differences, and training does what the config says."""

import blocks
import model
import numpy as np
import pytest
import ternary
from model import forward, initial_weights, loss_and_gradients, loss_of

CONFIG = {"layers": 2, "heads": 2, "width": 8, "context": 5, "vocab": 11, "group_size": 4, "steps": 4, "batch": 3,
          "learning_rate": 0.01}
TEXT = (np.arange(200) ** 2 % 7 + 2).astype(np.int16)


def weights_of(seed=0, config=CONFIG):
    rng = np.random.default_rng(seed)
    weights = initial_weights(config, rng, "float64")
    return {name: w + 0.1 * rng.normal(size=w.shape) for name, w in weights.items()}


def batch(seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 11, (3, 5)), rng.integers(0, 11, (3, 5))


def slope(weights, name, direction, windows, labels, step=1e-5):
    """Fourth-order difference of the loss along a direction of one weight."""
    def at(t):
        return loss_of(weights | {name: weights[name] + t * step * direction}, windows, labels, CONFIG)
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@pytest.fixture
def smooth(monkeypatch):
    """Let every projection be none: then the gradients are those of a smooth function."""
    def linear(x, w, group):
        return x @ w.T, (x, w)
    for module in (blocks, model):
        monkeypatch.setattr(module, "linear_forward", linear)
    monkeypatch.setattr(model, "ternary", lambda w, group: w)


@pytest.mark.parametrize("name", sorted(weights_of()))
def test_gradients_are_slopes_of_the_loss(smooth, name):
    weights, (windows, labels) = weights_of(), batch()
    loss, gradients = loss_and_gradients(weights, windows, labels, CONFIG)
    assert set(gradients) == set(weights)
    assert loss == pytest.approx(loss_of(weights, windows, labels, CONFIG), rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(2):
        direction = rng.choice([-1.0, 1.0], weights[name].shape) * rng.uniform(1, 2, weights[name].shape)
        expected = slope(weights, name, direction, windows, labels)
        # rounding 1e-16 over a step of 1e-5, for a loss near 3
        assert float((gradients[name] * direction).sum()) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", ["position", "norm", "layer0.norm1", "layer1.norm2"])
def test_gradients_around_the_projection_are_slopes(name):
    weights, (windows, labels) = weights_of(), batch()
    _, gradients = loss_and_gradients(weights, windows, labels, CONFIG)
    direction = np.random.default_rng(3).uniform(1, 2, weights[name].shape)
    expected = slope(weights, name, direction, windows, labels)
    assert float((gradients[name] * direction).sum()) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_padding_is_left_out_of_gradients():
    """Three windows with padding: the mean over the six bytes that follow one, window by window."""
    weights = weights_of()
    padded = np.array([[3, -1, 5, 3, 7, 3], [-1, 1, -1, -1, 4, 4], [2, -1, -1, -1, -1, -1]], np.int16)
    whole = model.gradients(weights, padded, CONFIG)
    parts = [model.gradients(weights, np.array([text]), CONFIG) for text in ([3, 5, 3, 7, 3], [1, 4, 4])]
    for name, g in whole.items():
        assert np.allclose(g, (4 * parts[0][name] + 2 * parts[1][name]) / 6, rtol=0, atol=1e-14)
        assert g.dtype == np.float64 and np.abs(g).max() > 0
    _, plain = loss_and_gradients(weights, np.array([[3, 5, 3, 7]]), np.array([[5, 3, 7, 3]]), CONFIG)
    assert all(np.array_equal(parts[0][name], g) for name, g in plain.items())


def test_windows_without_padding_have_the_gradients_of_their_loss():
    weights, (windows, _) = weights_of(), batch()
    loss, plain = loss_and_gradients(weights, windows[:, :-1], windows[:, 1:], CONFIG)
    assert loss == pytest.approx(loss_of(weights, windows[:, :-1], windows[:, 1:], CONFIG), rel=1e-12)
    found = model.gradients(weights, windows, CONFIG)
    assert all(np.array_equal(found[name], g) for name, g in plain.items())


def test_padding_counts_in_no_loss():
    weights, (windows, labels) = weights_of(), batch()
    labels[1, 2:], labels[2] = -1, -1
    loss, _ = loss_and_gradients(weights, windows, labels, CONFIG)
    costs = [loss_of(weights, windows[i : i + 1, :n], labels[i : i + 1, :n], CONFIG) for i, n in ((0, 5), (1, 2))]
    assert loss == pytest.approx((5 * costs[0] + 2 * costs[1]) / 7, rel=1e-12)


@pytest.mark.parametrize("tokens", [np.arange(4), np.ones((2, 1)), np.ones((2, 7)), [[1, -1, -1], [-1, -1, 2]]])
def test_windows_without_a_gradient_are_refused(tokens):
    with pytest.raises(ValueError, match="tokens must|no byte"):
        model.gradients(weights_of(), np.array(tokens, np.int16), CONFIG)


def test_the_longest_window_is_taken():
    assert model.gradients(weights_of(), np.array([[1, 2, 3, 4, 5, 6]]), CONFIG)["position"][4].any()


def test_the_model_is_the_one_that_was_asked_for():
    """One layer and one head, byte by byte, with loops."""
    config = CONFIG | {"layers": 1, "heads": 2}
    weights = weights_of(4, config)
    used = {n: w if w.ndim == 1 or n == "position" else model.ternary(w, 4) for n, w in weights.items()}
    window = np.array([3, 1, 4, 1])

    def norm(v, gain):
        return gain * v / np.sqrt(sum(v * v) / len(v) + 1e-6)

    x = [used["embed"][b] + used["position"][i] for i, b in enumerate(window)]
    rows = [norm(v, used["layer0.norm1"]) for v in x]
    q, k, v = ([used[f"layer0.{n}"] @ row for row in rows] for n in ("wq", "wk", "wv"))
    for i in range(len(window)):
        mixed = np.zeros(8)
        for h in (slice(0, 4), slice(4, 8)):
            shares = np.exp([q[i][h] @ k[j][h] / 2 for j in range(i + 1)])
            mixed[h] = sum(s * v[j][h] for j, s in enumerate(shares / shares.sum()))
        x[i] = x[i] + used["layer0.wo"] @ mixed
        up = used["layer0.w_up"] @ norm(x[i], used["layer0.norm2"])
        x[i] = x[i] + used["layer0.w_down"] @ (up / (1 + np.exp(-up)))
    wanted = [used["embed"] @ norm(row, used["norm"]) for row in x]
    assert np.allclose(forward(weights, window[None], config)[0], wanted, rtol=0, atol=1e-12)


def test_softmax_of_large_scores_is_finite():
    shares = blocks.softmax(np.array([[1000.0, 1000.0, -1000.0], [-1000.0, -1000.0, -1000.0]]))
    assert np.allclose(shares, [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=0, atol=1e-15)


def test_training_returns_what_the_config_says_and_follows_its_seed():
    weights = ternary.train(TEXT, CONFIG, 1)
    assert {name: w.shape for name, w in weights.items()} == {n: w.shape for n, w in weights_of().items()}
    assert all(w.dtype == np.float32 and np.isfinite(w).all() for w in weights.values())
    again, other = ternary.train(TEXT, CONFIG, 1), ternary.train(TEXT, CONFIG, 2)
    assert all(np.array_equal(again[name], w) for name, w in weights.items())
    assert not np.array_equal(other["embed"], weights["embed"])


def test_training_learns_by_heart_and_reports_each_step():
    config = CONFIG | {"steps": 60, "learning_rate": 0.03, "batch": 8}
    text = (np.arange(300) % 7 + 2).astype(np.int16)
    losses = []
    weights = ternary.train(text, config, 0, lambda step, loss: losses.append((step, loss)))
    assert [step for step, _ in losses] == list(range(60))
    windows = text[np.arange(4)[:, None] + np.arange(6)]
    final = loss_of(weights, windows[:, :-1], windows[:, 1:], config)
    # eight bytes to choose from cost 2.1 nats, a cycle costs none
    assert final < 0.8 < losses[0][1]


def test_padding_is_left_out():
    padded = np.insert(TEXT, [10, 10, 50, 120], -1)
    before = padded.copy()
    plain, other = ternary.train(TEXT, CONFIG, 1), ternary.train(padded, CONFIG, 1)
    assert all(np.array_equal(other[name], w) for name, w in plain.items())
    assert np.array_equal(padded, before)


def test_labels_are_the_bytes_that_follow():
    rng = np.random.default_rng(0)
    windows, labels = ternary.draw_batch(np.arange(40), CONFIG | {"batch": 500}, rng)
    assert windows.shape == labels.shape == (500, 5)
    assert np.array_equal(labels, windows + 1)
    assert {int(windows.min()), int(labels.max())} == {0, 39}


@pytest.mark.parametrize("length", [2, 4, 5, 6])
def test_a_short_text_gives_short_windows(length):
    windows, labels = ternary.draw_batch(np.arange(length), CONFIG, np.random.default_rng(0))
    assert windows.shape == (3, min(5, length - 1))
    assert np.array_equal(labels, windows + 1)


def test_clipping_keeps_the_direction():
    gradients = {"a": np.array([3.0, 0.0]), "b": np.array([[4.0]])}
    assert ternary.clip(gradients) == 5.0
    assert np.allclose(gradients["a"], [0.6, 0])
    assert np.allclose(gradients["b"], 0.8)
    small = {"a": np.array([0.3, 0.4])}
    assert ternary.clip(small) == 0.5
    assert np.array_equal(small["a"], [0.3, 0.4])


def test_the_rate_rises_and_falls():
    config = CONFIG | {"steps": 100}
    rates = [ternary.rate_of(step, config) for step in range(100)]
    assert rates[0] == pytest.approx(0.001)
    assert max(rates) == rates[9] == pytest.approx(0.01 * (1 - 0.9 * 0.09))
    assert rates[-1] == pytest.approx(0.01 * (1 - 0.9 * 0.99))


def test_the_first_step_of_adam_is_the_rate():
    weights = {"a": np.array([1.0, 2.0, 3.0])}
    optimiser = ternary.Adam(weights)
    optimiser.step(weights, {"a": np.array([5.0, -0.01, 0.0])}, 0.1)
    assert np.allclose(weights["a"], [0.9, 2.1, 3.0], atol=1e-6)
    optimiser.step(weights, {"a": np.array([5.0, -0.01, 1.0])}, 0.1)
    # the third: mean 0.1/0.19, root mean square sqrt(0.01/0.0199)
    assert np.allclose(weights["a"], [0.8, 2.2, 3 - 0.1 * (0.1 / 0.19) / np.sqrt(0.01 / 0.0199)], atol=1e-6)
