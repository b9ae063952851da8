"""Scaling agrees with scikit-learn's scalers and can be undone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from assay.base import AssayError
from assay.prepare import Scale

PEERS = {"standard": StandardScaler(), "min-max": MinMaxScaler(), "robust": RobustScaler()}


@pytest.mark.parametrize("method", PEERS)
def test_agrees_with_scikit_learn(method):
    rng = np.random.default_rng(0)
    X, other = rng.normal(5, 3, size=(50, 4)), rng.normal(size=(7, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = 2.5
    step = Scale(method=method).fit(X)
    np.testing.assert_allclose(step.transform(other), PEERS[method].fit(X).transform(other), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", PEERS)
def test_the_way_back(method):
    X = np.array([[1.0, 1e9], [2.0, 1e9 + 1], [4.0, 1e9 + 5]])
    step = Scale(method=method).fit(X)
    np.testing.assert_allclose(step.inverse_transform(step.transform(X)), X, rtol=1e-15)


def test_nearest_neighbour_no_longer_depends_on_the_unit():
    """001 sec. 2.1.2: the nearest to B is A with heights in inches and C in centimetres; scaled, the unit is moot."""
    inches = np.array([[63.0, 150.0], [67.0, 160.0], [70.0, 171.0]])
    centimetres = inches * [2.54, 1.0]

    def nearest(table):
        distance = np.linalg.norm(table - table[1], axis=1)
        return "A" if distance[0] < distance[2] else "C"

    assert (nearest(inches), nearest(centimetres)) == ("A", "C")
    assert nearest(Scale().fit_transform(inches)) == nearest(Scale().fit_transform(centimetres))


def test_columns_and_words():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    step = Scale(columns=["b"]).fit(frame)
    assert step.transform(frame)["a"].to_list() == [1.0, 2.0]
    assert step.explain() == ["b: standardised by the mean and standard deviation of the training rows."]


def test_a_column_that_was_numeric_in_fit_must_stay_so():
    step = Scale().fit(pl.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(AssayError, match="column 'a' was numeric in fit"):
        step.transform(pl.DataFrame({"a": ["x"]}))


def test_an_empty_column_stays_empty():
    out = Scale().fit_transform(
        pl.DataFrame({"a": [None, None], "b": [1.0, 3.0]}, schema={"a": pl.Float64, "b": pl.Float64})
    )
    assert out["a"].null_count() == 2 and out["b"].to_list() == [-1.0, 1.0]


@pytest.mark.parametrize("method", ["standard", "min-max", "robust"])
def test_no_column_to_scale_changes_nothing(method):
    X = np.array([[1.0], [3.0]])
    np.testing.assert_array_equal(Scale(method=method, columns=[]).fit_transform(X), X)
