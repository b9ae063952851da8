"""Selection by a filter: every measure against an outside reference, every rule of choice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from sklearn.datasets import load_diabetes, load_iris
from sklearn.feature_selection import f_classif, f_regression, r_regression
from sklearn.metrics import mutual_info_score
from statsmodels.stats.multitest import multipletests

from assay.base import AssayError, AssayWarning, DataError
from assay.data import load_dataset
from assay.prepare import SelectFilter

IRIS, CLASSES = load_iris(return_X_y=True)
X, Y = load_diabetes(return_X_y=True)
WEATHER = load_dataset("weather").frame
RNG = np.random.default_rng(0)


def test_pearson_and_f_are_those_of_scikit_learn():
    step = SelectFilter(measure="pearson").fit(X, Y)
    np.testing.assert_allclose(step.scores_, np.abs(r_regression(X, Y)), rtol=1e-10)
    f, p = f_regression(X, Y)
    step = SelectFilter(measure="f").fit(X, Y)
    np.testing.assert_allclose(step.scores_, f, rtol=1e-8)
    np.testing.assert_allclose(step.p_values_, p, rtol=1e-6)
    step = SelectFilter(measure="f").fit(IRIS, CLASSES)
    np.testing.assert_allclose(step.scores_, f_classif(IRIS, CLASSES)[0], rtol=1e-8)
    np.testing.assert_allclose(step.p_values_, f_classif(IRIS, CLASSES)[1], rtol=1e-6)


def test_correlation_ratio_and_cramers_v_for_labels():
    groups = np.where(CLASSES == 0, "a", np.where(CLASSES == 1, "b", "c"))
    frame = pl.DataFrame({"g": groups, "h": RNG.permutation(groups)})
    eta = SelectFilter(measure="pearson", target="numbers").fit(frame, IRIS[:, 2])
    means = np.array([IRIS[k == CLASSES, 2].mean() for k in range(3)])
    share = (50 * (means - IRIS[:, 2].mean()) ** 2).sum() / ((IRIS[:, 2] - IRIS[:, 2].mean()) ** 2).sum()
    assert eta.scores_[0] == pytest.approx(np.sqrt(share))
    v = SelectFilter(measure="pearson").fit(frame, CLASSES)
    table = np.array([[(frame["h"].to_numpy() == a)[k == CLASSES].sum() for k in range(3)] for a in "abc"])
    assert v.scores_ == pytest.approx([1.0, scipy.stats.contingency.association(table, "cramer")])


def test_chi_square_is_that_of_scipy():
    step = SelectFilter(measure="chi-square").fit(WEATHER.drop("play"), WEATHER["play"].to_numpy())
    table = WEATHER.group_by("outlook", "play").len().pivot("play", index="outlook", values="len").fill_null(0)
    expected = scipy.stats.chi2_contingency(table.drop("outlook").to_numpy(), correction=False)
    assert (step.scores_[0], step.p_values_[0]) == pytest.approx((expected.statistic, expected.pvalue))


def test_mutual_information_is_the_plug_in_less_the_bias():
    labels = RNG.integers(0, 4, size=200)
    y = (labels + RNG.integers(0, 2, size=200)) % 3
    step = SelectFilter().fit(pl.DataFrame({"a": labels.astype(str)}), y)
    plug_in = mutual_info_score(labels, y) / np.log(2)
    cells = len({*zip(labels.tolist(), y.tolist())})
    assert step.scores_[0] == pytest.approx(plug_in - (cells - 4 - 3 + 1) / (2 * 200 * np.log(2)))
    _, p, *_ = scipy.stats.chi2_contingency(
        np.array([[((labels == a) & (y == b)).sum() for b in range(3)] for a in range(4)]),
        lambda_="log-likelihood",
        correction=False,
    )
    assert step.p_values_[0] == pytest.approx(p)


def test_information_of_independent_columns_is_near_zero_on_average():
    scores = [
        SelectFilter(k=None).fit(RNG.normal(size=(300, 1)), RNG.integers(0, 3, size=300)).scores_[0] for _ in range(60)
    ]
    assert np.mean(scores) < 0.012


def test_gain_ratio_of_the_weather_table():
    """Quinlan's golf table: outlook .156, humidity .152, windy .049, temperature .019 (nominal temperature)."""
    step = SelectFilter(measure="gain-ratio", k=None).fit(WEATHER.drop("play"), WEATHER["play"].to_numpy())
    scores = dict(zip(WEATHER.drop("play").columns, step.scores_))
    assert scores["outlook"] == pytest.approx(0.156, abs=5e-4)
    assert step.get_support(indices=True).tolist() == [0, 1, 2, 3]


def test_total_variation_is_one_for_disjoint_classes_and_zero_for_equal_ones():
    y = np.repeat([0, 1], 50)
    frame = np.column_stack([y * 10 + RNG.random(100), np.tile(np.arange(50.0), 2)])
    step = SelectFilter(measure="total-variation", k=1).fit(frame, y)
    np.testing.assert_allclose(step.scores_, [1, 0], atol=1e-12)
    assert step.support_.tolist() == [True, False] and np.isnan(step.p_values_).all()


def test_rules_of_choice():
    assert SelectFilter(measure="f", k=2).fit(IRIS, CLASSES).support_.tolist() == [False, False, True, True]
    assert SelectFilter(measure="f", k=0.5).fit(IRIS, CLASSES).support_.sum() == 2
    assert SelectFilter(measure="pearson", k=None, threshold=0.5).fit(X, Y).support_.sum() == 2
    p = f_regression(X, Y)[1]
    kept = SelectFilter(measure="f", k=None, alpha=0.05).fit(X, Y).support_
    np.testing.assert_array_equal(kept, multipletests(p, method="holm")[1] <= 0.05)
    with pytest.warns(AssayWarning, match="no column passes"):
        assert SelectFilter(measure="pearson", threshold=2.0).fit(X, Y).support_.sum() == 1


def test_bins_and_target_matter():
    few, many = SelectFilter(n_bins=2).fit(X, Y), SelectFilter(n_bins=20).fit(X, Y)
    assert not np.allclose(few.scores_, many.scores_)
    whole = np.round(Y / 50).astype(int)
    assert not np.allclose(
        SelectFilter(measure="f", target="numbers").fit(X, whole).scores_,
        SelectFilter(measure="f").fit(X, whole).scores_,
    )


def test_missing_cells():
    holed = IRIS.copy()
    holed[:40, 2] = np.nan
    step = SelectFilter(measure="f").fit(holed, CLASSES)
    assert step.scores_[2] == pytest.approx(f_classif(IRIS[40:, [2]], CLASSES[40:])[0][0])
    assert (
        SelectFilter(k=1).fit(np.column_stack([np.where(CLASSES == 0, np.nan, 1.0), IRIS[:, 1]]), CLASSES).support_[0]
    )


def test_stability_summary_and_words():
    step = SelectFilter(measure="f", k=2).fit(IRIS, CLASSES)
    stable = step.stability(IRIS, CLASSES, n_resamples=20)
    assert stable.frequency.tolist() == [0, 0, 1, 1] and stable.agreement == 1
    assert "x2" in step.summary().splitlines()[1] and step.summary().count("*") == 2
    assert step.explain() == ["2 of 4 columns are kept by f: x2, x3."]


def test_refusals():
    with pytest.raises(AssayError, match="F against classes does not exist"):
        SelectFilter(measure="f").fit(WEATHER.drop("play"), WEATHER["play"].to_numpy())
    with pytest.raises(AssayError, match="has no p-value"):
        SelectFilter(measure="gain-ratio", alpha=0.05).fit(IRIS, CLASSES)


@pytest.mark.parametrize("gone", [None, pd.NA, float("nan")], ids=["None", "NA", "nan"])
def test_a_missing_class_is_refused_with_its_row(gone):
    with pytest.raises(DataError, match="must not hold missing labels; first at row 2; drop those rows first"):
        SelectFilter().fit(np.arange(4.0)[:, None], np.array(["a", "b", gone, "a"], dtype=object))
