"""Stacking: out-of-fold outputs, no leak, agreement with scikit-learn."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from sklearn.ensemble import StackingClassifier as PeerStacking
from sklearn.ensemble import StackingRegressor as PeerNumbers
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.model_selection import StratifiedKFold

from assay.base import AssayError
from assay.base.usual_parameters import random_state_param
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import NewtonBoostingClassifier, StackingClassifier, StackingRegressor
from assay.models.linear import LogisticRegression, Perceptron
from assay.models.neighbours import KNNClassifier
from assay.models.trees import CartClassifier, CartRegressor

from .test_newton_boosting import labels, mixed, numbers

MEMBERS = [("bayes", NaiveBayes()), ("tree", CartClassifier(max_depth=3))]


@pytest.mark.parametrize(("classes", "passthrough"), [(2, False), (3, False), (3, True)])
def test_probabilities_are_those_of_scikit_learn(classes, passthrough):
    X, y = labels(n=240, classes=classes)
    settings = {"cv": StratifiedKFold(4), "passthrough": passthrough}
    ours = StackingClassifier(estimators=MEMBERS, final_estimator=PeerLogistic(tol=1e-10), **settings).fit(X, y)
    peer = PeerStacking(MEMBERS, final_estimator=PeerLogistic(tol=1e-10), **settings).fit(X, y)
    np.testing.assert_allclose(ours.member_outputs(X), peer.transform(X), rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)


def test_numbers_are_those_of_scikit_learn():
    X, y = numbers(200)
    members = [("tree", CartRegressor(max_depth=3)), ("deep", CartRegressor(max_depth=6))]
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    ours = StackingRegressor(estimators=members, final_estimator=LinearRegression(), cv=folds).fit(X, y)
    peer = PeerNumbers(members, final_estimator=LinearRegression(), cv=folds).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-9)


def test_no_output_depends_on_the_rows_own_label():
    X, y = labels(n=120, classes=2)
    memoriser = [("nearest", KNNClassifier(n_neighbors=1)), ("tree", CartClassifier())]
    rng = np.random.default_rng(0)
    noise = rng.permutation(y)
    model = StackingClassifier(estimators=memoriser, cv=4).fit(X, noise)
    said = (model.out_of_fold_[:, 0] > 0.5).astype(int)
    assert abs(np.mean(said == (noise == model.classes_[1])) - 0.5) < 0.2  # in the bag a memoriser is always right
    folds = [(np.arange(120)[np.arange(120) % 4 != k], np.arange(120)[np.arange(120) % 4 == k]) for k in range(4)]
    for row in (0, 57):
        turned = y.copy()
        turned[row] = y[y != y[row]][0]
        one, two = (StackingClassifier(estimators=memoriser, cv=folds).fit(X, t).out_of_fold_ for t in (y, turned))
        np.testing.assert_array_equal(one[folds[row % 4][1]], two[folds[row % 4][1]])
        assert (one != two).any()


def test_the_combiner_learns_to_trust_the_member_that_knows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "up", "down")

    class Blind(NaiveBayes):
        """Sees one column that says nothing."""

        def fit(self, X, y, sample_weight=None):
            return super().fit(np.c_[X[:, 2]], y, sample_weight)

        def predict_proba(self, X):
            return super().predict_proba(np.c_[X[:, 2]])

        def fit_folds(self, X, y, folds, sample_weight=None, transforms=None):
            yield from (NaiveBayes.fit_folds(self, np.c_[X[:, 2]], y, folds, sample_weight))

    model = StackingClassifier(estimators=[("knows", NaiveBayes()), ("blind", Blind())]).fit(X, y)
    view = model.view()
    assert view.names == ["knows", "blind"] and abs(view.values[0][0]) > 2 * abs(view.values[0][1])


def test_tables_with_labels_pass_through_to_a_combiner_that_takes_them():
    frame, y = mixed()
    y = np.where(y > 0.5, "much", "little")
    model = StackingClassifier(
        passthrough=True, final_estimator=NewtonBoostingClassifier(n_estimators=20), random_state=0
    )
    model.fit(frame, y)
    assert model.columns_[-len(frame.columns) :] == frame.columns and model.score(frame, y) > 0.8
    with pytest.raises(AssayError, match="parameter 'passthrough' must be False for a table with labels"):
        StackingClassifier(passthrough=True).fit(frame, y)


def test_what_members_hand_on_can_be_chosen():
    X, y = labels(n=150, classes=3)
    lines = [("line", LogisticRegression()), ("perceptron", Perceptron(random_state=0))]
    scores = StackingClassifier(estimators=lines, stack_method="decision_function").fit(X, y)
    np.testing.assert_allclose(scores.member_outputs(X)[:, :3], scores.estimators_[0].decision_function(X))
    votes = StackingClassifier(estimators=lines, stack_method="predict").fit(X, y).member_outputs(X)
    assert set(np.unique(votes)) == {0.0, 1.0}
    auto = StackingClassifier(estimators=lines).fit(X, y)
    np.testing.assert_allclose(auto.member_outputs(X)[:, :3], auto.estimators_[0].predict_proba(X))
    with pytest.raises(AssayError, match="Perceptron has no predict_proba"):
        StackingClassifier(estimators=lines, stack_method="predict_proba").fit(X, y)


def test_combiners_of_another_kind_are_refused():
    X, y = labels(n=60, classes=2)
    with pytest.raises(AssayError, match="parameter 'final_estimator' must be a classifier; got CartRegressor"):
        StackingClassifier(final_estimator=CartRegressor()).fit(X, y)


@pytest.mark.parametrize("cls", [StackingClassifier, StackingRegressor])
def test_missing_cells_that_the_combiner_gets_are_named_as_the_user_knows_them(cls):
    X, y = labels(n=60)
    gap = X.copy()
    gap[3, 1] = np.nan
    words = f"{cls.__name__}: column 'x1' must not have missing cells.*first at row 3"
    with pytest.raises(AssayError, match=words):
        cls(passthrough=True, random_state=0).fit(gap, y)
    model = cls(passthrough=True, random_state=0).fit(X, y)
    with pytest.raises(AssayError, match=words):
        model.predict(gap)


def test_a_class_of_too_few_rows_for_the_folds_is_named():
    X = np.arange(5.0)[:, None]
    with pytest.raises(
        AssayError, match="StackingClassifier: y must have at least 2 classes.*class '1' has 1 row for 4"
    ):
        StackingClassifier().fit(X, [0, 0, 0, 0, 1])
    pairs = [(np.arange(4), np.array([4])), (np.array([2, 3, 4]), np.array([0, 1]))]
    with pytest.raises(AssayError, match="class '1' has 1 row for 2 folds"):
        StackingClassifier(cv=pairs).fit(X, [0, 0, 0, 0, 1])


class Telling(NaiveBayes):
    """Draws, and remembers by which seed."""

    random_state: int | None = random_state_param()
    seeds: ClassVar[list[int | None]] = []

    def _draws(self):
        return True

    def fit(self, X, y, sample_weight=None):
        Telling.seeds.append(self.random_state)
        return super().fit(X, y, sample_weight)


def test_every_fold_of_a_member_that_draws_has_a_seed_of_its_own():
    X, y = labels(n=120, classes=2)
    seen = []
    for _ in range(2):
        Telling.seeds.clear()
        StackingClassifier(estimators=[("one", Telling())], cv=4, random_state=3).fit(X, y)
        seen.append(list(Telling.seeds))
    assert seen[0] == seen[1] and len(set(seen[0])) == 5 and None not in seen[0]
    Telling.seeds.clear()
    StackingClassifier(estimators=[("one", Telling(random_state=7))], cv=4, random_state=3).fit(X, y)
    assert set(Telling.seeds) == {7}
