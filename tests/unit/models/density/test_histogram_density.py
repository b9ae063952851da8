"""Histograms: against NumPy, the rules for widths, empty cells, smoothing, draws."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.models.density import HistogramDensity


def rows(n=500, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("weighted", [False, True])
def test_two_columns_equal_numpys_histogram(weighted):
    X = rows()
    weights = np.random.default_rng(1).uniform(size=len(X)) if weighted else None
    model = HistogramDensity(width=[0.5, 0.25], origin=[-5.0, -5.0]).fit(X, sample_weight=weights)
    edges = [np.arange(-5, 5.01, 0.5), np.arange(-5, 5.01, 0.25)]
    expected, _, _ = np.histogram2d(*X.T, bins=edges, weights=weights, density=True)
    cells = np.stack(np.meshgrid(*(e[:-1] + 0.1 for e in edges), indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(np.exp(model.score_samples(cells)), expected.ravel(), rtol=1e-12)


def test_automatic_widths_follow_their_rules():
    X = rows(1000, 1)
    n, spread = 1000, X.std()
    assert HistogramDensity(width="scott").fit(X).width_[0] == pytest.approx(3.49 * spread * n ** (-1 / 3))
    low, high = np.quantile(X, [0.25, 0.75], method="inverted_cdf")
    fitted = HistogramDensity(width="freedman-diaconis").fit(X)
    assert fitted.width_[0] == pytest.approx(2 * (high - low) * n ** (-1 / 3))
    assert HistogramDensity(width="sturges").fit(X).width_[0] == pytest.approx(np.ptp(X) / (np.log2(n) + 1))
    assert list(fitted.chosen()) == ["width of x0"]
    repeated = HistogramDensity(width="freedman-diaconis").fit(np.repeat(X, 2, axis=0))
    weighted = HistogramDensity(width="freedman-diaconis").fit(X, sample_weight=np.full(n, 2.0))
    assert repeated.width_[0] == weighted.width_[0]


def test_the_origin_moves_the_cells():
    X = [[0.1], [0.9], [1.1]]
    assert np.exp(HistogramDensity(width=1.0, origin=0.0).fit(X).score_samples([[0.5]]))[0] == pytest.approx(2 / 3)
    assert np.exp(HistogramDensity(width=1.0, origin=0.5).fit(X).score_samples([[0.75]]))[0] == pytest.approx(2 / 3)
    assert np.exp(HistogramDensity(width=1.0, origin=0.5).fit(X).score_samples([[0.4]]))[0] == pytest.approx(1 / 3)


def test_empty_cells_have_no_density_unless_smoothed_and_the_smoothed_sum_is_one():
    model = HistogramDensity(width=1.0, origin=0.0).fit([[0.5], [4.5]])
    assert np.isneginf(model.score_samples([[2.5], [9.0], [1e300]])).all()
    smooth = HistogramDensity(width=1.0, origin=0.0, alpha=0.5).fit([[0.5], [4.5]])
    centres = np.arange(0.5, 5.0)[:, None]
    np.testing.assert_allclose(np.exp(smooth.score_samples(centres)), np.array([1.5, 0.5, 0.5, 0.5, 1.5]) / 4.5)
    drawn = smooth.sample(20_000, random_state=0)
    np.testing.assert_allclose(
        np.histogram(drawn, bins=5, range=(0, 5))[0] / 20_000, [1 / 3, *[1 / 9] * 3, 1 / 3], atol=0.02
    )


def test_many_columns_keep_only_occupied_cells():
    X = rows(300, 20)
    model = HistogramDensity().fit(X)
    assert model.cells_.shape[0] <= 300 and np.isfinite(model.score_samples(X)).all()
    assert np.isneginf(model.score_samples(rows(50, 20, seed=1))).mean() > 0.5


def test_bad_widths_and_columns_wider_than_any_number_of_cells_are_refused():
    with pytest.raises(ParameterError, match="'width' must be a number > 0, or one for each of the columns"):
        HistogramDensity(width=[1.0, 2.0, 3.0]).fit(rows())
    with pytest.raises(ParameterError, match="'origin' must be a number, or one"):
        HistogramDensity(origin=["a"]).fit(rows())
    with pytest.raises(DataError, match="must not be wider than 2\\*\\*53 cells"):
        HistogramDensity(width=1e-12).fit([[0.0], [1e12]])


def test_the_view_is_the_histogram_of_each_column():
    view = HistogramDensity(width=1.0, origin=0.0).fit([[0.5, 2.5], [1.5, 2.6]]).view()
    assert view.values[0] == [0.5, 0.5, 0.5, 0.5] and view.points[1] == [2.0, 3.0]
    assert "<svg" in view.to_svg()
