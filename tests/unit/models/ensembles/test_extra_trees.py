"""Extra trees: random tests, all rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier as Peer
from sklearn.model_selection import ShuffleSplit

from assay import _kernels
from assay.base.folds import fit_folds, predict_folds
from assay.models.ensembles import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from .test_newton_boosting import labels, mixed, numbers


def test_trees_fit_the_training_rows_where_every_value_has_a_bin():
    X, y = numbers(200)
    model = ExtraTreesRegressor(n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-10)


def test_thresholds_are_spread_between_the_extremes():
    X = np.linspace(0, 1, 250)[:, None]
    model = ExtraTreesRegressor(n_estimators=400, max_depth=1, random_state=0).fit(X, X[:, 0])
    roots = model.forest_.threshold[model.forest_.offsets[:-1]]
    assert np.mean(roots) == pytest.approx(0.5, abs=0.05)
    assert np.std(roots) == pytest.approx(np.sqrt(1 / 12), abs=0.03)


def test_rows_in_any_order_give_the_same_bits():
    X, y = mixed(300)
    shuffled = np.random.default_rng(2).permutation(len(y))
    one = ExtraTreesRegressor(n_estimators=6, random_state=1).fit(X, y)
    two = ExtraTreesRegressor(n_estimators=6, random_state=1, n_jobs=2).fit(X[shuffled], y[shuffled])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 4e307])
def test_values_as_near_or_as_far_as_numbers_go_are_parted(unit):
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 10) * unit
    model = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) == 1.0


def test_as_good_as_the_peer():
    X, y = labels(n=4000, classes=3)
    ours = ExtraTreesClassifier(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    peer = Peer(n_estimators=60, random_state=0).fit(X[:2000], y[:2000])
    assert ours.score(X[2000:], y[2000:]) > peer.score(X[2000:], y[2000:]) - 0.012


@pytest.fixture(scope="module")
def odd_table():
    """Numbers with ties, gaps and a constant, labels with gaps, and rows enough for nodes of more than 64."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 11))
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 2] = 4.0
    X[:, 3] = rng.integers(9, size=700)
    X[rng.random(X.shape) < 0.04] = np.nan
    X[:, 2] = 4.0
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.isin(X[:, 3], [1, 4, 5]) + 0.4 * rng.normal(size=700)
    return X, signal


FORESTS = [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor, ExtraTreesRegressor]


def _target(cls, signal, classes):
    return np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes)) if "Cl" in cls.__name__ else signal


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_every_instruction_set_grows_the_same_trees(odd_table, cls, weighted, classes):
    X, signal = odd_table
    y = _target(cls, signal, classes)
    if classes > 2 and y.dtype.kind == "f":
        y = np.column_stack([signal, signal**2]) if classes == 3 else np.round(signal)
    weights = np.random.default_rng(1).integers(1, 4, size=700).astype(float) if weighted else None
    model = cls(n_estimators=4, categorical_features=[3], random_state=1)
    best, grown = _kernels.simd_level(), []
    try:
        for level in ("baseline", "avx2", "avx512"):
            _kernels.set_simd_level(level)
            grown.append(clone(model).fit(X, y, sample_weight=weights).forest_)
    finally:
        _kernels.set_simd_level(best)
    for other in grown[1:]:
        for field in fields(other):
            np.testing.assert_array_equal(getattr(grown[0], field.name), getattr(other, field.name), err_msg=field.name)


@pytest.mark.parametrize("cls", [ExtraTreesClassifier, ExtraTreesRegressor])
def test_whole_weights_are_repetitions_in_nodes_of_any_size(odd_table, cls):
    X, signal = odd_table
    y, counts = _target(cls, signal, 3), np.random.default_rng(2).integers(1, 5, size=700)
    model = cls(n_estimators=4, categorical_features=[3], random_state=1)
    weighted = clone(model).fit(X, y, sample_weight=counts.astype(float)).forest_
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).forest_
    for name in ("feature", "threshold", "missing_go_to_left", "n_node_samples", "category_words"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("nominal", [None, [3]])
@pytest.mark.parametrize("seeds", [None, [3, 4, 5]])
def test_folds_asked_while_their_trees_grow_hear_what_their_forests_say(odd_table, cls, nominal, seeds):
    X, signal = odd_table
    y = _target(cls, signal, 5)
    model = cls(n_estimators=7, categorical_features=nominal, random_state=None if seeds else 8, n_jobs=2)
    folds = list(ShuffleSplit(3, test_size=0.4, random_state=0).split(X))
    folds[1] = (
        folds[1][0][y[folds[1][0]] != y[0]] if "Cl" in cls.__name__ else folds[1][0],
        folds[1][1],
    )  # lacks a class
    settings = [{"random_state": seed} for seed in seeds] if seeds else None
    said = list(predict_folds(model, X, y, folds, settings=settings))
    models = fit_folds(model, X, y, folds, settings=settings)
    for answer, fitted, (_, test) in zip(said, models, folds, strict=True):
        if "Cl" not in cls.__name__:
            np.testing.assert_array_equal(answer, fitted.predict(X[test]))
            continue
        np.testing.assert_array_equal(answer[:, fitted.classes_], fitted.predict_proba(X[test]))
        assert not np.delete(answer, fitted.classes_, axis=1).any()


@pytest.mark.parametrize(
    "given",
    [{"oob_score": True, "bootstrap": True}, {"warm_start": True}, {"class_weight": "balanced"}],
)
def test_folds_that_need_their_forests_keep_them(odd_table, given):
    X, signal = odd_table
    folds = [(np.arange(300), np.arange(300, 700))] * 2
    assert predict_folds(ExtraTreesClassifier(random_state=0, **given), X, signal > 0, folds) is None
