"""Lasso and elastic net, single fits and paths.

References: scikit-learn's `Lasso`, `ElasticNet` and `enet_path` (same objective, tight tolerance), the closed form
for orthonormal columns (soft thresholding; Hastie, Tibshirani & Friedman, 2009, table 3.4) and SciPy's `nnls`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn import linear_model as reference
from sklearn.model_selection import KFold

from assay.base import AssayWarning, DataError, ParameterError
from assay.models.linear import ElasticNet, Lasso, LassoCV, LeastSquares, enet_path, lasso_path
from assay.models.linear import elastic_net_solver as solver

TIGHT = {"tol": 1e-14, "max_iter": 100_000}


@pytest.fixture(params=["moments", "columns"])
def route(request, monkeypatch):
    """Small tables by their moments, and by their columns as wide ones are."""
    if request.param == "columns":
        monkeypatch.setattr(solver, "ALWAYS_MOMENTS", 0)
        monkeypatch.setattr(solver, "MOST_MOMENTS", 0)
    return request.param


def table(n=60, p=20, seed=0, correlation=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + correlation * rng.normal(size=(n, 1)) + rng.normal(size=p)
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n) + 4


@pytest.mark.parametrize("shape", [(60, 20), (30, 80)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_coefficients_are_those_of_scikit_learn(route, shape, positive, fit_intercept):
    X, y = table(*shape)
    for weights in (None, np.random.default_rng(1).uniform(0.1, 3, size=len(y))):
        for alpha in (1.0, 0.05):
            ours = Lasso(alpha=alpha, positive=positive, fit_intercept=fit_intercept).fit(X, y, weights)
            theirs = reference.Lasso(alpha=alpha, positive=positive, fit_intercept=fit_intercept, **TIGHT)
            theirs.fit(X, y, sample_weight=weights)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
            assert (ours.intercept_ == 0) == (not fit_intercept)
            ours = ElasticNet(alpha=alpha, l1_ratio=0.3, positive=positive, fit_intercept=fit_intercept)
            ours.fit(X, y, weights)
            theirs = reference.ElasticNet(
                alpha=alpha, l1_ratio=0.3, positive=positive, fit_intercept=fit_intercept, **TIGHT
            ).fit(X, y, sample_weight=weights)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)


def test_orthonormal_columns_give_soft_thresholding(route):
    rng = np.random.default_rng(3)
    X = np.linalg.qr(rng.normal(size=(40, 8)))[0] * np.sqrt(40)
    y = X @ rng.normal(size=8) + rng.normal(size=40)
    least = X.T @ y / 40
    for alpha in (0.1, 0.5, 2.0):
        expected = np.sign(least) * np.maximum(np.abs(least) - alpha, 0)
        np.testing.assert_allclose(Lasso(alpha=alpha, fit_intercept=False).fit(X, y).coef_, expected, atol=1e-12)
        net = ElasticNet(alpha=alpha, l1_ratio=0.5, fit_intercept=False).fit(X, y)
        shrunk = np.sign(least) * np.maximum(np.abs(least) - alpha / 2, 0) / (1 + alpha / 2)
        np.testing.assert_allclose(net.coef_, shrunk, atol=1e-12)


def test_path_is_that_of_scikit_learn_and_gaps_are_closed(route):
    X, y = table(40, 90)
    path = enet_path(X, y, l1_ratio=0.7, alphas=30, tol=1e-10)
    alphas, coef, _ = reference.enet_path(X - X.mean(0), y - y.mean(), l1_ratio=0.7, n_alphas=30, **TIGHT)
    np.testing.assert_allclose(path.alphas, alphas, rtol=1e-10)
    np.testing.assert_allclose(path.coef, coef.T, atol=3e-5)
    np.testing.assert_allclose(path.intercept, y.mean() - path.coef @ X.mean(0), atol=1e-10)
    assert path.coef[0].max() == 0 and (path.dual_gaps <= 1e-10 * y.var()).all() and (path.n_iter >= 1).all()


def test_path_is_continuous_and_screening_drops_no_active_column(route):
    X, y = table(50, 120, correlation=1.0)
    path = lasso_path(X, y, alphas=200, tol=1e-10)
    step = np.abs(np.diff(path.coef, axis=0)).max(axis=1)
    assert step.max() < 0.2 * np.abs(path.coef).max()
    for alpha, coef in zip(path.alphas[::20], path.coef[::20], strict=True):
        alone = Lasso(alpha=alpha).fit(X, y)
        np.testing.assert_allclose(coef, alone.coef_, atol=2e-4)
        gradient = np.abs((X - X.mean(0)).T @ (y - y.mean() - (X - X.mean(0)) @ alone.coef_)) / len(y)
        assert (gradient <= alpha * (1 + 1e-7)).all()


def test_eps_and_alphas_set_the_grid():
    X, y = table()
    assert lasso_path(X, y, alphas=7, eps=0.1).alphas == pytest.approx(
        np.geomspace(1, 0.1, 7) * lasso_path(X, y, alphas=1).alphas[0]
    )
    assert lasso_path(X, y, alphas=[0.1, 0.3]).alphas.tolist() == [0.3, 0.1]
    with pytest.raises(ParameterError, match="alphas"):
        lasso_path(X, y, alphas=[0.1, -1])
    with pytest.raises(ParameterError, match="l1_ratio is 0"):
        enet_path(X, y, l1_ratio=0.0)


def test_no_penalty_is_least_squares_and_its_limit():
    X, y = table()
    exact = LeastSquares().fit(X, y)
    np.testing.assert_allclose(Lasso(alpha=0).fit(X, y).coef_, exact.coef_, atol=1e-10)
    np.testing.assert_allclose(Lasso(alpha=1e-11).fit(X, y).coef_, exact.coef_, atol=1e-8)
    centred, right = X - X.mean(0), y - y.mean()
    np.testing.assert_allclose(Lasso(alpha=0, positive=True).fit(X, y).coef_, nnls(centred, right)[0], atol=1e-9)


def test_no_absolute_penalty_is_ridge(route):
    X, y = table()
    theirs = reference.Ridge(alpha=0.2 * len(y)).fit(X, y)
    np.testing.assert_allclose(ElasticNet(alpha=0.2, l1_ratio=0).fit(X, y).coef_, theirs.coef_, atol=1e-9)
    positive = ElasticNet(alpha=0.2, l1_ratio=0, positive=True).fit(X, y)
    theirs = reference.Ridge(alpha=0.2 * len(y), positive=True, tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(positive.coef_, theirs.coef_, atol=1e-5)


def test_penalty_weights_are_scales_of_columns(route):
    X, y = table()
    factors = np.random.default_rng(2).uniform(0.2, 5, size=X.shape[1])
    weighted = Lasso(alpha=0.1, penalty_weights=factors).fit(X, y)
    scaled = Lasso(alpha=0.1).fit(X / factors, y)
    np.testing.assert_allclose(weighted.coef_, scaled.coef_ / factors, atol=1e-9)
    net = ElasticNet(alpha=0.1, l1_ratio=0, penalty_weights=factors).fit(X, y)
    centred = X - X.mean(0)
    expected = np.linalg.solve(centred.T @ centred / 60 + 0.1 * np.diag(factors), centred.T @ (y - y.mean()) / 60)
    np.testing.assert_allclose(net.coef_, expected, atol=1e-9)
    factors[1] = np.inf
    assert Lasso(alpha=0.1, penalty_weights=factors).fit(X, y).coef_[1] == 0
    assert Lasso(alpha=0, penalty_weights=factors).fit(X, y).coef_[1] == 0
    for bad in ([1.0], [-1.0] * X.shape[1], ["a"] * X.shape[1]):
        with pytest.raises(ParameterError, match="penalty_weights"):
            Lasso(penalty_weights=bad).fit(X, y)


def test_adaptive_weights_keep_the_true_columns_and_shrink_them_less(route):
    X, y = table(400, 20, correlation=0.0)
    adaptive = Lasso(alpha=0.005, penalty_weights="adaptive").fit(X, y)
    plain = Lasso(alpha=0.005).fit(X, y)
    assert np.flatnonzero(adaptive.coef_).tolist() == [0, 1, 2]
    truth = np.r_[1.0, -2.0, 0.5, np.zeros(17)]
    assert np.abs(adaptive.coef_ - truth).sum() < np.abs(plain.coef_ - truth).sum()
    assert adaptive.penalty_weights_.shape == (20,) and not hasattr(plain, "penalty_weights_")


def test_adaptive_weights_do_not_depend_on_the_route(monkeypatch):
    X, y = table()
    first = Lasso(alpha=0.05, penalty_weights="adaptive").fit(X, y)
    monkeypatch.setattr(solver, "ALWAYS_MOMENTS", 0)
    second = Lasso(alpha=0.05, penalty_weights="adaptive").fit(X, y)
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-9)


def test_trace_holds_an_objective_that_never_rises(route):
    X, y = table(30, 80)
    model = ElasticNet(alpha=0.01, l1_ratio=0.9, trace=True).fit(X, y)
    values = np.array([record["values"]["objective"] for record in model.trace_])
    assert len(values) > 3 and (np.diff(values) <= 1e-12 * values[0]).all()
    residual = y - model.predict(X)
    size = 0.01 * (0.9 * np.abs(model.coef_).sum() + 0.05 * (model.coef_**2).sum())
    assert values[-1] == pytest.approx(residual @ residual / 60 + size, rel=1e-9)
    assert Lasso(alpha=0, trace=True).fit(X, y).trace_[0]["what"] == "closed form"


def test_tolerance_and_max_iter_decide_when_to_stop(route):
    X, y = table(80, 60, correlation=3.0)
    assert Lasso(alpha=1e-3, tol=1e-10).fit(X, y).n_iter_ > Lasso(alpha=1e-3, tol=0.5).fit(X, y).n_iter_
    with pytest.warns(AssayWarning, match="W121"):
        model = Lasso(alpha=1e-3, tol=1e-13, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lasso(alpha=1e-3).fit(X, y)


@pytest.mark.parametrize("model", [Lasso(alpha=0.05), ElasticNet(alpha=0.05), Lasso(alpha=0)])
def test_folds_equal_separate_fits_and_depend_on_themselves_alone(route, model):
    X, y = table(40, 30)
    weights = np.random.default_rng(3).integers(0, 3, size=40).astype(float)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for given in (None, weights):
        together = list(model.fit_folds(X, y, folds, sample_weight=given))
        for (train, _), fitted in zip(folds, together, strict=True):
            alone = type(model)(**model.get_params()).fit(X[train], y[train], None if given is None else given[train])
            np.testing.assert_allclose(fitted.coef_, alone.coef_, atol=1e-8)
            np.testing.assert_allclose(fitted.intercept_, alone.intercept_, atol=1e-7)
        last = next(iter(model.fit_folds(X, y, folds[2:], sample_weight=given)))
        np.testing.assert_array_equal(last.coef_, together[2].coef_)


def test_result_is_the_same_for_any_number_of_threads(route):
    X, y = table(70, 130)
    models = [Lasso(alpha=0.02, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_hard_columns_give_finite_answers(route):
    X, y = table()
    hard = np.column_stack([X, X[:, 0], np.full(60, 7.0), 1e12 * X[:, 1], 1e-12 * X[:, 2], np.zeros(60)])
    model = Lasso(alpha=0.01).fit(hard, y)
    assert np.isfinite(model.coef_).all() and model.score(hard, y) > 0.98
    assert model.coef_[[21, 24]].tolist() == [0, 0]
    nothing = Lasso(alpha=0.01).fit(hard, np.zeros(60))
    assert not nothing.coef_.any() and nothing.intercept_ == 0
    with pytest.raises(DataError, match="scale the columns"):
        Lasso().fit(1e200 * X, y)


def test_identical_columns_share_in_the_elastic_net():
    X, y = table()
    model = ElasticNet(alpha=0.1).fit(np.column_stack([X[:, 1], X[:, 1]]), y)
    assert model.coef_[0] == pytest.approx(model.coef_[1], rel=1e-10)


def test_cost_knows_both_routes():
    narrow, wide = Lasso().estimate_cost(10_000, 100), Lasso().estimate_cost(1000, 20_000)
    assert 0 < narrow.seconds < 1 and wide.bytes >= 16 * 1000 * 20_000


def test_view_holds_the_coefficients():
    X, y = table()
    model = Lasso(alpha=0.1).fit(X, y)
    assert model.view()["values"] == [model.coef_.tolist()]


@pytest.mark.parametrize("model", [Lasso(), LassoCV(cv=2), ElasticNet()], ids=lambda m: type(m).__name__)
def test_products_that_overflow_are_refused_by_name(model):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(DataError, match=f"^{type(model).__name__}: X and y must be small enough"):
        model.fit(X, X[:, 0] * 1e200)


def dense_table(n, p, seed=0, correlation=0.0):
    """Most columns matter; with a correlation, in blocks of 20 columns."""
    rng = np.random.default_rng(seed)
    own, shared = rng.normal(size=(n, p)), np.repeat(rng.normal(size=(n, p // 20)), 20, axis=1)
    X = np.sqrt(1 - correlation) * own + np.sqrt(correlation) * shared + rng.normal(size=p)
    return X, X @ rng.normal(size=p) + 3.0 * rng.normal(size=n) + 2.0


def breach(model, X, y, weights=None, factors=None):
    """The largest breach of the optimality conditions, as a share of the penalty."""
    w = np.ones(len(y)) if weights is None else weights
    v = np.ones(X.shape[1]) if factors is None else factors
    kept = np.isfinite(v)
    ratio = getattr(model, "l1_ratio", 1.0)
    residual = y - X @ model.coef_ - model.intercept_
    g = (X.T @ (w * residual) / w.sum())[kept] - model.alpha * (1 - ratio) * (v * model.coef_)[kept]
    b, limit = model.coef_[kept], model.alpha * ratio * v[kept]
    pull = g if model.positive else np.abs(g)
    return (
        max(np.abs(g - limit * np.sign(b))[b != 0].max(initial=0), (pull - limit)[b == 0].max(initial=0)) / model.alpha
    )


def objective_of(model, X, y, weights=None, factors=None):
    v = np.ones(X.shape[1]) if factors is None else factors
    b, v = model.coef_[np.isfinite(v)], v[np.isfinite(v)]
    ratio = getattr(model, "l1_ratio", 1.0)
    loss = np.average((y - X @ model.coef_ - model.intercept_) ** 2, weights=weights) / 2
    return loss + model.alpha * (ratio * v @ np.abs(b) + (1 - ratio) / 2 * v @ b**2)


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"fit_intercept": False}, {"l1_ratio": 0.6}])
@pytest.mark.parametrize("shape", [(500, 240), (160, 260)])
def test_many_active_columns_reach_the_minimum_within_the_gap(shape, options):
    X, y = dense_table(*shape)
    kind = ElasticNet if "l1_ratio" in options else Lasso
    factors = np.ones(shape[1])
    factors[[3, 7]], factors[11] = 0.5, np.inf
    for weights in (None, np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)):
        model = kind(alpha=0.02, penalty_weights=factors, **options).fit(X, y, weights)
        again = kind(alpha=0.02, penalty_weights=factors, n_jobs=3, **options).fit(X, y, weights)
        np.testing.assert_array_equal(model.coef_, again.coef_)
        tight = kind(alpha=0.02, penalty_weights=factors, tol=1e-12, max_iter=20_000, **options).fit(X, y, weights)
        assert breach(tight, X, y, weights, factors) < 1e-4
        centre = np.average(y, weights=weights) if model.fit_intercept else 0.0
        assert model.dual_gap_ <= 1e-4 * np.average((y - centre) ** 2, weights=weights)
        least = objective_of(tight, X, y, weights, factors)
        assert -1e-9 * least <= objective_of(model, X, y, weights, factors) - least <= model.dual_gap_ + 1e-9 * least
        assert model.coef_[11] == 0 and np.count_nonzero(model.coef_) > 100


@pytest.mark.parametrize("shape", [(500, 240), (160, 260)])
@pytest.mark.parametrize("alpha", [1e-1, 1e-2, 1e-5])
def test_columns_in_blocks_of_correlation_099_and_tiny_penalties_converge(shape, alpha):
    X, y = dense_table(*shape, correlation=0.99)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssayWarning)
        model = Lasso(alpha=alpha).fit(X, y)
    peer = reference.Lasso(alpha=alpha, max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y)
    assert model.dual_gap_ <= 1e-4 * y.var()
    assert objective_of(model, X, y) <= objective_of(peer, X, y) + model.dual_gap_


def test_free_columns_beside_many_active_ones_have_no_gradient():
    X, y = dense_table(700, 300)
    factors = np.ones(300)
    factors[:4] = 0
    model = Lasso(alpha=0.05, penalty_weights=factors, tol=1e-10).fit(X, y)
    gradient = (X - X.mean(axis=0)).T @ (y - model.predict(X)) / len(y)
    assert np.abs(gradient[:4]).max() < 1e-9
    assert np.abs(gradient).max() <= 0.05 * (1 + 1e-4)


def test_a_single_penalty_reads_columns_where_a_gram_matrix_costs_more(monkeypatch):
    X, y = dense_table(500, 260)
    assert not solver.table_prefers_moments(X, single=True) and solver.table_prefers_moments(X)
    by_columns = Lasso(alpha=0.3, tol=1e-12).fit(X, y)
    monkeypatch.setattr(solver, "SINGLE_CELLS", 0)
    assert solver.table_prefers_moments(X, single=True)
    by_moments = Lasso(alpha=0.3, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(by_columns.coef_, by_moments.coef_, atol=1e-5)
    monkeypatch.undo()
    monkeypatch.setattr(solver, "SINGLE_MOMENTS", 260)
    np.testing.assert_array_equal(Lasso(alpha=0.3, tol=1e-12).fit(X, y).coef_, by_moments.coef_)


def test_rows_without_weight_and_far_from_the_others_leave_the_answer_alone():
    X, y = dense_table(600, 240)
    strange = np.vstack([X, np.full((6, 240), 1e9)])
    weights = np.append(np.ones(600), np.zeros(6))
    model = Lasso(alpha=0.05).fit(X, y)
    far = Lasso(alpha=0.05).fit(strange, np.append(y, np.zeros(6)), weights)
    assert abs(objective_of(far, X, y) - objective_of(model, X, y)) <= max(far.dual_gap_, model.dual_gap_)


@pytest.mark.parametrize(
    ("make", "shape", "correlation", "tol", "most"),
    [
        (table, (40, 90), 0.5, 1e-4, 245),
        (table, (40, 90), 0.5, 1e-10, 360),
        (table, (60, 20), 0.5, 1e-10, 205),
        (table, (80, 60), 3.0, 1e-10, 300),
        (dense_table, (500, 240), 0.0, 1e-4, 330),
        (dense_table, (500, 240), 0.99, 1e-4, 610),
    ],
)
def test_a_path_of_sixty_penalties_needs_few_sweeps(route, make, shape, correlation, tol, most):
    """What spares sweeps (going on where the path led, extrapolation, exact steps) shows in their number alone; a
    fifth more than there were leaves room for other roundings."""
    path = lasso_path(*make(*shape, correlation=correlation), alphas=60, tol=tol)
    assert path.n_iter.sum() <= most and path.n_iter.max() <= 25


def words(n, p, seed=0):
    """A sparse table of few cells, of whose columns most matter."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=4 / p, format="csr", rng=rng, data_sampler=rng.standard_normal)
    return X, X @ rng.normal(size=p) + 0.05 * rng.normal(size=n) + 1.0


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"l1_ratio": 0.4}])
@pytest.mark.parametrize("make", [table, dense_table], ids=["few", "many"])
def test_solutions_are_exact_at_a_loose_tolerance(route, make, options):
    """However early the gap would allow to stop, what is left is rounding, with weights of rows and of columns."""
    X, y = make(160, 60)
    rng = np.random.default_rng(4)
    weights, factors = rng.uniform(0.2, 3.0, size=160), rng.uniform(0.2, 5.0, size=60)
    kind = ElasticNet if "l1_ratio" in options else Lasso
    for alpha in (0.5, 0.05, 0.004):
        model = kind(alpha=alpha, tol=0.5, penalty_weights=factors, **options).fit(X, y, weights)
        assert breach(model, X, y, weights, factors) < 1e-8


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"l1_ratio": 0.6}])
def test_trace_of_sweeps_over_full_columns_holds_the_objective(options):
    X, y = dense_table(1500, 240)
    factors = np.random.default_rng(3).uniform(0.5, 2.0, size=240)
    kind = ElasticNet if "l1_ratio" in options else Lasso
    for alpha, tol in ((0.02, 1e-3), (0.1, 1e-4), (0.1, 1e-7)):
        model = kind(alpha=alpha, trace=True, tol=tol, penalty_weights=factors, **options).fit(X, y)
        values = np.array([record["values"]["objective"] for record in model.trace_])
        least = objective_of(model, X, y, factors=factors)
        assert (np.diff(values) <= 1e-9 * least).all() and values[-1] == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "shape"), [(table, (250, 180)), (table, (500, 240)), (dense_table, (500, 240)), (words, (900, 1200))]
)
def test_sweeps_end_where_they_must(route, make, shape):
    """After one sweep, or seven, of each way to make them; and after the first where nothing is left to explain."""
    X, y = make(*shape)
    for most in (1, 7):
        with pytest.warns(AssayWarning, match="W121"):
            assert Lasso(alpha=1e-4, tol=1e-13, max_iter=most).fit(X, y).n_iter_ == most
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nothing = Lasso(alpha=1e-4).fit(X, np.full(len(y), 3.0))
    assert nothing.n_iter_ <= 1 and not nothing.coef_.any() and nothing.intercept_ == 3.0


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"l1_ratio": 0.5}])
def test_many_active_columns_of_few_cells_and_many_of_moments_reach_the_minimum(options):
    """Sweeps over the cells of a sparse table, and over moments of more columns than that would take."""
    kind = ElasticNet if "l1_ratio" in options else Lasso
    for X, y in (words(900, 1200), dense_table(1100, 500)):
        cells = X.toarray() if sparse.issparse(X) else X
        model = kind(alpha=2e-4, tol=1e-9, trace=True, **options).fit(X, y)
        assert np.count_nonzero(model.coef_) > (200 if model.positive else 400)
        assert breach(model, cells, y) < 1e-2
        values = np.array([record["values"]["objective"] for record in model.trace_])
        least = objective_of(model, cells, y)
        assert (np.diff(values) <= 1e-9 * values[0]).all() and values[-1] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "shape", "options", "most"),
    [
        (table, (60, 20), {"alpha": 0.02, "positive": True}, (5, 6)),
        (table, (60, 20), {"alpha": 0.02, "l1_ratio": 0.0, "positive": True}, (4, 6)),
        (table, (40, 90), {"alpha": 0.01}, (62, 62)),
        (table, (40, 90), {"alpha": 0.01, "l1_ratio": 0.5, "positive": True}, (5, 6)),
        (dense_table, (1500, 240), {"alpha": 0.1}, (9, 57)),
        (dense_table, (500, 240), {"alpha": 0.02}, (108, 121)),
        (dense_table, (500, 240), {"alpha": 0.02, "positive": True}, (18, 89)),
        (dense_table, (160, 260), {"alpha": 0.02, "positive": True}, (194, 205)),
        (dense_table, (1100, 500), {"alpha": 2.1e-4}, (20, 36)),
        (words, (900, 1200), {"alpha": 2e-4}, (540, 940)),
        (words, (900, 1200), {"alpha": 2e-4, "positive": True}, (380, 880)),
    ],
)
def test_a_single_penalty_needs_few_sweeps(make, shape, options, most):
    """As of a path, with a tenth of room; at the tolerance of users and at a tight one."""
    kind = ElasticNet if "l1_ratio" in options else Lasso
    X, y = make(*shape)
    for tol, limit in zip((1e-4, 1e-9), most, strict=True):
        assert kind(**options, tol=tol).fit(X, y).n_iter_ <= limit
