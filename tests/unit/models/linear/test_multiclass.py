"""One against the rest and one against one: agreement with scikit-learn, doubt, any binary learner."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from assay.base import ParameterError
from assay.models.bayes import NaiveBayes
from assay.models.linear import LeastSquares, LogisticRegression, OneVsOne, OneVsRest, Perceptron
from assay.models.linear.multiclass import couple


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def overlap():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 400)
    return rng.normal(size=(400, 3)) + np.eye(4, 3)[codes] * 1.5, codes


@pytest.mark.parametrize(("ours", "peer"), [(OneVsRest, OneVsRestClassifier), (OneVsOne, OneVsOneClassifier)])
def test_labels_and_decisions_equal_scikit_learn(iris, overlap, ours, peer):
    for X, y in (iris, overlap):
        inner = LogisticRegression(C=2.0)
        mine, theirs = ours(estimator=inner).fit(X, y), peer(inner).fit(X, y)
        np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))
        np.testing.assert_allclose(mine.decision_function(X), theirs.decision_function(X), atol=1e-9)


def test_one_against_the_rest_probabilities_equal_scikit_learn(overlap):
    X, y = overlap
    mine, theirs = OneVsRest().fit(X, y), OneVsRestClassifier(LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
@pytest.mark.parametrize(
    "inner", [Perceptron(random_state=0), PeerLogistic(), KNeighborsClassifier(), LinearSVC(), SVC(), NaiveBayes()]
)
def test_any_binary_learner_serves(iris, reduction, inner):
    X, y = iris
    model = reduction(estimator=inner).fit(X, y)
    assert model.score(X, y) > 0.6
    assert hasattr(model, "predict_proba") == hasattr(inner, "predict_proba")
    if hasattr(inner, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_reject_marks_rows_that_none_or_several_claim(overlap):
    X, y = overlap
    model = OneVsRest().fit(X, y)
    labels, rejected = model.predict_with_reject(X)
    fires = np.column_stack([learner.predict(X) for learner in model.estimators_]).sum(axis=1)
    assert set(np.unique(fires)) >= {0, 1, 2}
    np.testing.assert_array_equal(rejected, fires != 1)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert (labels == y)[~rejected].mean() > (labels == y)[rejected].mean()


def test_reject_of_duels_marks_rows_where_nobody_wins_all(overlap):
    X, y = overlap
    model = OneVsOne(estimator=Perceptron(random_state=0, max_iter=5)).fit(X, y)
    votes = model.votes(X)
    np.testing.assert_array_equal(votes.sum(axis=1), 6)
    _, rejected = model.predict_with_reject(X)
    np.testing.assert_array_equal(rejected, votes.max(axis=1) < 3)
    assert rejected.any() and not rejected.all()


@pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
def test_two_classes_are_the_binary_learner_itself(iris, reduction):
    X, y = iris[0][:100], iris[1][:100]
    model, alone = reduction().fit(X, y), LogisticRegression().fit(X, y)
    assert len(model.estimators_) == 1
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-12)
    assert not model.predict_with_reject(X)[1].any()


def test_coupling_recovers_consistent_probabilities_and_minimises_its_objective():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), size=50)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_allclose(
        couple(np.column_stack([p[:, j] / (p[:, i] + p[:, j]) for i, j in pairs]), 4), p, atol=1e-8
    )
    shares = rng.uniform(0.05, 0.95, size=(20, 6))
    found = couple(shares, 4)

    def objective(q):
        return sum((s * q[:, i] - (1 - s) * q[:, j]) ** 2 for (i, j), s in zip(pairs, shares.T, strict=True))

    for _ in range(50):
        step = rng.normal(size=found.shape) * 1e-3
        assert (objective(found + step - step.mean(axis=1, keepdims=True)) >= objective(found) - 1e-12).all()


def test_coupling_stands_certain_duels():
    certain = couple(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), 3)
    assert np.isfinite(certain).all()
    np.testing.assert_allclose(certain.sum(axis=1), 1.0)
    assert certain[0].argmax() == 2 and certain[2].argmax() == 0


@pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
def test_threads_change_nothing(overlap, reduction):
    X, y = overlap
    one, many = reduction(n_jobs=1).fit(X, y), reduction(n_jobs=4).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), many.predict_proba(X))


def test_weights_reach_the_binary_learner_or_are_refused(overlap):
    X, y = overlap
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = OneVsOne().fit(X, y, sample_weight=weights)
    repeated = OneVsOne().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
    with pytest.raises(ParameterError, match="Perceptron does not"):
        OneVsRest(estimator=Perceptron()).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("reduction", [OneVsRest, OneVsOne])
def test_nominal_columns_reach_a_learner_that_takes_them(reduction):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 90)]
    frame = pl.DataFrame(
        {"colour": [{"a": "red", "b": "green", "c": "blue"}[v] for v in y], "size": rng.normal(size=90)}
    )
    model = reduction(estimator=NaiveBayes()).fit(frame, y)
    assert model.score(frame, y) > 0.95


def test_an_estimator_that_does_not_classify_is_refused(iris):
    with pytest.raises(ParameterError, match="must be a classifier; got LeastSquares"):
        OneVsRest(estimator=LeastSquares()).fit(*iris)


def test_view_shows_one_row_of_coefficients_per_class(iris):
    view = OneVsRest().fit(*iris).view()
    assert np.shape(view["values"]) == (3, 4) and view["classes"] == [0, 1, 2]
    assert OneVsRest(estimator=KNeighborsClassifier()).fit(*iris).view() is None


@pytest.mark.parametrize("cls", [OneVsRest, OneVsOne])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_go_through_the_binary_learner_and_equal_separate_fits(cls, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=150), [-0.5, 0.5])]
    weights = rng.integers(0, 3, size=150).astype(float) if weighted else None
    folds = [(np.arange(50, 150), np.arange(50)), (np.flatnonzero(y != "c"), np.flatnonzero(y == "c"))]
    folds.append((np.arange(100), np.arange(100, 150)))
    calls = []
    inner = LogisticRegression.fit_folds

    def counted(self, *args, **options):
        calls.append(1)
        return inner(self, *args, **options)

    monkeypatch.setattr(LogisticRegression, "fit_folds", counted)
    together = list(cls().fit_folds(X, y, folds, weights))
    assert len(calls) == 3  # one for each class or pair
    for (train, test), model in zip(folds, together, strict=True):
        extra = {} if weights is None else {"sample_weight": weights[train]}
        separate = cls().fit(X[train], y[train], **extra)
        assert model.classes_.tolist() == separate.classes_.tolist()
        np.testing.assert_allclose(model.predict_proba(X[test]), separate.predict_proba(X[test]), rtol=1e-6, atol=1e-8)
    alone = next(iter(cls().fit_folds(X, y, [folds[2]], weights)))
    np.testing.assert_array_equal(alone.decision_function(X), together[2].decision_function(X))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"penalty": "l1", "C": 0.5}])
def test_logistic_learners_that_share_one_read_equal_separate_fits(overlap, weighted, options):
    X, y = overlap
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    weights = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float) if weighted else None
    inner = LogisticRegression(**options)
    rest = OneVsRest(estimator=inner).fit(frame, y, weights)
    duels = OneVsOne(estimator=inner).fit(frame, y, weights)
    parts = [(learner, slice(None), y == k) for k, learner in enumerate(rest.estimators_)]
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for learner, (i, j) in zip(duels.estimators_, pairs, strict=True):
        rows = np.flatnonzero((y == i) | (y == j))
        parts.append((learner, rows, y[rows] == j))
    for learner, rows, target in parts:
        alone = LogisticRegression(**options)
        alone.fit(frame[rows], target.astype(np.int64), None if weights is None else weights[rows])
        np.testing.assert_allclose(learner.coef_, alone.coef_, rtol=0, atol=1e-10)
        np.testing.assert_allclose(learner.intercept_, alone.intercept_, rtol=0, atol=1e-10)
        assert learner.classes_.tolist() == alone.classes_.tolist() and learner.n_iter_ == alone.n_iter_
        assert learner.feature_names_in_.tolist() == ["a", "b", "c"]


def test_shared_reading_refuses_what_a_learner_alone_refuses(overlap):
    X, y = overlap
    with pytest.raises(ParameterError, match="'C'"):
        OneVsRest(estimator=LogisticRegression(C=-1.0)).fit(X, y)
    hole = X.copy()
    hole[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OneVsOne(estimator=LogisticRegression()).fit(hole, y)


def test_a_learner_of_another_library_is_given_whole_numbers():
    X, y = np.arange(9.0)[:, None], np.repeat(["a", "b", "c"], 3)
    model = OneVsRest(estimator=PeerLogistic()).fit(X, y)
    assert all(member.classes_.dtype == np.int64 for member in model.estimators_)
