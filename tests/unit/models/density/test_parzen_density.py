"""Parzen densities: against SciPy and scikit-learn, direct sums, leave-one-out by refitting, grids within bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import gaussian_kde, norm
from sklearn.neighbors import KernelDensity

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.models.density import ParzenDensity


def rows(n=400, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) @ np.diag([1.0, 3.0, 0.5][:d])


@pytest.mark.parametrize(("kernel", "theirs"), [("gaussian",) * 2, ("epanechnikov",) * 2, ("box", "tophat")])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_densities_equal_scikit_learn(kernel, theirs, d, weighted):
    X, queries = rows(d=d), rows(60, d, seed=1)
    weights = np.random.default_rng(2).uniform(0.1, 3.0, size=len(X)) if weighted else None
    peer = KernelDensity(bandwidth=0.9, kernel=theirs).fit(X, sample_weight=weights)
    ours = ParzenDensity(bandwidth=0.9, kernel=kernel).fit(X, sample_weight=weights)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ours.score_samples(queries), peer.score_samples(queries), rtol=1e-7)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_the_mahalanobis_kernel_with_a_rule_is_scipys(rule):
    X, queries = rows(), rows(50, seed=1)
    expected = gaussian_kde(X.T, bw_method=rule).logpdf(queries.T)
    np.testing.assert_allclose(
        ParzenDensity(metric="mahalanobis", bandwidth=rule).fit(X).score_samples(queries), expected, rtol=1e-9
    )


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_sums_by_the_tree_are_exact_and_within_the_tolerance_asked_for(level):
    X, queries = rows(3000), np.vstack([rows(100, seed=1), 40.0 + rows(5, seed=2)])
    h = 0.4
    exponents = -0.5 * cdist(queries, X, "sqeuclidean") / h**2
    top = exponents.max(axis=1)
    expected = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
    expected -= np.log(3000 * h**3) + 1.5 * np.log(2 * np.pi)
    before = _kernels.simd_level()
    _kernels.set_simd_level(level)
    try:
        np.testing.assert_allclose(ParzenDensity(bandwidth=h).fit(X).score_samples(queries), expected, rtol=1e-13)
        for rtol in (1e-6, 1e-3, 0.1):
            near = ParzenDensity(bandwidth=h, rtol=rtol).fit(X).score_samples(queries)
            assert np.abs(np.expm1(near - expected)).max() <= rtol * (1 + 1e-9)
    finally:
        _kernels.set_simd_level(before)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "box"])
def test_leave_one_out_equals_refits_also_for_repeated_and_weighted_rows(kernel):
    X = np.vstack([rows(60, 2), rows(3, 2)])
    weights = 1.0 + np.arange(len(X)) % 3
    model = ParzenDensity(kernel=kernel, bandwidth=2.0).fit(X, sample_weight=weights)
    for row in (0, 1, 2, 40, 61):
        less = weights - (np.arange(len(X)) == row)
        refit = ParzenDensity(kernel=kernel, bandwidth=2.0).fit(X, sample_weight=less)
        assert model.leave_one_out(rows=[row])[0] == pytest.approx(refit.score_samples(X[row : row + 1])[0], rel=1e-12)


def test_the_bandwidth_by_leave_one_out_is_the_likeliest():
    X = rows(300, 1)
    model = ParzenDensity(bandwidth="loo").fit(X)
    best = model.leave_one_out().mean()
    for factor in (0.7, 0.9, 1.1, 1.4):
        assert model.leave_one_out(model.bandwidth_ * factor).mean() < best
    assert model.chosen() == {"bandwidth": model.bandwidth_}
    assert 0.15 < model.bandwidth_ < 0.6  # near the 1.06 n^(-1/5) = 0.34 that is best for a normal column


def test_the_density_comes_near_the_truth():
    X, grid = rows(20_000, 1), np.linspace(-3, 3, 50)[:, None]
    error = np.exp(ParzenDensity().fit(X).score_samples(grid)) - norm.pdf(grid[:, 0])
    assert np.abs(error).max() < 0.03


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_the_grid_is_within_its_stated_error_and_the_bound_falls_with_the_square_of_the_step(d, metric):
    X = rows(200, d)
    weights = 1.0 + np.arange(len(X)) % 2
    model = ParzenDensity(metric=metric).fit(X, sample_weight=weights)
    coarse, fine = model.on_grid(24), model.on_grid(47)
    assert coarse.error_bound / fine.error_bound == pytest.approx(4.0, rel=1e-6)
    for grid in (coarse, fine):
        points = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1).reshape(-1, d)
        exact = np.exp(model.score_samples(points)).reshape(grid.values.shape)
        assert np.abs(grid.values - exact).max() <= grid.error_bound


def test_grids_that_cannot_be_are_refused():
    model = ParzenDensity().fit(rows(50, 1))
    with pytest.raises(DataError, match="needs a grid that covers the training rows"):
        model.on_grid(64, low=0.0, high=1.0)
    with pytest.raises(ParameterError, match="'sizes' must be whole numbers >= 2"):
        model.on_grid(1)
    with pytest.raises(ParameterError, match="needs the Gaussian kernel"):
        ParzenDensity(kernel="box").fit(rows(50, 1)).on_grid()


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "box"])
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_draws_have_the_covariance_of_rows_and_kernel(kernel, metric):
    X = rows(500, 2)
    model = ParzenDensity(kernel=kernel, metric=metric, bandwidth="silverman").fit(X)
    drawn = model.sample(40_000, random_state=0)
    smooth = 500.0 ** (-1 / 6)  # Silverman in two columns
    base = np.cov(X.T) if metric == "mahalanobis" else np.eye(2) * np.mean(np.var(X, axis=0, ddof=1))
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T) + smooth**2 * base, rtol=0.06, atol=0.06)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1)


def test_anomalies_are_rows_of_low_density():
    model = ParzenDensity().fit(rows(500, 2))
    limit = model.anomaly_threshold(rows(1000, 2, seed=1), share=0.02)
    assert model.is_anomaly(rows(1000, 2, seed=1), limit).mean() <= 0.02
    assert model.is_anomaly([[9.0, 30.0], [0.0, 0.0]], limit).tolist() == [True, False]
    with pytest.raises(ParameterError, match="'share' must be between 0 and 1"):
        model.anomaly_threshold(rows(10, 2), share=2)


def test_without_a_tree_of_its_own_the_answers_are_the_same():
    X = rows(200, 2)
    one, other = ParzenDensity().fit(X), ParzenDensity(tree=False).fit(X)
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(X))
    np.testing.assert_array_equal(one.on_grid(32).values, other.on_grid(32).values)


def test_rows_that_do_not_vary_are_refused_by_rules_and_taken_with_a_bandwidth():
    with pytest.raises(DataError, match="must vary; all rows are equal"):
        ParzenDensity().fit([[1.0], [1.0]])
    assert ParzenDensity(bandwidth=1.0).fit([[1.0], [1.0]]).score_samples([[1.0]])[0] == pytest.approx(norm.logpdf(0))
    with pytest.raises(DataError, match="must not have columns that depend on each other"):
        ParzenDensity(metric="mahalanobis").fit(np.column_stack([np.arange(9.0), 2 * np.arange(9.0)]))
    with pytest.raises(ParameterError, match="n_samples must be an integer >= 1"):
        ParzenDensity().fit([[0.0], [1.0]]).sample(0)


def test_the_view_draws_a_curve_for_each_column():
    view = ParzenDensity().fit(rows(100, 2)).view()
    assert view.names == ["x0", "x1"] and "<svg" in view.to_svg() and view.grid().rows


def test_a_column_that_varies_by_rounding_alone_does_not_vary():
    rng = np.random.default_rng(0)
    for n in range(20, 40):
        X = np.column_stack([rng.normal(size=n), np.full(n, 0.1)])
        with pytest.raises(DataError, match="column 1"):
            ParzenDensity(metric="mahalanobis").fit(X, sample_weight=rng.random(n))
