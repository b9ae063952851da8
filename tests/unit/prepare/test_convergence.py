"""R-hat tells chains that mix from chains that do not, and the figure draws every chain."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from assay.base import AssayError
from assay.prepare import Convergence, ImputeMultiple, gelman_rubin


def test_r_hat_by_the_formula():
    """Later half 1, 3 and 2, 6: W = (2 + 8) / 2 = 5, variance of the means 2 and 4 is 2; root of 1/2 + 2/5."""
    assert gelman_rubin([[0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 2.0, 6.0]]) == pytest.approx(np.sqrt(0.9))


def test_r_hat_is_near_one_for_one_law_and_large_for_two():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 2000))
    assert gelman_rubin(draws) == pytest.approx(1.0, abs=0.01)
    assert gelman_rubin(draws + 3 * np.arange(4)[:, None]) > 2
    assert np.isnan(gelman_rubin(draws[:1])) and np.isnan(gelman_rubin(draws[:, :2]))
    assert gelman_rubin(np.ones((2, 8))) == 1.0 and gelman_rubin(np.outer([1, 2], np.ones(8))) == float("inf")


def test_the_views_name_every_column_and_escape_it():
    rng = np.random.default_rng(0)
    found = Convergence(["a<b", "c"], rng.normal(size=(3, 8, 2)), rng.normal(size=(3, 8, 2)))
    assert len(str(found).splitlines()) == 3 and "a&lt;b" in found._repr_html_()
    tree = ElementTree.fromstring(found.figure(["c"]))
    lines = [e for e in tree.iter("{http://www.w3.org/2000/svg}line") if e.get("class", "").startswith("s-c")]
    assert len(lines) == 2 * 3 * 7
    with pytest.raises(AssayError, match="must name columns with missing cells"):
        found.figure(["d"])


def test_a_complete_table_has_nothing_to_show():
    imputer = ImputeMultiple(random_state=0).fit(np.arange(12.0).reshape(6, 2))
    assert str(imputer.convergence()) == "no missing cells: nothing to converge"
    assert imputer.convergence_plot().startswith("<svg")


def test_chains_from_far_starts_come_together():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 1)) + 0.5 * rng.normal(size=(500, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    found = ImputeMultiple(max_iter=40, n_imputations=4, random_state=0).fit(X).convergence()
    assert (found.r_hat_mean < 1.15).all() and (found.r_hat_deviation < 1.15).all()
