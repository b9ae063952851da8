"""Intervals of a mean score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.base import DataError, ParameterError
from assay.evaluate import corrected_interval

SCORES = np.array([0.71, 0.74, 0.69, 0.75, 0.72])


def test_the_interval_is_the_formula():
    low, high = corrected_interval(SCORES, n_train=80, n_test=20, alpha=0.1)
    half = stats.t.ppf(0.95, 4) * SCORES.std(ddof=1) * np.sqrt(1 / 5 + 20 / 80)
    assert (low, high) == pytest.approx((SCORES.mean() - half, SCORES.mean() + half))


def test_without_test_rows_it_is_the_plain_t_interval():
    plain = stats.t.interval(0.95, 4, SCORES.mean(), stats.sem(SCORES))
    assert corrected_interval(SCORES, n_train=1, n_test=0) == pytest.approx(plain)


def test_bounds_cut_and_constant_scores_have_no_width():
    low, high = corrected_interval([0.9, 1.0], n_train=1, n_test=1, bounds=(0.0, 1.0))
    assert 0 < low < 0.01 and 0.99 < high < 1
    assert corrected_interval([0.1 + 0.2, 0.3, 0.3], n_train=1, n_test=1) == pytest.approx((0.3, 0.3), abs=1e-15)


def test_mistakes():
    with pytest.raises(DataError, match="at least 2"):
        corrected_interval([0.5], n_train=1, n_test=1)
    with pytest.raises(ParameterError, match="alpha"):
        corrected_interval(SCORES, n_train=1, n_test=1, alpha=0)
