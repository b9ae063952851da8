"""Selection by a model: weights as scikit-learn finds them, elimination as its RFE does it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_regression
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from assay.base import AssayError, AssayWarning
from assay.base.folds import fit_folds
from assay.prepare import SelectEmbedded, SelectRFE

X, Y = load_diabetes(return_X_y=True)
SCALED = StandardScaler().fit_transform(X)


@pytest.mark.parametrize("alpha", [1.0, 50.0])
def test_weights_without_a_model_are_those_of_ridge_regression(alpha):
    step = SelectEmbedded(alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(step.importances_, np.abs(Ridge(alpha=alpha).fit(SCALED, Y).coef_), rtol=1e-8)
    assert step.threshold_ == pytest.approx(step.importances_.mean())
    np.testing.assert_array_equal(step.support_, step.importances_ >= step.threshold_)


def test_classes_are_judged_over_all_their_indicators():
    iris, y = load_iris(return_X_y=True)
    peer = Ridge(alpha=1.0).fit(StandardScaler().fit_transform(iris), np.eye(3)[y])
    np.testing.assert_allclose(SelectEmbedded().fit(iris, y).importances_, np.sqrt((peer.coef_**2).sum(axis=0)))
    np.testing.assert_allclose(
        SelectEmbedded().fit(iris, np.array(["a", "b", "c"], dtype=object)[y]).importances_,
        SelectEmbedded().fit(iris, y).importances_,
    )


def test_wide_tables():
    wide, y = make_regression(30, 100, n_informative=3, noise=0.1, random_state=0)
    step = SelectEmbedded(k=3).fit(wide, y)
    peer = Ridge(alpha=1.0).fit(StandardScaler().fit_transform(wide), y)
    np.testing.assert_allclose(step.importances_, np.abs(peer.coef_), rtol=1e-6)
    assert step.support_.sum() == 3


def test_estimators_ids_and_importances():
    by_object = SelectEmbedded(estimator=LinearRegression(), k=4).fit(X, Y)
    np.testing.assert_allclose(by_object.importances_, np.abs(LinearRegression().fit(SCALED, Y).coef_), rtol=1e-7)
    tree = SelectEmbedded(estimator="cart-regressor", threshold="median").fit(X, Y)
    assert tree.importances_.sum() == pytest.approx(1) and tree.support_.sum() == 5
    assert SelectEmbedded(estimator="lasso", threshold=1e-6).fit(X, Y).support_.sum() < 10
    with pytest.raises(AssayError, match="must have coef_ or feature_importances_"):
        SelectEmbedded(estimator=KNeighborsClassifier()).fit(X, (Y > 100).astype(int))
    with pytest.raises(AssayError, match="must be a learner"):
        SelectEmbedded(estimator="scale").fit(X, Y)
    with pytest.warns(AssayWarning, match="no column reaches"):
        assert SelectEmbedded(threshold=1e9).fit(X, Y).support_.sum() == 1


def test_elimination_is_that_of_scikit_learn():
    for step in (1, 3, 0.3):
        ours = SelectRFE(estimator=LinearRegression(), n_features_to_select=4, step=step).fit(X, Y)
        peer = RFE(LinearRegression(), n_features_to_select=4, step=step).fit(SCALED, Y)
        np.testing.assert_array_equal(ours.support_, peer.support_)
        np.testing.assert_array_equal(ours.ranking_, peer.ranking_)
    assert SelectRFE(n_features_to_select=0.3).fit(X, Y).support_.sum() == 3
    assert SelectRFE().fit(X, Y).support_.sum() == 5


def test_the_number_by_cross_validation_is_that_of_scikit_learn():
    cancer, y = load_breast_cancer(return_X_y=True)
    cancer = StandardScaler().fit_transform(cancer[:, :10])
    ours = SelectRFE(estimator=LogisticRegression(), cv=4).fit(cancer, y)
    peer = RFECV(LogisticRegression(), cv=4).fit(cancer, y)
    np.testing.assert_array_equal(ours.support_, peer.support_)
    np.testing.assert_allclose(ours.cv_scores_.mean(axis=1), peer.cv_results_["mean_test_score"])
    assert SelectRFE(cv=3).fit(X, Y).cv_scores_.shape == (10, 3)
    refit = SelectRFE(cv=3).fit(X, Y).set_params(cv=None).fit(X, Y)
    assert not hasattr(refit, "cv_scores_")


def test_stability_and_words():
    step = SelectRFE(n_features_to_select=3, alpha=5.0).fit(X, Y)
    stable = step.stability(X, Y, n_resamples=10)
    assert stable.sizes.tolist() == [3] * 10 and 0 < stable.agreement <= 1
    assert step.explain()[0].startswith("3 of 10 columns are kept: x2")


def test_the_number_of_columns_is_chosen_by_the_fold_engine(monkeypatch):
    """Fits of folds are made in one place, with and without weights."""
    X, y = load_diabetes(return_X_y=True)
    asked = []

    def engine(estimator, X, y, folds, sample_weight=None):
        asked.append((X.shape[1], sample_weight is not None))
        return fit_folds(estimator, X, y, folds, sample_weight)

    monkeypatch.setattr("assay.prepare.select_model.fit_folds", engine)
    weights = np.linspace(0.5, 2.0, len(y))
    for given in (None, weights):
        asked.clear()
        model = SelectRFE(cv=3).fit(X, y, given)
        assert len(asked) == 3 * X.shape[1] == model.cv_scores_.size
        assert {weighted for _, weighted in asked} == {given is not None}


@pytest.mark.parametrize("given", [ExtraTreesRegressor(3), "random-forest-regressor"])
def test_an_open_seed_of_the_model_follows_from_that_of_the_step(given):
    for make in (
        lambda seed: SelectEmbedded(estimator=given, random_state=seed).fit(X[:120], Y[:120]).importances_,
        lambda seed: SelectRFE(estimator=given, cv=3, step=3, random_state=seed).fit(X[:120], Y[:120]).cv_scores_,
    ):
        np.testing.assert_array_equal(make(5), make(5))
        assert not np.array_equal(make(5), make(6))
    assert given == "random-forest-regressor" or given.random_state is None, "what is handed in stays as it is"
    fixed = ExtraTreesRegressor(3, random_state=1)
    one, other = (SelectEmbedded(estimator=fixed, random_state=seed).fit(X, Y).importances_ for seed in (5, 6))
    np.testing.assert_array_equal(one, other)


def test_each_fold_of_the_elimination_draws_from_a_stream_of_its_own():
    seeds = []

    class Watched(ExtraTreesRegressor):
        def fit(self, X, y, sample_weight=None):
            seeds.append((X.shape[0], self.random_state))
            return super().fit(X, y, sample_weight)

    SelectRFE(
        estimator=Watched(2), cv=[(np.arange(k, 100), np.arange(k)) for k in (20, 30)], step=9, random_state=0
    ).fit(X[:100], Y[:100])
    by_rows = {rows: {seed for n, seed in seeds if n == rows} for rows, _ in seeds}
    assert sorted(by_rows) == [70, 80, 100] and all(len(one) == 1 for one in by_rows.values())
    assert len(set.union(*by_rows.values())) == 3 and None not in set.union(*by_rows.values())
