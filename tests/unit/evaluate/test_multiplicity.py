"""Corrections for the number of comparisons, against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from assay.base import DataError
from assay.evaluate import bonferroni, holm


@pytest.mark.parametrize("size", [1, 2, 10, 66])
def test_adjusted_p_values_equal_statsmodels(size):
    p = np.random.default_rng(size).uniform(0, 1, size) ** 4
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert bonferroni(p) == pytest.approx(multipletests(p, method="bonferroni")[1])


def test_holm_never_exceeds_bonferroni_and_keeps_the_order():
    p = np.random.default_rng(0).uniform(0, 0.1, 30)
    assert (holm(p) <= bonferroni(p)).all() and (holm(p) >= p).all()
    assert (np.diff(holm(p)[np.argsort(p)]) >= 0).all()


def test_edges():
    assert holm([]).shape == (0,)
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    for bad in ([[0.1]], [1.5], [np.nan]):
        with pytest.raises(DataError, match="p_values"):
            holm(bad)
