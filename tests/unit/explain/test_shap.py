"""TreeSHAP equals Shapley values by definition, sums to the output, and agrees with other programs."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor as TheirExtraTrees,
)
from sklearn.ensemble import (
    GradientBoostingClassifier as TheirBoosting,
)
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.ensemble import (
    RandomForestClassifier as TheirForest,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from assay.base import config
from assay.base.errors import CostError, DataError, ParameterError
from assay.explain import shapley_values, tree_shap
from assay.explain.tree_models import tree_model
from assay.models.ensembles import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.models.trees import C45Classifier, CartClassifier, CartRegressor, ID3Classifier, ObliqueTreeClassifier


def expectation(trees, row, known):
    """The output of the trees when only the columns in `known` are read, by the definition of path-dependence."""
    f = trees.forest

    def walk(first, node):
        at = first + node
        column = f.feature[at]
        if column < 0:
            return f.value[at]
        left, right = int(f.children_left[at]), int(f.children_right[at])
        if column in known:
            return walk(first, left if goes_left(f, at, row[column]) else right)
        whole = trees.cover[at]
        return (trees.cover[first + left] * walk(first, left) + trees.cover[first + right] * walk(first, right)) / whole

    total = np.zeros(trees.outputs)
    groups = trees.outputs // f.value.shape[1]
    for t, first in enumerate(f.offsets[:-1]):
        part = (t % groups) * f.value.shape[1]
        total[part : part + f.value.shape[1]] += walk(int(first), 0)
    return total * trees.scale + trees.base


def goes_left(f, at, cell):
    if f.category_offset[at] >= 0:
        count = f.n_categories[f.feature[at]]
        return int(cell) in f.categories_left(int(at)) if 0 <= cell < count else bool(f.missing_go_to_left[at])
    return bool(f.missing_go_to_left[at]) if np.isnan(cell) else cell <= f.threshold[at]


def interventional(trees, row, rows, known):
    mixed = rows.copy()
    mixed[:, sorted(known)] = row[sorted(known)]
    return (trees.forest.sums(mixed, trees.outputs, 1) * trees.scale + trees.base).mean(axis=0)


def pair_values(worth, players):
    """The Shapley interaction index by its definition."""
    n, found = len(players), np.zeros((len(players), len(players)))
    for i, j in combinations(range(n), 2):
        others = [p for p in players if p not in (players[i], players[j])]
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(n - size - 2) / (2 * factorial(n - 1))
            for some in combinations(others, size):
                s = frozenset(some)
                a, b = frozenset([players[i]]), frozenset([players[j]])
                found[i, j] += weight * (worth(s | a | b) - worth(s | a) - worth(s | b) + worth(s))
        found[j, i] = found[i, j]
    return found


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(5)
    n = 240
    frame = pl.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "b": rng.integers(0, 5, n).astype(float),
            "c": np.array(list("pqrst"))[rng.integers(0, 5, n)],
            "d": rng.normal(size=n),
        }
    ).fill_nan(None)
    y = (frame["b"].to_numpy() > 2) + np.isin(frame["c"].to_numpy(), ["p", "s"]) + rng.integers(0, 2, n)
    return frame, y


MODELS = [
    NewtonBoostingClassifier(n_estimators=4, max_leaf_nodes=9, min_samples_leaf=5),
    RandomForestClassifier(n_estimators=4, max_depth=5, random_state=0),
    RandomForestRegressor(n_estimators=3, max_depth=6, random_state=0),
    ExtraTreesRegressor(n_estimators=3, max_depth=6, random_state=0),
    GradientBoostingRegressor(n_estimators=5, loss="poisson", max_leaf_nodes=7),
    AdaBoostClassifier(n_estimators=4, max_depth=3),
    CartClassifier(max_depth=6),
    CartRegressor(max_depth=6),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_values_and_interactions_equal_those_by_definition(model, mixed):
    frame, y = mixed
    model = clone(model).fit(frame, y)
    trees = tree_model(model)
    some = frame[[0, 7, 30]]
    cells, rows = trees.read(some), trees.read(frame[100:110])
    for background in (None, frame[100:110]):
        found = tree_shap(model, some, background, interactions=True)
        values = found.values.reshape(3, 4, -1)
        joint = found.interactions.reshape(3, 4, 4, -1)
        for i, k in ((i, k) for i in range(3) for k in range(trees.outputs)):

            def worth(known, i=i, k=k, background=background):
                if background is None:
                    return float(expectation(trees, cells[i], known)[k])
                return float(interventional(trees, cells[i], rows, known)[k])

            exact = shapley_values(worth, [0, 1, 2, 3])
            assert np.allclose(values[i, :, k], list(exact.values()), atol=1e-12)
            pairs = pair_values(worth, [0, 1, 2, 3])
            off = ~np.eye(4, dtype=bool)
            assert np.allclose(joint[i, :, :, k][off], pairs[off], atol=1e-12)
            assert worth(frozenset()) == pytest.approx(found.base_values[k])
        assert np.allclose(found.interactions.sum(axis=2), found.values, atol=1e-12)


def output_of(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if not hasattr(model, "predict_proba"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


@pytest.mark.parametrize("two", [False, True], ids=["several classes", "two classes"])
@pytest.mark.parametrize(
    "model",
    [
        NewtonBoostingClassifier(n_estimators=20),
        RandomForestClassifier(10, random_state=0),
        C45Classifier(),
        ID3Classifier(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_values_sum_to_the_output(model, two, mixed):
    frame, y = mixed
    if isinstance(model, (C45Classifier, ID3Classifier)):
        frame = frame.drop("a")
    if isinstance(model, ID3Classifier):
        frame = frame.with_columns(b=pl.col("b").cast(pl.String)).drop("d")
    model = clone(model).fit(frame, y > 1 if two else y)
    for background in (None, frame[:20]):
        found = tree_shap(model, frame, background)
        assert np.allclose(found.predictions, output_of(model, frame), atol=1e-12)
        assert found.unit.startswith("probabilit") == (not isinstance(model, NewtonBoostingClassifier))


def test_fractional_rows_are_refused(mixed):
    frame, y = mixed
    model = C45Classifier().fit(frame, y)
    with pytest.raises(DataError, match="missing or unknown"):
        tree_shap(model, frame)


def test_the_and_of_two_columns_shares_alike():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = CartRegressor().fit(X, [0.0, 0.0, 0.0, 80.0])
    found = tree_shap(model, X, interactions=True)
    assert found.base_values.tolist() == [20.0]
    assert np.allclose(found.values, [[-10, -10], [-30, 10], [10, -30], [30, 30]])
    assert np.allclose(found.interactions[3], [[20, 10], [10, 20]])


def deep_model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(700, 20))
    return X, CartRegressor(min_samples_leaf=1).fit(X, X.sum(axis=1) ** 2 + 3 * (X[:, :10] * X[:, 10:]).sum(axis=1))


def test_paths_of_many_columns_are_evaluated_row_by_row():
    X, model = deep_model()
    for background in (None, X[:5]):
        many = tree_shap(model, X[:150], background)
        assert np.allclose(many.predictions, model.predict(X[:150]), atol=1e-8)
        # One row alone uses no tables: two routes to one answer.
        one = tree_shap(model, X[:1], background, interactions=True)
        assert np.allclose(one.values[0], many.values[0], atol=1e-9)
        assert np.allclose(one.interactions.sum(axis=2), one.values, atol=1e-9)


def test_tables_and_rows_give_the_same_interactions():
    X, model = deep_model()
    model = CartRegressor(max_depth=7).fit(X, X.sum(axis=1) ** 2)
    for background in (None, X[:9]):
        many = tree_shap(model, X[:200], background, interactions=True)
        one = tree_shap(model, X[:1], background, interactions=True)
        assert np.allclose(one.interactions[0], many.interactions[0], atol=1e-11)


def test_threads_do_not_change_a_bit(mixed):
    frame, y = mixed
    model = NewtonBoostingClassifier(n_estimators=10).fit(frame, y)
    rows = pl.concat([frame] * 6)
    assert np.array_equal(tree_shap(model, rows, n_jobs=1).values, tree_shap(model, rows, n_jobs=2).values)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 5))
    X[:, 4] = rng.integers(0, 8, 300)
    y = np.digitize(X[:, 0] * X[:, 1] + np.isin(X[:, 4], [1, 5]) + rng.normal(scale=0.3, size=300), [-0.3, 0.6])
    holes = np.where(rng.random(X.shape) < 0.08, np.nan, X)
    return X, y, holes


@pytest.mark.parametrize("two", [False, True])
def test_lightgbm_gives_the_same_values(numbers, two):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, holes = numbers
    y = y > 0 if two else y
    zeros = np.where(np.abs(X) < 0.4, 0.0, X)
    cases = [
        (holes, {}),
        (X, {"zero_as_missing": False}),
        (zeros, {"zero_as_missing": True}),
        (X, {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}),
    ]
    for table, options in cases:
        model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, **options).fit(table, y)
        found = tree_shap(model, table)
        theirs = model.predict(table, pred_contrib=True).reshape(table.shape[0], -1, 6)
        theirs = theirs / (8 if "boosting_type" in options else 1)  # a forest's score is the mean of its trees
        assert np.allclose(
            found.values.reshape(table.shape[0], 5, -1), theirs[:, :, :-1].transpose(0, 2, 1), atol=1e-10
        )
        assert np.allclose(found.base_values, theirs[0, :, -1])


@pytest.mark.parametrize("classes", [2, 3])
def test_lightgbm_trees_are_read_a_few_at_a_time_up_to_the_best(classes):
    """More trees than are read at once, the last of them beyond the best; columns of many thresholds and of few."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=1500), rng.integers(0, 2, 1500), rng.normal(size=1500)])
    y = np.floor(classes * ((np.sin(9 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.2, size=1500)) % 1.0))
    options = {"n_estimators": 60, "num_leaves": 63, "max_bin": 1023, "min_child_samples": 2}
    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, **options).fit(X, y)
    model.booster_.best_iteration = 41
    found = tree_shap(model, X)
    theirs = model.predict(X, pred_contrib=True, num_iteration=41).reshape(1500, -1, 4)
    np.testing.assert_allclose(found.values.reshape(1500, 3, -1), theirs[:, :, :3].transpose(0, 2, 1), atol=1e-10)
    thresholds = model.booster_.trees_to_dataframe().groupby("split_feature")["threshold"].nunique()
    assert thresholds["Column_1"] < 255 < thresholds["Column_0"]


def test_lightgbm_splits_by_category_are_read(numbers):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = numbers
    model = lightgbm.LGBMClassifier(n_estimators=6, verbose=-1, n_jobs=1, min_data_per_group=5, cat_smooth=1)
    model.fit(X, np.isin(X[:, 4], [1, 5]) ^ (y > 0), categorical_feature=[4])
    assert '"=="' in str(model.booster_.dump_model()["tree_info"]).replace("'", '"')
    rows = X.copy()
    rows[:5, 4] = [np.nan, 99, -3, 2, 7]
    found = tree_shap(model, rows)
    assert np.allclose(found.values, model.predict(rows, pred_contrib=True)[:, :-1], atol=1e-10)


def test_lightgbm_is_read_where_no_file_can_be_made(numbers, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = numbers
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1).fit(X, y > 0)
    usual = tree_shap(model, X).values

    def refused(*_, **__):
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refused)
    assert np.array_equal(tree_shap(model, X).values, usual)


@pytest.mark.parametrize("two", [False, True])
def test_xgboost_gives_the_same_values(numbers, two):
    xgboost = pytest.importorskip("xgboost")
    _, y, holes = numbers
    y = (y > 0).astype(int) if two else y
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1).fit(holes, y)
    matrix = xgboost.DMatrix(holes)
    for given in (model, model.get_booster()):
        found = tree_shap(given, holes, interactions=True)
        theirs = model.get_booster().predict(matrix, pred_contribs=True).reshape(holes.shape[0], -1, 6)
        assert np.allclose(
            found.values.reshape(-1, 5, theirs.shape[1]), theirs[:, :, :-1].transpose(0, 2, 1), atol=1e-4
        )
        assert np.allclose(found.base_values, theirs[0, :, -1], atol=1e-4)
    pairs = model.get_booster().predict(matrix, pred_interactions=True).reshape(holes.shape[0], -1, 6, 6)
    assert np.allclose(
        found.interactions.reshape(-1, 5, 5, pairs.shape[1]), pairs[:, :, :-1, :-1].transpose(0, 2, 3, 1), atol=1e-4
    )


def test_xgboost_counts_and_forests_are_read(numbers):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = numbers
    for model in (
        xgboost.XGBRegressor(objective="count:poisson", n_estimators=5, n_jobs=1),
        xgboost.XGBRFRegressor(n_estimators=5, n_jobs=1),
        xgboost.XGBClassifier(num_parallel_tree=3, n_estimators=2, subsample=0.7, n_jobs=1),
    ):
        model.fit(X, y)
        found = tree_shap(model, X)
        margin = model.predict(X, output_margin=True)
        assert np.allclose(found.predictions.reshape(margin.shape), margin, atol=1e-4)


@pytest.fixture(scope="module")
def frame():
    """Numbers between two columns of categories, one of text with gaps, one of numbers; a target that needs both."""
    rng = np.random.default_rng(0)
    n = 300
    text, codes = rng.integers(0, 8, n), rng.integers(0, 4, n)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "c": pd.Categorical.from_codes(np.where(rng.random(n) < 0.06, -1, text), list("pqrstuvw")),
            "b": rng.normal(size=n),
            "d": pd.Categorical.from_codes(codes, [10, 20, 30, 40]),
        }
    )
    return X, 2.0 * np.isin(text, [1, 4, 6]) + np.isin(codes, [0, 3]) * X["b"].to_numpy() + X["a"].to_numpy()


def backwards(X):
    """The same rows with the categories in another order."""
    return X.assign(
        c=X["c"].cat.reorder_categories(list("wvutsrqp")), d=X["d"].cat.reorder_categories([40, 10, 30, 20])
    )


@pytest.mark.parametrize("options", [{}, {"boosting_type": "dart", "drop_rate": 0.5}], ids=["gbdt", "dart"])
def test_lightgbm_categories_of_pandas_are_read(frame, options):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = frame
    model = lightgbm.LGBMRegressor(
        n_estimators=8, min_data_per_group=5, cat_smooth=1, verbose=-1, n_jobs=1, random_state=0, **options
    ).fit(X, y)
    found, theirs = tree_shap(model, X), model.predict(X, pred_contrib=True)
    assert np.allclose(found.values, theirs[:, :-1], atol=1e-10) and np.allclose(found.base_values, theirs[0, -1])
    assert np.array_equal(tree_shap(model, backwards(X)).values, found.values)
    assert found.categories == {1: list("pqrstuvw"), 3: [10, 20, 30, 40]}
    with pytest.raises(DataError, match="2 columns of categories"):
        tree_shap(model, X.assign(d=1.0))


@pytest.mark.parametrize(
    "options", [{}, {"max_cat_to_onehot": 50}, {"booster": "dart", "rate_drop": 0.5}], ids=["sets", "one", "dart"]
)
@pytest.mark.parametrize("two", [False, True])
def test_xgboost_categories_and_dropout_are_read(frame, options, two):
    xgboost = pytest.importorskip("xgboost")
    X, y = frame
    cls = xgboost.XGBClassifier if two else xgboost.XGBRegressor
    model = cls(n_estimators=8, max_depth=4, enable_categorical=True, n_jobs=1, **{"max_cat_to_onehot": 2, **options})
    model.fit(X, y > 1 if two else y)
    theirs = model.get_booster().predict(xgboost.DMatrix(X, enable_categorical=True), pred_contribs=True)
    found = tree_shap(model, X)
    assert np.allclose(found.values, theirs[:, :-1], atol=1e-5) and np.allclose(
        found.base_values, theirs[0, -1], atol=1e-5
    )
    assert np.array_equal(tree_shap(model, backwards(X)).values, found.values)
    with pytest.raises(DataError, match="labels that the model knows; got 'zz'"):
        tree_shap(model, X.assign(c=X["c"].cat.rename_categories({"p": "zz"})))


def test_xgboost_labels_beyond_ascii_are_read_in_their_order(frame):
    xgboost = pytest.importorskip("xgboost")
    X, y = frame
    X = X.assign(c=X["c"].cat.rename_categories({"p": "\u00e9", "v": "\u65e5\u672c"}))
    model = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1).fit(X, y)
    theirs = model.get_booster().predict(xgboost.DMatrix(X, enable_categorical=True), pred_contribs=True)
    assert np.allclose(tree_shap(model, X).values, theirs[:, :-1], atol=1e-5)
    with pytest.raises(DataError, match="the categories of the fit in their order"):
        tree_shap(model, X.assign(c=X["c"].cat.reorder_categories(X["c"].cat.categories[::-1])))


def test_xgboost_category_numbers_of_an_array_are_read(numbers):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = numbers
    matrix = xgboost.DMatrix(X, np.isin(X[:, 4], [1, 5]) + y, feature_types=["q"] * 4 + ["c"], enable_categorical=True)
    booster = xgboost.train({"max_cat_to_onehot": 1, "max_depth": 4, "nthread": 1}, matrix, 6)
    rows = X.copy()
    rows[:3, 4] = [np.nan, 40, 2]
    given = xgboost.DMatrix(rows, feature_types=["q"] * 4 + ["c"], enable_categorical=True)
    theirs = booster.predict(given, pred_contribs=True)
    assert np.allclose(tree_shap(booster, rows).values, theirs[:, :-1], atol=1e-5)


@pytest.mark.parametrize("two", [False, True])
def test_scikit_learn_categories_give_the_values_by_definition(frame, two):
    X, y = frame
    if two:
        model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, categorical_features="from_dtype")
    else:
        model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, categorical_features="from_dtype")
    model.fit(X, y > 1 if two else y)
    output = model.decision_function if two else model.predict
    rows, around = X.iloc[[0, 5, 17]], X.iloc[100:106]
    rows = rows.assign(c=rows["c"].cat.add_categories(["new"]))
    rows.iloc[0, 1] = "new"
    assert np.allclose(tree_shap(model, rows).predictions, output(rows), atol=1e-10)
    found = tree_shap(model, rows, around).values
    for i in range(3):

        def worth(known, i=i):
            mixed = around.astype(object)
            for j in known:
                mixed.isetitem(j, [rows.iloc[i, j]] * len(around))
            typed = {c: rows[c].dtype for c in rows}
            return output(mixed.astype(typed)).mean()

        assert np.allclose(found[i], list(shapley_values(worth, range(4)).values()), atol=1e-10)
    with pytest.raises(DataError, match="as the model was fitted on"):
        tree_shap(model, X[["a", "c"]])


def test_other_boosters_are_refused(numbers):
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = numbers
    with pytest.raises(ParameterError, match="gbtree"):
        tree_shap(xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(X, y), X)
    linear = lightgbm.LGBMRegressor(n_estimators=2, linear_tree=True, verbose=-1).fit(X, X[:, 0])
    with pytest.raises(ParameterError, match="constant leaves"):
        tree_shap(linear, X)


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        TheirForest(6, random_state=0),
        TheirExtraTrees(6, random_state=0),
        TheirBoosting(n_estimators=6, random_state=0),
        HistGradientBoostingClassifier(max_iter=6),
        DecisionTreeRegressor(max_leaf_nodes=12, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_models_of_scikit_learn_are_read(numbers, model, two):
    X, y, holes = numbers
    rows = X if isinstance(model, TheirBoosting) else holes
    model = clone(model).fit(rows, y > 0 if two else y)
    for background in (None, rows[:15]):
        found = tree_shap(model, rows[:60], background)
        assert np.allclose(found.predictions, output_of(model, rows[:60]), atol=1e-10)


def test_what_is_no_tree_is_refused_by_a_sentence(mixed, numbers):
    X, y, _ = numbers
    with pytest.raises(ParameterError, match="must be made of trees"):
        tree_shap(LinearRegression().fit(X, y), X)
    with pytest.raises(ParameterError, match="last step of a pipeline"):
        tree_shap(make_pipeline(CartRegressor()).fit(X, y), X)
    with pytest.raises(ParameterError, match="one column at a time"):
        tree_shap(ObliqueTreeClassifier().fit(X, y), X)
    around = AdaBoostClassifier(estimator=CartClassifier(max_depth=1), n_estimators=2).fit(X, y)
    with pytest.raises(ParameterError, match="trees of its own"):
        tree_shap(around, X)
    model = CartRegressor(max_depth=2).fit(X, y)
    with pytest.raises(DataError, match="at least one row"):
        tree_shap(DecisionTreeRegressor(max_depth=2).fit(X, y), X, X[:0])
    with config.use(max_bytes=1e6), pytest.raises(CostError, match="sample of the rows or leave out interactions"):
        tree_shap(model, np.broadcast_to(X[:1], (4000, 5)), interactions=True)


@pytest.mark.parametrize("thresholds", [200, 300, 66_000])
def test_codes_of_one_two_and_four_bytes_say_the_same(thresholds):
    """Cells become codes of as many bytes as a column has thresholds; missing ones have the largest code."""
    X = np.arange(thresholds + 1.0)[:, None]
    y = np.random.default_rng(0).permutation(np.arange(thresholds + 1.0))
    X[thresholds // 2] = np.nan
    model = CartRegressor().fit(X, y)
    assert (model.tree_.feature >= 0).sum() >= thresholds - 1
    rows = np.array([[0.0], [1.0], [thresholds / 3], [thresholds], [np.nan], [-5.0], [2.0 * thresholds]])
    found = tree_shap(model, rows)
    np.testing.assert_allclose(found.values[:, 0] + found.base_values, model.predict(rows), rtol=1e-9)
