"""The model tree: linear models in the leaves, dropping, pruning, smoothing, and the same tree in other forms."""

from __future__ import annotations

import json
import math
import sqlite3
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from assay import _kernels
from assay.models.rules import LinearSum, RuleSet
from assay.models.trees import CartRegressor, ModelTreeRegressor
from assay.models.trees._engine import Tree


def pieces(n: int, seed: int = 0, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Two planes with a jump between them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    y = np.where(X[:, 0] > 0, 20 + 3 * X[:, 1] - X[:, 2], -2 * X[:, 1] + 4 * X[:, 2])
    return X, y + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(4)
    n = 400
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            'col"our': rng.choice(["r'ed", "green", "blue"], n).astype(object),
            "whole": rng.integers(0, 6, n),
        }
    )
    y = np.where(X['col"our'] == "blue", 5 + 2 * X["size"], 1 - X["size"] + 0.5 * X["whole"]) + 0.1 * rng.normal(size=n)
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    X.loc[rng.random(n) < 0.1, 'col"our'] = None
    return X, np.asarray(y)


# -- what it recovers -----------------------------------------------------------------------------------
def test_a_piecewise_linear_function_comes_back_as_its_pieces():
    X, y = pieces(600)
    model = ModelTreeRegressor(smoothing=False).fit(X, y)
    assert model.get_n_leaves() == 2
    leaves = np.flatnonzero(model.tree_.feature < 0)
    np.testing.assert_allclose(model.coefficients_[leaves], [[0, -2, 4], [0, 3, -1]], atol=1e-8)
    np.testing.assert_allclose(model.intercepts_[leaves], [0, 20], atol=1e-8)
    new, truth = pieces(2000, 1)
    new_rows = np.abs(new[:, 0]) > 0.01
    np.testing.assert_allclose(model.predict(new)[new_rows], truth[new_rows], atol=1e-8)


@pytest.mark.parametrize(
    "make", [lambda s: pieces(1500, s, 0.2), lambda s: make_friedman1(1500, noise=1.0, random_state=s)]
)
def test_it_beats_constant_leaves_and_one_linear_model_with_fewer_leaves(make):
    (X, y), (X_test, y_test) = make(0), make(1)
    model = ModelTreeRegressor().fit(X, y)
    tree = DecisionTreeRegressor(min_samples_leaf=4, random_state=0).fit(X, y)
    line = LinearRegression().fit(X, y)
    assert model.score(X_test, y_test) > max(tree.score(X_test, y_test), line.score(X_test, y_test))
    assert model.get_n_leaves() < tree.get_n_leaves() / 2


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_least_squares_on_the_rows_of_the_leaf(weighted):
    """Reference: scikit-learn's LinearRegression on the rows of each leaf."""
    X, y = make_friedman1(500, 6, noise=1.0, random_state=0)
    weights = np.random.default_rng(1).uniform(0.2, 3, 500) if weighted else None
    options = {"columns": "all", "drop": False, "smoothing": False, "prune": False, "min_samples_leaf": 40}
    model = ModelTreeRegressor(**options).fit(X, y, sample_weight=weights)
    reached = model.apply(X)
    assert model.get_n_leaves() > 4
    for leaf in np.unique(reached):
        rows = reached == leaf
        line = LinearRegression().fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows])
        np.testing.assert_allclose(model.coefficients_[leaf], line.coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.intercepts_[leaf], line.intercept_, rtol=1e-8, atol=1e-8)


# -- the whole method, written plainly ------------------------------------------------------------------
def expected(residual: float, n: float, v: float) -> float:
    return math.inf if n <= v else math.sqrt(residual / n) * (n + v) / (n - v)


def least_squares(X: np.ndarray, y: np.ndarray, columns: list[int]) -> tuple[np.ndarray, float, float]:
    """Intercept and one coefficient per column of X (0 if not used), residual sum of squares, parameters."""
    design = np.column_stack([np.ones(len(y)), X[:, columns]])
    b, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    assert rank == design.shape[1]
    full = np.zeros(X.shape[1] + 1)
    full[0], full[[c + 1 for c in columns]] = b[0], b[1:]
    return full, float(((y - design @ b) ** 2).sum()), len(columns) + 1.0


def plain_m5(tree: Tree, X: np.ndarray, y: np.ndarray, k: float) -> dict[int, np.ndarray]:
    """M5 on the nodes of a grown tree, by definition: the smoothed model of each leaf that pruning leaves.

    Reference: Quinlan 1992, sections 3.2 to 3.5, with the errors of Wang & Witten 1997.
    """
    leaf_of = tree.apply(X, 1)
    models, tested, held = {}, {}, {}
    leaves: dict[int, list[int]] = {}
    cost: dict[int, tuple[float, float]] = {}
    for node in range(tree.node_count - 1, -1, -1):
        below = tree.children(node)
        held[node] = np.concatenate([held[c] for c in below]) if below else np.flatnonzero(leaf_of == node)
        tested[node] = set().union(*(tested[c] for c in below)) | ({int(tree.feature[node])} if below else set())
        rows = held[node]
        columns = sorted(tested[node])
        best = least_squares(X[rows], y[rows], columns)
        while columns:
            tries = [least_squares(X[rows], y[rows], [c for c in columns if c != out]) for out in columns]
            at = int(np.argmin([one[1] for one in tries]))
            if expected(tries[at][1], len(rows), tries[at][2]) > expected(best[1], len(rows), best[2]):
                break
            best, columns = tries[at], [c for c in columns if c != columns[at]]
        models[node] = best[0]
        cost[node], leaves[node] = best[1:], [node]
        if below:
            joint = sum(cost[c][0] for c in below), sum(cost[c][1] for c in below) + 1
            if expected(*(joint[0], len(rows), joint[1])) < expected(best[1], len(rows), best[2]):
                cost[node], leaves[node] = joint, [leaf for c in below for leaf in leaves[c]]
    parents = tree.parents()
    smoothed = {}
    for leaf in leaves[0]:
        model, node = models[leaf], leaf
        while parents[node] >= 0:
            n = len(held[node])
            node = int(parents[node])
            model = (n * model + k * models[node]) / (n + k)
        smoothed[leaf] = model
    return smoothed


@pytest.mark.parametrize("seed", range(4))
def test_dropping_pruning_and_smoothing_are_those_of_a_plain_implementation(seed):
    X, y = make_friedman1(320, 5, noise=0.5, random_state=seed)
    grown = ModelTreeRegressor(split="constant", prune=False, smoothing=False, min_deviation=0.1).fit(X, y).tree_
    reference = plain_m5(grown, X, y, k=15)
    model = ModelTreeRegressor(split="constant", min_deviation=0.1).fit(X, y)
    leaves = np.flatnonzero(model.tree_.feature < 0)
    assert 1 < len(reference) < grown.n_leaves and len(leaves) == len(reference)
    for leaf, number in zip(leaves, sorted(reference), strict=True):
        np.testing.assert_allclose(model.intercepts_[leaf], reference[number][0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.coefficients_[leaf], reference[number][1:], rtol=1e-8, atol=1e-8)


# -- splits judged by linear models -----------------------------------------------------------------------
def plane_cost(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """R ((n + v) / (n - v))^2 of the plane with a ridge of a tenth of each column's mean square."""
    n, v = w.sum(), Z.shape[1] + 1
    if n <= v:
        return math.inf
    Z, y = Z - np.average(Z, axis=0, weights=w), y - np.average(y, weights=w)
    gram = (Z * w[:, None]).T @ Z
    gram += np.diag(0.1 / n * np.diag(gram))
    rest = (w * y * y).sum() - (Z.T @ (w * y)) @ np.linalg.pinv(gram, hermitian=True) @ (Z.T @ (w * y))
    return float(rest * ((n + v) / (n - v)) ** 2)


def best_test(X: np.ndarray, y: np.ndarray, w: np.ndarray, labels: int | None) -> tuple[float, int, frozenset[int]]:
    """Cost, column and rows on the left of the best of all splits; `labels` is a nominal column."""
    numbers = [j for j in range(X.shape[1]) if j != labels]
    Z = X[:, numbers]
    filled = np.where(np.isnan(Z), np.array([np.average(c[~np.isnan(c)], weights=w[~np.isnan(c)]) for c in Z.T]), Z)
    centred = filled - np.average(filled, axis=0, weights=w)
    level = np.average(y, weights=w)
    gram = (centred * w[:, None]).T @ centred
    gram += np.diag(0.1 / w.sum() * np.diag(gram))
    rest = y - level - centred @ np.linalg.solve(gram, centred.T @ (w * (y - level)))
    least, found = 1.2 * (len(numbers) + 1), []
    for j in range(X.shape[1]):
        present = ~np.isnan(X[:, j])
        order = X[:, j].copy()
        if j == labels:
            for code in np.unique(X[present, j]):
                rows = X[:, j] == code
                order[rows] = np.average(rest[rows], weights=w[rows])
        for cut in np.unique(order[present])[:-1]:
            for missing_left in (False, True):
                left = np.where(present, order <= cut, missing_left)
                if min(w[left].sum(), w[~left].sum()) < least or min(left.sum(), (~left).sum()) < 4:
                    continue
                cost = plane_cost(filled[left], y[left], w[left]) + plane_cost(filled[~left], y[~left], w[~left])
                found.append((cost, j, frozenset(np.flatnonzero(left).tolist())))
    return min(found, key=lambda one: one[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["plain", "weights", "missing", "labels"])
def test_the_first_split_leaves_the_least_expected_error_of_all(kind, seed):
    """By definition, over every cut of every column; numbers of few values, so that every place is tried."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (150, 3)).astype(float)
    y = np.where(X[:, 1] > 5, X[:, 0], -X[:, 0]) + 0.5 * X[:, 2] + rng.normal(size=150)
    weights = rng.uniform(0.3, 2, 150) if kind == "weights" else np.ones(150)
    weights *= 150 / weights.sum()
    if kind == "missing":
        X[rng.random((150, 3)) < 0.1] = np.nan
    if kind == "labels":
        X[:, 1] = rng.permutation(12)[X[:, 1].astype(int)]
        X[:, 0] += 3 * np.isin(X[:, 1], [0, 3, 5])
    options = {"max_depth": 1, "prune": False, "categorical_features": [1] if kind == "labels" else []}
    model = ModelTreeRegressor(**options).fit(X, y, sample_weight=weights if kind == "weights" else None)
    _, column, left = best_test(X, y, weights, 1 if kind == "labels" else None)
    assert model.tree_.feature[0] == column
    assert set(np.flatnonzero(model.apply(X) == 1).tolist()) == left


def kink(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A slope that turns: halves with the same mean, which a split by variance does not see."""
    X = rng.uniform(-1, 1, (n, 6))
    return X, 5 * np.abs(X[:, 0]) + X[:, 1] * np.where(X[:, 2] > 0, 4, -4) + 0.3 * rng.normal(size=n)


def jumps(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two planes with a jump between them, among columns that say nothing."""
    X = rng.uniform(-1, 1, (n, 15))
    return X, np.where(X[:, 0] > 0.2, 3 + 4 * X[:, 1], -4 * X[:, 1] + 2 * X[:, 2]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("make", [kink, jumps])
def test_on_few_rows_splits_by_linear_models_err_less_than_splits_by_constants(make):
    ratios = []
    for seed in range(6):
        X, y = make(2400, np.random.default_rng(seed))
        errors = []
        for split in ("linear", "constant"):
            model = ModelTreeRegressor(split=split).fit(X[:400], y[:400])
            errors.append(np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2)))
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < 0.85 and max(ratios) < 1


def test_a_plane_needs_no_split():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X @ np.arange(8.0) + rng.normal(size=300)
    assert ModelTreeRegressor(prune=False).fit(X, y).get_n_leaves() == 1


def test_fewer_rows_than_planes_need_are_split_by_constants():
    X, y = make_friedman1(60, 30, noise=0.1, random_state=0)
    np.testing.assert_array_equal(
        ModelTreeRegressor().fit(X, y).predict(X), ModelTreeRegressor(split="constant").fit(X, y).predict(X)
    )


def test_many_columns_are_searched_on_those_that_say_most():
    """Of 40 columns a node's planes take 24; the turn is found all the same."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (1200, 40))
    y = np.where(X[:, 33] > 0.1, 3 * X[:, 37], -3 * X[:, 37] + 1) + 0.2 * rng.normal(size=1200)
    model = ModelTreeRegressor().fit(X, y)
    assert model.tree_.feature[0] == 33 and abs(model.tree_.threshold[0] - 0.1) < 0.02


def test_threads_do_not_change_a_tree_whose_rows_are_sampled_first():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(-1, 1, (20_000, 4)), rng.integers(0, 5, 20_000)])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(np.where(X[:, 0] > 0.3, X[:, 1], -X[:, 1]) + (X[:, 4] == 2)) + 0.1 * rng.normal(size=20_000)
    one, two = (ModelTreeRegressor(n_jobs=n, categorical_features=[4]).fit(X, y) for n in (1, 2))
    assert one.get_n_leaves() > 3
    np.testing.assert_array_equal(one.tree_.threshold, two.tree_.threshold)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


# -- parameters -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("split", ["linear", "constant"])
def test_every_parameter_matters(split):
    X, y = make_friedman1(400, 6, noise=1.0, random_state=0)
    default = ModelTreeRegressor(split=split).fit(X, y)
    changed = {
        "split": "constant" if split == "linear" else "linear",
        "columns": "tested" if split == "linear" else "all",
        "max_depth": 2,
        "min_samples_split": 150,
        "min_samples_leaf": 30,
        "min_deviation": 0.9 if split == "linear" else 0.6,
        "drop": False,
        "prune": False,
        "smoothing": False,
        "smoothing_rows": 100.0,
        "categorical_features": [0],
    }
    if default.get_n_leaves() < 3:
        pytest.fail("the default tree is too small to tell")
    X = X.round(1)
    if split == "linear":
        del changed["prune"]  # it grows where the error is expected to fall, so that little is left to prune
    said = ModelTreeRegressor(split=split).fit(X, y).predict(X)
    for name, value in changed.items():
        assert not np.allclose(ModelTreeRegressor(**{"split": split, name: value}).fit(X, y).predict(X), said), name
    np.testing.assert_array_equal(ModelTreeRegressor(split=split, n_jobs=2).fit(X, y).predict(X), said)


def test_depth_limits_the_tree_and_leaves_above_the_limit_keep_their_models():
    X, y = pieces(600)
    model = ModelTreeRegressor(max_depth=1, smoothing=False, prune=False, drop=False).fit(X, y)
    assert model.get_depth() == 1
    assert (model.coefficients_[1:, 1:] != 0).all()
    assert ModelTreeRegressor(max_depth=1, columns="all").fit(X, y).get_depth() == 1


def test_clipping_keeps_predictions_inside_the_training_targets():
    X, y = pieces(300)
    far = 100 * X
    free, kept = ModelTreeRegressor().fit(X, y), ModelTreeRegressor(clip=True).fit(X, y)
    assert free.predict(far).max() > y.max() and free.predict(far).min() < y.min()
    said = kept.predict(far)
    assert said.max() == y.max() and said.min() == y.min()
    np.testing.assert_array_equal(kept.to_rules().predict(far), said)


def test_trace_tells_the_models_and_what_was_pruned():
    X, y = pieces(200, noise=0.2)
    model = ModelTreeRegressor(trace=True).fit(X, y)
    assert model.trace_[-1]["what"] == "pruning"
    assert model.trace_[-1]["values"]["leaves"] == model.get_n_leaves()
    root = model.trace_[0]["values"]
    assert root["rows"] == 200 and root["parameters"] == 1 + len(root["weights"])


def test_importances_count_tests_and_terms():
    X, y = pieces(500)
    found = ModelTreeRegressor().fit(X, y).feature_importances_
    np.testing.assert_allclose(found.sum(), 1)
    assert (found > 0).all() and found.argmax() == 0
    line = ModelTreeRegressor().fit(X, X[:, 2] * 3.0)
    assert line.get_n_leaves() == 1
    np.testing.assert_allclose(line.feature_importances_, [0, 0, 1], atol=1e-12)


# -- weights, order, folds ------------------------------------------------------------------------------
def test_weights_equal_repetition():
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 300)
    weighted = ModelTreeRegressor().fit(X, y, sample_weight=weights)
    repeated = ModelTreeRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.get_n_leaves() == repeated.get_n_leaves() > 2
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


def test_only_the_ratios_of_fractional_weights_matter():
    X, y = make_friedman1(200, 5, noise=1.0, random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2, 200)
    one = ModelTreeRegressor().fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(ModelTreeRegressor().fit(X, y, sample_weight=8.25 * weights).predict(X), one, rtol=1e-8)


def test_the_order_of_rows_does_not_matter():
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    order = np.random.default_rng(1).permutation(300)
    one, other = ModelTreeRegressor().fit(X, y), ModelTreeRegressor().fit(X[order], y[order])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


# -- odd tables -----------------------------------------------------------------------------------------
def test_collinear_columns_share_one_coefficient():
    X, y = pieces(300)
    double = np.column_stack([X, X[:, 1], 2 * X[:, 1] - X[:, 2], np.ones(300)])
    options = {"columns": "all", "drop": False, "smoothing": False}
    plain, wide = ModelTreeRegressor(**options).fit(X, y), ModelTreeRegressor(**options).fit(double, y)
    np.testing.assert_allclose(wide.predict(double), plain.predict(X), atol=1e-8)
    assert np.abs(wide.coefficients_).max() < 100


def test_constant_target_is_predicted_as_it_is():
    X, _ = pieces(50)
    model = ModelTreeRegressor(columns="all").fit(X, np.full(50, 0.1))
    assert model.get_n_leaves() == 1
    np.testing.assert_array_equal(model.predict(100 * X), np.full(50, 0.1))


def test_one_row_predicts_its_target():
    assert ModelTreeRegressor().fit([[1.0, 2.0]], [3.5]).predict([[9.0, np.nan]]) == 3.5


def test_fewer_rows_than_columns_in_a_leaf():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 20))
    y = rng.normal(size=6)
    model = ModelTreeRegressor(columns="all", drop=False, smoothing=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)
    dropped = ModelTreeRegressor(columns="all").fit(X, y)
    assert (dropped.coefficients_ != 0).sum(axis=1).max() < 5 and np.isfinite(dropped.predict(X)).all()


def test_a_column_without_cells_is_left_out():
    X, y = pieces(100)
    empty = np.column_stack([X, np.full(100, np.nan)])
    model = ModelTreeRegressor(columns="all").fit(empty, y)
    np.testing.assert_allclose(model.predict(empty), ModelTreeRegressor(columns="all").fit(X, y).predict(X), rtol=1e-9)
    assert (model.coefficients_[:, 3] == 0).all() and (model.fills_[:, 3] == 0).all()


def test_missing_cells_count_as_the_mean_of_the_leaf():
    """Reference: least squares on the rows of the leaf after filling its own means in."""
    X, y = make_friedman1(400, 5, noise=1.0, random_state=0)
    X[np.random.default_rng(1).random(X.shape) < 0.15] = np.nan
    options = {"columns": "all", "drop": False, "smoothing": False, "prune": False, "min_samples_leaf": 60}
    model = ModelTreeRegressor(**options).fit(X, y)
    reached = model.apply(X)
    for leaf in np.unique(reached):
        rows = X[reached == leaf]
        means = np.nanmean(rows, axis=0)
        np.testing.assert_allclose(model.fills_[leaf], means)
        filled = np.where(np.isnan(rows), means, rows)
        line = LinearRegression().fit(filled, y[reached == leaf])
        np.testing.assert_allclose(model.coefficients_[leaf], line.coef_, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(model.predict(rows), line.predict(filled), rtol=1e-7)


def test_a_table_of_nominal_columns_has_constant_leaves():
    X = pd.DataFrame({"a": ["x", "y", "z", "x"] * 10})
    y = np.array([1.0, 2.0, 3.0, 1.0] * 10)
    model = ModelTreeRegressor(smoothing=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    assert np.isfinite(model.predict(pd.DataFrame({"a": ["never seen", None]}))).all()


# -- the same tree in other forms -----------------------------------------------------------------------
def rows_of(frame: pd.DataFrame) -> list[dict]:
    return [
        {k: None if v is None or (isinstance(v, float) and math.isnan(v)) else v for k, v in row.items()}
        for row in frame.to_dict("records")
    ]


def in_sqlite(frame: pd.DataFrame, text: str) -> list:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t ("size" REAL, "col""our" TEXT, "whole" INTEGER)')
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [tuple(r.values()) for r in rows_of(frame)])
    return [row[-1] for row in connection.execute(text).fetchall()]


def in_duckdb(frame: pd.DataFrame, text: str) -> list:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(config={"threads": 1})
    connection.execute('CREATE TABLE t ("size" DOUBLE, "col""our" VARCHAR, "whole" BIGINT)')
    cells = [tuple(row.values()) for row in rows_of(frame)]
    connection.execute(f"INSERT INTO t VALUES {', '.join(['(?, ?, ?)'] * len(cells))}", [c for r in cells for c in r])
    return [row[-1] for row in connection.execute(text).fetchall()]


@pytest.mark.parametrize("options", [{}, {"smoothing": False}, {"columns": "all", "clip": True}])
def test_every_form_predicts_the_same(mixed, options):
    X, y = mixed
    model = ModelTreeRegressor(**options).fit(X, y)
    grid = [(s, c, w) for s in (-9.0, 0.1, 9.0, None) for c in ("r'ed", "never seen", None) for w in (0, 5)]
    other = pd.DataFrame(grid, columns=list(X.columns)).astype({"size": float, "whole": int})
    assert model.get_n_leaves() > 1 and model.coefficients_.any()
    rules, space = model.to_rules(), {}
    exec(model.to_python(), space)
    for frame in (X, other):
        said = model.predict(frame)
        np.testing.assert_array_equal(rules.predict(frame), said)
        np.testing.assert_array_equal(RuleSet.from_json(rules.to_json()).predict(frame), said)
        np.testing.assert_array_equal([space["predict"](row) for row in rows_of(frame)], said)
        np.testing.assert_allclose(in_sqlite(frame, model.to_sql("t")), said, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(in_duckdb(frame, model.to_sql("t")), said, rtol=1e-12, atol=1e-12)


def test_json_holds_the_models(mixed):
    X, y = mixed
    model = ModelTreeRegressor().fit(X, y)
    nodes = json.loads(model.to_json())["nodes"]
    leaf = next(node for node in nodes if "left" not in node)
    found = leaf["prediction"]
    one = LinearSum(found["intercept"], tuple((t["column"], t["weight"], t["missing"]) for t in found["terms"]))
    assert one == model._conclusion(leaf["id"])


def test_views_show_the_equations(mixed):
    X, y = mixed
    model = ModelTreeRegressor().fit(X, y)
    view = model.view()
    json.dumps(view.to_dict())
    leaves = [node for node in view["nodes"] if not node["children"] and not node.get("cut")]
    assert all(node["equation"] for node in leaves)
    assert not any("equation" in node for node in view["nodes"] if node["children"])
    picture = model.to_svg()
    ElementTree.fromstring(picture)
    assert " size" in picture
    equation = next(node["equation"] for node in leaves if "size" in node["equation"])
    assert equation in model.to_text() and equation in model.to_html() and equation in str(model.to_rules())


def test_growing_is_that_of_the_regression_tree():
    X, y = make_friedman1(300, 5, noise=1.0, random_state=0)
    grown = ModelTreeRegressor(split="constant", prune=False, min_deviation=0.0).fit(X, y).tree_
    tree = CartRegressor(min_samples_leaf=4, min_samples_split=4).fit(X, y).tree_
    np.testing.assert_array_equal(grown.feature, tree.feature)
    np.testing.assert_array_equal(grown.threshold, tree.threshold)


def test_the_kernel_of_leaves_refuses_columns_and_leaves_that_are_not_there():
    """What a changed package may hold is no place in memory."""
    one = np.ones((1, 1))
    for leaf, column in ((0, 7), (0, -1), (3, 0), (-1, 0)):
        numbers = np.array([leaf], dtype=np.int32), np.array([column], dtype=np.int32)
        with pytest.raises(ValueError, match="no such column|no model of this leaf"):
            _kernels.linear_leaf_values(numbers[0], np.ones(1), one, one, numbers[1], one, 1)
