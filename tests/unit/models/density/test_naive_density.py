"""Naive densities: counted by hand, with weights, in several columns."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import ParameterError
from assay.models.density import NaiveDensity, ParzenDensity


def rows(n=500, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_densities_equal_a_count_in_the_box(d, weighted):
    X, queries = rows(d=d), rows(50, d, seed=1)
    weights = np.random.default_rng(2).integers(1, 4, size=len(X)).astype(float) if weighted else None
    width = np.linspace(0.8, 2.0, d)
    model = NaiveDensity(width=width).fit(X, sample_weight=weights)
    inside = (np.abs(queries[:, None] - X) <= width / 2).all(axis=2)
    share = inside @ (np.ones(len(X)) if weights is None else weights)
    with np.errstate(divide="ignore"):
        expected = np.log(share / (len(X) if weights is None else weights.sum()) / width.prod())
    np.testing.assert_allclose(model.score_samples(queries), expected, rtol=1e-9)


def test_in_one_column_it_is_parzens_estimate_with_a_box():
    X, queries = rows(d=1), rows(40, 1, seed=1)
    naive = NaiveDensity(width=1.0).fit(X).score_samples(queries)
    np.testing.assert_allclose(naive, ParzenDensity(kernel="box", bandwidth=0.5).fit(X).score_samples(queries))


@pytest.mark.parametrize(("rule", "factor"), [("scott", 1.0), ("silverman", 0.75)])
def test_rules_give_the_deviation_of_the_box(rule, factor):
    X = rows(1000, 1)
    expected = np.sqrt(12) * X.std() * (1000 * factor) ** (-1 / 5)
    assert NaiveDensity(width=rule).fit(X).width_[0] == pytest.approx(expected)


def test_draws_stay_in_the_boxes_and_bad_widths_are_refused():
    drawn = NaiveDensity(width=2.0).fit([[0.0], [10.0]], sample_weight=[3.0, 1.0]).sample(4000, random_state=0)
    assert ((np.abs(drawn) <= 1) | (np.abs(drawn - 10) <= 1)).all()
    assert np.mean(drawn > 5) == pytest.approx(0.25, abs=0.03)
    with pytest.raises(ParameterError, match="'width' must be a number > 0"):
        NaiveDensity(width=[1.0, -1.0]).fit(rows())
    assert "<svg" in NaiveDensity().fit(rows()).view().to_svg()
