"""Examples of the course texts on preparation, checked by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.prepare import BagOfWords, ImputeGroup, OrdinalCode, Outliers, RangeRules, Thermometer


def test_degrees_as_a_thermometer():
    """000 example 2.9: bachelors is (1, 0, 0), masters (1, 1, 0) and PhD (1, 1, 1)."""
    table = pl.DataFrame({"degree": ["bachelors", "masters", "PhD"]})
    assert Thermometer().fit_transform(table).rows() == [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)]


def test_the_cat_is_in_the_tree():
    """001 sec. 4.5: over the words cat, tree and mouse the text is (1, 1, 0)."""
    step = BagOfWords(vocabulary=["cat", "tree", "mouse"])
    assert step.fit_transform(np.array([["The cat is in the tree"]], dtype=object)).tolist() == [[1.0, 1.0, 0.0]]


def test_a_missing_height_of_a_woman_is_the_mean_of_the_women():
    """004: a missing value with gender = female is filled by the mean of all females, not of all rows."""
    people = pl.DataFrame({"gender": ["female", "female", "female", "male"], "height": [165.0, 167.0, None, 181.0]})
    assert ImputeGroup(by=["gender"]).fit_transform(people)["height"][2] == 166.0


def test_degrees_as_ranks():
    """002 ch. 2: ordinal labels become numbers that keep their order."""
    order = ["high school", "bachelor", "master", "phd"]
    table = pl.DataFrame({"degree": ["phd", "high school", "master"]})
    assert OrdinalCode(orders={"degree": order}).fit_transform(table)["degree"].to_list() == [3.0, 0.0, 2.0]


def test_all_data_above_the_99th_percentile():
    """002 ch. 2: of the numbers 1 to 100, those under the 1st and over the 99th percentile are 1 and 100."""
    table = pl.DataFrame({"x": np.arange(1.0, 101.0)})
    flagged = Outliers(method="percentile").fit_transform(table).filter(pl.col("outlier") == 1)
    assert flagged["x"].to_list() == [1.0, 100.0]


def test_points_outside_the_ellipse():
    """002 ch. 2: outliers are the points far from the centre in z space; here by hand.

    The columns are uncorrelated with variances 8 and 2 (divisor n - 1 = 4), so that the squared distance of (4, 0) is
    16/8 = 2 and that of (0, 2) is 4/2 = 2 as well, though they are 4 and 2 away.
    """
    X = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 2.0], [0.0, -2.0], [0.0, 0.0]])
    step = Outliers(method="mahalanobis", threshold=0.5).fit(X)
    np.testing.assert_allclose(step._squared(X), [2.0, 2.0, 2.0, 2.0, 0.0], atol=1e-12)
    assert abs(step.cut_ - 2 * np.log(2)) < 1e-14, "the median of chi-square with 2 degrees is 2 ln 2"
    assert step.transform(X)[:, -1].tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_negative_ages_and_zero_kelvin():
    """Infeasible values become missing and are counted."""
    table = pl.DataFrame({"age": [-1, 40], "kelvin": [0.0, 300.0]})
    step = RangeRules(rules={"age": {"min": 0}, "kelvin": {"above": 0}}).fit(table)
    assert step.transform(table).rows() == [(None, None), (40, 300.0)]
    assert step.counts_ == {"age": {"min": 1}, "kelvin": {"above": 1}}
