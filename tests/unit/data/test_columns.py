"""Mixed columns become codes: the same from every kind of table, with missing and unseen kept apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from assay.base import Classifier, DataError, ParameterError, categorical_features_param
from assay.data import UNSEEN, MixedInput, fit_columns, read_columns
from assay.data.columns import number_codes
from assay.models.bayes import NaiveBayes

COLUMNS = {"size": [1.5, 2.5, None], "colour": ["red", None, "blue"], "new": [True, False, True]}
CODES = np.array([[1.5, 1.0, 1.0], [2.5, np.nan, 0.0], [np.nan, 0.0, 1.0]])


class NearestClass(MixedInput, Classifier):
    """Predicts the class with the nearest mean, with 0 for missing cells."""

    categorical_features: object = categorical_features_param()

    def fit(self, X, y, sample_weight=None):
        rows, codes, weights = self._begin(X, y, sample_weight)
        weights = np.ones(rows.shape[0]) if weights is None else weights
        rows = np.nan_to_num(rows)
        shares = np.eye(self.classes_.shape[0])[codes] * weights[:, None]
        self.means_ = shares.T @ rows / shares.sum(axis=0)[:, None]
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        rows = np.nan_to_num(self._read(X, reset=False))
        distance = ((rows[:, None, :] - self.means_) ** 2).sum(axis=2)
        odds = np.exp(distance.min(axis=1, keepdims=True) - distance)
        return odds / odds.sum(axis=1, keepdims=True)


def as_objects(columns):
    return np.array([list(row) for row in zip(*columns.values())], dtype=object)


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pd.DataFrame, pa.table, as_objects], ids=["polars", "pandas", "arrow", "array"]
)
def test_every_kind_of_table_gives_the_same_codes(make):
    codes, schema = fit_columns("test", make(COLUMNS), "from_dtype")
    np.testing.assert_array_equal(codes, CODES)
    assert schema.nominal.tolist() == [False, True, True] and schema.n_categories.tolist() == [0, 2, 2]
    np.testing.assert_array_equal(read_columns("test", make(COLUMNS), schema), CODES)


def test_unseen_and_missing_are_different():
    _, schema = fit_columns("test", pl.DataFrame({"c": ["a", "b"]}), "from_dtype")
    codes = read_columns("test", pl.DataFrame({"c": ["b", "z", None]}), schema)
    np.testing.assert_array_equal(codes.ravel(), [1.0, UNSEEN, np.nan])


def test_an_all_missing_column_is_missing_in_every_kind_of_table():
    _, schema = fit_columns("test", pl.DataFrame({"n": [1.5, 2.5], "c": ["a", "b"]}), "from_dtype")
    frame = pl.DataFrame({"n": pl.Series([None], dtype=pl.String), "c": pl.Series([None], dtype=pl.Float64)})
    assert np.isnan(read_columns("test", frame, schema)).all()


def test_a_categorical_of_numbers_is_nominal():
    frame = pd.DataFrame({"c": pd.Categorical([10, 2, 10])})
    _, schema = fit_columns("test", frame, "from_dtype")
    assert schema.nominal.all() and schema.categories[0].tolist() == ["10", "2"]
    plain = read_columns("test", pd.DataFrame({"c": [2, 10, 3]}), schema)
    np.testing.assert_array_equal(plain.ravel(), [1.0, 0.0, UNSEEN])


def test_large_numbers_among_text_keep_their_digits():
    cells = np.array([[1234567.0], [1234568], ["x"], [0.1]], dtype=object)
    _, schema = fit_columns("test", cells, "from_dtype")
    assert schema.categories[0].tolist() == ["0.1", "1234567", "1234568", "x"]
    later = read_columns("test", np.array([[1234567], [1234568.0]]), schema)
    np.testing.assert_array_equal(later.ravel(), [1.0, 2.0])


def test_numbers_can_be_declared_nominal_by_name_index_or_mask():
    frame = pl.DataFrame({"a": [5.0, 3.0, 5.0], "b": [1.0, 2.0, 3.0]})

    class Named:
        feature_names_in_ = np.array(["a", "b"])

    for chosen in (["a"], [0], [True, False]):
        codes, schema = fit_columns(Named(), frame, chosen)
        assert schema.nominal.tolist() == [True, False]
        np.testing.assert_array_equal(codes[:, 0], [1.0, 0.0, 1.0])
    later = read_columns(Named(), pl.DataFrame({"a": [3.0, 4.0, None], "b": [0.0] * 3}), schema)
    np.testing.assert_array_equal(later[:, 0], [0.0, UNSEEN, np.nan])
    for wrong in (["zzz"], [7], [-1]):
        with pytest.raises(ParameterError, match="must name columns of X"):
            fit_columns(Named(), frame, wrong)


def test_text_where_numbers_were_is_refused_with_its_place():
    _, schema = fit_columns("Tree", pl.DataFrame({"n": [1.5, 2.5]}), "from_dtype")
    with pytest.raises(DataError, match="Tree: column 'x0' was numeric in fit; got 'oops' at row 1"):
        read_columns("Tree", pl.DataFrame({"n": [None, "oops"]}), schema)


def test_infinity_is_refused_beside_text_too():
    with pytest.raises(DataError, match="column 'n' must be finite .* first at row 1"):
        fit_columns("Tree", pl.DataFrame({"n": [1.0, np.inf], "c": ["a", "b"]}), "from_dtype")


@pytest.mark.parametrize("table", ["array", "polars", "pandas"])
def test_infinity_among_numbers_alone_is_refused_with_its_place(table):
    cells = np.array([[1.0, 2.0], [3.0, np.inf]])
    X = {
        "array": cells,
        "polars": pl.DataFrame(cells, schema=["m", "n"]),
        "pandas": pd.DataFrame(cells, columns=["m", "n"]),
    }[table]
    with pytest.raises(
        DataError, match=f"column '{'x1' if table == 'array' else 'n'}' must be finite .* first at row 1"
    ):
        fit_columns("Tree", X, "from_dtype")


def test_dates_are_refused_with_the_way_out():
    frame = pl.DataFrame({"d": pl.Series(["2024-01-01"]).str.to_date()})
    with pytest.raises(DataError, match="DateParts"):
        fit_columns("Tree", frame, "from_dtype")


def test_objects_that_are_no_cells_are_refused():
    with pytest.raises(TypeError, match="column '0' holds a dict at row 1"):
        fit_columns("Tree", np.array([["a"], [{}]], dtype=object), "from_dtype")


def test_sparse_and_doubled_columns_are_refused():
    with pytest.raises(TypeError):
        fit_columns("Tree", csr_matrix(np.eye(3)), "from_dtype")
    with pytest.raises(DataError, match="two columns of one name"):
        fit_columns("Tree", pd.DataFrame([[1, 2]], columns=["a", "a"]), "from_dtype")


def test_integer_column_names_are_fine():
    codes, _ = fit_columns("test", pd.DataFrame({0: [1.0, 2.0], 1: ["a", "b"]}), "from_dtype")
    np.testing.assert_array_equal(codes, [[1.0, 0.0], [2.0, 1.0]])


def test_a_learner_with_mixed_input_keeps_the_protocol():
    outcomes = check_estimator(NearestClass(), on_fail=None)
    failed = [o["check_name"] for o in outcomes if o["status"] not in ("passed", "skipped")]
    assert failed == [] and len(outcomes) > 30


def test_a_learner_with_mixed_input_takes_labels():
    frame = pl.DataFrame({"c": ["a", "b", "a", "b"], "n": [1.0, None, 2.0, 3.0]})
    model = NearestClass().fit(frame, ["x", "y", "x", "y"])
    assert model.predict(frame).tolist() == ["x", "y", "x", "y"]
    assert model.schema_.names == ("c", "n")


@pytest.mark.parametrize("categories", [[-1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 3.0], [2.0**53], [0.5, 1.5]])
def test_places_among_whole_numbers_are_those_of_a_search(categories):
    beside = [np.nextafter(c, to) for c in categories for to in (-np.inf, np.inf)]
    cells = np.array([*categories, *beside, -0.0, 0.3, 1e300, np.inf, -np.inf, np.nan, 2.0**53 + 2])
    wanted = [np.nan if np.isnan(c) else categories.index(c) if c in categories else UNSEEN for c in cells]
    np.testing.assert_array_equal(number_codes(cells, np.array(categories)), wanted)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_whole_numbers_are_read_as_the_same_floats(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (40, 3)).astype(kind), rng.integers(0, 2, 40)
    read = [NaiveBayes(distributions="categorical").fit(table, y) for table in (X, X.astype(np.float64))]
    for one, other in zip(read[0].category_log_prob_, read[1].category_log_prob_, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(read[0].predict_proba(X), read[1].predict_proba(X.astype(np.float64)))
    with pytest.raises(ValueError, match="3 features"):
        read[0].predict(X[:, :2])
