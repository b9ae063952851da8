"""Multilayer perceptrons: gradients, steps against scikit-learn's, what they learn, what they say and refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier as TheirClassifier
from sklearn.neural_network import MLPRegressor as TheirRegressor

from assay import _kernels
from assay.base import AssayError, AssayWarning, DataError, ParameterError
from assay.models.linear import LeastSquares, LogisticRegression
from assay.models.neural import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.*W201")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(331, 5))
    codes = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.7)
    return X, codes, np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3]]), rng.uniform(0.2, 3.0, size=331)


# -- gradients and steps -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("task", ["two classes", "three classes", "two outputs", "huber", "quantile", "poisson"])
def test_gradient_equals_finite_differences(table, activation, task):
    X, codes, numbers, weights = table
    hidden = {"hidden_layer_sizes": (7, 4), "activation": activation, "alpha": 0.1, "dtype": "float64"}
    if task.endswith("classes"):
        y = np.minimum(codes, 1) if task == "two classes" else codes
        model = MLPClassifier(max_iter=1, random_state=1, **hidden).fit(X, y)
        target = y[:, None].astype(float)
    else:
        loss = task if task in ("huber", "quantile", "poisson") else "squared_error"
        target = np.abs(numbers) if loss == "poisson" else numbers
        model = MLPRegressor(max_iter=1, random_state=1, loss=loss, **hidden).fit(X, target)
    theta = model._theta + 0.1 * np.random.default_rng(2).normal(size=model._theta.shape)

    def objective(at):
        return model.objective_gradient(X, target, weights, at)[0]

    found = model.objective_gradient(X, target, weights, theta)[1]
    step = 1e-6
    wanted = [(objective(theta + step * e) - objective(theta - step * e)) / (2 * step) for e in np.eye(theta.shape[0])]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


STEPS = [
    {"solver": "adam"},
    {"solver": "sgd", "momentum": 0.0},
    {"solver": "sgd", "momentum": 0.9, "nesterovs_momentum": False},
    {"solver": "sgd", "momentum": 0.9, "nesterovs_momentum": True},
]


@pytest.mark.parametrize("steps", STEPS, ids=lambda steps: "-".join(map(str, steps.values())))
@pytest.mark.parametrize("classes", [2, 3, 0])
def test_every_step_is_that_of_scikit_learn(table, steps, classes):
    """The same first weights, batches in the same order: the same weights after three epochs."""
    X, codes, numbers, _ = table
    X, codes, numbers = X[:320], codes[:320], numbers[:320]
    usual = {"hidden_layer_sizes": (6, 4), "activation": "tanh", "batch_size": 32, "shuffle": False, "max_iter": 3}
    usual |= {"learning_rate_init": 0.01, "random_state": 0, **steps}
    if classes:
        y = np.minimum(codes, 1) if classes == 2 else codes
        ours, theirs = MLPClassifier, TheirClassifier
    else:
        y = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
        ours, theirs = MLPRegressor, TheirRegressor
    # Their penalty is divided by the size of a batch.
    model = ours(alpha=0.5 / 32, dtype="float64", tol=None, **usual)
    width = {2: 1, 3: 3, 0: 2}[classes]
    model._start([5, 6, 4, width], X.size)
    first = [w.copy() for w in model.coefs_], [b.copy() for b in model.intercepts_]
    model.fit(X, y)  # the same seed, so the same first weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = theirs(alpha=0.5, warm_start=True, **{**usual, "max_iter": 1}).fit(X, y)
        other.coefs_, other.intercepts_ = first
        other.set_params(max_iter=3, tol=0.0, n_iter_no_change=100)
        other.fit(X, y)
    for mine, yours in zip([*model.coefs_, *model.intercepts_], [*other.coefs_, *other.intercepts_], strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-9, atol=1e-11)


def test_schedules_give_their_steps(table):
    X, codes, _, _ = table
    wanted = {
        "constant": lambda t, e: 1.0,
        "invscaling": lambda t, e: t**-0.5,
        "inverse_time": lambda t, e: 1 / (1 + 0.2 * e),
        "exponential": lambda t, e: np.exp(-0.2 * e),
    }
    for name, rule in wanted.items():
        model = MLPClassifier(
            learning_rate=name, decay=0.2, batch_size=331, max_iter=4, tol=None, trace=True, random_state=0
        )
        trace = model.fit(X, codes).trace_
        steps = [record["values"]["step"] for record in trace]
        np.testing.assert_allclose(steps, [1e-3 * rule(e + 1, e) for e in range(4)])
        assert [record["values"]["loss"] for record in trace] == model.loss_curve_
    adaptive = MLPClassifier(
        learning_rate="adaptive", tol=10.0, n_iter_no_change=1, max_iter=200, trace=True, random_state=0
    ).fit(X, codes)
    steps = np.array([record["values"]["step"] for record in adaptive.trace_])
    falls = steps[1:] / steps[:-1]
    assert set(falls.round(6)) == {1.0, 0.2} and steps[-1] < 1e-8 and adaptive.n_iter_ < 200


def test_float32_and_every_instruction_set_agree_with_float64(table):
    X, codes, _, weights = table
    wanted = MLPClassifier(hidden_layer_sizes=(33,), max_iter=5, dtype="float64", random_state=0)
    wanted.fit(X, codes, sample_weight=weights)
    level = _kernels.simd_level()
    try:
        for name in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(name)
            for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
                model = MLPClassifier(hidden_layer_sizes=(33,), max_iter=5, dtype=dtype, random_state=0)
                model.fit(X, codes, sample_weight=weights)
                assert model.coefs_[0].dtype == dtype
                np.testing.assert_allclose(model.predict_proba(X), wanted.predict_proba(X), atol=tolerance)
    finally:
        _kernels.set_simd_level(level)


@pytest.mark.parametrize("more", [{}, {"dropout": 0.4}, {"early_stopping": True}], ids=str)
def test_the_same_bits_for_any_number_of_threads(more):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 20))
    y = X[:, 0] * X[:, 1]
    models = [
        MLPRegressor(hidden_layer_sizes=(64, 32), batch_size=1000, max_iter=3, n_jobs=n, random_state=0, **more)
        for n in (1, 2, 5)
    ]
    for model in models:
        model.dtype = "float32"
        model.fit(X, y)
    np.testing.assert_array_equal(models[0]._theta, models[1]._theta)
    np.testing.assert_array_equal(models[0]._theta, models[2]._theta)


# -- what it learns ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("activation", ["logistic", "tanh", "relu"])
def test_learns_xor(solver, activation):
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    model = MLPClassifier(
        hidden_layer_sizes=(8,),
        activation=activation,
        solver=solver,
        learning_rate_init={"adam": 0.05, "sgd": 0.5, "lbfgs": 1.0}[solver],
        alpha=0.0,
        max_iter=3000,
        tol=None,
        random_state=1,
    )
    np.testing.assert_array_equal(model.fit(X, y).predict(X), y)
    assert model.loss_ < 0.1


def test_learns_circles_and_online():
    X, y = make_circles(600, noise=0.08, factor=0.5, random_state=0)
    batches = MLPClassifier(hidden_layer_sizes=(30,), learning_rate_init=0.01, random_state=0).fit(X[:400], y[:400])
    assert batches.score(X[400:], y[400:]) > 0.98
    online = MLPClassifier(
        hidden_layer_sizes=(30,), batch_size=1, solver="sgd", learning_rate_init=0.01, max_iter=30, random_state=0
    ).fit(X[:400], y[:400])
    assert online.t_ == 400 * online.n_iter_ and online.score(X[400:], y[400:]) > 0.98


def test_digits_held_out_97_percent():
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1300], order[1300:]
    model = MLPClassifier(hidden_layer_sizes=(100,), max_iter=60, learning_rate_init=3e-3, random_state=0)
    assert model.fit(X[train], y[train]).score(X[test], y[test]) >= 0.97
    assert model.coefs_[0].dtype == np.float64 and model.out_activation_ == "softmax"


def test_identity_activation_collapses_to_a_linear_model(table):
    X, codes, numbers, _ = table
    deep = MLPRegressor(hidden_layer_sizes=(6, 6), activation="identity", solver="lbfgs", alpha=0.0, tol=1e-9)
    deep.set_params(max_iter=5000, random_state=0).fit(X, numbers[:, 0])
    linear = LeastSquares().fit(X, numbers[:, 0])
    np.testing.assert_allclose(deep.predict(X), linear.predict(X), atol=1e-5)
    flat = MLPClassifier(hidden_layer_sizes=(), solver="lbfgs", alpha=0.0, tol=1e-9, max_iter=5000, random_state=0)
    flat.fit(X, codes)
    wanted = LogisticRegression(penalty=None).fit(X, codes)
    np.testing.assert_allclose(flat.predict_proba(X), wanted.predict_proba(X), atol=1e-5)


def test_several_outputs_and_losses(table):
    X, _, numbers, weights = table
    both = MLPRegressor(hidden_layer_sizes=(50,), learning_rate_init=0.01, random_state=0).fit(X, numbers)
    assert both.predict(X).shape == numbers.shape and both.score(X, numbers) > 0.95
    column = MLPRegressor(max_iter=2, random_state=0).fit(X, numbers[:, :1])
    assert column.predict(X).shape == (331, 1)
    rng = np.random.default_rng(4)
    noisy = numbers[:, 0] + rng.exponential(size=331)
    for level in (0.2, 0.8):
        model = MLPRegressor(loss="quantile", loss_parameter=level, hidden_layer_sizes=(8,), random_state=0)
        model.set_params(learning_rate_init=0.01, max_iter=100)
        below = (noisy < model.fit(X, noisy).predict(X)).mean()
        assert abs(below - level) < 0.1
    counts = rng.poisson(np.exp(0.5 * X[:, 0]))
    model = MLPRegressor(hidden_layer_sizes=(8,), loss="poisson", learning_rate_init=0.01, random_state=0)
    model.set_params(max_iter=100).fit(X, counts)
    assert (model.predict(X) > 0).all() and np.corrcoef(model.predict(X), np.exp(0.5 * X[:, 0]))[0, 1] > 0.8
    robust = MLPRegressor(loss="huber", max_iter=5, random_state=0).fit(X, noisy, sample_weight=weights)
    assert np.isfinite(robust.predict(X)).all()
    with pytest.raises(DataError, match="poisson"):
        MLPRegressor(loss="poisson").fit(X, -counts - 1)


def test_unit_of_the_target_does_not_matter(table):
    X, _, numbers, _ = table
    one = MLPRegressor(max_iter=20, random_state=0).fit(X, numbers[:, 0])
    other = MLPRegressor(max_iter=20, random_state=0).fit(X, 1e6 * numbers[:, 0] - 5e7)
    np.testing.assert_allclose(other.predict(X), 1e6 * one.predict(X) - 5e7, rtol=1e-6)


# -- penalties, dropout, stopping ----------------------------------------------------------------------------------
def test_absolute_penalty_sets_weights_to_zero_and_reaches_its_optimum(table):
    X = table[0]
    y = X[:, 0] - 0.5 * X[:, 1]
    for solver, rate, momentum in (("adam", 0.01, 0.9), ("sgd", 0.3, 0.0), ("sgd", 0.05, 0.5)):
        model = MLPRegressor(
            hidden_layer_sizes=(), solver=solver, l1_alpha=0.1, alpha=0.0, batch_size=331, learning_rate_init=rate
        )
        model.set_params(momentum=momentum, max_iter=4000, tol=1e-12, random_state=0).fit(X, y)
        weights = model.coefs_[0][:, 0]
        assert (weights[2:] == 0.0).all() and (weights[:2] != 0.0).all()
        # Optimality: the gradient of the loss is -l1_alpha sign(w) where w is not 0, and within it elsewhere.
        target = ((y - model._center) / model._scale)[:, None]
        gradient = model.objective_gradient(X, target, None, model._theta)[1][:5]
        np.testing.assert_allclose(gradient[:2], -0.1 * np.sign(weights[:2]), atol=2e-3)
        assert (np.abs(gradient[2:]) <= 0.1 + 1e-6).all()


def test_squared_penalty_is_that_of_ridge(table):
    X, _, numbers, _ = table
    y = numbers[:, 0]
    model = MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=0.3, tol=1e-10, random_state=0).fit(X, y)
    centred, z = X - X.mean(axis=0), (y - y.mean()) / y.std()
    wanted = np.linalg.solve(centred.T @ centred / len(y) + 0.3 * np.eye(5), centred.T @ z / len(y))
    np.testing.assert_allclose(model.coefs_[0][:, 0], wanted, atol=1e-6)


def test_dropout_leaves_the_expected_units_out_and_regularises():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 20))
    y = X[:, 0] + rng.normal(size=150)
    new = rng.normal(size=(2000, 20))
    fits = {
        share: MLPRegressor(hidden_layer_sizes=(200,), dropout=share, max_iter=300, tol=None, random_state=0).fit(X, y)
        for share in (0.0, 0.5)
    }
    errors = {share: np.mean((model.predict(new) - new[:, 0]) ** 2) for share, model in fits.items()}
    assert errors[0.5] < errors[0.0]
    # With identity units the expected gradient is that without dropout: predictions are near it, not halved.
    model = MLPRegressor(hidden_layer_sizes=(400,), activation="identity", dropout=0.5, max_iter=400, random_state=0)
    assert np.polyfit(y * 0 + X[:, 0], model.fit(X, X[:, 0]).predict(X), 1)[0] == pytest.approx(1.0, abs=0.1)


def test_early_stopping_keeps_the_best_epoch():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 10))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = MLPClassifier(early_stopping=True, learning_rate_init=0.01, validation_fraction=0.3, random_state=0)
    model.fit(X, y)
    best = int(np.argmin(model.validation_curve_)) + 1
    assert model.best_loss_ == model.validation_curve_.min() and model.n_iter_ < 200
    again = MLPClassifier(early_stopping=True, learning_rate_init=0.01, validation_fraction=0.3, max_iter=best)
    again.set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model._theta, again._theta)
    assert "overfitting" in model.explain() and model.view().best == best
    with pytest.raises(DataError, match="needs rows on both sides"):
        MLPClassifier(early_stopping=True, validation_fraction=0.01).fit(X[:4], [0, 1, 0, 1])


def test_warm_start_and_partial_fit_go_on(table):
    X, codes, numbers, _ = table
    whole = MLPClassifier(max_iter=6, tol=None, random_state=0).fit(X, codes)
    parts = MLPClassifier(random_state=0)
    for _ in range(6):
        parts.partial_fit(X, codes, classes=[0, 1, 2])
    np.testing.assert_array_equal(whole._theta, parts._theta)
    assert parts.n_iter_ == 6 and parts.loss_curve_ == whole.loss_curve_
    model = MLPClassifier(max_iter=3, tol=None, warm_start=True, random_state=0).fit(X, codes)
    before = model.loss_
    assert model.fit(X, codes).loss_ < before
    with pytest.raises(DataError, match="classes of the last fit"):
        model.fit(X, np.minimum(codes, 1))
    with pytest.raises(ParameterError, match="cannot go on"):
        model.set_params(hidden_layer_sizes=(5,)).fit(X, codes)
    with pytest.raises(ParameterError, match="must be given in the first call"):
        MLPClassifier().partial_fit(X, codes)
    with pytest.raises(DataError, match=r"labels named in the first call of partial_fit; got 9\."):
        MLPClassifier().partial_fit(X, codes + 9 * (codes == 0), classes=[0, 1, 2])
    with pytest.raises(ParameterError, match="lbfgs"):
        MLPRegressor(solver="lbfgs").partial_fit(X, numbers)
    raw = MLPRegressor(learning_rate_init=0.01, random_state=0)
    for _ in range(150):
        raw.partial_fit(X, 3.0 + numbers)
    assert raw.score(X, 3.0 + numbers) > 0.9


# -- words ---------------------------------------------------------------------------------------------------------
def test_divergence_is_refused_with_its_step(table):
    X, _, numbers, _ = table
    with pytest.raises(ParameterError, match=r"learning_rate_init' is too large.*got 50 .*try 5"):
        MLPRegressor(solver="sgd", learning_rate_init=50.0, random_state=0).fit(X, numbers)
    with pytest.raises(DataError, match=r"cells reach .*standardise the columns"):
        MLPRegressor(solver="sgd", learning_rate_init=0.1, random_state=0).fit(1e5 * X, numbers)


def test_a_net_that_diverged_is_not_fitted_and_can_be_fitted_again(table):
    X, _, numbers, _ = table
    model = MLPRegressor(solver="sgd", learning_rate_init=50.0, random_state=0)
    with pytest.raises(ParameterError):
        model.fit(X, numbers)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(learning_rate_init=0.01, max_iter=5).fit(X, numbers)
    assert np.isfinite(model.set_params(solver="adam").partial_fit(X, numbers).predict(X)).all()


def test_saturation_is_said(table):
    X, codes, _, _ = table
    with pytest.warns(AssayWarning, match="W207.*saturated"):
        model = MLPClassifier(activation="tanh", max_iter=3, random_state=0).fit(1e4 * X, codes)
    assert model.saturation_[0] > 0.5 and "saturated" in model.explain()
    model = MLPClassifier(solver="sgd", learning_rate_init=2.0, momentum=0.0, max_iter=30, random_state=0)
    with pytest.warns(AssayWarning, match="W207.*dead"):
        model.fit(20 * np.abs(X), codes)
    assert "dead" in model.explain()
    healthy = MLPClassifier(max_iter=30, random_state=0).fit(X, codes)
    assert "Nearly all hidden units still learn." in healthy.explain()


def test_odd_parameters_are_refused(table):
    X, codes, numbers, _ = table
    for sizes in ((0,), (3, -1), (2.5,), ("a",), [True]):
        with pytest.raises(ParameterError, match="hidden_layer_sizes' must hold integers >= 1"):
            MLPClassifier(hidden_layer_sizes=sizes).fit(X, codes)
    assert MLPClassifier(hidden_layer_sizes=7, max_iter=1).fit(X, codes).coefs_[0].shape == (5, 7)
    with pytest.raises(ParameterError, match="dropout' must be 0.0 with solver='lbfgs'"):
        MLPClassifier(solver="lbfgs", dropout=0.5).fit(X, codes)
    with pytest.raises(ParameterError, match="below 1 with loss='quantile'"):
        MLPRegressor(loss="quantile", loss_parameter=3.0).fit(X, numbers)
    with pytest.raises(AssayError, match="float32"):
        MLPRegressor(dtype="float32").fit(1e20 * X, numbers)
    with pytest.raises(ParameterError, match="warm_start"):
        MLPClassifier(warm_start=np.empty(0)).fit(X, codes)


@pytest.mark.parametrize("batch", [1, 7, 100, 331, 5000])
def test_batches_from_one_row_to_all_make_their_number_of_steps_and_descend(table, batch):
    X, codes, _, _ = table
    X, codes = X[:331], codes[:331]
    for solver, rate in (("sgd", 0.001 if batch == 1 else 0.05), ("adam", 0.002)):
        model = MLPClassifier(
            batch_size=batch, solver=solver, learning_rate_init=rate, max_iter=4, tol=None, random_state=0
        )
        model.fit(X, codes)
        assert model.t_ == 4 * -(-331 // min(batch, 331))
        assert model.loss_curve_[-1] < model.loss_curve_[0]


@pytest.mark.parametrize("init", ["glorot", "he", "uniform"])
def test_first_weights_keep_their_bounds(init):
    model = MLPRegressor(hidden_layer_sizes=(40, 30), init=init, random_state=0)
    model._start([20, 40, 30, 2], 100)
    for weights in model.coefs_:
        inputs, units = weights.shape
        bound = {"glorot": np.sqrt(6 / (inputs + units)), "he": np.sqrt(6 / inputs), "uniform": 0.01}[init]
        assert 0.9 * bound < np.abs(weights).max() <= bound
