"""Wrong gradients are flagged and their worst element named; right ones never are, in 12 forward passes."""

import numpy as np
import pytest
from layer_norms import load_benchmark, naive_variance, pairwise, sequential

from harness.numerics import AFFINE_TOLERANCE, TOLERANCE, check_gradients

bench = load_benchmark()
RIGHT_PASSES = 12
SHAPES = [(1, 1, 1), (2, 3, 1), (2, 3, 2), (2, 4, 3), (1, 1, 8), (2, 4, 8), (3, 5, 64), (1, 2, 1000)]


def gradients(case):
    return list(bench.backward(case.x, case.gamma, case.dy, case.eps))


def check(case, grads, forward=bench.forward, seed=0):
    inputs = {"x": case.x, "gamma": case.gamma, "beta": case.beta, "dy": case.dy, "eps": case.eps}
    return check_gradients(forward, tuple(grads), **inputs, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_right_gradients_are_never_flagged(shape) -> None:
    """Measured residuals are at most 1e-10 for D of 2 and 3, where dx cancels, and 6e-12 above: 10 and 160 times less
    than the tolerance."""
    for seed in range(20):
        case = bench.draw(shape, seed)
        report = check(case, gradients(case), seed=seed)
        assert report.passed and report.rows_independent and report.forwards == RIGHT_PASSES, report
        assert max(report.dx, report.total) < TOLERANCE / 2
        assert max(report.dgamma, report.dbeta) < AFFINE_TOLERANCE / 1e3


@pytest.mark.parametrize("offset", [0.0, 10.0, 1000.0])
@pytest.mark.parametrize("variant", [pairwise, sequential], ids=["pairwise", "sequential"])
def test_a_right_pair_of_any_summation_order_is_not_flagged(variant, offset: float) -> None:
    """The rounding of a forward pass is allowed for: a sequential sum over the row counts sqrt(D) ulps of x."""

    def forward(x, gamma, beta, eps):
        return variant(x, gamma, beta, np.zeros_like(x))[0]

    for seed in range(10):
        case = bench.draw((2, 4, 512), seed)
        x = case.x + offset
        report = check_gradients(
            forward,
            variant(x, case.gamma, case.beta, case.dy)[1:],
            x=x,
            gamma=case.gamma,
            beta=case.beta,
            dy=case.dy,
            eps=case.eps,
            rng=np.random.default_rng(seed),
        )
        assert report.passed, report


@pytest.mark.parametrize("shape", [(2, 4, 64), (2, 3, 5), (4, 8, 200)], ids=str)
@pytest.mark.parametrize("fault", bench.FAULTS)
def test_every_planted_fault_is_caught(fault: str, shape) -> None:
    for seed in range(10):
        case = bench.draw(shape, seed)
        report = check(case, bench.FAULTS[fault](case.x, case.gamma, case.dy, case.eps), seed=seed)
        assert not report.passed, f"seed {seed}"


@pytest.mark.parametrize("shape", [(2, 4, 64), (1, 2, 1000)], ids=str)
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_the_faulty_element_of_dx_is_named(size: float, shape) -> None:
    """Differences of single elements are good to about 1e-11 here, so 1e-6 stands out."""
    for seed in range(5):
        case = bench.draw(shape, seed)
        dx, dgamma, dbeta = gradients(case)
        right = dx.copy()
        index = tuple(int(np.random.default_rng(seed).integers(n)) for n in shape)
        dx[index] += size
        (fault,) = check(case, (dx, dgamma, dbeta), seed=seed).faults
        assert (fault.term, fault.index, fault.row, fault.feature) == ("dx", index, index[:2], index[2])
        assert fault.got == dx[index]
        assert abs(fault.expected - right[index]) < 1e-9
        assert f"1 of {shape[0] * shape[1]} rows disagree" in fault.detail


@pytest.mark.parametrize(("term", "position"), [("dgamma", 1), ("dbeta", 2)])
def test_the_faulty_feature_is_named(term: str, position: int) -> None:
    case = bench.draw((2, 4, 64), 0)
    grads = gradients(case)
    right = float(grads[position][17])
    grads[position][17] += 1e-6
    (fault,) = check(case, grads).faults
    assert (fault.term, fault.index, fault.row, fault.feature) == (term, (17,), None, 17)
    assert fault.got == grads[position][17]
    assert fault.expected == pytest.approx(right, abs=1e-12)


def test_swapped_gradients_name_both() -> None:
    case = bench.draw((2, 4, 64), 0)
    dx, dgamma, dbeta = gradients(case)
    assert [fault.term for fault in check(case, (dx, dbeta, dgamma)).faults] == ["dgamma", "dbeta"]


def test_opposite_faults_in_one_row_do_not_hide_each_other() -> None:
    """Pure signs miss these with probability 1/2 a probe; magnitudes from 1 to 2 in 128 steps with 1/256."""
    for seed in range(60):
        case = bench.draw((2, 2, 32), seed)
        dx, dgamma, dbeta = gradients(case)
        dx[1, 0, 3] += 0.01
        dx[1, 0, 20] -= 0.01
        assert not check(case, (dx, dgamma, dbeta), seed=seed).passed, f"seed {seed}"


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, 1e300])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_null_and_non_finite_gradients_are_caught(position: int, value: float) -> None:
    case = bench.draw((2, 4, 16), 3)
    grads = gradients(case)
    grads[position] = np.full_like(grads[position], value)
    report = check(case, grads)
    assert [fault.term for fault in report.faults] == [("dx", "dgamma", "dbeta")[position]]


def test_one_nan_is_named() -> None:
    case = bench.draw((2, 4, 16), 3)
    grads = gradients(case)
    grads[0][1, 2, 5] = np.nan
    (fault,) = check(case, grads).faults
    assert fault.index == (1, 2, 5) and np.isnan(fault.got)


@pytest.mark.parametrize(
    "reply", [lambda y: y[..., :-1], lambda y: y * np.nan, lambda y: 0.0], ids=["wrong shape", "NaN", "scalar"]
)
def test_a_forward_that_cannot_be_differenced_is_caught(reply) -> None:
    case = bench.draw((2, 4, 16), 3)
    report = check(case, gradients(case), forward=lambda *inputs: reply(bench.forward(*inputs)))
    assert [fault.term for fault in report.faults] == ["dx", "dgamma", "dbeta"]


def test_gradients_of_the_wrong_shape_are_a_fault_not_an_exception() -> None:
    case = bench.draw((2, 4, 16), 3)
    dx, dgamma, dbeta = gradients(case)
    report = check(case, (dx[0], dgamma, dbeta))
    assert [fault.detail for fault in report.faults] == ["dx has shape (4, 16), not (2, 4, 16)"]
    assert report.forwards == 0


def batch_forward(x, gamma, beta, eps):
    """Statistics over all rows: rows are coupled."""
    return gamma * (x - x.mean()) / np.sqrt(x.var() + eps) + beta


def batch_backward(case):
    x_hat = batch_forward(case.x, 1.0, 0.0, case.eps)
    dx_hat = case.dy * case.gamma
    rstd = 1.0 / np.sqrt(case.x.var() + case.eps)
    dx = rstd * (dx_hat - dx_hat.mean() - x_hat * (dx_hat * x_hat).mean())
    return dx, (case.dy * x_hat).sum(axis=(0, 1)), case.dy.sum(axis=(0, 1))


def test_coupled_rows_are_noticed_and_judged_by_their_sum() -> None:
    for seed in range(20):
        case = bench.draw((2, 4, 16), seed)
        dx, dgamma, dbeta = batch_backward(case)
        report = check(case, (dx, dgamma, dbeta), forward=batch_forward, seed=seed)
        assert report.passed and not report.rows_independent and report.dx is None
        (fault,) = check(case, (dx * 1.001, dgamma, dbeta), forward=batch_forward, seed=seed).faults
        assert fault.index is None and "couples its rows" in fault.detail


def test_a_forward_that_cancels_does_not_pass_for_its_right_gradient() -> None:
    """At offset 1e4 the naive variance loses half of its 16 digits: its output is no function to be differenced."""
    case = bench.draw((2, 4, 64), 0)
    x = case.x + 1e4
    report = check_gradients(
        lambda x, gamma, beta, eps: naive_variance(x, gamma, beta, np.zeros_like(x))[0],
        bench.backward(x, case.gamma, case.dy, case.eps),
        x=x,
        gamma=case.gamma,
        beta=case.beta,
        dy=case.dy,
        eps=case.eps,
        rng=np.random.default_rng(0),
    )
    assert not report.passed


def test_the_same_seed_gives_the_same_report() -> None:
    case = bench.draw((2, 4, 64), 0)
    grads = bench.FAULTS["one row x 1.001"](case.x, case.gamma, case.dy, case.eps)
    assert check(case, grads, seed=5) == check(case, grads, seed=5)


def test_inputs_that_are_not_float64_are_refused_by_name() -> None:
    case = bench.draw((2, 4, 16), 0)
    arrays = {"x": case.x, "gamma": case.gamma, "beta": case.beta, "dy": case.dy}
    for name, array in arrays.items():
        wrong = arrays | {name: array.astype(np.float32)}
        with pytest.raises(ValueError, match=f"{name} must be float64"):
            check_gradients(bench.forward, gradients(case), **wrong, eps=1e-5, rng=np.random.default_rng(0))
