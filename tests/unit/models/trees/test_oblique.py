"""The oblique tree: linear tests, what they find, what they leave alone, and the same tree in other forms."""

from __future__ import annotations

import json
import math
import sqlite3
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from assay.models.rules import RuleSet
from assay.models.trees import CartClassifier, ObliqueTreeClassifier

DIRECTIONS = ["lda", "logistic", "coordinate"]
each_direction = pytest.mark.parametrize("direction", DIRECTIONS)


def oblique(direction: str = "lda", **options) -> ObliqueTreeClassifier:
    return ObliqueTreeClassifier(direction=direction, random_state=0, **options)


# -- what it finds ------------------------------------------------------------------------------------------------
@each_direction
@pytest.mark.parametrize("n", [30, 200, 1500])
@pytest.mark.parametrize("seed", range(3))
def test_a_comparison_of_two_columns_is_one_linear_test(direction, n, seed):
    X = np.random.default_rng(seed).uniform(0, 10, (n, 2))
    y = X[:, 1] - X[:, 0] > 0
    model = oblique(direction).fit(X, y)
    assert (model.get_depth(), model.get_n_leaves(), model.score(X, y)) == (1, 2, 1.0)
    assert model.tree_.is_linear(0)
    weight = model.tree_.linear_weight[0]
    assert weight[0] * weight[1] < 0 and 0.5 < abs(weight[0] / weight[1]) < 2


@each_direction
@pytest.mark.parametrize("copies", [1, 7])
def test_exclusive_or_needs_depth_two(direction, copies):
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], copies, axis=0)
    y = np.repeat([0, 1, 1, 0], copies)
    model = oblique(direction).fit(X, y)
    assert model.get_depth() == 2 and model.score(X, y) == 1.0
    assert oblique(direction, max_depth=1).fit(X, y).score(X, y) < 1.0


@each_direction
@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_it_fits_with_fewer_leaves_than_a_tree_of_single_columns(direction, data):
    X, y = data(return_X_y=True)
    model, tree = oblique(direction).fit(X, y), CartClassifier().fit(X, y)
    assert model.score(X, y) == tree.score(X, y) == 1.0
    assert model.get_n_leaves() < tree.get_n_leaves()


@each_direction
@pytest.mark.parametrize("criterion", ["gini", "entropy", "misclassification"])
def test_the_test_at_the_root_is_never_worse_than_the_best_single_column(direction, criterion):
    for seed in range(6):
        X, y = make_classification(80, 5, n_informative=3, n_classes=3, n_clusters_per_class=1, random_state=seed)
        options = {"criterion": criterion, "max_depth": 1}
        impurity = []
        for model in (oblique(direction, **options), CartClassifier(**options)):
            tree = model.fit(X, y).tree_
            below = tree.children(0)
            impurity.append(tree.risks()[below].sum() if below else tree.impurity[0])
        assert impurity[0] <= impurity[1] + 1e-12


def test_a_single_column_wins_where_it_does_as_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = oblique().fit(X, X[:, 1] > 0.3)
    assert not model.tree_.has_linear and model.get_n_leaves() == 2
    np.testing.assert_array_equal(model.tree_.feature, CartClassifier().fit(X, X[:, 1] > 0.3).tree_.feature)


# -- outside references ---------------------------------------------------------------------------------------------
def fisher_reference(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fisher's direction by its definition: inverse of the pooled covariance times the difference of the means."""
    one, two = X[y == 0], X[y == 1]
    within = (len(one) - 1) * np.cov(one.T) + (len(two) - 1) * np.cov(two.T)
    return np.linalg.solve(within, two.mean(axis=0) - one.mean(axis=0))


def best_gini(values: np.ndarray, y: np.ndarray) -> float:
    """The least weighted Gini impurity over all cuts of the values, one after the other."""
    order = np.argsort(values, kind="stable")
    values, y = values[order], y[order]
    best = math.inf
    for k in range(1, len(y)):
        if values[k - 1] < values[k]:
            parts = [y[:k], y[k:]]
            gini = [1 - ((np.bincount(p, minlength=2) / len(p)) ** 2).sum() for p in parts]
            best = min(best, sum(len(p) / len(y) * g for p, g in zip(parts, gini, strict=True)))
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_lda_node_is_at_least_as_good_as_the_direction_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) * [1.0, 10.0, 0.1]
    y = (X @ [1.0, 0.1, 10.0] + 0.8 * rng.normal(size=150) > 0).astype(int)
    reference = fisher_reference(X, y)
    sklearn = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).coef_[0]
    np.testing.assert_allclose(reference / reference[0], sklearn / sklearn[0], rtol=1e-6)
    tree = oblique(max_depth=1).fit(X, y).tree_
    found = float(tree.risks()[1:].sum())
    assert found <= best_gini(X @ reference, y) + 1e-9
    # One of both candidates is Fisher's own direction; if nothing beat it, the weights are the reference's.
    if abs(found - best_gini(X @ reference, y)) < 1e-12:
        weight = tree.linear_weight[0]
        np.testing.assert_allclose(weight / weight[0], reference / reference[0], rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_logistic_node_is_at_least_as_good_as_scikit_learns_direction(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0).astype(int)
    line = LogisticRegression(C=1e6, max_iter=1000).fit(X, y)
    tree = oblique("logistic", max_depth=1).fit(X, y).tree_
    assert float(tree.risks()[1:].sum()) <= best_gini(X @ line.coef_[0], y) + 1e-3


# -- parameters -----------------------------------------------------------------------------------------------------
def test_every_parameter_of_its_own_matters():
    X, y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)
    said = {d: oblique(d, max_depth=3).fit(X, y).predict_proba(X) for d in DIRECTIONS}
    assert not np.array_equal(said["lda"], said["logistic"])
    assert not np.array_equal(said["lda"], said["coordinate"])
    more = oblique("coordinate", max_depth=3, n_restarts=0).fit(X, y).predict_proba(X)
    assert not np.array_equal(more, said["coordinate"])
    few = oblique(max_depth=3, rows_per_column=1000).fit(X, y)
    assert not few.tree_.has_linear
    np.testing.assert_array_equal(few.predict_proba(X), CartClassifier(max_depth=3).fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 2},
        {"min_samples_split": 100},
        {"min_samples_leaf": 25},
        {"min_weight_fraction_leaf": 0.2},
        {"max_leaf_nodes": 4},
        {"min_impurity_decrease": 0.05},
        {"max_features": 3},
        {"ccp_alpha": 0.02},
        {"ccp_alpha": "cv_1se"},
        {"criterion": "entropy"},
        {"class_weight": "balanced"},
    ],
    ids=lambda options: "-".join(map(str, options.items())),
)
def test_rules_of_the_engine_hold_for_linear_tests_too(options):
    X, y = make_classification(300, 6, n_informative=4, flip_y=0.15, weights=[0.7], random_state=0)
    free, model = oblique().fit(X, y), oblique(**options).fit(X, y)
    other = np.random.default_rng(1).normal(size=(500, 6))
    assert not np.array_equal(free.predict_proba(other), model.predict_proba(other)) and model.tree_.has_linear
    leaves = model.tree_.feature < 0
    if "min_samples_leaf" in options:
        assert model.tree_.n_node_samples[leaves].min() >= 25
    if "max_leaf_nodes" in options:
        assert model.get_n_leaves() == 4
    if "max_depth" in options:
        assert model.get_depth() == 2
    if "max_features" in options:
        linear = model.tree_.linear >= 0
        assert ((model.tree_.linear_weight[model.tree_.linear[linear]] != 0).sum(axis=1) <= 3).all()


def test_pruned_trees_keep_the_tests_that_are_left():
    X, y = make_classification(300, 6, n_informative=4, flip_y=0.2, random_state=0)
    grown = oblique().fit(X, y)
    alphas = grown.tree_.weakest_links()[0]
    pruned = oblique(ccp_alpha=float(np.median(alphas))).fit(X, y)
    assert 1 < pruned.get_n_leaves() < grown.get_n_leaves()
    assert pruned.tree_.linear_weight.shape[0] == (pruned.tree_.linear >= 0).sum() < grown.tree_.linear_weight.shape[0]
    reduced = grown.prune_reduced_error(X, y)
    assert reduced.score(X, y) >= grown.score(X, y)


# -- weights, order, classes -----------------------------------------------------------------------------------------
@each_direction
def test_weights_equal_repetition(direction):
    X, y = make_classification(200, 5, n_informative=3, flip_y=0.1, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    weighted = oblique(direction, max_depth=3).fit(X, y, sample_weight=weights)
    repeated = oblique(direction, max_depth=3).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@each_direction
def test_the_order_of_rows_does_not_matter(direction):
    X, y = make_classification(200, 5, n_informative=3, flip_y=0.1, random_state=0)
    order = np.random.default_rng(1).permutation(200)
    one = oblique(direction, max_depth=3).fit(X, y)
    other = oblique(direction, max_depth=3).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


@each_direction
def test_the_number_of_threads_changes_nothing(direction):
    X, y = make_classification(12000, 6, n_informative=4, n_classes=3, random_state=0)
    trees = [oblique(direction, max_depth=4, n_jobs=jobs).fit(X, y).tree_ for jobs in (1, 2, 3)]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        np.testing.assert_array_equal(tree.linear_weight, trees[0].linear_weight)


def test_the_units_of_columns_do_not_matter():
    X, y = make_classification(200, 5, n_informative=3, flip_y=0.1, random_state=0)
    factor = np.array([1e-6, 1.0, 1e4, 8.0, 0.25])
    one, other = oblique(max_depth=4).fit(X, y), oblique(max_depth=4).fit(X * factor + 3 * factor, y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X * factor + 3 * factor), atol=1e-9)


@each_direction
def test_three_hundred_classes(direction):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(300), 4)
    X = np.column_stack([y % 20, y // 20]) + rng.uniform(-0.3, 0.3, (1200, 2))
    model = oblique(direction, n_restarts=1).fit(X, y)
    assert model.score(X, y) == 1.0 and model.predict_proba(X).shape == (1200, 300)


# -- odd tables -----------------------------------------------------------------------------------------------------
@each_direction
def test_collinear_and_constant_columns_are_harmless(direction):
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = X[:, 1] - X[:, 0] > 0
    wide = np.column_stack([X, X[:, 0], X.sum(axis=1), np.ones(100)])
    model = oblique(direction).fit(wide, y)
    assert model.get_n_leaves() == 2 and model.score(wide, y) == 1.0
    assert np.isfinite(model.tree_.linear_weight).all() and (model.tree_.linear_weight[:, 4] == 0).all()


@each_direction
def test_one_row_one_class_and_fewer_rows_than_columns(direction):
    assert oblique(direction).fit([[1.0, 2.0]], ["a"]).predict([[5.0, np.nan]]) == ["a"]
    X = np.random.default_rng(0).normal(size=(6, 20))
    assert oblique(direction).fit(X, np.zeros(6)).get_n_leaves() == 1
    y = np.array([0, 1, 0, 1, 1, 0])
    for least in (0.0, 1.5):
        assert oblique(direction, rows_per_column=least).fit(X, y).score(X, y) == 1.0


@each_direction
def test_missing_cells_count_as_the_mean_of_the_node(direction):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 1] - X[:, 0] > 0
    holes = X.copy()
    holes[rng.random(X.shape) < 0.1] = np.nan
    empty = np.column_stack([holes, np.full(300, np.nan)])
    model = oblique(direction, max_depth=1).fit(empty, y)
    tree = model.tree_
    assert tree.is_linear(0) and tree.linear_weight[0, 2] == 0 and model.score(empty, y) > 0.8
    np.testing.assert_allclose(tree.linear_fill[0, :2], np.nanmean(holes, axis=0), rtol=1e-9)
    filled = np.where(np.isnan(empty), tree.linear_fill[0], empty)
    np.testing.assert_array_equal(model.predict(empty), model.predict(filled))


def test_huge_and_tiny_numbers_are_refused_or_taken_without_nan():
    X, y = make_classification(100, 4, random_state=0)
    for factor in (1e200, 1e-200):
        model = oblique().fit(X * factor, y)
        assert np.isfinite(model.tree_.threshold).all() and np.isfinite(model.tree_.linear_weight).all()
        assert model.score(X * factor, y) == 1.0


def test_importances_divide_a_linear_test_among_its_columns():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = oblique().fit(X, X[:, 1] - X[:, 0] > 0)
    np.testing.assert_allclose(model.feature_importances_, [0.5, 0.5, 0.0], atol=0.1)
    other = np.random.default_rng(1).normal(size=(300, 3))
    found = model.importance(other, other[:, 1] - other[:, 0] > 0, random_state=0)
    assert found.permutation[0] > 0.2 and found.permutation[1] > 0.2 and abs(found.permutation[2]) < 0.05


# -- the same tree in other forms -----------------------------------------------------------------------------------
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
    score = np.where(X['col"our'] == "blue", X["size"] + X["whole"], X["whole"] - 2 * X["size"])
    y = np.array(["low", "it's", "high"])[np.digitize(score, [1.5, 3.5])]
    X.loc[rng.random(n) < 0.1, "size"] = np.nan
    X.loc[rng.random(n) < 0.1, 'col"our'] = None
    return X, y


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


@each_direction
def test_every_form_predicts_the_same(mixed, direction):
    X, y = mixed
    model = oblique(direction, max_depth=6).fit(X, y)
    assert model.tree_.has_linear and (model.tree_.category_offset >= 0).any()
    grid = [(s, c, w) for s in (-9.0, 0.1, 9.0, None) for c in ("r'ed", "never seen", None) for w in (0, 5)]
    other = pd.DataFrame(grid, columns=list(X.columns)).astype({"size": float, "whole": int})
    rules, space = model.to_rules(), {}
    exec(model.to_python(), space)
    for frame in (X, other):
        said = model.predict(frame)
        np.testing.assert_array_equal(rules.predict(frame), said)
        np.testing.assert_allclose(rules.predict_proba(frame), model.predict_proba(frame), atol=1e-12)
        np.testing.assert_array_equal(RuleSet.from_json(rules.to_json()).predict(frame), said)
        assert [space["predict"](row) for row in rows_of(frame)] == said.tolist()
        assert in_sqlite(frame, model.to_sql("t")) == said.tolist()
        assert in_duckdb(frame, model.to_sql("t")) == said.tolist()


def test_json_text_and_pictures_show_the_sums(mixed):
    X, y = mixed
    model = oblique(max_depth=3).fit(X, y)
    nodes = json.loads(model.to_json())["nodes"]
    node = next(node for node in nodes if "terms" in node)
    assert [term["column"] for term in node["terms"]] == ["size", "whole"] and "column" not in node
    assert " whole <= " in model.to_text()
    ElementTree.fromstring(model.to_svg(row={"size": 1.0, "whole": 2}))
    page = model.to_html(row={"size": 1.0, "whole": 2})
    assert "<li>whole <b>2</b></li>" in page


def test_trace_names_the_linear_test():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = oblique(trace=True).fit(X, X[:, 1] - X[:, 0] > 0)
    root = model.trace_[0]["values"]
    assert "x0" in root["test"] and "x1" in root["test"] and set(root["gains"]) == {"x0", "x1"}


@pytest.mark.parametrize("direction", ["lda", "logistic"])
def test_trace_holds_the_linear_tests_that_lost(direction):
    """Each is scored as in words: the gain is that of the two parts which the test makes of the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(3)
    y = (X[:, 0] > 0.2) ^ (rng.random(120) < 0.1)
    model = oblique(direction, trace=True, max_depth=1).fit(X, y)
    root = model.trace_[0]["values"]
    assert not model.tree_.has_linear and root["linear_tests"]
    for tried in root["linear_tests"]:
        assert not tried["taken"] and 0 <= tried["gain"] <= max(root["gains"].values()) + 1e-12
        total, end = tried["test"].split(" <= ")
        terms = total.replace("- ", "-").replace("+ ", "").split(" ")
        sums, weight = np.zeros(120), 1.0
        for term in terms:
            if "x" in term:
                sums += (-1 if term[0] == "-" else 1) * weight * X[:, int(term[-1])]
                weight = 1.0
            else:
                weight = float(term)
        parts = [y[sums <= float(end)], y[sums > float(end)]]
        gini = sum(len(part) / 120 * 2 * part.mean() * (1 - part.mean()) for part in parts)
        assert tried["gain"] == pytest.approx(root["impurity"] - gini, abs=2e-3)
    plain = oblique(direction, max_depth=1).fit(X, y)
    np.testing.assert_array_equal(plain.tree_.threshold, model.tree_.threshold)


def test_trace_marks_the_linear_test_that_was_taken():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = oblique(trace=True).fit(X, X[:, 1] - X[:, 0] > 0)
    root = model.trace_[0]["values"]
    taken = [one for one in root["linear_tests"] if one["taken"]]
    assert [one["test"] for one in taken] == [root["test"]]
    assert taken[0]["gain"] == pytest.approx(root["impurity"]) and taken[0]["gain"] > max(root["gains"].values())
    assert model.trace_[1]["values"]["linear_tests"] == []
