"""Sparse tables: products against NumPy, storage in any form, and every linear learner against its dense fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from assay import _kernels
from assay.base import DataError
from assay.models.linear import (
    GLM,
    ElasticNet,
    ElasticNetCV,
    GradientDescentClassifier,
    GradientDescentRegressor,
    Lasso,
    LassoCV,
    LeastSquares,
    LinearRank,
    LogisticCV,
    LogisticRegression,
    OneVsOne,
    OneVsRest,
    Perceptron,
    Ridge,
    RidgeCV,
    lasso_path,
    logistic_path,
    logistic_solver,
)
from assay.models.linear import sparse as storage
from assay.models.linear.sparse import MOST_SQUARE, SparseTable
from assay.models.linear.tables import row_hashes


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread():
    """Matrices here are small: threads of BLAS would only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


def table(n: int, p: int, density: float, seed: int = 0, empty: bool = True) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < density, rng.normal(0.5, 1.0, (n, p)), 0.0)
    if empty:
        X[:, p // 2] = 0.0
        X[n // 3] = 0.0
    slopes = np.zeros(p)
    slopes[rng.choice(p, min(p, 8), replace=False)] = rng.normal(0.0, 2.0, min(p, 8))
    return sp.csr_array(X), X @ slopes + 1.0 + 0.3 * rng.normal(size=n)


def text_like(n: int, p: int, words: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of unit length with a few words each, drawn with Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, p + 1)
    columns = rng.choice(p, n * words, p=frequency / frequency.sum()).astype(np.int32)
    X = sp.csr_array((np.ones(n * words), (np.repeat(np.arange(n, dtype=np.int32), words), columns)), shape=(n, p))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    return X, X @ (rng.normal(size=p) * (rng.random(p) < 0.2) * 5)


def score(model, X):
    return getattr(model, "decision_function", model.predict)(X)


# -- the table ---------------------------------------------------------------------------------------------------
def test_the_three_products_and_moments_are_those_of_the_array():
    X, _ = table(200, 30, 0.2)
    A, rng = X.toarray(), np.random.default_rng(1)
    found, w = SparseTable.of(X), rng.random(200)
    for k in (1, 3):
        v, u = rng.normal(size=(30, k)), rng.normal(size=(200, k))
        np.testing.assert_allclose(found.product(v, 2), A @ v, atol=1e-12)
        np.testing.assert_allclose(found.transposed_product(u, 2), A.T @ u, atol=1e-12)
    np.testing.assert_allclose(found.gram(w, 2), A.T @ (w[:, None] * A), atol=1e-12)
    np.testing.assert_allclose(found.gram(None, 2), A.T @ A, atol=1e-12)
    mean, variance, total = found.moments(w, 2)
    np.testing.assert_allclose(mean, np.average(A, axis=0, weights=w), atol=1e-14)
    np.testing.assert_allclose(variance, np.average((A - mean) ** 2, axis=0, weights=w), atol=1e-14)
    assert total == pytest.approx(w.sum())


def test_products_are_the_same_bits_for_every_number_of_threads():
    X, _ = text_like(20_000, 300, 40)
    found, rng = SparseTable.of(X), np.random.default_rng(0)
    v = rng.normal(size=20_000)
    np.testing.assert_array_equal(found.transposed_product(v, 1), found.transposed_product(v, 3))
    np.testing.assert_array_equal(found.gram(v**2, 1), found.gram(v**2, 3))


def test_a_canonical_table_is_read_where_it_lies_and_stays_as_it_is():
    X = sp.random_array((300, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    X.sum_duplicates()
    assert np.shares_memory(SparseTable.of(X).rows.data, X.data)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    y = (X @ np.random.default_rng(1).normal(size=40) > 0).astype(int)
    for penalty in ("l1", "l2"):
        fitted = LogisticRegression(penalty=penalty).fit(X, y)
        assert not any(np.shares_memory(value, X.data) for value in vars(fitted).values() if hasattr(value, "dtype"))
    longer = sp.csr_array((np.append(X.data, np.nan), np.append(X.indices, 0), X.indptr), shape=X.shape)
    np.testing.assert_array_equal(SparseTable.of(longer).toarray(), X.toarray())


def test_unsorted_duplicated_and_zero_cells_are_made_canonical_in_a_copy():
    data, rows, columns = [1.0, 2.0, 0.0, 3.0, -3.0], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0]
    messy = sp.coo_array((data, (rows, columns)), shape=(2, 3)).tocsr(copy=False)
    raw = sp.csr_array((np.array([5.0, 1.0, 2.0]), np.array([2, 0, 0]), np.array([0, 2, 3])), shape=(2, 3))
    before = raw.indices.copy()
    assert SparseTable.of(messy).cells == 1
    np.testing.assert_array_equal(SparseTable.of(raw).toarray(), [[1.0, 0.0, 5.0], [2.0, 0.0, 0.0]])
    np.testing.assert_array_equal(raw.indices, before)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix"])
def test_any_format_and_dtype_gives_the_same_fit(form):
    X, y = table(80, 12, 0.4)
    A = np.rint(X.toarray() * 3)
    expected = Lasso(alpha=0.05).fit(A, y)
    for dtype in (np.float32, np.int64, np.float64):
        model = Lasso(alpha=0.05).fit(getattr(sp, form)(A.astype(dtype)), y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-10)
    wide = sp.csr_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(Lasso(alpha=0.05).fit(wide, y).coef_, expected.coef_, atol=1e-10)


def test_missing_and_infinite_cells_are_refused():
    for bad in (np.nan, np.inf):
        X = sp.csr_array(np.array([[1.0, bad], [0.0, 2.0], [1.0, 0.0]]))
        for model in (Lasso(), Ridge(), LogisticRegression(), GLM()):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                model.fit(X, [0, 1, 1])


def test_hashes_of_rows_are_the_same_dense_and_sparse():
    X, _ = table(50, 7, 0.3)
    A, codes = X.toarray(), np.arange(50) % 2
    found = row_hashes(SparseTable.of(X), codes)
    np.testing.assert_array_equal(found, row_hashes(A, codes))
    np.testing.assert_array_equal(found, row_hashes(np.where(A == 0, -0.0, A), codes))
    assert len(np.unique(row_hashes(A[:, ::-1].copy(), codes))) == len(np.unique(np.column_stack([A, codes]), axis=0))


# -- every learner against its dense fit ---------------------------------------------------------------------------
REGRESSORS = [
    Lasso(alpha=0.02),
    Lasso(alpha=0.02, fit_intercept=False),
    Lasso(alpha=0.02, positive=True),
    Lasso(alpha=0.02, penalty_weights="adaptive"),
    Lasso(alpha=0.0),
    ElasticNet(alpha=0.05),
    ElasticNet(alpha=0.05, l1_ratio=0.0),
    Ridge(alpha=0.5),
    Ridge(alpha=0.5, fit_intercept=False),
    RidgeCV(),
    RidgeCV(cv=3),
    LassoCV(cv=3, alphas=5, tol=1e-8),
    ElasticNetCV(cv=3, alphas=5, tol=1e-8),
    GLM(alpha=0.1),
    GLM(family="gaussian", alpha=0.1, l1_ratio=1.0),
    GradientDescentRegressor(max_iter=20),
    GradientDescentRegressor(max_iter=5, batch_size=1, penalty="l1", alpha=0.01, random_state=0),
    GradientDescentRegressor(max_iter=5, batch_size=8, momentum=0.5, random_state=0),
]
CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegression(penalty="l1"),
    LogisticRegression(penalty="elasticnet", l1_ratio=0.5, class_weight="balanced"),
    LogisticRegression(fit_intercept=False),
    LogisticCV(cv=2, Cs=3),
    GradientDescentClassifier(max_iter=20),
    GradientDescentClassifier(loss="hinge", max_iter=5, batch_size=1, random_state=0),
    GradientDescentClassifier(max_iter=5, batch_size=1, penalty="elasticnet", alpha=0.01, random_state=0),
    Perceptron(max_iter=10, random_state=0),
    OneVsRest(),
    OneVsOne(),
]


def name(model) -> str:
    return repr(model).replace(" ", "")


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
@pytest.mark.parametrize("shape", [(120, 12), (30, 40)], ids=str)
def test_regression_agrees_with_the_dense_fit(model, shape):
    X, y = table(*shape, 0.25)
    weights = np.random.default_rng(2).integers(0, 3, shape[0]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (None, weights):
            dense, found = model.fit(X.toarray(), y, given).predict(X.toarray()), model.fit(X, y, given).predict(X)
            np.testing.assert_allclose(found, dense, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("classes", [2, 3])
def test_classification_agrees_with_the_dense_fit(model, classes):
    X, f = table(120, 15, 0.25)
    y = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense, found = score(model.fit(X.toarray(), y), X.toarray()), score(model.fit(X, y), X)
        np.testing.assert_allclose(found, dense, rtol=1e-8, atol=1e-7)
        if not isinstance(model, Perceptron):
            weights = np.random.default_rng(2).integers(1, 3, 120).astype(float)
            dense = score(model.fit(X.toarray(), y, sample_weight=weights), X.toarray())
            np.testing.assert_allclose(score(model.fit(X, y, sample_weight=weights), X), dense, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("penalty", [(0.0, 0.0), (0.1, 0.0), (0.05, 1.0), (0.05, 0.5)], ids=str)
@pytest.mark.parametrize(
    "family", ["bernoulli", "poisson", "gamma", "inverse_gaussian", "tweedie", "negative_binomial"]
)
def test_every_family_agrees_with_the_dense_fit(family, penalty):
    X, f = table(200, 10, 0.3, empty=False)
    mean = np.exp(np.clip(f / 4, -2, 2))
    y = np.random.default_rng(0).poisson(mean).astype(float)
    y = {"bernoulli": (f > 1).astype(float), "gamma": mean, "inverse_gaussian": mean}.get(family, y)
    model = GLM(family=family, alpha=penalty[0], l1_ratio=penalty[1], theta=2.0)
    offset = np.linspace(-0.1, 0.1, 200)
    dense = model.fit(X.toarray(), y, offset=offset)
    expected, errors = dense.predict(X.toarray()), getattr(dense, "coef_se_", np.zeros(0))
    found = model.fit(X, y, offset=offset)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-6)
    if penalty[0] == 0:
        np.testing.assert_allclose(found.coef_se_, errors, rtol=1e-5)


def test_least_squares_agrees_with_the_dense_fit_and_refuses_very_wide_tables():
    X, y = table(300, 12, 0.3, empty=False)
    dense, found = LeastSquares().fit(X.toarray(), y), LeastSquares().fit(X, y)
    np.testing.assert_allclose(found.coef_, dense.coef_, atol=1e-10)
    np.testing.assert_allclose(found.coef_se_, dense.coef_se_, atol=1e-10)
    np.testing.assert_allclose(found.predict_interval(X), dense.predict_interval(X.toarray()), atol=1e-9)
    with pytest.raises(DataError, match="Ridge or Lasso"):
        LeastSquares().fit(sp.csr_array((10, MOST_SQUARE + 1)), np.arange(10.0))
    with pytest.raises(DataError, match="alpha > 0"):
        GLM().fit(sp.csr_array((10, MOST_SQUARE + 1)), np.arange(10.0))


def test_ranking_agrees_with_the_dense_fit():
    X, f = table(100, 10, 0.3)
    y = np.digitize(f, [0.0, 1.0])
    dense, found = LinearRank().fit(X.toarray(), y), LinearRank().fit(X, y)
    np.testing.assert_allclose(found.predict(X), dense.predict(X.toarray()), atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [Lasso(alpha=0.05), Ridge(), ElasticNet(alpha=0.05), LogisticRegression(), GLM(alpha=0.1), LeastSquares()],
    ids=name,
)
@pytest.mark.parametrize("p", [8, 80])
def test_folds_equal_separate_fits(model, p):
    X, f = table(60, p, 0.3)
    y = (f > 1).astype(float) if isinstance(model, LogisticRegression) else f
    weights = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    folds = list(KFold(3).split(f))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (train, _), found in zip(folds, model.fit_folds(X, y, folds, weights), strict=True):
            separate = type(model)(**model.get_params()).fit(X[train], y[train], weights[train])
            np.testing.assert_allclose(found.coef_, separate.coef_, rtol=1e-6, atol=1e-7)


def test_paths_agree_with_the_dense_ones():
    X, f = table(100, 20, 0.3)
    np.testing.assert_allclose(
        lasso_path(X, f, alphas=5, tol=1e-10).coef, lasso_path(X.toarray(), f, alphas=5, tol=1e-10).coef, atol=1e-6
    )
    sparse, dense = logistic_path(X, f > 1, Cs=3), logistic_path(X.toarray(), f > 1, Cs=3)
    np.testing.assert_allclose(sparse.coefs, dense.coefs, rtol=1e-7, atol=1e-8)


# -- optimality and hard tables --------------------------------------------------------------------------------------
@pytest.mark.parametrize("intercept", [True, False])
def test_lasso_satisfies_its_optimality_conditions_on_a_wide_sparse_table(intercept):
    X, y = text_like(300, 3000, 15)
    model = Lasso(alpha=1e-3, fit_intercept=intercept, tol=1e-10).fit(X, y)
    residual = y - model.predict(X)
    slope = X.T @ (residual - (residual.mean() if intercept else 0.0)) / 300
    active = model.coef_ != 0
    assert 10 < active.sum() < 300
    np.testing.assert_allclose(slope[active], 1e-3 * np.sign(model.coef_[active]), atol=1e-9)
    assert np.abs(slope).max() <= 1e-3 * (1 + 1e-6)


def test_residual_updates_and_gram_blocks_give_the_same_path():
    # So many active columns of so few cells that sweeps update the residual; agreement with scikit-learn's solver.
    X, f = text_like(1600, 3000, 8)
    y = f + 0.1 * np.random.default_rng(0).normal(size=1600)
    alpha = 8e-6
    model = Lasso(alpha=alpha, tol=1e-9, max_iter=5000).fit(X, y)
    assert (model.coef_ != 0).sum() > 1000
    peer = linear_model.Lasso(alpha=alpha, tol=1e-9, max_iter=20_000).fit(sp.csc_matrix(X), y)
    value = [0.5 * np.mean((y - m.predict(X)) ** 2) + alpha * np.abs(m.coef_).sum() for m in (model, peer)]
    assert value[0] <= value[1] * (1 + 1e-6)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_gradient_vanishes_on_a_wide_sparse_table(penalty, classes):
    X, f = text_like(300, 1500, 15)
    y = np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    model = LogisticRegression(penalty=penalty, C=2.0).fit(X, y)
    probability = model.predict_proba(X)
    wrong = probability - (y[:, None] == np.arange(classes))
    slope = X.T @ wrong[:, -model.coef_.shape[0] :]
    if penalty == "l2":
        np.testing.assert_allclose(slope.T, -model.coef_ / 2.0, atol=1e-5)
        return
    active = model.coef_ != 0
    assert active.any() and (np.abs(slope.T) <= 0.5 + 1e-5).all()
    np.testing.assert_allclose(slope.T[active], -0.5 * np.sign(model.coef_[active]), atol=1e-5)


def test_logistic_and_poisson_agree_with_scikit_learn_on_text_like_rows():
    X, f = text_like(300, 400, 12)
    y = (f + 0.5 * np.random.default_rng(0).logistic(size=300) > 0).astype(int)
    ours = LogisticRegression().fit(X, y)
    peer = linear_model.LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    counts = np.random.default_rng(1).poisson(np.exp(np.clip(f, -2, 2))).astype(float)
    glm = GLM(family="poisson", alpha=1e-3).fit(X, counts)
    reference = linear_model.PoissonRegressor(alpha=1e-3, tol=1e-8, solver="newton-cholesky").fit(X, counts)
    np.testing.assert_allclose(glm.coef_, reference.coef_, atol=1e-3)


def test_ridge_beyond_the_square_limit_agrees_with_scikit_learn():
    X, y = text_like(MOST_SQUARE + 200, MOST_SQUARE + 300, 10)
    ours, peer = Ridge(alpha=1.0).fit(X, y), linear_model.Ridge(alpha=1.0, solver="sparse_cg", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-7)
    assert ours.intercept_ == pytest.approx(peer.intercept_, abs=1e-7)


@pytest.mark.parametrize(
    "model",
    [Lasso(), Ridge(), ElasticNet(), GLM(alpha=0.1), LassoCV(cv=2, alphas=5), RidgeCV(), GradientDescentRegressor()],
    ids=name,
)
@pytest.mark.parametrize("shape", [(20, 5), (5, 5000)], ids=str)
def test_an_all_zero_table_predicts_the_mean(model, shape):
    y = np.arange(float(shape[0]))
    if isinstance(model, RidgeCV) and shape[1] > MOST_SQUARE:
        with pytest.raises(DataError, match="columns"):
            model.fit(sp.csr_array(shape), y)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sp.csr_array(shape), y)
    np.testing.assert_array_equal(model.coef_, np.zeros(shape[1]))
    np.testing.assert_allclose(model.predict(sp.csr_array(shape)), y.mean(), rtol=1e-3)


def test_columns_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(100, 4))
    A[:, 0] += 1e7
    A[:, 1] = 3.0
    A[:, 2:][rng.random((100, 2)) < 0.5] = 0.0
    y = A[:, 0] - 1e7 + 2 * A[:, 2]
    X = sp.csr_array(A)
    for model in (Lasso(alpha=0.01), Ridge(alpha=0.1), LogisticRegression(), GLM(alpha=0.01)):
        target = (y > 0).astype(float) if isinstance(model, LogisticRegression) else y
        dense = score(model.fit(A, target), A)
        np.testing.assert_allclose(score(model.fit(X, target), X), dense, rtol=1e-6, atol=1e-6)


def test_predictions_of_a_dense_fit_take_sparse_rows_and_the_other_way_round():
    X, y = table(60, 6, 0.4)
    for model in (Ridge(), LogisticRegression(), Perceptron(random_state=0, max_iter=5)):
        target = (y > 1).astype(int) if not isinstance(model, Ridge) else y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.toarray(), target)
        np.testing.assert_allclose(score(model, X), score(model, X.toarray()), atol=1e-12)
    glm = GLM(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(glm.predict(X.toarray()), glm.predict(X), atol=1e-12)


def test_nominal_columns_and_sparse_rows_do_not_mix():
    X, y = table(30, 3, 0.5)
    with pytest.raises(DataError, match="numbers in all columns"):
        GLM(categorical_features=[0]).fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_by_row_are_those_by_column_to_the_bit(weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * (rng.random(size=(50, 6)) < 0.3)
    X[:, 1], X[:, 2], X[:, 3] = 0.0, 7.5, rng.normal(size=50) + 100.0
    weights = rng.random(50) if weighted else np.empty(0)
    table = SparseTable.of(sp.csr_array(X))
    by_column = _kernels.sparse_column_moments(table.by_column, weights, 1)
    for found, expected in zip(_kernels.sparse_row_moments(table.by_row, weights), by_column):
        np.testing.assert_array_equal(found, expected)


def test_a_wide_logistic_model_makes_no_copy_by_column(monkeypatch):
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.normal(size=(60, 40)) * (rng.random(size=(60, 40)) < 0.2))
    y = (X @ rng.normal(size=40) > 0).astype(int)
    plain = LogisticRegression().fit(X, y)
    monkeypatch.setattr(storage, "MOST_LOGISTIC", 10)
    monkeypatch.setattr(logistic_solver, "MOST_LOGISTIC", 10)
    monkeypatch.setattr(logistic_solver, "DENSE_LIMIT", 10)
    monkeypatch.setattr(SparseTable, "columns", property(lambda self: pytest.fail("a copy by column was made")))
    np.testing.assert_allclose(LogisticRegression().fit(X, y).coef_, plain.coef_, atol=1e-6)
