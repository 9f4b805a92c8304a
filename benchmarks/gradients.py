"""What the gradient-check engine costs and catches, beside the element loop and torch's fast gradcheck.

    python benchmarks/gradients.py [--seed N]

Everything printed is measured in this run, on one thread. Torch's figures need torch; the rest needs NumPy alone.
"""

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from harness.numerics import GradientReport, check_gradients

Array = NDArray[np.float64]
Gradients = tuple[Array, Array, Array]
Backward = Callable[[Array, Array, Array, float], Gradients]
Forward = Callable[[Array, Array, Array, float], Array]
TorchFunction = Callable[..., Any]
Verdict = Callable[[Backward, "Case"], bool]

SMALL, SMALL_SEEDS = (2, 4, 64), 25
BIG, BIG_SEEDS = (8, 128, 512), 5
LOOP_SAMPLE = 64
TIMED = 21


@dataclass(frozen=True)
class Case:
    x: Array
    gamma: Array
    beta: Array
    dy: Array
    eps: float
    seed: int


@dataclass(frozen=True)
class Column:
    """One check at one shape."""

    name: str
    accepts: Verdict
    shape: tuple[int, ...]
    seeds: int

    def rejections(self, pair: Backward, seed: int) -> int:
        return sum(not self.accepts(pair, draw(self.shape, seed + i)) for i in range(self.seeds))


def draw(shape: tuple[int, ...], seed: int) -> Case:
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(size=(2, *shape))
    gamma, beta = rng.normal(size=(2, shape[-1]))
    return Case(x, gamma, beta, dy, 1e-5, seed)


def forward(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    y, _ = _normalise(x, eps)
    y *= gamma
    y += beta
    return y


def backward(
    x: Array, gamma: Array, dy: Array, eps: float, *, mean_term: float = 1.0, projection: float = 1.0
) -> Gradients:
    """(dx, dgamma, dbeta); the factors are 1 in the right gradient."""
    x_hat, rstd = _normalise(x, eps)
    dx = dy * gamma
    mean = dx.mean(axis=-1, keepdims=True) * mean_term
    along = np.einsum("btd,btd->bt", dx, x_hat)[..., None] / x.shape[-1] * projection
    dgamma, dbeta = np.einsum("btd,btd->d", dy, x_hat), dy.sum(axis=(0, 1))
    x_hat *= along
    dx -= mean
    dx -= x_hat
    dx *= rstd
    return dx, dgamma, dbeta


def _normalise(x: Array, eps: float) -> tuple[Array, Array]:
    x_hat = x - x.mean(axis=-1, keepdims=True)
    variance = np.einsum("btd,btd->bt", x_hat, x_hat)[..., None] / x.shape[-1]
    rstd = 1.0 / np.sqrt(variance + eps)
    x_hat *= rstd
    return x_hat, rstd


def _planted(change: Callable[[Array, Array, Array], Gradients]) -> Backward:
    """The right backward with its gradients changed afterwards."""
    return lambda x, gamma, dy, eps: change(*backward(x, gamma, dy, eps))


def _one_element(size: float) -> Backward:
    """One element of dx off by `size` times the rms of dx."""

    def change(dx: Array, dgamma: Array, dbeta: Array) -> Gradients:
        dx.flat[dx.size // 3] += size * np.sqrt(np.mean(dx * dx))
        return dx, dgamma, dbeta

    return _planted(change)


def _one_scaled(gradient: int) -> Backward:
    """One row of dx (0), or one feature of dgamma (1) or dbeta (2), times 1.001."""

    def change(*gradients: Array) -> Gradients:
        rows = gradients[0].reshape(-1, gradients[0].shape[-1]) if gradient == 0 else gradients[gradient]
        rows[len(rows) // 3] *= 1.001
        return gradients[0], gradients[1], gradients[2]

    return _planted(change)


FAULTS: dict[str, Backward] = {
    "mean term missing": partial(backward, mean_term=0.0),
    "projection x 1.001": partial(backward, projection=1.001),
    "dx x (1 + 1e-3)": _planted(lambda dx, dgamma, dbeta: (dx * (1 + 1e-3), dgamma, dbeta)),
    "dx x (1 + 1e-6)": _planted(lambda dx, dgamma, dbeta: (dx * (1 + 1e-6), dgamma, dbeta)),
    "one element + 1e-2 rms": _one_element(1e-2),
    "one element + 1e-4 rms": _one_element(1e-4),
    "one element + 1e-6 rms": _one_element(1e-6),
    "one row x 1.001": _one_scaled(0),
    "one dgamma x 1.001": _one_scaled(1),
    "one dbeta x 1.001": _one_scaled(2),
    "dgamma and dbeta swapped": _planted(lambda dx, dgamma, dbeta: (dx, dbeta, dgamma)),
}


def report(forward: Forward, backward: Backward, case: Case) -> GradientReport:
    """The engine's report on a pair, the backward's own run included."""
    return check_gradients(
        forward,
        backward(case.x, case.gamma, case.dy, case.eps),
        x=case.x,
        gamma=case.gamma,
        beta=case.beta,
        dy=case.dy,
        eps=case.eps,
        rng=np.random.default_rng(case.seed),
    )


def engine_accepts(pair: Backward, case: Case) -> bool:
    return report(forward, pair, case).passed


def torch_accepts(torch: ModuleType, pair: Backward, case: Case) -> bool:
    """Whether fast gradcheck with default tolerances accepts the pair.

    A rejection makes gradcheck repeat itself in slow mode, for the wording of its message alone: minutes and terabytes
    at the large shape. That repeat is replaced; the verdict is reached before it.
    """
    inputs = [torch.tensor(a, requires_grad=True) for a in (case.x, case.gamma, case.beta)]
    module = importlib.import_module("torch.autograd.gradcheck")
    torch.manual_seed(case.seed)
    with mock.patch.object(module, "_run_slow_mode_and_get_error", lambda *_: ""):
        layer_norm = _as_torch(torch, (forward, pair), case.eps)
        return bool(module.gradcheck(layer_norm, inputs, fast_mode=True, raise_exception=False))


def _as_torch(torch: ModuleType, pair: tuple[Forward, Backward], eps: float) -> TorchFunction:
    """A NumPy pair as a torch function of (x, gamma, beta)."""
    numpy_forward, numpy_backward = pair

    class LayerNorm(torch.autograd.RemoteFunction):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, gamma: Any, beta: Any) -> Any:
            ctx.save_for_backward(x, gamma)
            arrays = [tensor.detach().numpy() for tensor in (x, gamma, beta)]
            return torch.from_numpy(numpy_forward(arrays[0], arrays[1], arrays[2], eps))

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, gamma = (saved.detach().numpy() for saved in ctx.saved_tensors)
            return tuple(torch.from_numpy(g) for g in numpy_backward(x, gamma, dy.detach().numpy(), eps))

    return LayerNorm.apply  # type: ignore[no-any-return]


def _native(torch: ModuleType, eps: float) -> tuple[Forward, Backward, TorchFunction]:
    """torch's own layer norm, as a NumPy pair and as a torch function."""

    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, eps)

    def native_forward(x: Array, gamma: Array, beta: Array, eps: float) -> Any:
        return layer_norm(*(torch.from_numpy(a) for a in (x, gamma, beta))).numpy()

    def native_backward(x: Array, gamma: Array, dy: Array, eps: float) -> Gradients:
        leaves = [torch.tensor(a, requires_grad=True) for a in (x, gamma, np.zeros_like(gamma))]
        layer_norm(*leaves).backward(torch.from_numpy(dy))
        dx, dgamma, dbeta = (leaf.grad.numpy() for leaf in leaves)
        return dx, dgamma, dbeta

    return native_forward, native_backward, layer_norm


def seconds(runs: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median wall time of each after one warm-up, taken in turns so that drift meets all of them."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats + 1):
        for run, own in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            own.append(time.perf_counter() - start)
    return [statistics.median(own[1:]) for own in times]


def loop_seconds(case: Case) -> float:
    """The element loop over all of dx, extrapolated from elements spread evenly over x."""
    x = case.x.copy()
    sample = np.linspace(0, x.size - 1, LOOP_SAMPLE).astype(int)

    def loss() -> float:
        return float((case.dy * forward(x, case.gamma, case.beta, case.eps)).sum())

    def differences() -> None:
        for i in sample:
            kept = x.flat[i]
            x.flat[i] = kept + 1e-5
            above = loss()
            x.flat[i] = kept - 1e-5
            _ = (above - loss()) / 2e-5
            x.flat[i] = kept

    return seconds([differences], 3)[0] * x.size / LOOP_SAMPLE


def print_costs(torch: ModuleType | None, seed: int) -> None:
    case = draw(BIG, seed)
    passes = report(forward, backward, case).forwards
    print(f"Median ms at {BIG}, float64, one thread; the engine's include the backward and {passes} forwards")
    print(f"  {'against':<38}{'layer norm':<14}{'theirs':>12}{'engine':>10}{'ratio':>10}{'wanted':>10}")
    (engine,) = seconds([lambda: report(forward, backward, case)], TIMED)
    _print_cost(f"element loop, {LOOP_SAMPLE} of {case.x.size:,} timed", "NumPy", loop_seconds(case), engine, 10_000)
    label = "torch.autograd.gradcheck fast mode"
    if torch is None:
        print(f"  {label:<38}torch not installed")
        return
    ours = _as_torch(torch, (forward, backward), case.eps)
    native_forward, native_backward, native = _native(torch, case.eps)
    theirs, engine = _against_torch(torch, ours, (forward, backward), case)
    _print_cost(label, "NumPy", theirs, engine, 1)
    theirs, engine = _against_torch(torch, native, (native_forward, native_backward), case)
    _print_cost(label, "torch's own", theirs, engine, 1)


def _against_torch(
    torch: ModuleType, function: TorchFunction, pair: tuple[Forward, Backward], case: Case
) -> list[float]:
    """Seconds of fast gradcheck and of the engine on the same layer norm."""
    inputs = [torch.tensor(a, requires_grad=True) for a in (case.x, case.gamma, case.beta)]
    fast = partial(torch.autograd.gradcheck, function, inputs, fast_mode=True)
    return seconds([fast, lambda: report(*pair, case)], TIMED)


def _print_cost(against: str, layer_norm: str, theirs: float, engine: float, wanted: int) -> None:
    times = f"{theirs * 1e3:>12,.1f}{engine * 1e3:>10,.1f}"
    print(f"  {against:<38}{layer_norm:<14}{times}{theirs / engine:>10,.1f}{f'> {wanted:,}':>10}")


def print_detection(torch: ModuleType | None, seed: int) -> None:
    columns = [Column("engine", engine_accepts, SMALL, SMALL_SEEDS), Column("engine", engine_accepts, BIG, BIG_SEEDS)]
    if torch is not None:
        accepts = partial(torch_accepts, torch)
        columns += [Column("torch", accepts, SMALL, SMALL_SEEDS), Column("torch", accepts, BIG, BIG_SEEDS)]
    print(f"\nRuns that rejected the pair, seeds from {seed}")
    _print_row("", [f"{column.name} {column.shape}" for column in columns])
    _print_row("right pair (false alarms)", [f"{c.rejections(backward, seed)}/{c.seeds}" for c in columns])
    caught = [0] * len(columns)
    for name, pair in FAULTS.items():
        rejections = [column.rejections(pair, seed) for column in columns]
        caught = [so_far + (r == c.seeds) for so_far, r, c in zip(caught, rejections, columns, strict=True)]
        _print_row(name, [f"{r}/{c.seeds}" for r, c in zip(rejections, columns, strict=True)])
    _print_row("faults caught on every seed", [f"{count}/{len(FAULTS)}" for count in caught])
    print("  torch: fast gradcheck, default tolerances" if torch else "  torch not installed: no column beside it")


def _print_row(head: str, cells: list[str]) -> None:
    print(f"  {head:<34}" + "".join(f"{cell:>22}" for cell in cells))


def _torch() -> ModuleType | None:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="first seed of the drawn inputs")
    seed = parser.parse_args().seed
    torch = _torch()
    print_costs(torch, seed)
    print_detection(torch, seed)


if __name__ == "__main__":
    main()
