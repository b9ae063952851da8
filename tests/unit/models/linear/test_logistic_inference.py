"""Inference for logistic regression without penalty, against Logit and MNLogit of statsmodels 0.14+."""

import json
import warnings

import numpy as np
import pytest

from assay.base import AssayWarning, ParameterError
from assay.models.linear import LogisticRegression

sm = pytest.importorskip("statsmodels.api")


def make(n=400, p=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=p)
    score = X @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))
    return X, np.where(np.arange(n) < classes, np.arange(n), score.argmax(axis=1))


def test_two_classes_equal_logit_of_statsmodels():
    X, y = make()
    ours = LogisticRegression(penalty=None).fit(X, y)
    theirs = sm.Logit(y, sm.add_constant(X)).fit(disp=False, method="newton", tol=1e-12)
    np.testing.assert_allclose(np.append(ours.intercept_se_, ours.coef_se_), theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(
        np.append(ours.intercept_p_values_, ours.p_values_), theirs.pvalues, rtol=1e-5, atol=1e-14
    )
    np.testing.assert_allclose([ours.aic_, ours.bic_, ours.log_likelihood_], [theirs.aic, theirs.bic, theirs.llf])
    np.testing.assert_allclose(ours.null_deviance_, -2 * theirs.llnull, rtol=1e-7)
    rows = ours.summary().rows
    np.testing.assert_allclose([[r.low, r.high] for r in rows], theirs.conf_int(), rtol=1e-6)
    assert rows[0].name == "(intercept)" and "logistic, n = 400" in str(ours.summary())
    json.dumps(ours.summary().to_dict())


def test_reference_form_equals_multinomial_logit_of_statsmodels():
    X, y = make(classes=3)
    ours = LogisticRegression(penalty=None, reference_class=0).fit(X, y)
    theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=False, method="newton", tol=1e-12)
    errors = np.column_stack([ours.intercept_se_, ours.coef_se_])
    np.testing.assert_allclose(errors[1:].T, theirs.bse, rtol=1e-6)
    assert not errors[0].any()
    np.testing.assert_allclose([ours.aic_, ours.bic_], [theirs.aic, theirs.bic], rtol=1e-9)
    assert len(ours.summary().rows) == 2 * (X.shape[1] + 1)


def test_symmetric_form_follows_from_the_reference_form():
    X, y = make(classes=3)
    symmetric = LogisticRegression(penalty=None).fit(X, y)
    forms = [LogisticRegression(penalty=None, reference_class=k).fit(X, y) for k in range(3)]
    # b_k - b_0 has the same variance whatever the form: var(s_k) + var(s_0) - 2 cov(s_k, s_0).
    width = X.shape[1] + 1
    covariance = symmetric.covariance_.reshape(3, width, 3, width)
    for j in range(width):
        block = covariance[:, j, :, j]
        error = np.sqrt(block[1, 1] + block[0, 0] - 2 * block[0, 1])
        np.testing.assert_allclose(error, np.append(forms[0].intercept_se_[1], forms[0].coef_se_[1])[j], rtol=1e-6)
    np.testing.assert_allclose([form.aic_ for form in forms], symmetric.aic_, rtol=1e-10)


def test_weights_count_as_repetition():
    X, y = make(200)
    weights = np.random.default_rng(1).integers(0, 4, size=200)
    weighted = LogisticRegression(penalty=None).fit(X, y, sample_weight=weights)
    repeated = LogisticRegression(penalty=None).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    for name in ("coef_se_", "intercept_se_", "aic_", "bic_", "null_deviance_", "df_residual_"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8)


def test_dropped_columns_have_infinite_error_and_without_intercept_there_is_no_row_for_it():
    X, y = make(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        doubled = LogisticRegression(penalty=None).fit(np.column_stack([X, X[:, 0]]), y)
    assert np.isinf(doubled.coef_se_).sum() == 1 and doubled.df_residual_ == 200 - 5
    through_zero = LogisticRegression(penalty=None, fit_intercept=False).fit(X, y)
    theirs = sm.Logit(y, X).fit(disp=False, tol=1e-12)
    np.testing.assert_allclose(through_zero.coef_se_[0], theirs.bse, rtol=1e-7)
    assert [row.name for row in through_zero.summary().rows] == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("options", [{}, {"penalty": None, "class_weight": "balanced"}], ids=str)
def test_no_inference_with_penalty_or_class_weights(options):
    X, y = make(100)
    model = LogisticRegression(**options).fit(X, y)
    assert not hasattr(model, "coef_se_")
    with pytest.raises(ParameterError, match="for standard errors and tests"):
        model.summary()
