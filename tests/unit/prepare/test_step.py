"""What preparation steps share: the kind of table that comes out, the choice of columns, rows only in training."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from assay.base import AssayError, DataError
from assay.prepare import (
    Balance,
    Discretise,
    ImputeKNN,
    ImputeSimple,
    OneHot,
    OrdinalCode,
    Polynomial,
    RowStep,
    Scale,
    SelectFilter,
    TableStep,
)


class Halve(RowStep):
    """Keeps every other training row."""

    def _learn(self, frame, y):
        self.names_out_ = list(frame.columns)

    def _apply(self, frame):
        return frame

    def _kept(self, frame, y):
        return np.arange(0, frame.height, 2)


class KeepNone(Halve):
    """Loses every row."""

    def _kept(self, frame, y):
        return np.empty(0)


MIXED = {"age": [20.0, None, 40.0], "plan": ["a", None, "c"], "ok": [True, False, True]}


def test_polars_in_polars_out():
    out = Scale().fit_transform(pl.DataFrame(MIXED))
    assert isinstance(out, pl.DataFrame) and out["plan"].to_list() == ["a", None, "c"] and out["age"].null_count() == 1


def test_pandas_in_pandas_out_with_its_index():
    frame = pd.DataFrame(MIXED, index=[5, 6, 7])
    out = Scale(columns=["age"]).fit_transform(frame)
    assert list(out.index) == [5, 6, 7] and list(out.columns) == list(MIXED) and np.isnan(out.loc[6, "age"])
    assert out["ok"].dtype == bool


def test_arrays_of_numbers_stay_numbers_and_arrays_of_objects_stay_objects():
    assert Scale().fit_transform(np.array([[1.0], [3.0]])).tolist() == [[-1.0], [1.0]]
    out = Scale().fit_transform(np.array([[1.0, "a"], [3.0, None]], dtype=object))
    assert out.tolist() == [[-1.0, "a"], [1.0, None]]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_decides(kind):
    out = Scale(columns=["age"]).set_output(transform=kind).fit_transform(pl.DataFrame(MIXED))
    assert type(out).__module__.startswith(kind) and list(out.columns) == list(MIXED)


def test_dates_pass_through():
    frame = pl.DataFrame({"when": [datetime(2024, 1, 1), None], "x": [1.0, 2.0]})
    assert Scale().fit_transform(frame)["when"].to_list() == frame["when"].to_list()
    pandas = Scale().fit_transform(frame.to_pandas())
    assert pandas["when"].isna().tolist() == [False, True]


def test_categorical_columns_are_labels_also_if_their_categories_are_numbers():
    frame = pd.DataFrame({"zip": pd.Categorical([10, 20, None]), "n": pd.array([1, None, 3], dtype="Int64")})
    step = Scale().fit(frame)
    assert step.scaled_ == ["n"] and step.transform(frame)["zip"].tolist()[:2] == ["10", "20"]


def test_a_wrong_column_is_named_with_the_near_ones():
    with pytest.raises(AssayError, match="did you mean 'age'"):
        Scale(columns=["aeg"]).fit(pl.DataFrame(MIXED))
    with pytest.raises(AssayError, match="column 'plan' must hold numbers"):
        Scale(columns=["plan"]).fit(pl.DataFrame(MIXED))
    assert Scale(columns=[0]).fit(pl.DataFrame(MIXED)).scaled_ == ["age"]


def test_row_steps_change_training_rows_only():
    X, y = np.arange(10.0).reshape(5, 2), np.array(["a", "b", "c", "d", "e"])
    step = Halve()
    rows, target = step.fit_resample(X, y)
    assert rows[:, 0].tolist() == [0.0, 4.0, 8.0] and target.tolist() == ["a", "c", "e"]
    assert step.sample_indices_.tolist() == [0, 2, 4] and step.transform(X).shape == X.shape
    frame, series = Halve().fit_resample(pd.DataFrame(X), pd.Series(y))
    assert list(frame.index) == [0, 2, 4] == list(series.index)
    arrow = pl.DataFrame({"a": X[:, 0]}).to_arrow()
    assert Halve().fit_resample(arrow)[0].equals(arrow.take([0, 2, 4]))


def test_losing_every_row_is_refused():
    with pytest.raises(AssayError, match="would lose every row"):
        KeepNone().fit_resample(np.ones((3, 1)))


def test_the_target_must_have_a_value_per_row():
    with pytest.raises(AssayError, match="inconsistent numbers"):
        Scale().fit(np.ones((3, 1)), [1, 2])
    assert issubclass(Scale, TableStep)


def test_pipelines_of_imbalanced_learn_take_the_rows_through_a_function_sampler():
    """They refuse a step that both transforms and resamples."""
    imblearn = pytest.importorskip("imblearn")
    from imblearn.pipeline import make_pipeline
    from sklearn.dummy import DummyClassifier

    X, y = np.arange(10.0).reshape(-1, 1), np.array([0] * 8 + [1] * 2)
    sampler = imblearn.FunctionSampler(func=Balance(strategy="down", random_state=0).fit_resample, validate=False)
    model = make_pipeline(sampler, DummyClassifier(strategy="prior")).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.5, 0.5]])
    with pytest.raises(TypeError, match="implements both"):
        make_pipeline(Balance(strategy="down"), DummyClassifier()).fit(X, y)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]), "must not have two columns of one name"),
        ({"a": [1, 2]}, "got a dict; make a frame of it first"),
        (pl.LazyFrame({"a": [1, 2]}), "got a LazyFrame; collect it first"),
    ],
    ids=["names", "dict", "lazy"],
)
def test_what_is_no_table_is_refused_with_the_way_out(X, words):
    with pytest.raises(DataError, match=words):
        Scale().fit(X)


def test_large_whole_numbers_with_gaps_keep_their_digits_in_pandas():
    table = pd.DataFrame({"id": pd.array([2**53 + 1, None, 3], dtype="Int64"), "x": [1.0, 2.0, 4.0]})
    assert Scale(columns=["x"]).fit_transform(table)["id"].tolist() == [2**53 + 1, pd.NA, 3]


BY_CELLS = [
    Scale(),
    Scale(method="min-max"),
    Scale(method="robust"),
    Polynomial(degree=3, include_bias=True, functions=["log"], pairs=["ratio"]),
    Polynomial(interaction_only=True),
    Discretise(),
    Discretise(method="equal-width", n_bins=3),
    ImputeSimple(add_indicator=True),
    ImputeSimple(strategy="median"),
    ImputeSimple(strategy="most_frequent"),
    ImputeSimple(strategy="constant", fill_value=7),
    ImputeKNN(n_neighbors=2),
    OneHot(),
    OneHot(columns=[2, "x0"]),
    OneHot(columns=[0, 1], drop="first", max_categories=5),
    OneHot(columns=[1], min_frequency=2, handle_unknown="infrequent"),
    OrdinalCode(columns=[1, 2]),
]


@pytest.mark.parametrize("step", BY_CELLS, ids=lambda step: repr(step).replace(" ", "")[:40])
@pytest.mark.parametrize("holes", [False, True])
def test_an_array_and_a_frame_of_the_same_numbers_come_out_alike(step, holes):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 3)), 1)
    X[:, 2] = 5.0
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
        X = np.column_stack([X, np.full(40, np.nan)])
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])}, nan_to_null=True)
    by_cells, by_frame = clone(step).fit(X), clone(step).fit(frame)
    fresh = np.vstack([X[::-1] * 1.5, X])
    seen = by_frame.transform(pl.DataFrame({f"x{j}": fresh[:, j] for j in range(X.shape[1])}, nan_to_null=True))
    np.testing.assert_array_equal(by_cells.transform(fresh), seen.cast(pl.Float64).to_numpy())
    assert list(by_cells.get_feature_names_out()) == list(by_frame.get_feature_names_out())
    assert by_cells.explain() == by_frame.explain()
    for name, value in vars(by_frame).items():
        if name.endswith("_") and name != "feature_names_in_":
            np.testing.assert_equal(getattr(by_cells, name), value)


@pytest.mark.parametrize("step", [*BY_CELLS, SelectFilter(k=2)], ids=lambda step: repr(step).replace(" ", "")[:40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_pandas_frame_comes_out_as_it_does_by_way_of_polars(step, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=(40, 3)) * 4, 1)
    if dtype != "int64":
        cells[rng.random(cells.shape) < 0.2] = np.nan
    frame = pd.DataFrame(cells, columns=["x0", "b", "c"], index=pd.RangeIndex(40, 80, name="id")).astype(dtype)
    y = np.arange(40) % 3
    fast = clone(step).fit(frame, y)
    made = fast.transform(frame[::-1])
    monkeypatch.setattr(TableStep, "_matrix_in", lambda self, X, reset: None)
    slow = clone(step).fit(frame, y)
    pd.testing.assert_frame_equal(made, slow.transform(frame[::-1]), check_exact=True)
    assert fast.explain() == slow.explain() and list(fast.feature_names_in_) == ["x0", "b", "c"]


@pytest.mark.parametrize("step", BY_CELLS, ids=lambda step: repr(step).replace(" ", "")[:40])
def test_arrays_of_other_types_and_orders_come_out_as_float64(step):
    X = np.round(np.random.default_rng(0).normal(size=(40, 3)) * 4)
    want = clone(step).fit(X).transform(X)
    for other in (np.asfortranarray(X), X.astype(np.float32), X.astype(np.int16), np.repeat(X, 2, axis=0)[::2]):
        made = clone(step).fit(other).transform(other)
        assert made.dtype == want.dtype
        np.testing.assert_array_equal(made, want)


def test_a_frame_out_of_range_or_with_other_names_is_refused_in_words():
    frame = pd.DataFrame({"a": [0.0, 1e-300], "b": [1.0, 2.0]})
    step = Scale().fit(frame)
    with pytest.raises(AssayError, match="column 'a' of the result is beyond the range"):
        step.transform(frame.assign(a=[1e300, 0.0]))
    with pytest.raises(AssayError, match="column 'b' must be finite .*first at row 1"):
        step.transform(frame.assign(b=[1.0, np.inf]))
    with pytest.raises(AssayError, match="column 'b' is needed"):
        step.transform(frame.rename(columns={"b": "c"}))
    with pytest.raises(AssayError, match="same order"):
        step.transform(frame[["b", "a"]])


def test_names_that_a_polars_frame_does_not_keep_are_changed_as_there():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=["a", ""])
    assert list(Scale().fit_transform(frame).columns) == ["a", "column_2"]
    with pytest.raises(AssayError, match="pattern"):
        Scale().fit(frame.rename(columns={"": "^a$"}))
    named = pd.DataFrame([[1.0], [3.0]], columns=pd.Index(["a"], name="kind"))
    assert Scale().fit_transform(named).columns.name is None


def test_an_array_with_infinity_or_other_columns_than_in_fit_is_refused():
    step = Scale().fit(np.arange(6.0).reshape(3, 2))
    with pytest.raises(AssayError, match="infinity"):
        step.transform(np.array([[1.0, np.inf]]))
    with pytest.raises(AssayError, match="2 features"):
        step.transform(np.ones((2, 3)))
    assert isinstance(step.set_output(transform="polars").transform(np.ones((2, 2))), pl.DataFrame)


def test_a_frame_with_numbers_for_names_is_known_by_position():
    fitted = ImputeSimple().fit(pl.DataFrame({"a": [1.0, 3.0, None], "b": [4.0, 4.0, 4.0]}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        out = fitted.transform(pd.DataFrame({0: [np.nan], 1: [5.0]}))
    np.testing.assert_array_equal(np.asarray(out), [[2.0, 5.0]])
