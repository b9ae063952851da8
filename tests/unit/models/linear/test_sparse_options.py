"""Folds, several targets, class weights and free columns on sparse tables: the same as on the array."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from assay import catalogue
from assay.base import DataError, Estimator
from assay.models.linear import (
    GLM,
    ElasticNet,
    ElasticNetCV,
    GradientDescentClassifier,
    Lasso,
    LassoCV,
    LeastSquares,
    LogisticCV,
    LogisticRegression,
    OneVsOne,
    OneVsRest,
    Perceptron,
    Ridge,
    RidgeCV,
    elastic_net_solver,
    enet_path,
    glm_solver,
    lasso_path,
)
from assay.models.linear import sparse as storage
from assay.models.linear.fold_statistics import ChosenRows, ChunkedGram, FoldStatistics
from assay.models.linear.gram import GramStatistics
from assay.models.linear.sparse import SparseTable


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread():
    """Matrices here are small: threads of BLAS would only wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


def table(n: int, p: int, density: float, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < density, rng.normal(0.5, 1.0, (n, p)), 0.0)
    return sp.csr_array(X), X[:, :4] @ [2.0, -1.0, 0.5, 1.0] + 1.0 + 0.5 * rng.normal(size=n)


def name(model) -> str:
    return repr(model).replace(" ", "")


def score(model, X):
    return getattr(model, "decision_function", model.predict)(X)


# -- folds within folds ----------------------------------------------------------------------------------------------
# Blocks of rows are shared; too few cells for that; more columns than rows.
SHAPES = {"shared": (240, 6, 0.5), "too_few_cells": (240, 6, 0.08), "wide": (30, 40, 0.3)}


def test_blocks_of_a_sparse_table_pay_where_its_rows_have_many_cells():
    pays = {kind: ChunkedGram.pays_for(SparseTable.of(table(*shape)[0])) for kind, shape in SHAPES.items()}
    assert pays == {"shared": True, "too_few_cells": False, "wide": False}
    assert ChunkedGram.pays_for(table(*SHAPES["too_few_cells"])[0].toarray())


@pytest.mark.parametrize(
    ("kind", "weighted"), [("shared", False), ("shared", True), ("too_few_cells", True), ("wide", True)]
)
@pytest.mark.parametrize(
    "model",
    [
        LassoCV(cv=3, alphas=5, tol=1e-10),
        LassoCV(cv=3, alphas=5, tol=1e-10, penalty_weights="adaptive"),
        ElasticNetCV(cv=3, alphas=5, tol=1e-10),
        RidgeCV(),
        RidgeCV(cv=3),
        LogisticCV(cv=2, Cs=2, tol=1e-8, n_jobs=1),
        OneVsRest(estimator=LogisticRegression(tol=1e-8)),
        OneVsOne(estimator=LogisticRegression(tol=1e-8)),
    ],
    ids=name,
)
def test_folds_equal_separate_fits_and_those_of_the_array(model, kind, weighted):
    X, f = table(*SHAPES[kind])
    y = np.digitize(f, np.quantile(f, [0.4, 0.7])) if hasattr(model, "predict_proba") else f
    weights = np.random.default_rng(1).integers(0, 3, size=len(f)).astype(float) if weighted else None
    folds = list(KFold(2, shuffle=True, random_state=0).split(f))
    dense = model.fit_folds(X.toarray(), y, folds, weights)
    for (train, _), found, expected in zip(folds, model.fit_folds(X, y, folds, weights), dense, strict=True):
        separate = clone(model).fit(X[train], y[train], None if weights is None else weights[train])
        for other, rows in ((separate, X), (expected, X.toarray())):
            np.testing.assert_allclose(score(found, X), score(other, rows), rtol=1e-5, atol=1e-5)
            for chosen in ("alpha_", "C_", "l1_ratio_"):
                if hasattr(found, chosen):
                    assert getattr(found, chosen) == pytest.approx(getattr(other, chosen), rel=1e-8)


def test_a_fold_depends_on_its_own_rows_alone():
    X, y = table(*SHAPES["shared"])
    folds = list(KFold(3).split(y))
    several = list(LassoCV(cv=3, alphas=5).fit_folds(X, y, folds))
    alone = next(LassoCV(cv=3, alphas=5).fit_folds(X, y, folds[1:2]))
    np.testing.assert_array_equal(several[1].coef_, alone.coef_)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_sparse_subsets_and_folds_are_those_of_the_array(weighted):
    X, y = table(*SHAPES["shared"])
    A, weights = X.toarray(), np.random.default_rng(1).random(240) if weighted else None
    given = {"fit_intercept": True, "threads": 1}
    found = ChunkedGram.of(SparseTable.of(X), y[:, None], weights, **given)
    dense = ChunkedGram.of(A, y[:, None], weights, **given)
    used = np.flatnonzero(np.random.default_rng(2).random(240) < 0.8)
    inner = list(KFold(3).split(used))
    ours, theirs = found.folds(used, inner), dense.folds(used, inner)
    apart = FoldStatistics.of(
        ChosenRows(SparseTable.of(X), used)[:], y[used], None if weights is None else weights[used], inner, **given
    )
    for k in range(3):
        for part in (lambda s, k=k: s.train(k), lambda s, k=k: s.test[k]):
            a, b, c = part(ours), part(theirs), part(apart)
            np.testing.assert_allclose(a.centred().gram, b.centred().gram, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(a.centred().cross, c.centred().cross, rtol=1e-9, atol=1e-9)


def test_columns_far_from_zero_on_the_rows_that_count_are_shifted_and_no_others():
    rng = np.random.default_rng(0)
    A = np.where(rng.random((100, 4)) < 0.3, rng.normal(size=(100, 4)), 0.0)
    A[:50, 0] = 1e8 + rng.normal(size=50)  # far from zero only where there is weight
    weights = np.repeat([1.0, 0.0], 50)
    found = GramStatistics.of(SparseTable.of(sp.csr_array(A)), A[:, [1]], weights, fit_intercept=True, threads=1)
    np.testing.assert_array_equal(found.shift[1:4], 0.0)
    expected = np.cov(A[:50].T, bias=True) * 50
    np.testing.assert_allclose(found.centred().gram, expected, rtol=1e-6, atol=1e-6)


# -- several targets ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["auto", "gram", "qr"])
@pytest.mark.parametrize("cells", ["written_out", "as_stored"])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_on_several_targets_has_inflation_and_intervals(method, cells, intercept, monkeypatch):
    if cells == "as_stored":
        monkeypatch.setattr(storage, "MOST_DENSE", 0)
    X, f = table(90, 6, 0.5)
    A = X.toarray()
    A[:, 5] += 2.0 * A[:, 0]
    X, Y = sp.csr_array(A), np.column_stack([f, f**2, A[:, 3] - f])
    weights = np.random.default_rng(1).integers(0, 3, size=90).astype(float)
    model = LeastSquares(method=method, fit_intercept=intercept)
    dense, found = clone(model).fit(A, Y, weights), clone(model).fit(X, Y, weights)
    for attribute in ("coef_", "intercept_", "coef_se_", "p_values_", "r2_", "vif_", "condition_number_"):
        np.testing.assert_allclose(getattr(found, attribute), getattr(dense, attribute), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.predict_interval(X), dense.predict_interval(A), rtol=1e-7, atol=1e-8)
    assert len(found.summary()) == 3 and found.vif_[0] > 2.0
    folds = list(KFold(3).split(f))
    for ours, theirs in zip(model.fit_folds(X, Y, folds), model.fit_folds(A, Y, folds), strict=True):
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.vif_, theirs.vif_, rtol=1e-7)


@pytest.mark.parametrize("cells", ["written_out", "as_stored"])
def test_inflation_is_infinite_for_sparse_columns_that_make_up_another(cells, monkeypatch):
    if cells == "as_stored":
        monkeypatch.setattr(storage, "MOST_DENSE", 0)
    X, y = table(60, 5, 0.5)
    A = X.toarray()
    A[:, 4] = A[:, 0] - A[:, 2]
    with pytest.warns(UserWarning, match="W101"):
        found = LeastSquares(method="qr").fit(sp.csr_array(A), y)
    np.testing.assert_array_equal(np.isinf(found.vif_), [True, False, True, False, True])


def test_ridge_on_several_targets_and_its_folds():
    X, f = table(80, 6, 0.5)
    Y, folds = np.column_stack([f, f**2]), list(KFold(2).split(f))
    model = Ridge(alpha=[0.1, 2.0])
    np.testing.assert_allclose(model.fit(X, Y).coef_, clone(model).fit(X.toarray(), Y).coef_, rtol=1e-8)
    for ours, theirs in zip(model.fit_folds(X, Y, folds), model.fit_folds(X.toarray(), Y, folds), strict=True):
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)


# -- class weights -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(tol=1e-8),
        LogisticCV(cv=2, Cs=2, tol=1e-8),
        Perceptron(max_iter=8, random_state=0),
        Perceptron(max_iter=8, random_state=0, average=True),
        GradientDescentClassifier(max_iter=15),
        GradientDescentClassifier(loss="hinge", max_iter=4, batch_size=1, random_state=0),
    ],
    ids=name,
)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("given", ["balanced", {0: 3.0, 1: 0.5}], ids=str)
def test_class_weights_are_those_of_the_dense_fit_and_matter(model, classes, given):
    X, f = table(120, 8, 0.4)
    y = np.digitize(f, np.quantile(f, [0.7, 0.9][: classes - 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = score(clone(model).fit(X, y), X)
        model = clone(model).set_params(class_weight=given)
        found = score(clone(model).fit(X, y), X)
        np.testing.assert_allclose(found, score(clone(model).fit(X.toarray(), y), X.toarray()), rtol=1e-8, atol=1e-7)
    assert np.abs(found - plain).max() > 1e-3


# -- free columns ------------------------------------------------------------------------------------------------------
FREE = [0.0, 1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "model",
    [
        Lasso(alpha=0.3, tol=1e-10),
        Lasso(alpha=0.3, tol=1e-10, fit_intercept=False),
        ElasticNet(alpha=0.3, tol=1e-10),
        ElasticNet(alpha=0.3, l1_ratio=0.0, tol=1e-10),
        LassoCV(cv=3, alphas=5, tol=1e-10),
        GLM(alpha=0.3, tol=1e-10),
        GLM(alpha=0.3, l1_ratio=1.0, tol=1e-10),
    ],
    ids=name,
)
@pytest.mark.parametrize("shape", [(100, 8), (40, 60)], ids=str)
def test_free_columns_are_those_of_the_dense_fit(model, shape):
    X, y = table(*shape, 0.4)
    y = np.exp(y / 5) if isinstance(model, GLM) else y
    factors = np.resize(FREE, shape[1]) if shape[1] < 10 else np.where(np.arange(60) < 3, 0.0, 1.0)
    model = clone(model).set_params(penalty_weights=factors)
    weights = np.random.default_rng(2).integers(0, 3, shape[0]).astype(float)
    for given in (None, weights):
        dense, found = clone(model).fit(X.toarray(), y, given), clone(model).fit(X, y, given)
        np.testing.assert_allclose(found.coef_, dense.coef_, rtol=1e-5, atol=1e-6)
        assert (found.coef_[factors == 0] != 0).all()
    folds = list(KFold(2).split(y))
    for (train, _), found in zip(folds, model.fit_folds(X, y, folds), strict=True):
        separate = clone(model).fit(X[train], y[train])
        np.testing.assert_allclose(found.coef_, separate.coef_, rtol=1e-5, atol=1e-6)


def test_paths_with_free_columns_are_those_of_the_array():
    X, y = table(30, 50, 0.4)
    factors = np.where(np.arange(50) < 2, 0.0, 1.0)
    given = {"alphas": 5, "tol": 1e-10, "penalty_weights": factors}
    np.testing.assert_allclose(
        enet_path(X, y, **given).coef, enet_path(X.toarray(), y, **given).coef, rtol=1e-5, atol=1e-6
    )


def test_free_columns_of_a_very_large_sparse_table_are_refused(monkeypatch):
    monkeypatch.setattr(elastic_net_solver, "MOST_DENSE", 100)
    X, y = table(30, 50, 0.4)
    with pytest.raises(DataError, match="give free columns a small weight"):
        Lasso(penalty_weights=np.where(np.arange(50) < 2, 0.0, 1.0)).fit(X, y)


def test_working_sets_of_a_wide_model_keep_the_penalty_of_each_column(monkeypatch):
    monkeypatch.setattr(glm_solver, "SPARSE_SQUARE", 20)
    X, f = table(60, 40, 0.4)
    y = np.exp(f / 5)
    factors = np.resize([1.0, 3.0, 0.0, 0.5, 2.0], 40)
    model = GLM(family="poisson", alpha=0.1, l1_ratio=1.0, penalty_weights=factors, tol=1e-10)
    found, dense = clone(model).fit(X, y), clone(model).fit(X.toarray(), y)
    assert 0 < (found.coef_ == 0).sum() < 40
    np.testing.assert_allclose(found.coef_, dense.coef_, atol=1e-6)


# -- sweeps ------------------------------------------------------------------------------------------------------------
def two_cells(n: int, p: int) -> tuple[sp.csr_array, np.ndarray]:
    """Columns of two cells each: with 400 of them at work, sweeps update the residual."""
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.normal(size=2 * p), (rng.integers(0, n, 2 * p), np.arange(2 * p) // 2)), shape=(n, p))
    return X, X @ rng.normal(size=p) + 0.1 * rng.normal(size=n)


def test_exact_steps_after_residual_updates_end_where_those_of_the_array_do():
    X, y = two_cells(450, 600)
    found, dense = (Lasso(alpha=3e-4, tol=1e-9, max_iter=5000).fit(rows, y) for rows in (X, X.toarray()))
    assert 250 < (found.coef_ != 0).sum() < 450
    np.testing.assert_allclose(found.coef_, dense.coef_, atol=1e-9)


def test_a_path_by_residual_updates_is_as_low_as_the_exact_one():
    X, y = two_cells(1000, 1200)
    path = lasso_path(X, y, alphas=np.geomspace(3e-3, 3e-5, 6), tol=1e-6, max_iter=5000)
    exact = lasso_path(X.toarray(), y, alphas=path.alphas, tol=1e-10, max_iter=5000)
    assert (path.coef[-1] != 0).sum() > 450
    for k, alpha in enumerate(path.alphas):
        value = [
            0.5 * np.mean((y - X @ found.coef[k] - found.intercept[k]) ** 2) + alpha * np.abs(found.coef[k]).sum()
            for found in (path, exact)
        ]
        assert value[0] <= value[1] + 2e-6 * y.var()


# -- the catalogue -----------------------------------------------------------------------------------------------------
def test_the_catalogue_claims_sparse_input_for_exactly_the_learners_that_read_it():
    linear = [entry for entry in catalogue.entries() if entry.load().__module__.startswith("assay.models.linear.")]
    claimed = {entry.load().__name__ for entry in linear if "sparse" in entry.native}
    assert {"LassoCV", "RidgeCV", "LogisticCV", "LeastSquares", "Perceptron", "OneVsOne"} <= claimed
    for entry in linear:
        model = entry.load()()
        takes = model.__sklearn_tags__().input_tags.sparse
        assert takes == ("sparse" in entry.native), entry.id
        overrides = getattr(type(model), "fit_folds", None) is not getattr(Estimator, "fit_folds", None)
        assert entry.shares_folds <= overrides
