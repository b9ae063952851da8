"""Gradient descent: minimisers agree with closed forms and other solvers; every option does what it says."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC

from assay.base import AssayWarning, DataError, ParameterError
from assay.models.linear import (
    GradientDescentClassifier,
    GradientDescentRegressor,
    LogisticRegression,
    Ridge,
    stable_step,
)
from assay.numeric.losses import LOSSES


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    return X, X @ [1.0, -2.0, 0.5, 0.0, 0.0] + 3.0 + 0.5 * rng.normal(size=150)


@pytest.fixture
def classes(numbers):
    X, y = numbers
    return X, np.array(["low", "mid", "high"])[np.digitize(y + np.random.default_rng(1).normal(size=150), [2.0, 4.0])]


@pytest.fixture
def two(numbers):
    X, y = numbers
    return X, (y + np.random.default_rng(1).normal(size=150) > 3.0).astype(int)


def quiet(model, X, y, **extra):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        return model.fit(X, y, **extra)


def scipy_minimum(X, value, outputs=1, l2=0.0, start=None):
    """Minimum of mean value(scores) + l2 / 2 |coef|^2 by a general optimiser."""
    p = X.shape[1]

    def objective(theta):
        theta = theta.reshape(outputs, p + 1)
        return value(X @ theta[:, :-1].T + theta[:, -1]) + 0.5 * l2 * (theta[:, :-1] ** 2).sum()

    found = minimize(objective, np.zeros(outputs * (p + 1)) if start is None else start, method="BFGS")
    return found.x.reshape(outputs, p + 1), float(found.fun)


# -- the minimiser ---------------------------------------------------------------------------------------------------
def test_squared_error_reaches_ridge_in_closed_form(numbers):
    X, y = numbers
    model = GradientDescentRegressor(alpha=0.1, tol=1e-12).fit(X, y)
    ridge = Ridge(alpha=0.1 * len(y)).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=1e-9)


def test_l1_penalty_reaches_the_lasso_with_its_exact_zeros(numbers):
    """scikit-learn's Lasso minimises |r|^2 / (2 n) + alpha |b|_1, the same objective."""
    X, y = numbers
    model = quiet(GradientDescentRegressor(penalty="l1", alpha=0.2, tol=1e-12, max_iter=5000), X, y)
    lasso = Lasso(alpha=0.2, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-8)
    assert (model.coef_[3:] == 0).all() and (lasso.coef_[3:] == 0).all()


def test_log_loss_reaches_logistic_regression_for_two_and_more_classes(two, classes):
    for X, y in (two, classes):
        model = quiet(GradientDescentClassifier(alpha=0.05, tol=1e-10, max_iter=20_000), X, y)
        newton = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), newton.predict_proba(X), atol=1e-7)
        np.testing.assert_allclose(model.coef_, newton.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        ("huber", lambda r: np.where(np.abs(r) <= 0.5, 0.5 * r**2, 0.5 * (np.abs(r) - 0.25))),
        ("squared_error", lambda r: 0.5 * r**2),
    ],
)
def test_regression_losses_reach_the_minimum_of_a_general_optimiser(numbers, loss, value):
    X, y = numbers
    model = quiet(GradientDescentRegressor(loss=loss, epsilon=0.5, alpha=0.01, tol=1e-9, max_iter=5000), X, y)
    theta, best = scipy_minimum(X, lambda f: value(f[:, 0] - y).mean(), l2=0.01)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta[0], atol=1e-4)
    assert model.objective_ == pytest.approx(best, abs=1e-8)


def test_msle_reaches_the_minimum_of_a_general_optimiser(numbers):
    X, y = numbers
    y = np.abs(y) + 1.0

    def value(f):
        level = np.log1p(y)
        inside = (np.log1p(np.maximum(f[:, 0], 0.0)) - level) ** 2
        below = level**2 - 2 * level * f[:, 0] + (1 + level) * f[:, 0] ** 2
        return np.where(f[:, 0] >= 0, inside, below).mean()

    model = quiet(GradientDescentRegressor(loss="msle", alpha=0.001, tol=1e-8, max_iter=50_000), X, y)
    _, best = scipy_minimum(X, value, l2=0.001, start=np.append(np.zeros(5), 3.0))
    assert model.objective_ == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(
    ("loss", "phi"),
    [
        ("squared_hinge", lambda m: np.maximum(0, 1 - m) ** 2),
        ("modified_huber", lambda m: np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2)),
        ("squared_error", lambda m: 0.5 * (1 - m) ** 2),
    ],
)
def test_margin_losses_are_minimised_one_against_the_rest(classes, loss, phi):
    X, y = classes
    model = quiet(GradientDescentClassifier(loss=loss, alpha=0.01, tol=1e-9, max_iter=20_000), X, y)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    theta, best = scipy_minimum(X, lambda f: phi(signs * f).sum(axis=1).mean(), outputs=3, l2=0.01)
    assert model.objective_ == pytest.approx(best, abs=1e-7)
    np.testing.assert_allclose(model.coef_, theta[:, :-1], atol=1e-3)


@pytest.mark.parametrize("batch_size", [None, 1])
def test_kinked_losses_come_near_their_minimum(numbers, two, batch_size):
    X, y = numbers
    common = {"batch_size": batch_size, "random_state": 0, "tol": 1e-6, "n_iter_no_change": 20}
    model = quiet(GradientDescentRegressor(loss="absolute_error", alpha=0.01, **common), X, y)
    theta = np.append(model.coef_, model.intercept_)
    reached = np.abs(X @ theta[:-1] + theta[-1] - y).mean() + 0.005 * (theta[:-1] ** 2).sum()
    smooth, _ = scipy_minimum(X, lambda f: np.sqrt((f[:, 0] - y) ** 2 + 1e-8).mean(), l2=0.01, start=theta)
    best = np.abs(X @ smooth[0, :-1] + smooth[0, -1] - y).mean() + 0.005 * (smooth[0, :-1] ** 2).sum()
    assert reached <= best * 1.002

    X, y = two
    hinge = quiet(GradientDescentClassifier(loss="hinge", alpha=0.05, max_iter=5000, **common), X, y)
    # liblinear penalises its intercept, so that a large constant column stands in for a free one.
    peer = LinearSVC(loss="hinge", C=1 / (0.05 * len(y)), intercept_scaling=100, max_iter=1_000_000, tol=1e-8).fit(X, y)

    def objective(coef, intercept):
        margin = np.where(y == 1, 1, -1) * (X @ coef + intercept)
        return np.maximum(0, 1 - margin).mean() + 0.025 * (coef**2).sum()

    assert objective(hinge.coef_[0], hinge.intercept_[0]) <= objective(peer.coef_[0], peer.intercept_[0]) * 1.003


def test_mape_weighs_errors_by_the_size_of_the_target(numbers):
    X, y = numbers
    y = np.exp(0.5 * y)
    relative = quiet(GradientDescentRegressor(loss="mape", alpha=0.0), X, y)
    absolute = quiet(GradientDescentRegressor(loss="absolute_error", alpha=0.0), X, y)
    error = [np.mean(np.abs(model.predict(X) - y) / y) for model in (relative, absolute)]
    assert error[0] < error[1] and relative.objective_ == pytest.approx(error[0], rel=1e-6)


def test_stochastic_descent_goes_where_scikit_learn_goes(numbers, two):
    """SGDRegressor and SGDClassifier minimise the same objectives; both come to the same point with falling steps."""
    X, y = numbers
    ours = quiet(
        GradientDescentRegressor(
            batch_size=1, alpha=0.1, learning_rate="invscaling", eta0=0.05, tol=None, max_iter=300, random_state=0
        ),
        X,
        y,
    )
    peer = SGDRegressor(alpha=0.1, eta0=0.05, power_t=0.5, tol=None, max_iter=300, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=0.02)
    X, y = two
    ours = quiet(
        GradientDescentClassifier(
            batch_size=1, alpha=0.1, learning_rate="invscaling", eta0=0.1, tol=None, max_iter=300, random_state=0
        ),
        X,
        y,
    )
    peer = SGDClassifier(
        loss="log_loss",
        alpha=0.1,
        learning_rate="invscaling",
        eta0=0.1,
        power_t=0.5,
        tol=None,
        max_iter=300,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=0.02)


@pytest.mark.parametrize("penalty", ["l2", None])
def test_one_unshuffled_stochastic_epoch_equals_scikit_learn_step_for_step(numbers, penalty):
    X, y = numbers
    options = {"penalty": penalty, "alpha": 0.01, "eta0": 0.01, "shuffle": False, "max_iter": 3, "tol": None}
    ours = quiet(GradientDescentRegressor(batch_size=1, learning_rate="constant", **options), X, y)
    # Ours begins at the best constant; theirs begins there when told to.
    peer = SGDRegressor(learning_rate="constant", **options).fit(X, y, intercept_init=y.mean())
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=2e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=2e-3)


# -- weights ---------------------------------------------------------------------------------------------------------
def test_weights_equal_repetition_in_full_batches(classes):
    X, y = classes
    weights = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = quiet(GradientDescentClassifier(max_iter=50), X, y, sample_weight=weights)
    repeated = quiet(GradientDescentClassifier(max_iter=50), np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)


def test_weights_have_the_same_minimiser_in_stochastic_steps(numbers):
    X, y = numbers
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model = quiet(
        GradientDescentRegressor(batch_size=1, alpha=0.1, random_state=0, tol=1e-7), X, y, sample_weight=weights
    )
    ridge = Ridge(alpha=0.1 * weights.sum()).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-2)


# -- steps and stopping ----------------------------------------------------------------------------------------------
def test_default_step_is_one_over_the_curvature(numbers):
    X, y = numbers
    model = GradientDescentRegressor(penalty=None).fit(X, y)
    Z = np.column_stack([X, np.ones(len(y))])
    assert 1 / model.eta0_ == pytest.approx(np.linalg.eigvalsh(Z.T @ Z / len(y))[-1], rel=1e-3)
    stochastic = quiet(GradientDescentRegressor(penalty=None, batch_size=1, random_state=0), X, y)
    assert 1 / stochastic.eta0_ == pytest.approx((Z**2).sum(axis=1).max(), rel=1e-9)
    mini = quiet(GradientDescentRegressor(penalty=None, batch_size=10, random_state=0), X, y)
    assert stochastic.eta0_ < mini.eta0_ < model.eta0_


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.7, False), (0.7, True)])
def test_divergence_is_reported_with_the_largest_stable_step(numbers, momentum, nesterov):
    X, y = numbers
    Z = np.column_stack([X, np.ones(len(y))])
    limit = stable_step(np.linalg.eigvalsh(Z.T @ Z / len(y))[-1], momentum, nesterov)
    common = {"penalty": None, "momentum": momentum, "nesterov": nesterov, "max_iter": 20_000}
    quiet(GradientDescentRegressor(eta0=0.98 * limit, tol=1e-6, **common), X, y)
    with pytest.raises(ParameterError, match="steps are stable below") as caught:
        GradientDescentRegressor(eta0=1.05 * limit, **common).fit(X, y)
    assert f"{limit:.3g}" in str(caught.value) and "\n" not in str(caught.value)


def test_divergence_of_stochastic_and_of_bounded_losses_is_seen(numbers, two):
    X, y = numbers
    with pytest.raises(ParameterError, match="too large"):
        GradientDescentRegressor(batch_size=1, eta0=3.0, learning_rate="constant", random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="too large"):
        GradientDescentClassifier(eta0=1000.0, alpha=1.0).fit(*two)


def test_schedules_give_the_steps_they_promise(numbers):
    X, y = numbers

    def steps(**options):
        model = GradientDescentRegressor(eta0=0.1, max_iter=6, tol=None, trace=True, **options).fit(X, y)
        return np.array([record["values"]["step"] for record in model.trace_])

    epochs = np.arange(6)
    np.testing.assert_allclose(steps(learning_rate="constant"), 0.1)
    np.testing.assert_allclose(steps(learning_rate="invscaling", power_t=0.7), 0.1 / (epochs + 1) ** 0.7)
    np.testing.assert_allclose(steps(learning_rate="inverse_time", decay=0.5), 0.1 / (1 + 0.5 * epochs))
    np.testing.assert_allclose(steps(learning_rate="exponential", decay=0.5), 0.1 * np.exp(-0.5 * epochs))


def test_adaptive_step_falls_by_five_when_the_loss_stands_still(numbers):
    X, y = numbers
    model = quiet(GradientDescentRegressor(batch_size=1, learning_rate="adaptive", trace=True, random_state=0), X, y)
    steps = np.unique([record["values"]["step"] for record in model.trace_])[::-1]
    np.testing.assert_allclose(steps[1:] / steps[:-1], 0.2)
    assert steps[-1] < 1e-5 * model.eta0_
    patient = quiet(
        GradientDescentRegressor(batch_size=1, learning_rate="adaptive", n_iter_no_change=9, random_state=0), X, y
    )
    assert patient.n_iter_ > model.n_iter_


def test_momentum_and_nesterov_need_fewer_epochs_on_long_valleys(numbers):
    X, y = numbers
    X = X * np.array([10.0, 1.0, 1.0, 1.0, 1.0])
    common = {"penalty": None, "max_iter": 20_000, "tol": 1e-8}
    plain = GradientDescentRegressor(**common).fit(X, y)
    heavy = GradientDescentRegressor(momentum=0.9, **common).fit(X, y)
    ahead = GradientDescentRegressor(momentum=0.9, nesterov=True, **common).fit(X, y)
    assert heavy.n_iter_ < plain.n_iter_ / 3 and ahead.n_iter_ < plain.n_iter_ / 3
    assert heavy.n_iter_ != ahead.n_iter_
    for model in (heavy, ahead):
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)


def test_tol_and_max_iter_bound_the_epochs(numbers):
    X, y = numbers
    loose, tight = GradientDescentRegressor(tol=1e-2).fit(X, y), GradientDescentRegressor(tol=1e-8).fit(X, y)
    assert loose.n_iter_ < tight.n_iter_
    with pytest.warns(AssayWarning, match="W201"):
        assert GradientDescentRegressor(max_iter=2).fit(X, y).n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert GradientDescentRegressor(max_iter=30, tol=None).fit(X, y).n_iter_ == 30


def test_early_stopping_keeps_the_best_of_the_held_out_rows(two):
    X, y = two
    wide = np.column_stack([X, np.random.default_rng(3).normal(size=(len(y), 60))])
    common = {"penalty": None, "max_iter": 5000, "random_state": 0}
    model = quiet(
        GradientDescentClassifier(early_stopping=True, trace=True, validation_fraction=0.3, **common), wide, y
    )
    losses = [record["values"]["validation_loss"] for record in model.trace_]
    assert model.validation_loss_ == min(losses)
    assert model.n_iter_ < quiet(GradientDescentClassifier(**common), wide, y).n_iter_
    other = quiet(GradientDescentClassifier(early_stopping=True, validation_fraction=0.1, **common), wide, y)
    assert other.validation_loss_ != model.validation_loss_
    assert not hasattr(quiet(GradientDescentClassifier(**common), wide, y), "validation_loss_")
    with pytest.raises(DataError, match="validation_fraction"):
        GradientDescentRegressor(early_stopping=True, validation_fraction=0.01).fit(X[:5], X[:5, 0])


# -- other parameters ------------------------------------------------------------------------------------------------
def test_penalties_matter(numbers):
    X, y = numbers
    fits = {
        (penalty, alpha, ratio): GradientDescentRegressor(penalty=penalty, alpha=alpha, l1_ratio=ratio, tol=1e-9)
        .fit(X, y)
        .coef_
        for penalty, alpha, ratio in [
            ("l2", 0.3, 0.15),
            ("l1", 0.3, 0.15),
            ("elasticnet", 0.3, 0.15),
            ("elasticnet", 0.3, 0.9),
            (None, 0.3, 0.15),
            ("l2", 1.0, 0.15),
        ]
    }
    values = list(fits.values())
    for i, one in enumerate(values):
        for other in values[:i]:
            assert np.abs(one - other).max() > 1e-3
    sizes = {key: np.abs(value).sum() for key, value in fits.items()}
    assert max(sizes, key=sizes.__getitem__)[0] is None


def test_intercept_epsilon_shuffle_and_seed_matter(numbers):
    X, y = numbers
    assert quiet(GradientDescentRegressor(fit_intercept=False), X, y).intercept_ == 0.0
    narrow, wide = (GradientDescentRegressor(loss="huber", epsilon=e, tol=1e-6).fit(X, y).coef_ for e in (0.1, 10.0))
    assert np.abs(narrow - wide).max() > 1e-3

    def stochastic(**options):
        return quiet(GradientDescentRegressor(batch_size=7, max_iter=2, tol=None, **options), X, y).coef_

    np.testing.assert_array_equal(stochastic(random_state=1), stochastic(random_state=1))
    assert (stochastic(random_state=1) != stochastic(random_state=2)).any()
    np.testing.assert_array_equal(stochastic(shuffle=False, random_state=1), stochastic(shuffle=False, random_state=2))


def test_probabilities_exist_with_log_loss_alone(classes):
    X, y = classes
    model = quiet(GradientDescentClassifier(), X, y)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    for loss in ("hinge", "squared_hinge", "modified_huber", "squared_error"):
        assert not hasattr(GradientDescentClassifier(loss=loss), "predict_proba")
        assert quiet(GradientDescentClassifier(loss=loss), X, y).score(X, y) > 0.55


def test_trace_is_the_descent_path_and_free_of_influence(numbers):
    X, y = numbers
    model = GradientDescentRegressor(trace=True, penalty=None).fit(X[:, :1], y)
    losses = [record["values"]["loss"] for record in model.trace_]
    assert losses == sorted(losses, reverse=True)
    assert model.trace_[-1]["values"]["parameters"] == [*model.coef_.tolist(), model.intercept_]
    json.dumps(model.trace_)
    wide = GradientDescentRegressor(trace=True, max_iter=2, tol=None).fit(np.tile(X, 8), y)
    assert "parameters" not in wide.trace_[0]["values"]


# -- partial_fit -----------------------------------------------------------------------------------------------------
def test_the_adaptive_step_also_falls_when_all_epochs_are_asked_for(numbers):
    X, y = numbers
    model = quiet(GradientDescentRegressor(batch_size=1, tol=None, max_iter=40, trace=True, random_state=0), X, y)
    steps = [record["values"]["step"] for record in model.trace_]
    assert model.n_iter_ == 40 and steps[-1] < steps[0] / 20
    assert model.score(X, y) > Ridge(alpha=1e-6).fit(X, y).score(X, y) - 1e-3


def test_partial_fit_continues_where_fit_would_be(numbers):
    X, y = numbers
    whole = quiet(GradientDescentRegressor(max_iter=5, tol=None, momentum=0.5), X, y)
    parts = GradientDescentRegressor(momentum=0.5)
    for _ in range(5):
        parts.partial_fit(X, y)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.t_ == whole.t_ == 5 and parts.n_iter_ == 5


def test_partial_fit_learns_a_stream_whose_batches_lack_classes(classes):
    X, y = classes
    order = np.argsort(y, kind="stable")
    model = GradientDescentClassifier(batch_size=1, learning_rate="constant", random_state=0)
    with pytest.raises(ParameterError, match="first call of partial_fit"):
        model.partial_fit(X, y)
    for _ in range(100):
        for part in np.array_split(order, 6):
            model.partial_fit(X[part], y[part], classes=["low", "mid", "high"])
    assert model.classes_.tolist() == ["high", "low", "mid"] and model.score(X, y) > 0.5
    with pytest.raises(ParameterError, match="must stay"):
        model.partial_fit(X, y, classes=["low", "mid"])
    with pytest.raises(DataError, match="labels named"):
        model.partial_fit(X[:2], ["low", "none"])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)


# -- hard inputs -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ["collinear", "constant", "huge", "tiny", "wide", "zero target"])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_hard_tables_give_finite_coefficients(numbers, case, batch_size):
    X, y = numbers
    X = {
        "collinear": np.column_stack([X, X[:, 0]]),
        "constant": np.column_stack([X, np.full(len(y), 7.0)]),
        "huge": X * 1e12,
        "tiny": X * 1e-12,
        "wide": np.tile(X[:20], 10),
        "zero target": X,
    }[case]
    y = {"wide": y[:20], "zero target": np.zeros(len(y))}.get(case, y)
    model = quiet(GradientDescentRegressor(batch_size=batch_size, random_state=0, max_iter=100), X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict(X)).all()
    if case == "zero target":
        assert not model.coef_.any()
        return
    sides = quiet(GradientDescentClassifier(batch_size=batch_size, random_state=0, max_iter=100), X, y >= 3)
    assert np.isfinite(sides.coef_).all()


def test_separable_classes_are_separated(numbers):
    X, _ = numbers
    for loss in ("log_loss", "hinge"):
        model = quiet(
            GradientDescentClassifier(loss=loss, penalty=None, eta0=1.0, max_iter=3000, tol=None), X, X[:, 0] > 0
        )
        assert model.score(X, X[:, 0] > 0) > 0.98 and np.isfinite(model.coef_).all()


@pytest.mark.parametrize(("loss", "bad", "match"), [("mape", 0.0, "must not be 0"), ("msle", -0.5, "must not be neg")])
def test_targets_outside_the_domain_of_a_loss_are_refused(numbers, loss, bad, match):
    X, y = numbers
    y = np.abs(y) + 1
    y[17] = bad
    with pytest.raises(DataError, match=f"{match}.*row 17"):
        GradientDescentRegressor(loss=loss).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 1, "random_state": 0},
        {"loss": "huber"},
        {"loss": "absolute_error"},
        {"early_stopping": True, "random_state": 0},
    ],
)
@pytest.mark.parametrize("constant", [1e6, -1e8])
def test_a_constant_added_to_y_moves_the_intercept_alone(numbers, options, constant):
    X, y = numbers
    near, far = (GradientDescentRegressor(**options).fit(X, y + shift) for shift in (0.0, constant))
    assert far.n_iter_ == near.n_iter_ and near.score(X, y) > 0.9
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-6)
    assert far.intercept_ - constant == pytest.approx(near.intercept_, abs=1e-5)


def test_online_epochs_bear_a_shifted_target_too(numbers):
    X, y = numbers
    near, far = GradientDescentRegressor(), GradientDescentRegressor()
    for _ in range(30):
        near.partial_fit(X, y)
        far.partial_fit(X, y + 1e6)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-8)
    assert far.intercept_ - 1e6 == pytest.approx(near.intercept_, abs=1e-6)


def test_the_intercept_begins_at_the_best_constant_of_rows_with_weight(numbers):
    X, y = numbers
    weights = np.zeros(len(y))
    weights[:3] = [1.0, 2.0, 3.0]
    options = {"max_iter": 1, "trace": True, "eta0": 1e-12, "tol": None}
    for loss in ("squared_error", "absolute_error", "huber"):
        model = GradientDescentRegressor(loss=loss, **options).fit(X, y, sample_weight=weights)
        best = LOSSES[loss].constant(y[:3], weights[:3])[0]
        assert model.intercept_ == pytest.approx(best, abs=1e-9)
    assert GradientDescentRegressor(fit_intercept=False).fit(X, y).intercept_ == 0.0


def test_nothing_to_descend_is_convergence_and_no_warning(numbers):
    X, _ = numbers
    design = np.column_stack([np.ones(len(X)), X])
    rest = np.random.default_rng(2).normal(size=len(X))
    rest -= design @ np.linalg.lstsq(design, rest, rcond=None)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssayWarning)
        flat = GradientDescentRegressor().fit(X, np.full(len(X), 0.1))
        orthogonal = GradientDescentRegressor(penalty=None).fit(X, rest + 7.3)
    assert flat.intercept_ == 0.1 and not flat.coef_.any()
    np.testing.assert_allclose(orthogonal.coef_, 0.0, atol=1e-12)
