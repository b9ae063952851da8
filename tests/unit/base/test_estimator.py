import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from assay.base import DataError, check_weights, take_rows
from assay.models.baselines import ZeroRClassifier, ZeroRRegressor
from assay.models.linear import LeastSquares
from assay.prepare import PCA


def arrow(cells):
    return pl.DataFrame(cells).to_arrow()


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame, arrow, list])
def test_rows_are_taken_in_the_given_order(make):
    X = make(np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(np.asarray(take_rows(X, np.array([3, 0])), dtype=float)[:, 0], [9.0, 0.0])


@pytest.mark.parametrize(
    ("weights", "rule"),
    [([1.0, -1.0], "negative"), ([0.0, 0.0], "zero for every row"), ([1.0], "one value for each"),
     ([np.nan, 1.0], "finite"), ([[1.0], [1.0]], "1D")],
)  # fmt: skip
def test_weights_are_checked_in_one_sentence(weights, rule):
    with pytest.raises(DataError, match=rule):
        check_weights("Ridge", weights, 2)


def test_a_class_without_weight_is_not_a_class():
    model = ZeroRClassifier().fit(np.zeros((3, 1)), ["a", "b", "a"], sample_weight=[1, 0, 1])
    assert model.classes_.tolist() == ["a"]


@pytest.mark.parametrize("labels", [[True, False, True], [1, 2, 1], ["x", "y", "x"], np.array(["x", "y", "x"], object)])
def test_labels_of_any_type_come_back_as_they_were(labels):
    model = ZeroRClassifier().fit(np.zeros((3, 1)), labels)
    assert model.predict(np.zeros((1, 1)))[0] == labels[0]
    assert model.classes_.dtype.kind != "O"


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("low", [0, -100, 3, 2**63])
def test_integer_labels_are_counted_as_they_would_be_sorted(dtype, low):
    limits = np.iinfo(dtype)
    if not limits.min <= low <= limits.max:
        return
    high = min(low + 200, limits.max)
    labels = np.resize(np.array([high, low, low, (low + high) // 2], dtype=dtype), 1000)
    model = ZeroRClassifier()
    codes = model._encode_target(labels)
    classes, expected = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_array_equal(codes, expected)
    assert model.classes_.dtype == dtype and codes.dtype == np.int32


def test_a_model_fitted_on_arrays_still_checks_the_columns_of_the_next():
    model = ZeroRClassifier().fit(np.zeros((3, 2)), [0, 1, 1])
    with pytest.raises(ValueError, match="2 features"):
        model.predict(np.zeros((1, 3)))
    named = ZeroRClassifier().fit(pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 1.0]}), [0, 1])
    with pytest.warns(UserWarning, match="feature names"):
        named.predict(np.zeros((1, 2)))
    assert not hasattr(named.fit(np.zeros((2, 2)), [0, 1]), "feature_names_in_")


@pytest.mark.parametrize("labels", [["a", None, "b"], [1.0, np.nan, 2.0]])
def test_missing_labels_are_refused(labels):
    with pytest.raises(ValueError, match="NaN"):
        ZeroRClassifier().fit(np.zeros((3, 1)), np.array(labels, dtype=object))


def test_missing_target_values_are_refused_with_the_row():
    with pytest.raises(DataError, match="row 1"):
        ZeroRRegressor().fit(np.zeros((3, 1)), [1.0, np.nan, 2.0])


def test_text_target_is_refused_for_regression():
    with pytest.raises(ValueError, match="numeric"):
        ZeroRRegressor().fit(np.zeros((2, 1)), ["low", "high"])


CELLS = {
    "text": (
        pd.DataFrame({"age": [1, 2, 3], "city": ["Rome", "Bonn", "Oslo"]}),
        "column 'city' holds labels such as 'Rome'",
    ),
    "category": (
        pd.DataFrame({"age": [1, 2, 3], "city": pd.Categorical(["b", "a", "b"])}),
        "column 'city' holds labels such as 'b'",
    ),
    "text in Polars": (
        pl.DataFrame({"age": [1, 2, 3], "city": ["1", "2", "x"]}),
        "column 'city' holds labels such as 'x'",
    ),
    "text in objects": (np.array([[1, "a"], [2, "b"], [3, "c"]], dtype=object), "column 'x1' holds labels such as 'a'"),
    "dates": (
        pd.DataFrame({"day": pd.date_range("2024-01-01", periods=3, tz="Europe/Berlin"), "n": [1, 2, 3]}),
        "column 'day' holds dates",
    ),
    "missing": (
        pd.DataFrame({"age": [1, 2, 3], "pay": [1.0, np.nan, 2.0]}),
        "column 'pay' must not have missing cells",
    ),
    "missing whole numbers": (
        pd.DataFrame({"age": [1, 2, 3], "pay": pd.array([1, None, 2], dtype="Int64")}),
        "column 'pay' must not have missing cells",
    ),
    "missing truth": (
        pd.DataFrame({"age": [1, 2, 3], "paid": pd.array([True, None, False], dtype="boolean")}),
        "column 'paid' must not have missing cells",
    ),
    "infinite": (np.array([[1.0, 2.0], [3.0, np.inf], [4.0, 5.0]]), "column 'x1' must hold finite numbers"),
}


@pytest.mark.parametrize("model", [PCA(), LeastSquares()], ids=["PCA", "LeastSquares"])
@pytest.mark.parametrize("case", list(CELLS))
def test_a_column_that_holds_no_numbers_is_named_in_one_sentence(model, case):
    X, told = CELLS[case]
    with pytest.raises(DataError) as refused:
        clone(model).fit(X, [1.0, 2.0, 4.0])
    words = str(refused.value)
    assert words.startswith(f"{type(model).__name__}: {told}") and words.endswith(".") and "\n" not in words
    assert "first" in words.split("; ")[-1]
