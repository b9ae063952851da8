"""AdaBoost: votes, bound, margins, invariances, and scikit-learn's own numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier as Theirs
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assay.base.errors import CostError, ParameterError
from assay.models.ensembles import AdaBoostClassifier
from assay.models.ensembles.adaboost import training_bound
from assay.models.ensembles.margins import Margins, margins_of


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 20, size=(500, 6)).astype(float)
    score = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + rng.normal(scale=4, size=500)
    return X, np.digitize(score, [-2.0, 6.0])


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_and_votes_equal_scikit_learns(table, classes):
    X, y = table
    y = np.minimum(y, classes - 1)
    ours = AdaBoostClassifier(n_estimators=12, n_jobs=1).fit(X, y)
    theirs = Theirs(DecisionTreeClassifier(max_depth=1), n_estimators=12).fit(X, y)
    assert np.allclose(ours.estimator_errors_, theirs.estimator_errors_, atol=1e-6)
    assert np.allclose(ours.estimator_weights_, theirs.estimator_weights_, atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.995


@pytest.mark.parametrize("method", ["reweighting", "resampling"])
@pytest.mark.parametrize(("classes", "depth", "rate"), [(2, 1, 1.0), (3, 2, 0.5)])
def test_the_bound_on_the_training_error_holds_after_every_round(table, method, classes, depth, rate):
    X, y = table
    y = np.minimum(y, classes - 1)
    model = AdaBoostClassifier(
        n_estimators=25, max_depth=depth, learning_rate=rate, method=method, random_state=1, n_jobs=1
    ).fit(X, y)
    assert model.training_bound_.shape == model.estimator_weights_.shape
    for said, bound in zip(model.staged_predict(X), model.training_bound_):
        assert (said != y).mean() <= bound + 1e-12
    assert classes > 2 or model.training_bound_[-1] < 1
    assert (model.predict(X) == said).all()


def test_for_two_classes_the_bound_is_the_product_of_freund_and_schapire(table):
    X, y = table
    model = AdaBoostClassifier(n_estimators=10).fit(X, y > 0)
    e = model.estimator_errors_
    assert np.allclose(model.training_bound_, np.cumprod(2 * np.sqrt(e * (1 - e))))


def test_row_order_and_threads_do_not_change_a_bit(table):
    X, y = table
    shuffled = np.random.default_rng(0).permutation(y.shape[0])
    for method in ("reweighting", "resampling"):
        one = AdaBoostClassifier(n_estimators=20, method=method, random_state=4, n_jobs=1).fit(X, y)
        other = AdaBoostClassifier(n_estimators=20, method=method, random_state=4, n_jobs=2).fit(
            X[shuffled], y[shuffled]
        )
        assert np.array_equal(one.estimator_weights_, other.estimator_weights_)
        assert np.array_equal(one.votes(X), other.votes(X))


def test_weights_equal_repetition(table):
    X, y = table
    times = np.random.default_rng(1).integers(1, 4, y.shape[0])
    weighted = AdaBoostClassifier(n_estimators=15).fit(X, y, sample_weight=times.astype(float))
    repeated = AdaBoostClassifier(n_estimators=15).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.array_equal(weighted.votes(X), repeated.votes(X))


@pytest.mark.parametrize("unit", [1e-9, 1e15])
def test_the_unit_of_weights_does_not_matter(table, unit):
    X, y = table
    weights = np.random.default_rng(2).random(y.shape[0])
    one = AdaBoostClassifier(n_estimators=10).fit(X, y, sample_weight=weights)
    other = AdaBoostClassifier(n_estimators=10).fit(X, y, sample_weight=np.round(weights * 1e6) * unit)
    assert np.allclose(one.estimator_errors_, other.estimator_errors_, atol=1e-5)


def test_missing_cells_and_categories_are_used():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[::3, 0] = np.nan
    X[:, 1] = rng.integers(0, 6, 400)
    y = np.isnan(X[:, 0]) | np.isin(X[:, 1], [0, 3])
    model = AdaBoostClassifier(n_estimators=20, max_depth=2, categorical_features=[1]).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_learner_without_error_ends_the_rounds():
    X = np.arange(20.0)[:, None]
    model = AdaBoostClassifier(n_estimators=50).fit(X, X[:, 0] > 9)
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.score(X, X[:, 0] > 9) == 1.0


def test_no_better_than_guessing_gives_no_votes():
    X = np.zeros((10, 1))
    model = AdaBoostClassifier().fit(X, [0, 1] * 5)
    assert model.estimator_weights_.size == 0
    assert np.allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize("method", ["reweighting", "resampling"])
def test_any_learner_can_be_boosted(method):
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    learner = DecisionTreeClassifier(max_depth=1)
    model = AdaBoostClassifier(n_estimators=15, estimator=learner, method=method, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.9
    assert len(model.estimators_) == model.estimator_weights_.shape[0]
    assert np.allclose(model.training_bound_, training_bound(model.estimator_errors_, model.estimator_weights_))
    again = AdaBoostClassifier(n_estimators=15, estimator=learner, method=method, random_state=0).fit(X, labels)
    assert np.array_equal(model.votes(X), again.votes(X))
    *_, last = model.staged_predict(X)
    assert (last == model.predict(X)).all()
    with pytest.raises(AttributeError):
        _ = model.feature_importances_
    with pytest.raises(ParameterError, match="estimator"):
        model.to_dict()


def test_reweighting_around_stumps_is_the_kernel(table):
    X, y = table
    kernel = AdaBoostClassifier(n_estimators=10).fit(X, y)
    around = AdaBoostClassifier(n_estimators=10, estimator=DecisionTreeClassifier(max_depth=1)).fit(X, y)
    assert np.allclose(kernel.estimator_errors_, around.estimator_errors_, atol=1e-6)


def test_learners_that_cannot_be_boosted_are_refused(table):
    X, y = table
    with pytest.raises(ParameterError, match="method='resampling'"):
        AdaBoostClassifier(estimator=KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ParameterError, match="must be a classifier"):
        AdaBoostClassifier(estimator=Ridge()).fit(X, y)
    model = AdaBoostClassifier(estimator=KNeighborsClassifier(), method="resampling", n_estimators=2, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6
    weighted = AdaBoostClassifier(estimator=LogisticRegression(), n_estimators=3).fit(X, y > 0)
    assert weighted.score(X, y > 0) > 0.8


def test_margins_are_shares_of_votes(table):
    X, y = table
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    margins = model.margins(X, y)
    assert margins.min() >= -1 and margins.max() <= 1
    right = model.predict(X) == y
    assert (margins[right] >= 0).all() and (margins[~right] <= 0).all()
    view = model.view()
    assert isinstance(view, Margins) and view.margins[0] == pytest.approx(margins.min())
    assert "margin" in view.to_svg() and "share of rows" in view.to_text()
    with pytest.raises(ParameterError, match="seen in fit"):
        model.margins(X, np.full(y.shape, 9))
    assert margins_of(np.array([[0.2, 0.5, 0.3]]), np.array([2])) == pytest.approx([-0.2])


def test_probabilities_are_the_softmax_of_votes_and_plain_data_scores_alike(table):
    X, y = table
    model = AdaBoostClassifier(n_estimators=8, trace=True).fit(X, y > 0)
    odds = model.decision_function(X)
    assert np.allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    assert [record["values"]["round"] for record in model.trace_] == list(range(1, 9))
    data = json.loads(model.to_json())

    def leaf(node, row):
        while "value" not in node:
            node = node["left"] if row[data["columns"].index(node["column"])] <= node["at_most"] else node["right"]
        return node["value"]

    assert sum(leaf(tree, X[0]) for tree in data["trees"]) == pytest.approx(odds[0])


def test_more_rounds_than_memory_holds_are_refused(table):
    X, y = table
    with pytest.raises(CostError, match="or fewer rounds"):
        AdaBoostClassifier(n_estimators=2**31 - 1).fit(X, y > np.median(y))
