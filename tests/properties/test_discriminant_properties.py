"""What must always hold of discriminants and densities: invariances, corners, probabilities, sums of kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.models.bayes import LDA, QDA, RDA
from assay.models.density import HistogramDensity, NaiveDensity, ParzenDensity
from tests.helpers import examples

SEEDS = st.integers(0, 2**32 - 1)


def _table(seed):
    rng = np.random.default_rng(seed)
    d, classes = int(rng.integers(1, 5)), int(rng.integers(2, 4))
    y = np.arange(int(rng.integers(classes * (d + 3), 90))) % classes
    return rng.normal(size=(len(y), d)) + rng.normal(size=(classes, d))[y], y, rng


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS)
def test_lda_and_qda_do_not_depend_on_the_coordinates_of_the_columns(seed):
    X, y, rng = _table(seed)
    turn = np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0] * rng.uniform(0.5, 20.0, size=X.shape[1])
    moved = X @ turn + rng.normal(size=X.shape[1])
    for cls in (LDA, QDA):
        np.testing.assert_allclose(
            cls().fit(moved, y).predict_proba(moved), cls().fit(X, y).predict_proba(X), rtol=1e-5, atol=1e-8
        )


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.floats(0, 1), st.floats(0, 1))
def test_rda_gives_probabilities_and_forgets_the_order_of_rows(seed, share, mix):
    X, y, rng = _table(seed)
    alpha, beta = share, (1 - share) * mix
    order = rng.permutation(len(y))
    model = RDA(alpha=alpha, beta=beta).fit(X, y)
    p = model.predict_proba(X)
    assert (p >= 0).all() and np.allclose(p.sum(axis=1), 1.0)
    again = RDA(alpha=alpha, beta=beta).fit(X[order], y[order]).predict_proba(X)
    np.testing.assert_allclose(again, p, rtol=1e-5, atol=1e-8)


@settings(max_examples=examples(30), deadline=None)
@given(SEEDS)
def test_the_choice_of_rda_is_never_worse_by_leave_one_out_than_its_corners(seed):
    X, y, _ = _table(seed)
    errors = RDA().fit(X, y).loo_errors_
    least = errors[:, 2].min()
    for corner in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)):
        at = (errors[:, 0] == corner[0]) & (np.abs(errors[:, 1] - corner[1]) < 1e-12)
        assert at.any() and errors[at, 2].min() >= least


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS, st.sampled_from(["gaussian", "epanechnikov", "box"]), st.floats(0.05, 3.0))
def test_kernel_sums_by_the_tree_equal_direct_sums(seed, kernel, width):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    X = rng.integers(-3, 4, size=(int(rng.integers(2, 200)), d)) + rng.normal(size=d)
    queries = X[:5] + 0.3 * rng.normal(size=(len(X[:5]), d))
    u = ((queries[:, None] - X) ** 2).sum(axis=2) / width**2
    shape = {"gaussian": np.exp(-u / 2), "epanechnikov": np.maximum(0, 1 - u), "box": (u <= 1).astype(float)}[kernel]
    model = ParzenDensity(kernel=kernel, bandwidth=width).fit(X)
    found = np.exp(model.score_samples(queries) + model._log_total(width, float(len(X))))
    np.testing.assert_allclose(found, shape.sum(axis=1), rtol=1e-9, atol=1e-12)


@settings(max_examples=examples(30), deadline=None)
@given(SEEDS, st.sampled_from([HistogramDensity, NaiveDensity, ParzenDensity]))
def test_densities_move_and_stretch_with_the_rows(seed, cls):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    stretch, shift = 2.0 ** rng.integers(-3, 4), rng.integers(-5, 6, size=2).astype(float)
    with np.errstate(divide="ignore"):
        one, other = cls().fit(X).score_samples(X), cls().fit(X * stretch + shift).score_samples(X * stretch + shift)
    # A row on the edge of a cell or box may fall to the other side by rounding.
    moved = np.abs(other - (one - 2 * np.log(stretch))) > 1e-7
    assert moved.mean() <= (0.0 if cls is ParzenDensity else 0.1)
