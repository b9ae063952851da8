"""Bagging: samples as counts, out of bag, any learner, the same bits for any order of rows and threads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import BaggingClassifier as PeerBagging
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay.base import AssayError, CostError
from assay.evaluate import bias_variance
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import BaggingClassifier, BaggingRegressor
from assay.models.linear import LogisticRegression, Ridge
from assay.models.neighbours import KNNClassifier
from assay.models.trees import CartClassifier, CartRegressor

from .test_newton_boosting import labels, mixed, numbers


def test_all_rows_without_replacement_are_the_learner_itself_as_in_scikit_learn():
    X, y = labels(n=200, classes=3)
    settings = {"n_estimators": 3, "bootstrap": False, "random_state": 0}
    ours = BaggingClassifier(estimator=CartClassifier(max_depth=3), **settings).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, CartClassifier(max_depth=3).fit(X, y).predict_proba(X), rtol=1e-12)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ours = BaggingClassifier(estimator=tree, **settings).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, PeerBagging(tree, **settings).fit(X, y).predict_proba(X), rtol=1e-12)


def test_accuracy_is_that_of_scikit_learn_up_to_chance():
    X, y = labels(n=900, classes=3)
    train, test = slice(0, 500), slice(500, None)
    ours = [
        BaggingClassifier(n_estimators=25, random_state=s).fit(X[train], y[train]).score(X[test], y[test])
        for s in range(4)
    ]
    theirs = [
        PeerBagging(n_estimators=25, random_state=s).fit(X[train], y[train]).score(X[test], y[test]) for s in range(4)
    ]
    assert abs(np.mean(ours) - np.mean(theirs)) < 0.03


@pytest.mark.parametrize("member", [CartClassifier(), KNNClassifier(), NaiveBayes(), LogisticRegression()], ids=str)
def test_order_of_rows_and_threads_do_not_matter(member):
    X, y = labels(n=150, classes=3)
    order = np.random.default_rng(1).permutation(len(y))
    one = BaggingClassifier(estimator=member, random_state=3, n_jobs=1).fit(X, y)
    two = BaggingClassifier(estimator=member, random_state=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    three = BaggingClassifier(estimator=member, random_state=3).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_proba(X), three.predict_proba(X), atol=1e-6)


def test_a_sample_is_weights_where_the_learner_takes_them_else_repeated_rows():
    X, y = labels(n=120, classes=2)
    seen = []

    class Weighted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), None if sample_weight is None else sample_weight.sum()))
            return super().fit(X, y, sample_weight=sample_weight)

    class Plain(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append((len(X), None))
            return super().fit(X, y)

    BaggingClassifier(estimator=Weighted(), n_estimators=2, random_state=0, n_jobs=1).fit(X, y)
    BaggingClassifier(estimator=Plain(), n_estimators=1, random_state=0, n_jobs=1).fit(X, y)
    assert all(60 < rows < 90 and total == 120 for rows, total in seen[:2])
    assert seen[2] == (120, None)


def test_out_of_bag_predictions_come_from_members_that_did_not_draw_the_row():
    X, y = labels(n=300, classes=2)
    wrong = np.random.default_rng(0).permutation(y)
    model = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, wrong)
    assert model.score(X, wrong) > 0.9 and model.oob_score_ < 0.65  # a memorising member would be right in its bag
    assert model.oob_prediction_.shape == (300, 2)
    few = BaggingRegressor(n_estimators=1, oob_score=True, random_state=0).fit(X, X[:, 0])
    drawn = np.isnan(few.oob_prediction_)
    assert 0.5 < drawn.mean() < 0.75


def test_out_of_bag_score_estimates_the_score_on_new_rows():
    X, y = numbers(1500)
    model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X[:800], y[:800])
    assert abs(model.oob_score_ - model.score(X[800:], y[800:])) < 0.08


def test_out_of_bag_needs_rows_left_out():
    X, y = labels(n=50, classes=2)
    with pytest.raises(AssayError, match="parameter 'oob_score' needs rows that a member did not draw"):
        BaggingClassifier(bootstrap=False, oob_score=True).fit(X, y)


def test_pasting_draws_no_row_twice_and_numbers_count_rows():
    X, y = numbers(60)
    seen = []

    class Count(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), sample_weight.max()))
            return super().fit(X, y, sample_weight=sample_weight)

    BaggingRegressor(estimator=Count(), bootstrap=False, max_samples=0.5, n_estimators=2, n_jobs=1).fit(X, y)
    BaggingRegressor(estimator=Count(), bootstrap=False, max_samples=7, n_estimators=1, n_jobs=1).fit(X, y)
    assert seen == [(30, 1.0), (30, 1.0), (7, 1.0)]


def test_the_median_resists_a_wild_member():
    X, y = numbers(200)
    y[:2] = 1e6
    tests = np.random.default_rng(5).normal(size=(200, X.shape[1]))
    mean, median = (
        BaggingRegressor(estimator=Ridge(), n_estimators=15, max_samples=20, rule=rule, random_state=0).fit(X, y)
        for rule in ("mean", "median")
    )
    assert np.abs(median.predict(tests)).max() < np.abs(mean.predict(tests)).max()


def test_mixed_tables_and_sparse_ones_go_to_the_members_as_they_are():
    frame, y = mixed()
    model = BaggingRegressor(random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.8
    codes = BaggingClassifier(random_state=0, max_features=0.7, categorical_features=[0])
    X = np.column_stack([np.arange(90) % 5, np.random.default_rng(0).normal(size=(90, 2))]).astype(float)
    codes.fit(X, X[:, 0] % 2)
    assert codes.score(X, X[:, 0] % 2) > 0.7
    X, y = labels(n=100, classes=2)
    linear = BaggingClassifier(estimator=LogisticRegression(), random_state=0)
    np.testing.assert_allclose(linear.fit(csr_matrix(X), y).predict_proba(csr_matrix(X)).sum(axis=1), 1.0, atol=1e-12)


def test_a_rare_class_does_not_break_learners_that_need_two():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.zeros(40, dtype=int)
    y[3] = 1
    model = BaggingClassifier(estimator=LogisticRegression(), n_estimators=30, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (40, 2)


def test_errors_are_one_sentence():
    X, y = labels(n=50, classes=2)
    with pytest.raises(AssayError, match="parameter 'estimator' must be a classifier; got CartRegressor"):
        BaggingClassifier(estimator=CartRegressor()).fit(X, y)
    with pytest.raises(AssayError, match="sample_weight must be taken by every learner inside; KNN"):
        BaggingClassifier(estimator=KNNClassifier()).fit(X, y, sample_weight=np.ones(50))


def test_bagging_lowers_variance_and_does_not_raise_bias():
    rng = np.random.default_rng(0)
    X_test = rng.uniform(-2, 2, (300, 2))

    def truth(X):
        return np.sin(2 * X[:, 0]) + X[:, 1] ** 2

    def draw(g):
        X = g.uniform(-2, 2, (150, 2))
        return X, truth(X) + 0.5 * g.normal(size=150)

    tree, bag = (
        bias_variance(
            model, None, None, X_test, truth(X_test), noise=0.25, noisy_test=False, method="simulate", generator=draw,
            n_replicates=60, random_state=0,
        )
        for model in (CartRegressor(), BaggingRegressor(n_estimators=25))
    )  # fmt: skip
    assert bag.variance < 0.7 * tree.variance
    # A tree on a bootstrap sample sees 63% of the rows, which costs it a little; beyond that the bias stays.
    assert bag.bias < tree.bias + 0.1 * tree.variance
    assert bag.total < tree.total


def test_a_thousand_million_members_are_refused():
    X, y = numbers(50)
    with pytest.raises(CostError, match="max_seconds"):
        BaggingRegressor(n_estimators=10**9).fit(X, y)


def test_samples_are_not_kept_once_their_member_is_fitted():
    X, y = numbers(n=2000)
    model = BaggingRegressor(estimator=Ridge(), n_estimators=100, random_state=0, n_jobs=1)
    model.fit(X[:50], y[:50])
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 8 * 2000
