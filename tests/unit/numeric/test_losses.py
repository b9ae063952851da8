"""Losses: derivatives against finite differences, best constants against search, predictions against links."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special
from sklearn import metrics

from assay import _kernels
from assay.numeric.losses import LOSSES, weighted_quantile

NUMBERS = [name for name, loss in LOSSES.items() if loss.task == "regress"]
MARGINS = [name for name, loss in LOSSES.items() if loss.task == "classify"]


def rows(name, n=400, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    loss = LOSSES[name]
    if loss.task == "classify":
        y = rng.integers(0, max(2, outputs), n).astype(float)
    elif loss.link == "log" or name in ("mape", "msle"):
        y = rng.gamma(2.0, 1.5, n)
        if name in ("poisson", "tweedie", "negative_binomial", "msle"):
            y = np.floor(y)
    else:
        y = rng.normal(1.0, 2.0, n)
    return y, rng.normal(0.2, 1.3, (n, outputs)), rng.uniform(0.2, 3.0, n)


def test_the_registry_and_the_kernel_name_the_same_losses():
    assert list(LOSSES) == _kernels.loss_names()
    assert [loss.number for loss in LOSSES.values()] == list(range(len(LOSSES)))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_hessian_are_the_derivatives(name, outputs):
    if outputs > 1 and LOSSES[name].task == "regress":
        pytest.skip("one score per number")
    y, raw, weights = rows(name, outputs=outputs)
    loss, step = LOSSES[name], 1e-5
    _, gradient, hessian = loss.derivatives(y, raw, weights)
    for k in range(outputs):
        ahead, behind = raw.copy(), raw.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        values = [
            np.array([loss.value(y[i : i + 1], at[i : i + 1], weights[i : i + 1]) for i in range(y.shape[0])])
            for at in (ahead, behind)
        ]
        slopes = [loss.derivatives(y, at, weights)[1][:, k] for at in (ahead, behind)]
        first, second = (values[0] - values[1]) / (2 * step), (slopes[0] - slopes[1]) / (2 * step)
        # A finite difference across a kink tells nothing; such rows are few.
        near = np.isclose(first, gradient[:, k], rtol=1e-6, atol=1e-7)
        curved = np.isclose(second, hessian[:, k], rtol=1e-5, atol=1e-6)
        assert near.mean() > 0.98 and curved.mean() > 0.98
        if loss.smooth:
            assert near.all()
        if name not in ("huber", "squared_hinge", "modified_huber") and loss.smooth:
            assert curved.all()


@pytest.mark.parametrize("name", LOSSES)
def test_weights_equal_repetition_and_rows_of_weight_0_do_not_count(name):
    y, raw, _ = rows(name, 60)
    loss = LOSSES[name]
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighted, gradient, _ = loss.derivatives(y, raw, times.astype(float))
    repeated = loss.value(np.repeat(y, times), np.repeat(raw, times, axis=0))
    assert weighted == pytest.approx(repeated, rel=1e-12)
    assert (gradient[times == 0] == 0).all()
    constant = loss.constant(y, times.astype(float))
    assert constant == pytest.approx(loss.constant(np.repeat(y, times)), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_no_constant_is_better_than_the_best_constant(name):
    y, _, weights = rows(name, 301, seed=3)
    loss = LOSSES[name]

    def cost(at):
        return loss.value(y, np.full((y.shape[0], 1), at), weights)

    best = float(loss.constant(y, weights)[0])
    grid = np.linspace(best - 4, best + 4, 161)
    found = min(optimize.minimize_scalar(cost, bounds=(at - 0.1, at + 0.1), method="bounded").fun for at in grid[::8])
    assert cost(best) <= min(found, min(map(cost, grid))) * (1 + 1e-9)


@pytest.mark.parametrize("name", MARGINS)
def test_best_constants_of_three_classes_have_no_gradient(name):
    if not LOSSES[name].smooth:
        pytest.skip("a kink has no gradient that vanishes")
    y, _, weights = rows(name, 500, 3)
    loss = LOSSES[name]
    constant = loss.constant(y, weights, classes=3)
    _, gradient, _ = loss.derivatives(y, np.tile(constant, (500, 1)), weights)
    assert gradient.sum(axis=0) == pytest.approx(np.zeros(3), abs=2e-5)


def test_values_are_those_of_scikit_learn():
    y, raw, weights = rows("gamma", 200)
    mean = np.exp(raw[:, 0])
    total = weights.sum()
    for name, power in [("poisson", 1), ("gamma", 2), ("inverse_gaussian", 3), ("tweedie", 1.5)]:
        theirs = metrics.mean_tweedie_deviance(y, mean, sample_weight=weights, power=power)
        assert 2 * LOSSES[name].value(y, raw, weights) / total == pytest.approx(theirs, rel=1e-12)
    theirs = metrics.mean_pinball_loss(y, raw[:, 0], sample_weight=weights, alpha=0.3)
    assert LOSSES["quantile"].value(y, raw, weights, 0.3) / total == pytest.approx(theirs, rel=1e-12)
    codes, scores, weights = rows("log_loss", 200, 3)
    theirs = metrics.log_loss(codes, special.softmax(scores, axis=1), sample_weight=weights, normalize=False)
    assert LOSSES["log_loss"].value(codes, scores, weights) == pytest.approx(theirs, rel=1e-12)


def test_predictions_undo_the_link():
    _, raw, _ = rows("poisson", 50)
    assert LOSSES["poisson"].predicted(raw) == pytest.approx(np.exp(raw[:, 0]))
    assert np.array_equal(LOSSES["huber"].predicted(raw), raw[:, 0])
    assert LOSSES["log_loss"].predicted(raw).sum(axis=1) == pytest.approx(np.ones(50))
    three = np.random.default_rng(0).normal(size=(50, 3))
    assert LOSSES["log_loss"].predicted(three) == pytest.approx(special.softmax(three, axis=1))
    assert np.array_equal(LOSSES["hinge"].predicted(three), three)


def test_far_scores_stay_finite_and_keep_their_digits():
    y, raw = np.array([0.0, 1.0]), np.array([[800.0], [800.0]])
    value, gradient, hessian = LOSSES["log_loss"].derivatives(y, raw)
    assert value == 800.0 and np.isfinite(gradient).all() and (hessian >= 0).all()
    sure = LOSSES["log_loss"].derivatives(np.array([1.0]), np.array([[40.0]]))[1]
    assert sure[0, 0] == pytest.approx(-np.exp(-40.0), rel=1e-14)
    three = LOSSES["log_loss"].derivatives(np.array([2.0]), np.array([[0.0, 0.0, 40.0]]))[1]
    assert three[0, 2] == pytest.approx(-2 * np.exp(-40.0), rel=1e-13)
    for name in ("poisson", "gamma", "tweedie", "exponential"):
        found = LOSSES[name].derivatives(np.array([1.0, 1.0]), np.array([[900.0], [-900.0]]))
        assert all(np.isfinite(part).all() for part in found)


def test_the_same_bits_on_any_number_of_threads():
    y, raw, weights = rows("poisson", 20_000)
    one = LOSSES["poisson"].derivatives(y, raw, weights, threads=1)
    four = LOSSES["poisson"].derivatives(y, raw, weights, threads=4)
    assert one[0] == four[0] and np.array_equal(one[1], four[1]) and np.array_equal(one[2], four[2])


def test_results_go_where_they_are_told():
    y, raw, _ = rows("squared_error", 30)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    _, same, also = LOSSES["squared_error"].derivatives(y, raw, gradient=gradient, hessian=hessian)
    assert same is gradient and also is hessian and np.array_equal(gradient[:, 0], raw[:, 0] - y)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.77])
def test_quantiles_halve_ties_and_take_weights(level):
    y = np.array([3.0, 1.0, 2.0, 2.0])
    assert weighted_quantile(np.array([1.0, 2.0]), np.ones(2), 0.5) == 1.5
    weights = np.array([1.0, 2.0, 0.0, 3.0])
    assert weighted_quantile(y, weights, level) == weighted_quantile(
        np.repeat(y, weights.astype(int)), np.ones(6), level
    )


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"loss": 99}, "no such loss"),
        ({"y": np.zeros(2)}, "one value per row"),
        ({"weights": np.ones(2)}, "weights"),
        ({"gradient": np.zeros((3, 2))}, "shape of raw"),
        ({"raw": np.zeros((3, 2)), "y": np.array([0.0, 1.0, 2.0])}, "codes"),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(change, rule):
    given = {"loss": 0, "parameter": 0.0, "y": np.zeros(3), "raw": np.zeros((3, 1)), "weights": np.zeros(0)}
    given |= {"gradient": None, "hessian": None, "threads": 1}
    with pytest.raises(ValueError, match=rule):
        _kernels.loss_gradient(**{**given, **change})


@pytest.mark.parametrize(
    ("name", "y", "raw", "expected"),
    [
        # value, gradient and Hessian where the pieces of a loss meet
        ("hinge", 1, 1.0, (0.0, 0.0, 0.0)),
        ("hinge", 0, -1.0, (0.0, 0.0, 0.0)),
        ("hinge", 1, 0.5, (0.5, -1.0, 0.0)),
        ("squared_hinge", 1, 1.0, (0.0, 0.0, 0.0)),
        ("squared_hinge", 0, 0.5, (2.25, 3.0, 2.0)),
        ("modified_huber", 1, 1.0, (0.0, 0.0, 0.0)),
        ("modified_huber", 1, -1.0, (4.0, -4.0, 2.0)),
        ("modified_huber", 1, -2.0, (8.0, -4.0, 0.0)),
        ("squared_margin", 0, 0.5, (1.125, 1.5, 1.0)),
        ("exponential", 1, 0.0, (1.0, -1.0, 1.0)),
        ("log_loss", 1, 0.0, (np.log(2.0), -0.5, 0.25)),
        ("absolute_error", 2.0, 2.0, (0.0, 0.0, 0.0)),
        ("mape", 2.0, 2.0, (0.0, 0.0, 0.0)),
        ("mape", -2.0, 1.0, (1.5, 0.5, 0.0)),
        ("quantile", 2.0, 2.0, (0.0, 0.0, 0.0)),
        ("huber", 2.0, 3.0, (0.5, 1.0, 1.0)),
        ("huber", 2.0, 1.0, (0.5, -1.0, 1.0)),
        ("huber", 2.0, 4.0, (1.5, 1.0, 0.0)),
        ("msle", 0.0, 0.0, (0.0, 0.0, 2.0)),
        ("msle", np.e - 1, 0.0, (1.0, -2.0, 4.0)),
        ("poisson", 0.0, 0.0, (1.0, 1.0, 1.0)),
        ("tweedie", 0.0, 0.0, (2.0, 1.0, 0.5)),
        ("negative_binomial", 0.0, 0.0, (np.log(2.0), 0.5, 0.25)),
        ("gamma", 1.0, 0.0, (0.0, 0.0, 1.0)),
        ("inverse_gaussian", 2.0, 0.0, (0.25, -1.0, 3.0)),
    ],
)
def test_values_where_the_pieces_of_a_loss_meet(name, y, raw, expected):
    value, gradient, hessian = LOSSES[name].derivatives(np.array([float(y)]), np.array([[raw]]))
    assert (value, gradient[0, 0], hessian[0, 0]) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("name", MARGINS)
@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_each_class_is_judged_by_its_own_score(name, outputs):
    """Of several classes a margin loss is the sum over them, one against the rest; log loss is that of the softmax."""
    loss, scores = LOSSES[name], np.array([[0.25, -1.5, 2.0]])[:, :outputs]
    for own in range(max(2, outputs)):
        value, gradient, _ = loss.derivatives(np.array([float(own)]), scores)
        alone = [
            loss.derivatives(np.array([float(own == k if outputs > 1 else own)]), scores[:, [k]])
            for k in range(outputs)
        ]
        if name == "log_loss" and outputs > 1:
            shares = special.softmax(scores[0])
            assert value == pytest.approx(-np.log(shares[own]))
            assert gradient[0] == pytest.approx(shares - np.eye(outputs)[own])
        else:
            assert value == pytest.approx(sum(part[0] for part in alone))
            assert gradient[0] == pytest.approx([part[1][0, 0] for part in alone])


def test_a_row_of_weight_0_may_have_an_infinite_loss():
    y, raw = np.array([1.5, 0.0]), np.array([[0.3], [0.2]])
    value, gradient, _ = LOSSES["gamma"].derivatives(y, raw, np.array([2.0, 0.0]))
    alone = LOSSES["gamma"].derivatives(y[:1], raw[:1], np.array([2.0]))
    assert value == alone[0] and gradient.ravel().tolist() == [alone[1][0, 0], 0.0]
    y, raw = np.array([2.0, 1.0]), np.array([[0.3, 0.1, 0.2], [1e200, 0.0, 0.0]])
    value = LOSSES["squared_margin"].value(y, raw, np.array([2.0, 0.0]))
    assert value == LOSSES["squared_margin"].value(y[:1], raw[:1], np.array([2.0])) < np.inf


@pytest.mark.parametrize("n", [255, 256, 257, 4096, 4097, 9000])
@pytest.mark.parametrize("outputs", [1, 2])
def test_rows_of_many_blocks_are_those_of_each(n, outputs):
    """Blocks of 256 rows and chunks of 4,096: values add up, derivatives stand where their rows do."""
    y, raw, weights = rows("log_loss", n, outputs, seed=n)
    for given in (None, weights):
        w = np.ones(n) if given is None else given
        value, gradient, hessian = LOSSES["log_loss"].derivatives(y, raw, given, threads=2)
        scores = raw if outputs > 1 else np.column_stack([np.zeros(n), raw[:, 0]])
        shares, own = special.softmax(scores, axis=1), y.astype(int)
        assert value == pytest.approx(-w @ np.log(shares[np.arange(n), own]), rel=1e-12)
        expected = w[:, None] * (shares - np.eye(scores.shape[1])[own])
        np.testing.assert_allclose(gradient, expected[:, -outputs:], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(hessian, (w[:, None] * shares * (1 - shares))[:, -outputs:], rtol=1e-10)
