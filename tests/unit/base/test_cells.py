"""One sentence for tables that are no tables of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from assay.base import DataError
from assay.base.cells import plain_cells, require_finite, require_squares, require_table
from assay.models.clustering import KMeans
from assay.models.linear import GLM, LassoCV, LeastSquares, LogisticRegression, OneVsRest, Ridge
from assay.models.trees import CartClassifier
from assay.prepare import ForwardSelector

X = np.arange(24.0).reshape(8, 3) % 7
Y = np.array([0.0, 1.0] * 4)
READERS = [
    LeastSquares(),
    Ridge(),
    LassoCV(cv=2),
    GLM(),
    OneVsRest(estimator=LogisticRegression()),
    ForwardSelector(cv=2),
]


@pytest.mark.parametrize("model", READERS, ids=lambda m: type(m).__name__)
def test_a_missing_or_infinite_cell_is_named_in_one_sentence(model):
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        wrong = X.copy()
        wrong[4, 1] = value
        with pytest.raises(ValueError, match=f"(?s)Input X contains {word}") as caught:
            model.fit(wrong, Y)
        assert "\n" not in str(caught.value) and "sklearn" not in str(caught.value)
        if value is np.nan:
            assert "column 'x1'" in str(caught.value) and "row 4" in str(caught.value)


@pytest.mark.parametrize("model", [*READERS, LogisticRegression()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("wrong", [X[:, 0], pd.Series(X[:, 0]), X[:, 0].tolist()], ids=["array", "series", "list"])
def test_a_single_list_is_no_table(model, wrong):
    with pytest.raises(DataError, match="Expected 2D array, got 1D array") as caught:
        model.fit(wrong, Y)
    assert "\n" not in str(caught.value)


def test_names_are_those_of_the_frame():
    frame = pd.DataFrame(X, columns=["age", "height", "weight"]).convert_dtypes().astype("Float64")
    frame.iloc[2, 2] = pd.NA
    with pytest.raises(DataError, match="column 'weight' must not have missing cells.*row 2"):
        LeastSquares().fit(frame, Y)


def test_names_are_those_of_an_arrow_table():
    with pytest.raises(DataError, match="column 'b' holds labels such as 'x'"):
        LeastSquares().fit(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_arrow(), [1.0, 2.0])


def test_right_tables_pass():
    require_table("fit", X)
    require_table("fit", [[1.0]])
    require_finite("fit", X)
    require_squares("fit", np.array([1e149]))
    with pytest.raises(DataError, match="too large to square"):
        require_squares("fit", np.array([1e151]))


@pytest.mark.parametrize("missing", [pd.NA, None, np.nan, pd.NaT], ids=["NA", "None", "NaN", "NaT"])
def test_missing_labels_are_refused_whatever_they_are(missing):
    labels = pd.Series(["yes", "no"] * 4, dtype="object")
    labels[5] = missing
    with pytest.raises(DataError, match="missing labels.*row 5"):
        LogisticRegression().fit(X, labels)
    with pytest.raises(DataError, match="missing labels"):
        ForwardSelector(cv=2).fit(X, labels)
    text = pd.Series(["yes", "no"] * 4, dtype="string")
    text[5] = pd.NA
    with pytest.raises(DataError, match="1 missing label"):
        LogisticRegression().fit(X, text)


@pytest.mark.parametrize(
    "model", [Ridge(), LogisticRegression(), CartClassifier(), KMeans(2, random_state=0)], ids=repr
)
def test_whatever_holds_the_numbers_the_answers_are_the_same(model):
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    want = clone(model).fit(X, Y).predict(X)
    for other in (np.asfortranarray(X), X.astype(np.int32), X.astype(np.uint8), X.tolist(), frame, frame.astype(int)):
        fitted = clone(model).fit(other, Y)
        np.testing.assert_array_equal(fitted.predict(other), want)
        assert fitted.n_features_in_ == 3
        assert hasattr(fitted, "feature_names_in_") == (hasattr(other, "columns"))


def test_only_numbers_are_converted_without_a_closer_look():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]})
    np.testing.assert_array_equal(plain_cells(frame), [[1.0, 0.5], [2.0, np.nan]])
    assert plain_cells(frame, framed="f") is None and plain_cells([[1.0]], lists=False) is None
    assert plain_cells(X) is X and plain_cells(X.astype(np.float32)).flags.c_contiguous
    for other in (
        frame.astype({"a": bool}),
        frame.astype("Float64"),
        frame.astype({"a": "category"}),
        X > 3,
        X.astype(np.longdouble),
        X.astype(str),
        X[:0],
        [[1.0, None]],
        [[1.0], [1.0, 2.0]],
        [[1, "2"]],
        [[True]],
        [[]],
        [],
    ):
        assert plain_cells(other) is None


def test_the_names_of_a_frame_are_remembered_compared_and_forgotten():
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = LeastSquares().fit(frame, Y)
    assert model.feature_names_in_.dtype == object and model.feature_names_in_.tolist() == list(frame.columns)
    for wrong in (frame.rename(columns={"age": "agge"}), frame[frame.columns[::-1]]):
        with pytest.raises(DataError, match="feature names should match"):
            model.predict(wrong)
    with pytest.raises(DataError, match="column 'height' must not have missing cells.*row 1"):
        model.predict(frame.assign(height=[1.0, np.nan, *X[2:, 1]]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, Y), "feature_names_in_")
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model.predict(frame)
    assert not hasattr(model.fit(frame.set_axis([0, 1, 2], axis=1), Y), "feature_names_in_")
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        model.fit(frame.set_axis(["a", 1, "b"], axis=1), Y)
