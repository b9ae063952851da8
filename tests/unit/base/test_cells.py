"""One sentence for tables that are no tables of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assay.base import DataError
from assay.base.cells import require_finite, require_squares, require_table
from assay.models.linear import GLM, LassoCV, LeastSquares, LogisticRegression, OneVsRest, Ridge
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
