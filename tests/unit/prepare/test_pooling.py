"""Rubin's rules against numbers worked out by hand and against statsmodels; models fitted to completed tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline

from assay.base import AssayError
from assay.data import load_dataset
from assay.models.linear import LeastSquares
from assay.models.linear import LogisticRegression as Logistic
from assay.prepare import ImputeMultiple, Scale, fit_multiple, pool


def test_a_small_example_worked_by_hand():
    """m = 3, Q = 1, 2, 6, U = 2, 3, 4, 20 degrees of freedom if complete.

    Q mean 3; U mean 3; B = (4 + 1 + 9) / 2 = 7; T = 3 + 4/3 * 7 = 37/3; r = (28/3) / 3 = 28/9;
    lambda = (28/3) / (37/3) = 28/37; df_old = 2 (37/28)^2; df_obs = 21/23 * 20 * 9/37;
    df = df_old df_obs / (df_old + df_obs); lost = (r + 2 / (df + 3)) / (r + 1).
    """
    pooled = pool([1.0, 2.0, 6.0], [2.0, 3.0, 4.0], 20)
    assert (pooled.estimate, pooled.within, pooled.between) == (3.0, 3.0, 7.0)
    old, observed = 2 * (37 / 28) ** 2, 21 / 23 * 20 * 9 / 37
    df = old * observed / (old + observed)
    expected = {
        "total": 37 / 3,
        "increase": 28 / 9,
        "df": df,
        "standard_error": np.sqrt(37 / 3),
        "missing_information": (28 / 9 + 2 / (df + 3)) / (28 / 9 + 1),
        "high": 3 + stats.t.ppf(0.975, df) * np.sqrt(37 / 3),
        "p_value": 2 * stats.t.sf(3 / np.sqrt(37 / 3), df),
    }
    for name, value in expected.items():
        assert getattr(pooled, name) == pytest.approx(value, rel=1e-12), name
    assert pool([1.0, 2.0, 6.0], [2.0, 3.0, 4.0]).df == pytest.approx(old)


def test_covariances_and_the_joint_test_by_their_formulas():
    """D1 of Li, Raghunathan & Rubin (1991) as in van Buuren (2018), sec. 5.3.1, written out with inverses."""
    rng = np.random.default_rng(0)
    estimates, covariances = rng.normal(size=(6, 3)), np.array([np.diag(rng.uniform(1, 2, 3)) + 0.1 for _ in range(6)])
    within, between = covariances.mean(axis=0), np.cov(estimates.T, bias=False)
    pooled = pool(estimates, covariances)
    np.testing.assert_allclose(pooled.covariance, within + (1 + 1 / 6) * between)
    np.testing.assert_allclose(pooled.standard_error, np.sqrt(np.diag(pooled.covariance)))
    statistic, df, p = pooled.wald([0.0, 0.0, 0.0])
    increase = (1 + 1 / 6) * np.trace(between @ np.linalg.inv(within)) / 3
    assert statistic == pytest.approx(
        pooled.estimate @ np.linalg.inv(within) @ pooled.estimate / (3 * (1 + increase)), rel=1e-10
    )
    assert df == pytest.approx(4 + 11 * (1 + (1 - 2 / 15) / increase) ** 2) and 0 < p < 1


def test_equal_estimates_lose_nothing():
    pooled = pool([2.0, 2.0], [1.0, 1.0], 50)
    assert pooled.total == 1.0 and pooled.increase == 0.0
    # Barnard and Rubin: even then the degrees of freedom are (df + 1) / (df + 3) df.
    assert pooled.df == pytest.approx(51 / 53 * 50)
    assert pool([2.0, 2.0], [1.0, 1.0]).low == pytest.approx(2 - stats.norm.ppf(0.975), rel=1e-6)


def test_without_variances_only_the_missing_cells_count():
    pooled = pool([0.8, 0.9, 0.85])
    assert np.isnan(pooled.within) and pooled.df == 2 and np.isnan(pooled.p_value)
    assert pooled.total == pytest.approx(4 / 3 * np.var([0.8, 0.9, 0.85], ddof=1))
    assert np.isnan(pool([0.8]).low)


def test_confidence_null_and_names_matter():
    estimates, variances = [[1.0, 2.0], [1.5, 2.5]], [[1.0, 1.0], [1.0, 1.0]]
    wide, narrow = pool(estimates, variances), pool(estimates, variances, confidence=0.5, names=["a", "b"])
    assert (wide.high - wide.low > narrow.high - narrow.low).all() and narrow.names == ["a", "b"]
    assert pool(estimates, variances, null=1.25).p_value[0] == pytest.approx(1.0)
    assert "a  " in str(narrow) and "<th>b</th>" in narrow._repr_html_() and json.dumps(narrow.to_dict())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([],), "must be one finite number or vector"),
        (([1.0, np.nan],), "must be one finite number or vector"),
        (([1.0, 2.0], [1.0]), "must have the shape"),
        (([1.0, 2.0], [1.0, -1.0]), "must be finite and not negative"),
        (([1.0, 2.0], [1.0, 1.0], 0), "must be above 0"),
    ],
    ids=["empty", "nan", "shape", "negative", "df"],
)
def test_refusals(arguments, sentence):
    with pytest.raises(AssayError, match=sentence):
        pool(*arguments)
    with pytest.raises(AssayError, match="covariance matrices"):
        pool([[1.0, 2.0], [2.0, 3.0]], [[1.0, 1.0], [1.0, 1.0]]).wald()


numbers = st.floats(-100, 100)


@given(
    st.lists(st.tuples(numbers, st.floats(0.01, 100)), min_size=2, max_size=8), st.floats(-10, 10), st.floats(0.1, 10)
)
def test_pooling_commutes_with_shifting_and_scaling(pairs, shift, scale):
    estimates, variances = np.array(pairs).T
    first, moved = pool(estimates, variances, 30), pool(shift + scale * estimates, scale**2 * variances, 30)
    assert moved.estimate == pytest.approx(shift + scale * first.estimate, abs=1e-8)
    assert moved.total == pytest.approx(scale**2 * first.total) and moved.df == pytest.approx(first.df, rel=1e-6)
    assert first.total >= first.within and first.low <= first.estimate <= first.high


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] += X[:, 0]
    y = X @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=n)
    X[rng.random(n) < 0.3, 1] = np.nan
    return X, y


def test_coefficients_are_those_of_the_models_pooled():
    X, y = data()
    fitted = fit_multiple(ImputeMultiple(n_imputations=4, random_state=0), LeastSquares(), X, y)
    estimates = [np.append(m.intercept_, m.coef_) for m in fitted.models_]
    errors = [np.append(m.intercept_se_, m.coef_se_) for m in fitted.models_]
    direct = pool(estimates, np.square(errors), 300 - 4)
    np.testing.assert_array_equal(fitted.coefficients.estimate, direct.estimate)
    np.testing.assert_array_equal(fitted.coefficients.df, direct.df)
    assert fitted.coefficients.names == ["intercept", "x0", "x1", "x2"]
    same = fitted.pool(lambda model, X, y: (model.coef_, model.coef_se_**2), df_complete=296)
    np.testing.assert_allclose(same.low, fitted.coefficients.low[1:])


def test_the_target_must_help_or_slopes_shrink():
    """Without the target in the imputation the slope of the holed column is biased towards 0 (van Buuren 2018, 2.3)."""
    X, y = data(n=2000)
    X[:, 1] -= np.nan_to_num(X[:, 0])  # nothing but y says anything about the holed column
    y = y + 0.0
    imputer = ImputeMultiple(n_imputations=5, method="norm", random_state=0)
    with_target = fit_multiple(imputer, LeastSquares(), X, y).coefficients.estimate[2]
    without = fit_multiple(imputer, LeastSquares(), X, y, use_target=False).coefficients.estimate[2]
    assert abs(with_target + 1.0) < 0.1 and without > -0.85


def test_predictions_are_means_over_the_models():
    X, y = data()
    new = np.array([[1.0, np.nan, 0.0], [0.0, 1.0, 1.0]])
    fitted = fit_multiple(ImputeMultiple(n_imputations=3, random_state=0), LeastSquares(), X, y)
    complete = new[1:]
    np.testing.assert_allclose(
        fitted.predict(complete), np.mean([m.predict(complete) for m in fitted.models_], axis=0), rtol=1e-12
    )
    assert np.isfinite(fitted.predict(new)).all()
    score = fitted.score(X[:100], y[:100], r2_score)
    parts = [r2_score(y[:100], model.predict(part)) for model, part in fitted._parts(X[:100])]
    assert score.estimate == pytest.approx(np.mean(parts)) and score.between == pytest.approx(np.var(parts, ddof=1))
    # Averaging over the tables takes the noise of single draws out of the predictions.
    assert r2_score(y[:100], fitted.predict(X[:100])) > score.estimate
    paired = fitted.score(X[:100], y[:100], lambda y, p: (r2_score(y, p), 0.01))
    assert paired.within == pytest.approx(0.01)


@pytest.mark.parametrize("learner", [LogisticRegression(), Perceptron()], ids=["probabilities", "votes"])
def test_classes_are_predicted_from_the_completed_tables(learner):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.where(y > 0, "up", "down")
    fitted = fit_multiple(ImputeMultiple(n_imputations=3, random_state=0), learner, frame, labels)
    assert fitted.coefficients is None and isinstance(fitted.tables_[0], pd.DataFrame)
    assert accuracy_score(labels, fitted.predict(frame)) > 0.75
    if hasattr(learner, "predict_proba"):
        np.testing.assert_allclose(fitted.predict_proba(frame).sum(axis=1), 1.0)


def test_pipelines_name_their_coefficients():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = fit_multiple(
        ImputeMultiple(n_imputations=2, random_state=0), make_pipeline(Scale(), LeastSquares()), frame, y
    )
    assert fitted.coefficients.names == ["intercept", "a", "b", "c"]


def test_fit_multiple_refuses_in_one_sentence():
    X, y = data()
    with pytest.raises(AssayError, match="must be an ImputeMultiple"):
        fit_multiple(Scale(), LeastSquares(), X, y)
    with pytest.raises(AssayError, match="must hold one value for each of 300 rows"):
        fit_multiple(ImputeMultiple(), LeastSquares(), X, y[:5])
    y[3] = np.nan
    with pytest.raises(AssayError, match="must not have missing values"):
        fit_multiple(ImputeMultiple(), LeastSquares(), X, y)


def test_coefficients_of_several_classes_carry_their_class():
    iris = load_dataset("iris").frame
    cells = iris.select("sepal_length", "sepal_width")
    # Without noise setosa would be separated, and its coefficients would have no end.
    cells = cells + pl.DataFrame(np.random.default_rng(0).normal(size=(150, 2)), schema=cells.columns)
    holed = cells.with_columns(cells["sepal_width"].set(pl.Series(np.arange(150) % 10 == 0), None))
    settings = {"n_imputations": 2, "max_iter": 2, "random_state": 0}
    fitted = fit_multiple(ImputeMultiple(**settings), Logistic(penalty=None), holed, iris["species"].to_numpy())
    classes = ["setosa", "versicolor", "virginica"]
    slopes = [f"{label}: {column}" for label in classes for column in cells.columns]
    assert fitted.coefficients.names == [f"{label}: intercept" for label in classes] + slopes
    place = fitted.coefficients.names.index("virginica: sepal_width")
    assert fitted.coefficients.estimate[place] == pytest.approx(np.mean([m.coef_[2, 1] for m in fitted.models_]))
