"""KNNClassifier and KNNRegressor: votes, ties, metrics, searches, folds."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from assay import _kernels
from assay.base import DataError, ParameterError
from assay.base.cv import drawn_rows
from assay.base.folds import FoldTransform, FoldTransforms, predict_folds
from assay.base.views import view_of
from assay.models.neighbours import KNNClassifier, KNNRegressor
from assay.models.neighbours.knn import _SharedSearch
from assay.numeric import sparse_neighbours
from assay.numeric.distances import METRICS
from assay.prepare.impute import NumericBlock


@pytest.fixture
def table():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(240, 4))
    return X, (X[:, 0] + 0.5 * rng.normal(size=240) > 0).astype(int)


@pytest.mark.parametrize("k", [1, 7, 240])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_agrees_with_scikit_learn(table, k, weights, algorithm):
    """Reference: scikit-learn's KNeighborsClassifier and KNeighborsRegressor (continuous data, so no ties)."""
    X, y = table
    queries = np.random.default_rng(1).normal(size=(50, 4))
    ours = KNNClassifier(n_neighbors=k, weights=weights, algorithm=algorithm).fit(X, y)
    theirs = KNeighborsClassifier(n_neighbors=k, weights=weights, algorithm="brute").fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(queries)[1], theirs.kneighbors(queries)[1])
    np.testing.assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-8)
    target = np.column_stack([X[:, 0], X[:, 1] ** 2])
    for wanted in (target, target[:, 0]):
        ours = KNNRegressor(n_neighbors=k, weights=weights, algorithm=algorithm).fit(X, wanted)
        theirs = KNeighborsRegressor(n_neighbors=k, weights=weights, algorithm="brute").fit(X, wanted)
        np.testing.assert_allclose(ours.predict(queries), theirs.predict(queries), atol=1e-8)


def test_neighbours_without_x_leave_the_row_itself_out(table):
    X, y = table
    X[5] = X[3]
    model = KNNClassifier(n_neighbors=3).fit(X, y)
    distances, rows = model.kneighbors()
    assert not (rows == np.arange(240)[:, None]).any()
    assert rows[5, 0] == 3 and rows[3, 0] == 5 and distances[5, 0] == 0.0
    full = pairwise_distances(X)
    np.fill_diagonal(full, np.inf)
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :3], atol=1e-7)
    np.testing.assert_array_equal(model.kneighbors(return_distance=False), rows)


def test_many_copies_of_a_row_still_leave_out_the_row_itself():
    model = KNNClassifier(n_neighbors=2).fit(np.zeros((6, 2)), [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(
        model.kneighbors(return_distance=False), [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]]
    )


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_of_equal_distances_the_earlier_row_is_nearer(algorithm, metric):
    X = np.random.default_rng(0).integers(0, 4, size=(400, 3)).astype(float)
    model = KNNClassifier(n_neighbors=9, algorithm=algorithm, metric=metric).fit(X, np.arange(400) % 3)
    queries = X[:60] + 0.5
    full = pairwise_distances(queries, X, metric="sqeuclidean" if metric == "euclidean" else metric)
    expected = np.argsort(full, axis=1, kind="stable")[:, :9]
    np.testing.assert_array_equal(model.kneighbors(queries, return_distance=False), expected)


def test_of_equal_votes_the_first_class_wins():
    model = KNNClassifier(n_neighbors=2).fit([[0.0], [2.0]], ["b", "a"])
    assert model.predict([[0.9]])[0] == "a"


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("uniform", [1 / 3, 2 / 3]),
        ("distance", [0.5, 0.5]),
        ("rank", [2 / 3, 1 / 3]),
        ("gaussian", None),
    ],
)
def test_vote_rules_give_neighbours_their_say(weights, expected):
    """Distances 1, 2, 3 and classes a, b, b... by hand: 1/d gives 1 against 1/2+1/3; rank gives 1, 1/2, 0."""
    distances, classes = np.array([1.0, 2.0, 2.0] if weights == "distance" else [1.0, 2.0, 3.0]), ["a", "b", "b"]
    p = KNNClassifier(n_neighbors=3, weights=weights).fit(distances[:, None], classes).predict_proba([[0.0]])[0]
    if expected is None:
        say = np.exp(-0.5 * (distances / 3.0) ** 2)
        expected = [say[0] / say.sum(), say[1:].sum() / say.sum()]
    np.testing.assert_allclose(p, expected, atol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance", "rank", "gaussian"])
def test_vote_rules_are_equal_say_where_all_distances_are_zero(weights):
    model = KNNClassifier(n_neighbors=4, weights=weights).fit(np.ones((4, 2)), ["a", "b", "b", "b"])
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[0.25, 0.75]])


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_each_metric_has_its_own_distances_and_p_matters(metric):
    X = np.random.default_rng(3).normal(size=(60, 3)) * [1.0, 5.0, 0.1]
    y = np.arange(60) % 2
    reference = KNNClassifier(metric="euclidean").fit(X, y).kneighbors(X[:9] + 0.1)[0]
    found = KNNClassifier(metric=metric, p=3.0).fit(X, y).kneighbors(X[:9] + 0.1)[0]
    assert np.isfinite(found).all() and (np.diff(found, axis=1) >= 0).all()
    assert metric == "euclidean" or not np.allclose(found, reference)


def test_auto_metric_follows_the_columns():
    y = [0, 1, 0, 1, 0, 1]
    numbers = np.arange(12.0).reshape(6, 2)
    assert KNNClassifier().fit(numbers, y).metric_ == "euclidean"
    numbers[2, 1] = np.nan
    assert KNNClassifier().fit(numbers, y).metric_ == "mixed"
    frame = pd.DataFrame({"size": np.arange(6.0), "colour": list("rgbrgb")})
    assert KNNClassifier().fit(frame, y).metric_ == "mixed"
    assert KNNClassifier(categorical_features=[0]).fit(np.arange(12.0).reshape(6, 2), y).metric_ == "mixed"


def test_missing_cells_of_a_query_are_left_out_of_the_distance(table):
    X, y = table
    model = KNNClassifier(n_neighbors=4).fit(X, y)
    queries = X[:8].copy()
    queries[::2, 1] = np.nan
    distances, rows = model.kneighbors(queries)
    known = X[:, [0, 2, 3]]
    expected = np.sqrt(4 / 3) * pairwise_distances(queries[::2][:, [0, 2, 3]], known)
    np.testing.assert_allclose(distances[::2], np.sort(expected, axis=1)[:, :4], atol=1e-7)
    np.testing.assert_array_equal(rows[1::2], model.kneighbors(X[1:8:2], return_distance=False))


def test_mixed_distance_by_hand():
    """The range of size is 4: red 1 against red 3 is (0 + .5)/2, against blue 1 it is (1 + 0)/2."""
    frame = pl.DataFrame({"colour": ["red", "blue", "red", "red"], "size": [3.0, 1.0, None, 5.0]})
    model = KNNClassifier(n_neighbors=4).fit(frame, [0, 1, 0, 1])
    distances, rows = model.kneighbors(pl.DataFrame({"colour": ["red", "green"], "size": [1.0, None]}))
    np.testing.assert_array_equal(rows[0], [2, 0, 1, 3])
    np.testing.assert_allclose(distances[0], [0.0, 0.25, 0.5, 0.5])
    np.testing.assert_allclose(distances[1], 1.0)


def test_flags_count_as_numbers_for_metrics_that_compare_numbers():
    frame = pd.DataFrame({"a": [True, True, False, False], "b": [True, False, True, False]})
    model = KNNClassifier(n_neighbors=2, metric="jaccard").fit(frame, [0, 1, 0, 1])
    distances, rows = model.kneighbors(frame.iloc[:1])
    np.testing.assert_allclose(distances, [[0.0, 0.5]])
    np.testing.assert_array_equal(rows, [[0, 1]])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "cosine", "mixed"])
def test_radius_count_agrees_with_the_distances(table, algorithm, metric):
    X, y = table
    if algorithm == "kd_tree" and metric in ("cosine", "mixed"):
        return
    model = KNNClassifier(n_neighbors=240, metric=metric, p=3.0, algorithm=algorithm).fit(X, y)
    distances, _ = model.kneighbors(X[:20])
    for radius in (0.0, float(distances[3, 11]), float(distances[:, 80].mean()), 1e9):
        np.testing.assert_array_equal(model.radius_count(X[:20], radius), (distances <= radius).sum(axis=1))


def test_radius_count_of_queries_far_away(table):
    X, y = table
    model = KNNClassifier().fit(X, y)
    np.testing.assert_array_equal(model.radius_count(np.full((2, 4), 1e9), 1.0), [0, 0])
    np.testing.assert_array_equal(model.radius_count(np.full((2, 4), 1e9), 1e12), [240, 240])


@pytest.mark.parametrize(
    "kind", ["duplicates", "offset", "grid", "one column", "outlier", "huge", "tiny", "two clusters"]
)
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_neighbours_are_exact_on_nasty_data(kind, algorithm):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(700, 1 if kind == "one column" else 3))
    if kind == "duplicates":
        X = X[rng.integers(0, 12, size=700)]
    elif kind == "offset":
        X = 1e8 + 1e-4 * X
    elif kind == "grid":
        X = np.round(X)
    elif kind == "outlier":
        X[13] *= 1e9
    elif kind == "huge":
        X *= 1e150
    elif kind == "tiny":
        X *= 1e-150
    elif kind == "two clusters":
        X = 1e-3 * X + 1e8 * rng.integers(0, 2, size=(700, 1))
    model = KNNClassifier(n_neighbors=15, algorithm=algorithm).fit(X, np.arange(700) % 2)
    queries = np.vstack([X[:40], X[40:80] + X[80:120] * 1e-3])
    distances, rows = model.kneighbors(queries)
    full = ((queries[:, None, :] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, np.sqrt(np.sort(full, axis=1)[:, :15]), rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.take_along_axis(full, rows, axis=1)), distances, rtol=1e-12)
    if kind in ("duplicates", "grid"):  # squared distances of these queries have no rounding error, so ties are exact
        equal = np.diff(distances[:40], axis=1) == 0
        assert equal.any() and (np.diff(rows[:40], axis=1)[equal] > 0).all()


@pytest.mark.parametrize("k", [1, 2, 15, 16, 17, 48, 63, 64, 65, 200])
@pytest.mark.parametrize("ties", [True, False])
def test_the_number_of_neighbours_changes_how_they_are_kept_and_not_which_they_are(k, ties):
    """Against a stable sort of all squared distances; the coordinates are whole, so that these have no rounding."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3 if ties else 4000, size=(1500, 5)).astype(float)
    queries = rng.integers(0, 3 if ties else 4000, size=(37, 5)).astype(float)
    model = KNNClassifier(n_neighbors=k, algorithm="brute").fit(X, np.arange(1500) % 2)
    squared = ((queries[:, None, :] - X[None]) ** 2).sum(axis=2)
    rows = np.argsort(squared, axis=1, kind="stable")[:, :k]
    distances, found = model.kneighbors(queries)
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(distances, np.sqrt(np.take_along_axis(squared, rows, axis=1)))


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
@pytest.mark.parametrize("n_rows", [9, 47, 130])
def test_the_mixed_distance_is_the_mean_over_the_columns_known_in_both_rows(level, n_rows):
    """Complete and incomplete columns, numbers and labels, and rows with nothing in common, against plain NumPy."""
    rng = np.random.default_rng(n_rows)
    X = rng.random((n_rows + 9, 5))
    X[:, 3:] = rng.integers(0, 3, size=(n_rows + 9, 2))
    X[:, [1, 4]] = np.where(rng.random((n_rows + 9, 2)) < 0.4, np.nan, X[:, [1, 4]])
    X[n_rows] = [np.nan, np.nan, np.nan, np.nan, np.nan]
    model = KNNClassifier(n_neighbors=n_rows, metric="mixed", categorical_features=[3, 4])
    best = _kernels.simd_level()
    try:
        _kernels.set_simd_level(level)
        distances, rows = model.fit(X[:n_rows], np.arange(n_rows) % 2).kneighbors(X[n_rows:])
    finally:
        _kernels.set_simd_level(best)
    low, high = np.nanmin(X[:n_rows, :3], axis=0), np.nanmax(X[:n_rows, :3], axis=0)
    span = np.where(high > low, high - low, np.inf)
    placed = X.copy()
    placed[:, :3] = np.clip((X[:, :3] - low) / span, 0.0, 1.0)
    gaps = np.abs(placed[n_rows:, None, :] - placed[None, :n_rows])
    gaps[:, :, 3:] = np.where(np.isnan(gaps[:, :, 3:]), np.nan, gaps[:, :, 3:] > 0)
    known = (~np.isnan(gaps)).sum(axis=2)
    expected = np.where(known > 0, np.nansum(gaps, axis=2) / np.maximum(known, 1), 1.0)
    np.testing.assert_allclose(distances, np.take_along_axis(expected, rows, axis=1), rtol=1e-13)
    np.testing.assert_allclose(distances, np.sort(expected, axis=1), rtol=1e-13)


def test_threads_and_instruction_sets_change_nothing():
    rng = np.random.default_rng(5)
    X, queries = rng.integers(0, 9, size=(900, 6)).astype(float), rng.integers(0, 9, size=(130, 6)).astype(float)
    best, answers = _kernels.simd_level(), []
    for metric in ("euclidean", "manhattan", "mixed"):
        model = KNNClassifier(metric=metric).fit(X, np.arange(900) % 2)
        try:
            for level in ("baseline", "avx2", "avx512"):
                _kernels.set_simd_level(level)
                for n_jobs in (1, 2, 3):
                    answers.append(model.set_params(n_jobs=n_jobs).kneighbors(queries))
        finally:
            _kernels.set_simd_level(best)
        for distances, rows in answers[1:]:
            np.testing.assert_array_equal(rows, answers[0][1])
            np.testing.assert_allclose(distances, answers[0][0], rtol=1e-14)
        answers.clear()


def test_float32_input_gives_the_neighbours_of_its_values(table):
    X, y = table
    single = X.astype(np.float32)
    double = single.astype(np.float64)
    from_single = KNNClassifier().fit(single, y).kneighbors(single)
    from_double = KNNClassifier().fit(double, y).kneighbors(double)
    np.testing.assert_array_equal(from_single[0], from_double[0])
    np.testing.assert_array_equal(from_single[1], from_double[1])


def test_the_model_keeps_its_own_rows(table):
    X, y = table
    model = KNNClassifier().fit(X, y)
    before = model.kneighbors(X[:5])
    queries = X[:5].copy()
    X[:] = 0.0
    np.testing.assert_array_equal(model.kneighbors(queries)[1], before[1])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_a_pickled_model_finds_the_same(table, algorithm):
    X, y = table
    model = KNNRegressor(algorithm=algorithm).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


# -- folds ----------------------------------------------------------------------------------------------------
DESIGNS = {
    "5x2": RepeatedKFold(n_splits=2, n_repeats=5, random_state=1),
    "10-fold": KFold(10),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("metric", ["auto", "manhattan", "hamming", "cosine", "mahalanobis", "mixed"])
def test_folds_give_exactly_the_separate_fits(design, metric):
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(150, 3)), 1)
    y = rng.integers(0, 3, size=150)
    folds = list(DESIGNS[design].split(X))
    model = KNNClassifier(n_neighbors=4, weights="distance", metric=metric)
    for (train, test), shared in zip(folds, model.fit_folds(X, y, iter(folds)), strict=True):
        alone = KNNClassifier(n_neighbors=4, weights="distance", metric=metric).fit(X[train], y[train])
        sharing = design == "5x2" and metric != "mahalanobis"
        assert (shared._held_out is not None) == sharing
        np.testing.assert_array_equal(shared.predict_proba(X[test]), alone.predict_proba(X[test]))
        np.testing.assert_array_equal(shared.predict_proba(X[train]), alone.predict_proba(X[train]))
        np.testing.assert_array_equal(shared.kneighbors(X[test], 7)[1], alone.kneighbors(X[test], 7)[1])


def shared_matrix(X: np.ndarray) -> np.ndarray:
    """Numbers with a stand-in for missing cells, and behind them the marks of the missing cells of every column."""
    return np.hstack([np.nan_to_num(X), np.isnan(X)])


def fold_transform(rows: np.ndarray, holed: np.ndarray) -> FoldTransform:
    """What standardising and filling by medians learn from training rows, for the shared matrix."""
    block, _ = NumericBlock.fit(rows.T.copy(), True, impute=True, standardise=True)
    d = rows.shape[1]
    return FoldTransform(
        source=np.arange(d),
        picked=block.indicated + d,
        mean=block.mean,
        inverse=block.inverse_deviation,
        mask=np.where(holed, np.arange(d) + d, -1),
        held=np.zeros(d),
        fill=block.fillings,
    )


def transforms_of(X: np.ndarray, folds) -> FoldTransforms:
    holed = np.isnan(X).any(axis=0)
    return FoldTransforms(tuple(fold_transform(X[train], holed) for train, _ in folds), fold_transform(X, holed))


def adversarial(kind: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(160, 4)) * [1.0, 50.0, 1e-3, 1.0]
    if kind == "ties":
        X = rng.integers(0, 2, size=(160, 4)).astype(float)
    elif kind == "duplicates":
        X = X[rng.integers(0, 7, size=160)]
    elif kind == "offset":
        X = 1e8 + 1e-3 * X
    elif kind == "outlier":  # the folds with the outlier in training have a scale a thousand times another's
        X[3, 0] = 1e4
    elif kind == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
        X[:, 3] = np.where(np.arange(160) == 80, np.nan, X[:, 2])  # missing in the training rows of some folds only
        X[np.isnan(X[:, 3]) & (np.arange(160) != 80), 3] = 0.0
    elif kind == "constant in a fold":
        X[:, 2] = np.where(np.arange(160) == 17, 1.0, 0.0)
    elif kind == "heavy tails":
        X = np.exp(4 * X / X.std(axis=0))
    return X


KINDS = ["normal", "ties", "duplicates", "offset", "outlier", "missing", "constant in a fold", "heavy tails"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["auto", "manhattan", "chebyshev", "minkowski", "cosine"])
def test_folds_prepared_on_their_own_scale_give_exactly_the_separate_fits(kind, metric):
    X = adversarial(kind)
    y = np.random.default_rng(1).integers(0, 3, size=160)
    folds = list(RepeatedKFold(n_splits=3, n_repeats=4, random_state=2).split(X))
    model = KNNClassifier(n_neighbors=3, weights="distance", metric=metric, p=3.0)
    matrix, transforms = shared_matrix(X), transforms_of(X, folds)
    shared_models = model.fit_folds(matrix, y, folds, transforms=transforms)
    said = predict_folds(model, matrix if kind == "missing" else X, y, folds, transforms)
    assert (said is None) == (metric == "cosine")
    for (train, test), shared in zip(folds, shared_models, strict=True):
        block, seen = NumericBlock.fit(X[train].T.copy(), True, impute=True, standardise=True)
        queries = block.apply(X[test].T.copy(), True)
        assert (shared._held_out is not None) == (metric != "cosine")
        alone = clone(model).fit(seen, y[train])
        np.testing.assert_array_equal(shared.predict_proba(queries), alone.predict_proba(queries))
        for ours, theirs in zip(shared.kneighbors(queries), alone.kneighbors(queries), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        without_model = None if said is None else next(said)
        assert (without_model is None) == (metric == "cosine" or kind == "missing")
        if without_model is not None:
            np.testing.assert_array_equal(without_model, alone.predict_proba(queries))


def test_the_certificate_spares_almost_every_full_search_of_standardised_folds():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(1500, 5)) * [1.0, 9.0, 0.1, 3.0, 100.0]
    folds = list(RepeatedKFold(n_splits=2, n_repeats=5, random_state=0).split(X))
    transforms, matrix = transforms_of(X, folds), shared_matrix(X)
    shared = _SharedSearch(KNNClassifier(), matrix, folds, transforms)
    for fold, (train, _) in enumerate(folds):
        model = KNNClassifier().fit(transforms.folds[fold].apply(matrix, train), np.arange(750) % 2)
        shared.held_out(model, fold)
    assert shared.lists.searched < 0.02 * 5 * 1500


@pytest.mark.parametrize("kind", ["complete", "missing", "extreme in a fold", "label in a fold"])
def test_folds_of_mixed_columns_give_exactly_the_separate_fits(kind):
    rng = np.random.default_rng(3)
    n = 150
    size, colour = rng.normal(size=n), rng.choice(list("rgb"), size=n).astype(object)
    if kind == "missing":
        size[rng.random(n) < 0.2] = np.nan
        colour[rng.random(n) < 0.2] = None
    elif kind == "extreme in a fold":
        size[7] = 30.0
    elif kind == "label in a fold":
        colour[11] = "w"
    frame = pl.DataFrame({"size": size, "age": rng.integers(20, 60, size=n), "colour": colour}, nan_to_null=True)
    y = rng.normal(size=n)
    folds = list(RepeatedKFold(n_splits=2, n_repeats=4, random_state=5).split(y))
    model = KNNRegressor(n_neighbors=4, weights="distance")
    for (train, test), shared in zip(folds, model.fit_folds(frame, y, folds), strict=True):
        alone = clone(model).fit(frame[train], y[train])
        assert shared._held_out is not None
        np.testing.assert_array_equal(shared.predict(frame[test]), alone.predict(frame[test]))


def test_folds_in_shuffled_order_and_lists_that_run_out():
    """Sorted rows and folds by halves: the neighbours of a held-out row lie in its own half, so its list runs out."""
    X = np.arange(80.0)[:, None]
    y = X[:, 0] ** 2
    halves = [(np.arange(40), np.arange(40, 80)), (np.arange(40, 80), np.arange(40))]
    shuffled = [(train[::-1], test) for train, test in halves]
    model = KNNRegressor(n_neighbors=3)
    for folds in (halves * 3, shuffled * 3):
        said = predict_folds(model, X, y, folds)
        for (train, test), shared in zip(folds, model.fit_folds(X, y, folds), strict=True):
            alone = KNNRegressor(n_neighbors=3).fit(X[train], y[train])
            np.testing.assert_array_equal(shared.predict(X[test]), alone.predict(X[test]))
            without_model = next(said)
            # Of rows in another order ties are decided in another way, which only the model knows.
            assert (without_model is None) == (train[0] > train[-1])
            if without_model is not None:
                np.testing.assert_array_equal(without_model, alone.predict(X[test]))


def test_folds_given_as_masks_are_fitted_separately(table):
    X, y = table
    half = np.arange(240) % 2 == 0
    folds = [(half, ~half), (~half, half)] * 3
    for (train, test), shared in zip(folds, KNNClassifier().fit_folds(X, y, folds), strict=True):
        np.testing.assert_array_equal(shared.predict(X[test]), KNNClassifier().fit(X[train], y[train]).predict(X[test]))


# -- errors ----------------------------------------------------------------------------------------------------
def test_too_few_rows_are_refused_with_a_way_out():
    with pytest.raises(
        DataError, match=r"n_neighbors=5 needs at least that many training rows; got n_samples=3; choose"
    ):
        KNNClassifier().fit(np.eye(3), [0, 1, 0])
    model = KNNClassifier(n_neighbors=2).fit(np.eye(3), [0, 1, 0])
    with pytest.raises(DataError, match="n_samples_fit=2"):
        model.kneighbors(n_neighbors=3)
    with pytest.raises(ParameterError, match="n_neighbors must be an integer >= 1"):
        model.kneighbors(np.eye(3), n_neighbors=0)
    with pytest.raises(ParameterError, match="radius must be a number >= 0"):
        model.radius_count(np.eye(3), -1.0)


def test_cells_that_the_metric_cannot_compare_are_named():
    frame = pd.DataFrame({"size": [1.0, 2.0, np.nan], "colour": ["r", "g", "b"]})
    with pytest.raises(DataError, match="column 'colour' is nominal and metric 'euclidean' compares numbers"):
        KNNClassifier(n_neighbors=1, metric="euclidean").fit(frame, [0, 1, 0])
    with pytest.raises(DataError, match="column 'size' must be complete for metric 'manhattan'"):
        KNNClassifier(n_neighbors=1, metric="manhattan").fit(frame[["size"]], [0, 1, 0])
    with pytest.raises(ParameterError, match="cannot be 'kd_tree' with metric 'cosine'"):
        KNNClassifier(n_neighbors=1, metric="cosine", algorithm="kd_tree").fit(np.eye(3), [0, 1, 0])
    with pytest.raises(DataError, match="is not used by nearest neighbours"):
        next(KNNClassifier().fit_folds(np.eye(3), [0, 1, 0], [], sample_weight=[1, 1, 1]))


def test_kernels_refuse_arrays_that_do_not_fit():
    rows = np.zeros((5, 2))
    screen = _kernels.euclidean_screen(rows, 1)
    with pytest.raises(ValueError, match="queries must have the columns of rows"):
        _kernels.euclidean_nearest(rows, *screen, np.zeros((1, 3)), 1, 1)
    with pytest.raises(ValueError, match="k must be between 1 and the number of rows"):
        _kernels.euclidean_nearest(rows, *screen, rows, 6, 1)
    with pytest.raises(ValueError, match="unknown metric"):
        _kernels.metric_nearest(77, 2.0, np.zeros(0, np.uint8), _kernels.metric_panels(rows, 1), 5, rows, 1, 1)
    many = np.arange(200.0).reshape(100, 2)
    tree = _kernels.kd_tree(many, 1)
    with pytest.raises(ValueError, match="the links of the tree must lead to its nodes"):
        _kernels.kd_tree_nearest(tree[0], tree[1], tree[2] + 500, *tree[3:], many, 0, 2.0, rows, 1, 1)
    with pytest.raises(ValueError, match="the links of the tree must lead to its nodes and rows"):
        _kernels.kd_tree_nearest(tree[0] + 1, *tree[1:], many, 0, 2.0, rows, 1, 1)
    with pytest.raises(ValueError, match="rows must be those of the tree"):
        _kernels.kd_tree_nearest(*tree, many[1:], 0, 2.0, rows, 1, 1)
    with pytest.raises(ValueError, match="half_norms must be infinite after the last row"):
        _kernels.euclidean_nearest(rows, screen[0], np.zeros_like(screen[1]), *screen[2:], rows, 1, 1)
    spoilt = np.full_like(screen[1], np.inf)
    np.testing.assert_array_equal(_kernels.euclidean_nearest(rows, screen[0], spoilt, *screen[2:], rows, 1, 1)[0], 0)
    with pytest.raises(ValueError, match="metric has no tree"):
        _kernels.kd_tree_nearest(*_kernels.kd_tree(rows, 1), rows, 7, 2.0, rows, 1, 1)


# -- the number of neighbours -----------------------------------------------------------------------------------
@pytest.mark.parametrize("weights", ["uniform", "distance", "rank", "gaussian"])
def test_leave_one_out_of_every_k_is_that_of_separate_fits(weights):
    rng = np.random.default_rng(6)
    X = np.round(rng.normal(size=(40, 2)), 1)
    labels, numbers = rng.integers(0, 3, size=40), rng.normal(size=40)
    wrong = KNNClassifier(n_neighbors=1, weights=weights).fit(X, labels).leave_one_out(6)
    squares = KNNRegressor(n_neighbors=1, weights=weights).fit(X, numbers).leave_one_out(6)
    for k in range(1, 7):
        misses, errors = [], []
        for i in range(40):
            others = np.arange(40) != i
            model = KNNClassifier(n_neighbors=k, weights=weights).fit(X[others], labels[others])
            misses.append(model.predict(X[i : i + 1])[0] != labels[i])
            line = KNNRegressor(n_neighbors=k, weights=weights).fit(X[others], numbers[others])
            errors.append((line.predict(X[i : i + 1])[0] - numbers[i]) ** 2)
        assert wrong[k - 1] == np.mean(misses)
        assert squares[k - 1] == pytest.approx(np.mean(errors), rel=1e-12)


def test_leave_one_out_chooses_the_k_of_a_plain_loop():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + 0.8 * rng.normal(size=60) > 0).astype(int)
    model = KNNClassifier("loo").fit(X, y)
    errors = []
    for k in range(1, 51):
        wrong = 0.0
        for i in range(60):
            others = np.delete(np.arange(60), i)
            shares = KNNClassifier(k).fit(X[others], y[others]).predict_proba(X[[i]])[0]
            wrong += ((shares - np.eye(2)[y[i]]) ** 2).sum()
        errors.append(wrong / 60)
    assert model.loo_errors_ == pytest.approx(errors)
    assert model.n_neighbors_ == int(np.argmin(errors)) + 1
    assert (model.predict(X) == KNNClassifier(model.n_neighbors_).fit(X, y).predict(X)).all()
    z = X @ [1.0, 2.0] + 0.1 * rng.normal(size=60)
    assert 1 <= KNNRegressor("loo").fit(X, z).n_neighbors_ <= 10
    folds = [(np.flatnonzero(np.arange(60) % 5 != f), np.flatnonzero(np.arange(60) % 5 == f)) for f in range(5)]
    for (train, test), fitted in zip(folds * 3, KNNClassifier("loo").fit_folds(X, y, folds * 3)):
        alone = KNNClassifier("loo").fit(X[train], y[train])
        assert fitted.n_neighbors_ == alone.n_neighbors_
        assert (fitted.predict_proba(X[test]) == alone.predict_proba(X[test])).all()


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
def test_the_chosen_k_is_the_best_of_the_votes_that_are_taken(weights):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] + rng.normal(size=50) > 0).astype(int)
    model = KNNClassifier("loo", weights=weights).fit(X, y)
    assert (model.loo_errors_ == KNNClassifier(1, weights=weights).fit(X, y).leave_one_out(49, squared=True)).all()
    assert model.n_neighbors_ == model.loo_errors_.argmin() + 1
    distances, rows = model.kneighbors(n_neighbors=7)
    shares = model._decide(rows, distances)
    assert model.loo_errors_[6] == pytest.approx(((shares - np.eye(2)[y]) ** 2).sum() / 50, rel=1e-12)


def test_view_says_who_the_neighbours_are():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(40, 2)) + 20])
    y = np.repeat(["near", "far"], [60, 40])
    view = KNNClassifier(n_neighbors=4).fit(X, y).view()
    assert view.classes == ["far", "near"] and view.shares == [[1.0, 0.0], [0.0, 1.0]] and view.rows == 100
    assert view.radius == sorted(view.radius)
    target = X[:, 0]
    numbers = KNNRegressor(n_neighbors=4).fit(X, target).view()
    pairs = np.abs(target[:, None] - target)[np.triu_indices(100, 1)]
    assert numbers.whole == pytest.approx(pairs.mean()) and numbers.spread < 0.2 * numbers.whole
    assert KNNClassifier(n_neighbors=1).fit(X[:1], y[:1]).view() is None


# -- the curve over k, ordinal columns, and data made to break searches ------------------------------------------------
def test_the_curve_over_k_is_leave_one_out_with_intervals_and_ties():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 3)) + 0.8 * y[:, None]
    model = KNNClassifier(5).fit(X, y)
    curve = model.best_k(40)
    np.testing.assert_allclose(curve.errors, model.leave_one_out(40))
    assert curve.best == 1 + int(np.argmin(curve.errors)) and curve.best in curve.tied and 1 not in curve.tied
    half = 1.959964 * np.sqrt(curve.errors[9] * (1 - curve.errors[9]) / 299)
    assert curve.high[9] - curve.errors[9] == pytest.approx(half, rel=1e-5)
    assert view_of(curve.to_dict()) == curve and "<svg" in curve.to_svg() and "at k =" in curve.how_to_read
    assert len(curve.grid().rows) == 40
    numbers = KNNRegressor(5).fit(X, X[:, 0] + rng.normal(size=300))
    np.testing.assert_allclose(numbers.best_k(20).errors, numbers.leave_one_out(20))
    with pytest.raises(ParameterError, match="level must be a number > 0 and < 1"):
        model.best_k(level=1.0)


DEGREES = ["bachelors", "masters", "PhD"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_ordinal_columns_count_by_their_ranks(frame):
    X = frame({"degree": ["bachelors", "masters", "PhD", "masters"], "age": [20.0, 30.0, 40.0, 20.0]})
    y = [0, 1, 2, 3]
    model = KNNClassifier(1, ordinal_features={"degree": DEGREES}).fit(X, y)
    assert model.metric_ == "mixed"
    distances, rows = model.kneighbors(frame({"degree": ["PhD"], "age": [20.0]}), n_neighbors=4)
    # Half the sum of the difference in rank (of 1) and in age (of the range 20).
    assert dict(zip(rows[0].tolist(), distances[0].tolist())) == {3: 0.25, 0: 0.5, 1: 0.5, 2: 0.5}
    unknown = model.kneighbors(frame({"degree": ["diploma"], "age": [20.0]}), n_neighbors=2)[0]
    np.testing.assert_allclose(unknown, [[0.0, 0.0]])  # a value without rank is missing
    with pytest.raises(DataError, match="column 'degree' holds 'PhD', which is not in its order"):
        KNNClassifier(1, ordinal_features={"degree": DEGREES[:2]}).fit(X, y)
    with pytest.raises(ParameterError, match="must name columns of X"):
        KNNClassifier(1, ordinal_features={"grade": DEGREES}).fit(X, y)
    with pytest.raises(ParameterError, match="must list two or more different values"):
        KNNClassifier(1, ordinal_features={"degree": ["PhD"]}).fit(X, y)


def test_the_range_of_ranks_is_that_of_the_order_and_numbers_can_be_ordinal():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [2.0, 0.0]])
    model = KNNRegressor(1, ordinal_features={0: [1, 2, 5, 9, 50]}).fit(X, [0.0, 1.0, 2.0])
    distances, rows = model.kneighbors([[50.0, 0.0]], n_neighbors=3)
    assert rows[0].tolist() == [2, 0, 1]
    np.testing.assert_allclose(distances[0], [0.375, 0.5, 0.875])
    euclidean = KNNRegressor(1, metric="euclidean", ordinal_features={0: [1, 2, 5, 9, 50]}).fit(X, [0.0, 1.0, 2.0])
    np.testing.assert_allclose(euclidean.kneighbors([[50.0, 0.0]], n_neighbors=1)[0], [[0.75]])


def _hard_tables():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(400, 6))
    grid = rng.integers(0, 3, size=(400, 6)).astype(float)
    return {
        "duplicates": np.repeat(plain[:40], 10, axis=0),
        "ties": grid,
        "huge offset": plain + 1e9,
        "differences of 1e-8": 1.0 + 1e-8 * rng.integers(0, 50, size=(400, 6)),
        "one column of another size": plain * np.array([1e8, 1.0, 1.0, 1.0, 1e-8, 1.0]),
        "few columns": grid[:, :2],
    }


@pytest.mark.parametrize("name", list(_hard_tables()))
@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("k", [1, 7, 80])
def test_neighbours_are_those_of_float64_brute_force_on_data_made_to_break_it(name, algorithm, k):
    X = _hard_tables()[name]
    queries = np.vstack([X[::9], X[::11] + np.spacing(X[::11])])
    model = KNNClassifier(1, algorithm=algorithm).fit(X, np.arange(len(X)) % 3)
    distances, rows = model.kneighbors(queries, n_neighbors=k)
    squared = np.zeros((len(queries), len(X)))
    for j in range(X.shape[1]):  # in the order in which the kernels add
        squared += (queries[:, j : j + 1] - X[:, j]) ** 2
    order = np.lexsort((np.broadcast_to(np.arange(len(X)), squared.shape), squared), axis=1)[:, :k]
    # Fused multiply-add may round the last digit otherwise: distances are equal to that, and rows wherever they differ.
    expected = np.take_along_axis(squared, order, axis=1)
    np.testing.assert_allclose(distances**2, expected, rtol=1e-13, atol=1e-300)
    own = np.take_along_axis(squared, rows, axis=1)
    np.testing.assert_allclose(own, expected, rtol=1e-13, atol=1e-300)
    assert (np.sort(rows, axis=1)[:, 1:] > np.sort(rows, axis=1)[:, :-1]).all()
    if name in ("duplicates", "ties", "few columns"):
        np.testing.assert_array_equal(rows[: len(X[::9])], order[: len(X[::9])])


# -- sparse rows by their angle --------------------------------------------------------------------------------------
def _words(n=120, width=50, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rates = rng.gamma(0.2, size=(3, width))
    return rng.poisson(rates[y]).astype(float), y


@pytest.mark.parametrize("k", [1, 4, 30])
def test_sparse_rows_have_the_neighbours_of_the_dense_ones_by_cosine(k):
    X, y = _words()
    queries = np.vstack([_words(30, seed=1)[0], np.zeros((1, 50))])
    dense = KNNClassifier(k, metric="cosine").fit(X, y)
    sparse = KNNClassifier(k, metric="cosine").fit(csr_matrix(X), y)
    for given in (queries, csr_matrix(queries)):
        distances, rows = sparse.kneighbors(given)
        np.testing.assert_allclose(distances, dense.kneighbors(queries)[0], atol=1e-14)
        own = dense.kneighbors(queries, n_neighbors=len(X))
        by_row = np.empty_like(own[0])
        np.put_along_axis(by_row, own[1], own[0], axis=1)
        np.testing.assert_allclose(np.take_along_axis(by_row, rows, axis=1), distances, atol=1e-14)
    np.testing.assert_array_equal(rows[-1], np.arange(k))  # zeros are at distance 1 from all: the first rows
    np.testing.assert_allclose(dense.kneighbors(csr_matrix(queries))[0], dense.kneighbors(queries)[0])


def test_sparse_rows_take_part_in_leave_one_out_votes_folds_and_views():
    X, y = _words()
    dense, sparse = (KNNClassifier("loo", metric="cosine").fit(rows, y) for rows in (X, csr_matrix(X)))
    np.testing.assert_allclose(sparse.leave_one_out(20), dense.leave_one_out(20), atol=0.03)
    sampled = KNNClassifier("loo", metric="cosine", choose_on=100).fit(csr_matrix(X), y)
    of_asked = sparse._left_out(50, None, True)[:, drawn_rows(120, 100)].mean(axis=1)
    np.testing.assert_allclose(sampled.loo_errors_, of_asked, rtol=1e-13)
    assert sparse.view().classes == [0, 1, 2] and sparse.score(csr_matrix(X), y) > 0.8
    numbers = KNNRegressor(3, metric="cosine").fit(csr_matrix(X), X[:, 0])
    assert numbers.predict(csr_matrix(X[:4])).shape == (4,)
    folds = list(KFold(3).split(X))
    for (train, test), model in zip(folds, KNNClassifier(3, metric="cosine").fit_folds(csr_matrix(X), y, folds)):
        alone = KNNClassifier(3, metric="cosine").fit(csr_matrix(X[train]), y[train])
        np.testing.assert_array_equal(model.predict(csr_matrix(X[test])), alone.predict(csr_matrix(X[test])))
    with pytest.raises(TypeError, match="[Ss]parse"):
        KNNClassifier(3).fit(csr_matrix(X), y)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.9999, 1.0, 1.2, 2.0])
def test_sparse_rows_in_a_radius_are_those_of_the_dense_ones(radius, monkeypatch):
    X, y = _words()
    X[::7] *= np.random.default_rng(2).choice([-1.0, 1.0], size=X[::7].shape)  # angles beyond a right one
    queries = np.vstack([X[:25], np.zeros((1, 50))])
    sparse = KNNClassifier(1, metric="cosine").fit(csr_matrix(X), y)
    dense = KNNClassifier(1, metric="cosine").fit(X, y)
    every = dense.kneighbors(queries, n_neighbors=len(X))
    apart = np.empty_like(every[0])
    np.put_along_axis(apart, every[1], every[0], axis=1)
    monkeypatch.setattr(sparse_neighbours, "_CELLS", 500)  # more than one block of queries
    for given in (queries, csr_matrix(queries)):
        start, rows, distances = sparse.radius_neighbors(given, radius)
        for i in range(len(queries)):
            mine, known = rows[start[i] : start[i + 1]], distances[start[i] : start[i + 1]]
            assert (np.diff(mine) > 0).all() and (known <= radius).all()
            np.testing.assert_allclose(known, apart[i, mine], atol=1e-14)
            missed = np.setdiff1d(np.arange(len(X)), mine)
            assert (apart[i, missed] > radius - 1e-12).all()
        np.testing.assert_array_equal(sparse.radius_count(given, radius), np.diff(start))
    assert abs(int(dense.radius_count(csr_matrix(queries), radius).sum()) - int(start[-1])) <= 60


def test_k_chosen_on_a_sample_of_the_rows_is_that_of_all_rows_on_an_easy_table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 2))
    y = np.sin(2 * X[:, 0]) + rng.normal(scale=0.5, size=1500)
    whole, part = KNNRegressor("loo").fit(X, y), KNNRegressor("loo", choose_on=400).fit(X, y)
    errors = whole.leave_one_out(50)
    np.testing.assert_array_equal(errors, whole.loo_errors_)
    assert errors[part.n_neighbors_ - 1] < 1.02 * errors.min()
    assert part.chosen() == {"k (by 400 drawn rows)": part.n_neighbors_} and list(whole.chosen()) == ["k"]
    again = KNNRegressor("loo", choose_on=400).fit(X, y)
    np.testing.assert_array_equal(again.loo_errors_, part.loo_errors_)
    # The rows asked are predicted by all others: the errors are those rows' part of the whole curve.
    asked = drawn_rows(1500, 400)
    of_asked = whole._left_out(50, None, True)[:, asked].mean(axis=1)
    np.testing.assert_allclose(part.loo_errors_, of_asked, rtol=1e-13)
    np.testing.assert_array_equal(KNNRegressor("loo", choose_on=1500).fit(X, y).loo_errors_, errors)
    folds = [(np.arange(500, 1500), np.arange(500)), (np.arange(1000), np.arange(1000, 1500))]
    for model, (train, _) in zip(part.fit_folds(X, y, folds), folds):
        np.testing.assert_array_equal(model.loo_errors_, clone(part).fit(X[train], y[train]).loo_errors_)


@pytest.mark.parametrize("model", [KNNClassifier(3), KNNClassifier(4, weights="distance"), KNNRegressor(3)])
@pytest.mark.parametrize("far", [False, True])
def test_many_folds_at_once_find_the_neighbours_of_separate_fits_on_any_number_of_threads(model, far):
    """Whole numbers give ties in every list, folds are of unequal size, and a few far rows stretch the scales so that
    lists must grow."""
    rng = np.random.default_rng(11)
    X = rng.integers(0, 6, size=(143, 3)).astype(float)
    if far:
        X[[5, 70]] = [[400.0, -3.0, 2.0], [1.0, 900.0, -70.0]]
    y = rng.integers(0, 3, size=143)
    folds = []
    for _ in range(4):
        numbers = rng.permutation(143) % 5
        folds += [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(5)]

    def scaling(rows):
        return FoldTransform(np.arange(3), np.empty(0, dtype=np.int64), rows.mean(axis=0), 1.0 / rows.std(axis=0))

    transforms = FoldTransforms(tuple(scaling(X[train]) for train, _ in folds), scaling(X))
    for seen in (None, transforms):
        said = [list(predict_folds(clone(model).set_params(n_jobs=n), X, y, folds, seen)) for n in (1, 2, 7)]
        for k, (train, test) in enumerate(folds):
            rows = X if seen is None else seen.folds[k].apply(X)
            fitted = clone(model).fit(rows[train], y[train])
            wanted = (
                fitted.predict_proba(rows[test]) if hasattr(fitted, "predict_proba") else fitted.predict(rows[test])
            )
            for answers in said:
                np.testing.assert_array_equal(answers[k], wanted)
