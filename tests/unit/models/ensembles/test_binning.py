"""Bins of some rows of a ranked table, and what folds share by them: the bits of separate fits, sorted once."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold

from assay import _kernels
from assay.base import AssayError
from assay.base.folds import fit_folds, fit_separately
from assay.base.randomness import Stream
from assay.evaluate import get_metric
from assay.evaluate.fits import fit_rows, score_folds, score_model
from assay.models.ensembles import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    LambdaRank,
    NewtonBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)


def awkward(n: int = 500, seed: int = 0) -> np.ndarray:
    """Columns of every kind: continuous, rounded, equal in the upper bits, missing, few values, both zeros, codes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 11))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = 1 + X[:, 2] * 1e-12
    X[rng.random(n) < 0.3, 3] = np.nan
    X[:, 4] = rng.integers(0, 3, n)
    X[::2, 5], X[::3, 5] = 0.0, -0.0
    X[:, 6] = np.where(rng.random(n) < 0.8, 7.0, X[:, 6])
    X[:, 7] = np.nan
    X[:, 8] = rng.integers(0, 400, n)
    X[:, 9] = rng.integers(0, 5, n)
    X[:10, 9] = np.nan
    X[:, 10] *= 1e300
    return X


CATEGORIES = np.array([0, 0, 0, 0, 0, 0, 0, 0, 400, 5, 0], dtype=np.int32)


@pytest.mark.parametrize("max_bins", [2, 30, 255])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_of_ranked_rows_are_those_of_the_rows_alone(max_bins, weighted):
    X, rng = awkward(), np.random.default_rng(1)
    ranks = _kernels.rank_columns(X, CATEGORIES, 2)
    for rows in (
        np.arange(500),
        np.sort(rng.choice(500, 300, replace=False)),
        rng.permutation(500)[:280],
        np.array([7]),
    ):
        weights = rng.integers(1, 9, rows.shape[0]).astype(float) if weighted else None
        alone = _kernels.make_bins(X[rows], CATEGORIES, weights, max_bins, 1)
        ranked = _kernels.make_bins_of_rows(
            ranks, rows.astype(np.int32), CATEGORIES, None, None, weights, max_bins=max_bins, threads=2
        )
        np.testing.assert_array_equal(alone.n_bins, ranked.n_bins)
        np.testing.assert_array_equal(alone.codes(), ranked.codes())
        for j in range(X.shape[1]):
            np.testing.assert_array_equal(alone.cuts(j), ranked.cuts(j))


def test_the_kernel_refuses_rows_weights_and_categories_that_are_not_there():
    X = awkward()
    ranks = _kernels.rank_columns(X, CATEGORIES, 1)
    good = {"rows": np.arange(5, dtype=np.int32), "n_categories": CATEGORIES, "weights": None}
    bad = (
        {"rows": np.array([500], dtype=np.int32)},
        {"weights": np.full(5, 0.5)},
        {"weights": np.zeros(5)},
        {"weights": np.ones(4)},
        {"n_categories": CATEGORIES[:-1].copy()},
        {"n_categories": np.zeros(11, dtype=np.int32)},
        {"renamed": np.zeros(3, dtype=np.int32), "renamed_first": np.zeros(12, dtype=np.int64)},
    )
    for change in bad:
        arguments = {"renamed": None, "renamed_first": None, **good, **change}
        with pytest.raises(ValueError, match="make_bins_of_rows"):
            _kernels.make_bins_of_rows(ranks, max_bins=255, threads=1, **arguments)


def frame_of(X: np.ndarray) -> pl.DataFrame:
    """With text of rare categories, some of which only test rows have."""
    rng, n = np.random.default_rng(2), X.shape[0]
    rare = [None if i % 4 else ("once" if i == 0 else f"k{i % 90}") for i in range(n)]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(7)}).with_columns(
        pl.Series("colour", rng.choice(list("abcdef"), n)), pl.Series("rare", rare), pl.Series("last", ["z"] * n)
    )


MODELS = {
    "forest": RandomForestClassifier(n_estimators=6, random_state=0, oob_score=True, oob_importance=True),
    "balanced": RandomForestClassifier(n_estimators=4, random_state=0, class_weight="balanced"),
    "quantiles": RandomForestRegressor(n_estimators=4, random_state=0, quantiles=True),
    "extra": ExtraTreesRegressor(n_estimators=4, random_state=0),
    "newton": NewtonBoostingClassifier(n_estimators=6, max_bins=30),
    "folds": NewtonBoostingClassifier(n_estimators=4, early_stopping="folds"),
    "gradient": GradientBoostingRegressor(n_estimators=6, loss="absolute_error"),
    "adaboost": AdaBoostClassifier(n_estimators=6),
    "resampling": AdaBoostClassifier(n_estimators=6, method="resampling", random_state=3),
    "rank": LambdaRank(n_estimators=4),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", ["numbers", "mixed"])
def test_folds_have_the_bits_of_separate_fits(name, table, monkeypatch):
    X = awkward(320)
    rows: object = X if table == "numbers" else frame_of(X)
    score, rng = X[:, 0] + (X[:, 4] == 1), np.random.default_rng(5)
    model = MODELS[name]
    y = np.where(score > 0.5, "yes", "no") if hasattr(model, "predict_proba") else np.round(score)
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    ranked = []
    rank = _kernels.rank_columns
    monkeypatch.setattr(_kernels, "rank_columns", lambda *given: ranked.append(1) or rank(*given))
    given = [None] if name == "rank" else [None, rng.integers(0, 3, len(y)).astype(float), rng.random(len(y))]
    for weights in given:
        shared = list(fit_folds(model, rows, y, folds, weights))
        separate = list(fit_separately(model, rows, y, folds, weights))
        for one, two, (_, test) in zip(shared, separate, folds, strict=True):
            assert vars(one).keys() == vars(two).keys()
            for part in fields(one.forest_):
                np.testing.assert_array_equal(getattr(one.forest_, part.name), getattr(two.forest_, part.name))
            for mine, theirs in zip(one.schema_.categories, two.schema_.categories, strict=True):
                assert (mine is None and theirs is None) or mine.tolist() == theirs.tolist()
            np.testing.assert_array_equal(one.predict(rows[test]), two.predict(rows[test]))
    assert len(ranked) == len(given)


def test_folds_with_seeds_of_their_own_share_too(monkeypatch):
    X = awkward(200)
    y = (X[:, 0] > 0).astype(int)
    folds = list(KFold(3).split(X))
    prototype = RandomForestClassifier(n_estimators=5)
    settings = [{"random_state": k, "max_depth": k + 1} for k in range(3)]
    ranked = []
    rank = _kernels.rank_columns
    monkeypatch.setattr(_kernels, "rank_columns", lambda *given: ranked.append(1) or rank(*given))
    models = list(fit_folds(prototype, X, y, folds, settings=settings))
    assert len(ranked) == 1
    for model, given, (train, test) in zip(models, settings, folds, strict=True):
        alone = RandomForestClassifier(n_estimators=5, **given).fit(X[train], y[train])
        np.testing.assert_array_equal(model.predict_proba(X[test]), alone.predict_proba(X[test]))
    metric, streams = get_metric("accuracy"), [Stream.of(4).child(k) for k in range(3)]
    scores = score_folds(prototype, metric, X, y, folds, streams, None)
    for row, (train, test), stream in zip(scores, folds, streams, strict=True):
        alone = fit_rows(prototype, X, y, train, stream)
        assert row.tolist() == [score_model(alone, metric, X[part], y[part]) for part in (train, test)]


def test_tables_whose_parts_may_be_read_otherwise_are_read_by_fold():
    # The first half of the rows is text in one cell alone.
    rows = [["red" if i == 0 else 1.0 * (i % 7), float(i)] for i in range(60)]
    y = np.arange(60) % 2
    folds = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    models = list(fit_folds(RandomForestClassifier(n_estimators=3, random_state=0), rows, y, folds))
    assert [bool(model.schema_.nominal[0]) for model in models] == [False, True]


def test_a_cell_that_cannot_be_read_stops_only_the_folds_that_train_on_it():
    X = awkward(60)[:, :2]
    X[5, 0] = np.inf
    y = np.arange(60) % 2
    folds = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    models = fit_folds(RandomForestClassifier(n_estimators=3, random_state=0), X, y, folds)
    alone = RandomForestClassifier(n_estimators=3, random_state=0).fit(X[30:], y[30:])
    np.testing.assert_array_equal(next(models).forest_.value, alone.forest_.value)
    with pytest.raises(AssayError, match="RandomForestClassifier: column .x0. must be finite .* first at row 5"):
        next(models)
