"""Large margin nearest neighbours: loss and gradient, better neighbours, low rank, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.models.neighbours import LMNN, KNNClassifier

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def noisy_iris():
    X, y = load_iris(return_X_y=True)
    return np.hstack([X, 2.0 * np.random.default_rng(0).normal(size=(len(y), 8))]), y


def by_definition(L, X, targets, impostors, push):
    Z = X @ L.T
    total = 0.0
    for i in range(len(X)):
        near = [((Z[i] - Z[j]) ** 2).sum() for j in targets[i] if j >= 0]
        far = [((Z[i] - Z[j]) ** 2).sum() for j in impostors[i] if j >= 0]
        total += (1 - push) * sum(near) + push * sum(max(0.0, 1 + a - b) for a in near for b in far)
    return total


def test_the_loss_is_the_definition_and_its_gradient_is_the_slope():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    targets, impostors = rng.integers(-1, 12, size=(12, 2)), rng.integers(-1, 12, size=(12, 5))
    L = rng.normal(size=(3, 4))

    def value(flat):
        return _kernels.large_margin_loss(X @ flat.reshape(3, 4).T, targets, impostors, 0.4, 1)[0]

    def slope(flat):
        return (_kernels.large_margin_loss(X @ flat.reshape(3, 4).T, targets, impostors, 0.4, 1)[1].T @ X).ravel()

    assert value(L.ravel()) == pytest.approx(by_definition(L, X, targets, impostors, 0.4), rel=1e-12)
    assert check_grad(value, slope, L.ravel()) < 1e-3


def standardised(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(
    ("table", "lift"),
    [
        (noisy_iris, 0.15),
        (lambda: standardised(load_wine), 0.015),
        (lambda: standardised(load_digits), 0.004),
    ],
    ids=["noisy iris", "wine", "digits"],
)
def test_it_lifts_the_accuracy_of_nearest_neighbours(table, lift):
    X, y = table()
    before = cross_val_score(KNNClassifier(3), X, y, cv=FOLDS).mean()
    after = cross_val_score(make_pipeline(LMNN(), KNNClassifier(3)), X, y, cv=FOLDS).mean()
    assert after >= before + lift


@pytest.mark.slow
def test_it_lifts_the_accuracy_on_raw_pixels_too_where_it_is_nearly_right_already():
    X, y = load_digits(return_X_y=True)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
    before = cross_val_score(KNNClassifier(3), X, y, cv=folds).mean()
    after = cross_val_score(make_pipeline(LMNN(), KNNClassifier(3)), X, y, cv=folds).mean()
    assert 0.986 < before < after


def test_two_columns_of_wine_serve_better_than_two_principal_components():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LMNN(n_components=2).fit(X, y)
    assert model.components_.shape == (2, 13)
    learned = KNNClassifier(3).fit(model.transform(X), y).leave_one_out(3)[2]
    assert learned <= KNNClassifier(3).fit(PCA(2).fit_transform(X), y).leave_one_out(3)[2]


def test_the_penalty_keeps_the_map_near_its_start():
    X, y = noisy_iris()
    gaps = []
    for alpha in (0.0, 0.1, 10.0, 1e6):
        L = LMNN(alpha=alpha).fit(X, y).components_
        unit = np.sqrt((L**2).sum() / 12)
        gaps.append(float(np.abs(L / unit - np.eye(12)).max()))
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3] and gaps[3] < 1e-3
    low = LMNN(alpha=1e6, n_components=3).fit(X, y).components_
    axes = PCA(3).fit(X).components_
    np.testing.assert_allclose(np.abs((low / np.linalg.norm(low, axis=1)[:, None] * axes).sum(axis=1)), 1.0, atol=1e-6)


def test_the_loss_falls_and_rounds_are_traced():
    X, y = noisy_iris()
    model = LMNN(trace=True, max_iter=40).fit(X, y)
    losses = [record["values"]["loss"] for record in model.trace_]
    start = LMNN(max_iter=1).fit(X, y).loss_
    assert losses[-1] < start and model.loss_ == losses[-1] and model.n_iter_ <= 40
    assert model.n_impostors_ >= 0 and "impostors" in model.explain()[0]


def test_moving_and_scaling_all_columns_alike_changes_no_neighbour():
    X, y = noisy_iris()
    X = np.round(X, 3)
    one = LMNN(max_iter=8).fit(X, y)
    other = LMNN(max_iter=8).fit(4.0 * X, y)
    np.testing.assert_allclose(other.transform(4.0 * X), one.transform(X), rtol=1e-9, atol=1e-9)
    moved = LMNN(max_iter=2).fit(X + 8.0, y)
    np.testing.assert_allclose(moved.transform(X + 8.0), LMNN(max_iter=2).fit(X, y).transform(X), atol=1e-6)


def test_small_classes_have_fewer_targets_and_bad_requests_get_a_sentence():
    X, y = noisy_iris()
    kept = np.r_[0:50, 50:52, 100]
    assert np.isfinite(LMNN().fit(X[kept], y[kept]).transform(X)).all()
    with pytest.raises(ParameterError, match="'n_components' must be at most 12, the columns"):
        LMNN(n_components=13).fit(X, y)
    with pytest.raises(DataError, match="must hold at least 2 classes"):
        LMNN().fit(X[:50], y[:50])
