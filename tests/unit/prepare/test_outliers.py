"""Outliers by every method, against their definitions and scikit-learn's DBSCAN."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import mahalanobis
from scipy.stats import chi2
from sklearn.cluster import DBSCAN
from sklearn.preprocessing import StandardScaler

from assay.base import AssayError
from assay.prepare import Outliers

METHODS = ["percentile", "iqr", "z", "mahalanobis", "dbscan"]


def cloud(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.multivariate_normal([5, -2, 0], [[4, 1.8, 0], [1.8, 1, 0], [0, 0, 1]], size=rows)
    X[:4] = [[30, -2, 0], [5, 5, 0], [8, -4, 0], [5, -2, 12]]
    return X


def flags(X, **options):
    return Outliers(**options).fit_transform(X)[:, -1].astype(bool)


def test_univariate_bounds_are_their_definitions():
    X = cloud()
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    np.testing.assert_array_equal(flags(X, method="percentile", threshold=0.05), ((low > X) | (high < X)).any(axis=1))
    q1, q3 = np.quantile(X, [0.25, 0.75], axis=0)
    outside = (q1 - 2 * (q3 - q1) > X) | (q3 + 2 * (q3 - q1) < X)
    np.testing.assert_array_equal(flags(X, method="iqr", threshold=2), outside.any(axis=1))
    np.testing.assert_array_equal(flags(X, method="z"), (np.abs(StandardScaler().fit_transform(X)) > 3).any(axis=1))


def test_mahalanobis_is_that_of_the_covariance_matrix():
    """The distance in the space of the principal components equals x' S^-1 x (002, PCA for outlier detection)."""
    X = cloud()
    inverse, mean = np.linalg.inv(np.cov(X.T)), X.mean(axis=0)
    squared = np.array([mahalanobis(row, mean, inverse) ** 2 for row in X])
    found = flags(X, method="mahalanobis", threshold=0.99)
    np.testing.assert_array_equal(found, squared > chi2.ppf(0.99, 3))
    assert found[2], "inside every single range, but against the correlation"
    assert not flags(X, method="iqr", threshold=1.5)[2]


def test_a_copied_column_changes_no_mahalanobis_distance():
    X = cloud()
    doubled = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 7.0)])
    np.testing.assert_array_equal(flags(doubled, method="mahalanobis"), flags(X, method="mahalanobis"))


@pytest.mark.parametrize(("eps", "least"), [(0.5, 5), (0.3, 3), (0.3, 8)])
def test_noise_is_that_of_scikit_learns_dbscan(eps, least):
    X = cloud()
    noise = DBSCAN(eps=eps, min_samples=least).fit_predict(StandardScaler().fit_transform(X)) == -1
    assert 0 < noise.sum() < len(X)
    np.testing.assert_array_equal(flags(X, method="dbscan", threshold=eps, min_samples=least), noise)


def test_dbscan_finds_its_radius_and_judges_new_rows_by_core_rows():
    X = cloud()
    step = Outliers(method="dbscan").fit(X)
    assert step.transform(X)[:4, -1].tolist() == [1.0] * 4 and step.flagged_ < 40
    assert step.transform(np.array([[5.0, -2.0, 0.0], [60.0, 0.0, 0.0]]))[:, -1].tolist() == [0.0, 1.0]
    lonely = Outliers(method="dbscan", threshold=1e-9).fit(X)
    assert lonely.core_.shape[0] == 0 and lonely.flagged_ == len(X)


@pytest.mark.parametrize("method", METHODS)
def test_dropping_is_for_training_rows_only(method):
    X, y = cloud(), np.arange(300)
    step = Outliers(method=method, action="drop")
    rows, target = step.fit_resample(X, y)
    assert len(rows) == 300 - step.flagged_ < 300 and 0 not in target
    np.testing.assert_array_equal(step.transform(X), X)
    assert Outliers(method=method).fit_resample(X)[0].shape == (300, 4), "a flag drops nothing"


@pytest.mark.parametrize("method", ["percentile", "iqr", "z", "mahalanobis"])
def test_winsorised_rows_are_on_the_bound(method):
    X = cloud()
    step = Outliers(method=method, action="winsorise").fit(X)
    out = step.transform(X)
    inside = ~flags(X, method=method)
    np.testing.assert_allclose(out[inside], X[inside], rtol=1e-12)
    assert not np.allclose(out[~inside], X[~inside])
    if method == "mahalanobis":
        np.testing.assert_allclose(step._squared(out[~inside]), step.cut_, rtol=1e-9)
        lost = X[0] - X.mean(axis=0)
        np.testing.assert_allclose(np.cross(lost, out[0] - X.mean(axis=0)), 0, atol=1e-9)
    else:
        assert (out <= step.high_ + 1e-12).all() and (out >= step.low_ - 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_missing_cells_are_no_outliers_and_stay_missing(method):
    X = cloud()
    X[10:20, 1] = np.nan
    step = Outliers(method=method, columns=[0, 1, 2]).fit(X)
    assert step.transform(np.array([[np.nan] * 3]))[0, -1] == 0.0
    if method != "dbscan":
        out = Outliers(method=method, action="winsorise").fit_transform(X)
        np.testing.assert_array_equal(np.isnan(out), np.isnan(X))


def test_columns_names_and_words():
    frame = pl.DataFrame(
        {"x": [1.0, 2.0, 3.0, 99.0], "z": [0.0, 0.0, 0.0, 50.0], "t": ["a"] * 4, "outlier": [1, 2, 3, 4]}
    )
    step = Outliers(columns=["x"]).fit(frame)
    assert step.get_feature_names_out().tolist()[-1] == "outlier'" and step.judged_ == ["x"]
    assert step.explain() == [
        "x: cells more than 1.5 quartile distances outside the quartiles of the training rows are marked by a column "
        "of 0 and 1 (1 training rows)."
    ]
    with pytest.raises(AssayError, match="column 't' must hold numbers"):
        Outliers(columns=["t"]).fit(frame)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "percentile", "threshold": 0.5}, "'threshold' must be a number > 0 and < 0.5"),
        ({"method": "mahalanobis", "threshold": 1.0}, "< 1 for 'mahalanobis'"),
        ({"method": "dbscan", "action": "winsorise"}, "no bound to draw to"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(AssayError, match=words):
        Outliers(**options).fit(cloud())


@pytest.mark.parametrize("method", METHODS)
def test_constant_and_empty_columns_hold_no_outliers(method):
    frame = pl.DataFrame({"c": [0.1] * 20, "e": pl.Series([None] * 20, dtype=pl.Float64)})
    assert Outliers(method=method).fit(frame).flagged_ == 0
    assert Outliers(method=method).fit(pl.DataFrame({"t": ["a", "b"]})).explain() == []


def test_a_table_without_numbers_is_flagged_nowhere():
    table = pl.DataFrame({"t": ["a", "b"]})
    assert Outliers().fit_transform(table)["outlier"].to_list() == [0.0, 0.0]
    assert Outliers(action="winsorise").fit_transform(table).equals(table)
    assert Outliers(action="drop").fit_resample(table)[0].equals(table)
