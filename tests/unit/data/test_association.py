"""Associations: against outside references, and by what must hold for any table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.base import DataError, ParameterError
from assay.data import correlation_ratio, correlations, cramer_v
from assay.data.association import chi_square, column_correlations, holm
from tests.helpers import examples


def table(seed=0, rows=300, columns=6, gaps=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns)) + 1000
    x[rng.random(x.shape) < gaps] = np.nan
    return x


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_correlations_equal_those_of_pandas(method, gaps):
    """pandas.DataFrame.corr leaves missing cells out pair by pair, as we do."""
    x = table(gaps=gaps)
    np.testing.assert_allclose(correlations(x, method), pd.DataFrame(x).corr(method).to_numpy(), atol=1e-10)


def test_gaps_in_some_columns_only_and_ties_are_no_exception():
    x = table(1)
    x[::7, 2] = np.nan
    x[:, 4] = x[:, 4].round(0)
    for method in ("pearson", "spearman"):
        np.testing.assert_allclose(correlations(x, method), pd.DataFrame(x).corr(method).to_numpy(), atol=1e-10)


def test_constant_columns_have_no_correlation():
    x = table()
    x[:, 0] = 3.25
    found = correlations(x)
    assert np.isnan(found[0]).all() and np.isnan(found[:, 0]).all() and not np.isnan(found[1:, 1:]).any()
    x[5, 1] = np.nan
    assert np.isnan(correlations(x)[0]).all()


def test_frames_are_taken_and_threads_change_nothing():
    x = table(gaps=0.1)
    frame = pl.DataFrame({f"c{k}": x[:, k] for k in range(x.shape[1])}).fill_nan(None)
    one = correlations(frame, n_jobs=1)
    assert np.array_equal(one, correlations(frame, n_jobs=2)) and np.array_equal(one, correlations(x))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"X": table(), "method": "kendall"}, ParameterError, "'pearson' or 'spearman'"),
        ({"X": pl.DataFrame({"a": ["x", "y"]})}, DataError, "numbers only"),
        ({"X": np.ones((1, 3))}, DataError, "two rows"),
    ],
)
def test_what_cannot_be_correlated_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        correlations(**given)


def test_cramer_v_equals_scipy():
    """scipy.stats.contingency.association; the corrected form by the definition of Bergsma (2013)."""
    counts = np.random.default_rng(0).integers(1, 40, (4, 3))
    assert cramer_v(counts) == pytest.approx(stats.contingency.association(counts, "cramer"))
    statistic, freedom, p = chi_square(counts)
    reference = stats.chi2_contingency(counts, correction=False)
    assert (statistic, freedom, p) == pytest.approx((reference.statistic, reference.dof, reference.pvalue))
    n = counts.sum()
    phi2 = max(0, statistic / n - 6 / (n - 1))
    r, c = 4 - 9 / (n - 1), 3 - 4 / (n - 1)
    assert cramer_v(counts, corrected=True) == pytest.approx(np.sqrt(phi2 / (min(r, c) - 1)))


def test_empty_lines_of_a_table_do_not_count():
    counts = np.array([[20, 30, 0], [30, 20, 0], [0, 0, 0]])
    assert cramer_v(counts) == pytest.approx(0.2) and np.isnan(cramer_v(np.array([[3, 4]])))


def test_the_correlation_ratio_is_the_f_test_in_another_form():
    """eta^2 = F (k - 1) / (F (k - 1) + n - k), with F of scipy.stats.f_oneway."""
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 4, 200)
    values = rng.normal(size=200) + groups
    f = stats.f_oneway(*[values[groups == g] for g in range(4)]).statistic
    assert correlation_ratio(groups, values) ** 2 == pytest.approx(3 * f / (3 * f + 196))
    gaps = values.copy()
    gaps[:10] = np.nan
    assert correlation_ratio(groups, gaps) == pytest.approx(correlation_ratio(groups[10:], values[10:]))


def test_holm_equals_statsmodels():
    """statsmodels.stats.multitest.multipletests(method="holm")."""
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(1).random(20) ** 4
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


@settings(max_examples=examples(30))
@given(st.integers(0, 10_000), st.floats(-5, 5).filter(lambda a: abs(a) > 0.01), st.floats(-100, 100))
def test_correlations_do_not_depend_on_units(seed, scale, shift):
    x = table(seed, rows=40, columns=3, gaps=0.1)
    moved = x.copy()
    moved[:, 1] = scale * moved[:, 1] + shift
    expected = correlations(x)
    expected[1] *= np.sign(scale)
    expected[:, 1] *= np.sign(scale)
    np.testing.assert_allclose(correlations(moved), expected, atol=1e-7)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.97])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_columns_apart_correlate_as_a_matrix_does_and_as_pandas_says(share, n_jobs):
    rng = np.random.default_rng(8)
    cells = rng.normal(size=(3000, 5)) + [0, 1e6, -3, 0, 0]
    cells[:, 1] += cells[:, 0]
    cells[rng.random(cells.shape) < [share, 0.1, share, 0, 0.5]] = np.nan
    cells[:, 3] = 7.0
    expected = pd.DataFrame(cells).corr().to_numpy()
    apart = column_correlations([np.ascontiguousarray(column) for column in cells.T], n_jobs)
    for found in (apart, correlations(cells, n_jobs=n_jobs)):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.isnan(apart[3]).all()


def test_correlations_far_from_zero_constant_or_infinite_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    X[:, 1] += np.linspace(0.0, 1e6, 3000)  # the sampled centre is good, the first rows would not be
    X[:, 2] = 1e9 + 1e-3 * X[:, 2]
    X[:, 3] = 0.1
    found = correlations(X)
    np.testing.assert_allclose(found[:3, :3], np.corrcoef(X[:, :3], rowvar=False), atol=1e-6)
    exact = X[:, 2].astype(np.longdouble) - X[:, 2].astype(np.longdouble).mean()
    near = X[:, 0].astype(np.longdouble) - X[:, 0].astype(np.longdouble).mean()
    r = float((exact * near).sum() / np.sqrt((exact**2).sum() * (near**2).sum()))
    assert found[0, 2] == pytest.approx(r, abs=1e-13)
    assert np.isnan(found[3]).all()
    X[17, 0] = np.inf
    holed = correlations(X)
    assert np.isnan(holed[0]).all() and holed[1, 2] == pytest.approx(found[1, 2], abs=1e-12)
