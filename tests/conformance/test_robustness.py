"""Numbers of any size: a method gives the same answer in other units, or finite numbers, or one sentence."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from assay.base import AssayError

from .tables import LEARNERS, TRANSFORMERS, named, numeric, outputs, predictions, quick

every_method = pytest.mark.parametrize(**named([*LEARNERS, *TRANSFORMERS]))
# Methods whose predictions do not depend on the unit of the columns, by what they are.
IN_ANY_UNIT = (
    *("zero-r", "zero-r-regressor", "one-r", "least-squares", "naive-bayes", "knn-classifier", "knn-regressor"),
    *("cart-classifier", "cart-regressor", "c45", "id3", "rules-from-tree", "sequential-covering", "ripper"),
    *("model-tree", "scale", "lda-projection", "lda", "qda"),
)
any_unit = pytest.mark.parametrize(**named([e for e in [*LEARNERS, *TRANSFORMERS] if e.id in IN_ANY_UNIT]))


@any_unit
@pytest.mark.parametrize("exponent", [-400, -60, 60, 400])
def test_predictions_do_not_depend_on_the_unit_of_the_columns(entry, exponent):
    X, y = numeric(entry)
    wanted = outputs(quick(entry).fit(X, y), X)
    scaled = np.ldexp(X, exponent)
    np.testing.assert_allclose(outputs(quick(entry).fit(scaled, y), scaled), wanted, rtol=1e-9, atol=1e-12)


@every_method
@pytest.mark.parametrize("exponent", [-1040, -700, 700, 1010])
def test_the_largest_and_smallest_numbers_give_finite_numbers_or_one_sentence(entry, exponent):
    X, y = numeric(entry)
    scaled = np.ldexp(X, exponent)
    assert np.isfinite(scaled).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = ""
        try:
            answer = outputs(quick(entry).fit(scaled, y), scaled)
        except AssayError as error:
            refusal = str(error)
    if refusal:
        assert "\n" not in refusal
        return
    # A transformer may say that a product is missing.
    assert not np.isinf(answer).any() and (entry.task == "transform" or np.isfinite(answer).all())
    if entry.id in IN_ANY_UNIT:
        np.testing.assert_allclose(answer, outputs(quick(entry).fit(X, y), X), rtol=1e-6, atol=1e-9)


@every_method
@pytest.mark.parametrize("exponent", [-1060, 1020])
def test_weights_of_any_size_give_finite_numbers_or_one_sentence(entry, exponent):
    if "sample_weight" not in inspect.signature(entry.load().fit).parameters:
        return
    X, y = numeric(entry)
    weights = np.ldexp(1.0 + np.arange(len(y)) % 3, exponent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refusal = ""
        try:
            model = quick(entry).fit(X, y, sample_weight=weights)
            answer = outputs(model, X) if hasattr(model, "transform") else predictions(model, X)
        except AssayError as error:
            refusal = str(error)
    if refusal:
        # What counts rows by their weights cannot count so many or so few.
        assert "\n" not in refusal
        return
    assert np.isfinite(answer).all()
