import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from assay import _kernels
from assay.base import AssayError, CostError, DataError, KindError, Regressor, check_weights
from assay.base.guard import require_finite_state, sound_array, sound_sparse, sound_table, sound_target
from assay.models.baselines import ZeroRClassifier, ZeroRRegressor
from assay.models.linear import LeastSquares, Ridge
from assay.models.neighbours import KNNClassifier
from assay.prepare import Scale

X = np.random.default_rng(0).normal(size=(20, 3))
y = X @ [1.0, 2.0, 3.0]


def unaligned(array: np.ndarray) -> np.ndarray:
    held = np.zeros(array.nbytes + 1, dtype=np.uint8)
    out = np.ndarray(array.shape, dtype=array.dtype, buffer=held.data, offset=1)
    out[...] = array
    assert not out.flags.aligned
    return out


@pytest.mark.parametrize("made", [unaligned, lambda a: a.astype(">f8"), np.asfortranarray, lambda a: a[::-1][::-1]])
def test_the_layout_of_an_array_does_not_change_the_model(made):
    model, same = LeastSquares().fit(X, y), LeastSquares().fit(made(X), made(y))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    np.testing.assert_array_equal(model.predict(X), same.predict(made(X)))


def test_a_masked_cell_is_missing_and_not_what_lies_under_the_mask():
    masked = np.ma.masked_array(X, mask=X > 1.5)
    with pytest.raises(DataError, match="NaN"):
        LeastSquares().fit(masked, y)
    assert np.isnan(sound_array(masked)).sum() == masked.mask.sum()
    np.testing.assert_array_equal(sound_array(np.ma.masked_array(X)), X)


def test_kernels_refuse_an_unaligned_array():
    rows = np.ascontiguousarray(X)
    _kernels.euclidean_screen(rows, 1)
    with pytest.raises(TypeError):
        _kernels.euclidean_screen(unaligned(rows), 1)


def test_an_array_without_elements_may_lie_anywhere():
    held = np.zeros(9, dtype=np.uint8)
    nothing = np.ndarray((0, 3), dtype=np.float64, buffer=held.data, offset=1)
    assert nothing.ctypes.data % 8 and _kernels.column_facts(nothing)[2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("wrong", [-1, -(2**31), 2**31 - 1, 10**6, 20])
def test_a_sparse_index_outside_is_refused_before_any_conversion(form, wrong):
    whole = sparse.csr_matrix(X).asformat(form)
    parts = ("row", "col") if form == "coo" else ("indices", "indptr")
    for part in parts:
        for place in (0, -1):
            broken = copy.deepcopy(whole)
            held = getattr(broken, part).copy()
            held[place] = wrong
            setattr(broken, part, held)
            with pytest.raises(DataError, match="sparse matrix X must have"):
                Ridge().fit(broken, y)
            with pytest.raises(DataError, match="sparse matrix X must have"):
                Ridge().fit(X, y).predict(broken)
    assert sound_sparse("Ridge", whole) is whole


def test_sparse_forms_of_one_table_are_one_table():
    wanted = Ridge().fit(X, y).coef_
    for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        np.testing.assert_allclose(Ridge().fit(sparse.csr_matrix(X).asformat(form), y).coef_, wanted, rtol=1e-9)
    frame = pd.DataFrame(np.round(X)).astype(pd.SparseDtype("float64", 0.0)).rename(columns=str)
    np.testing.assert_array_equal(Ridge().fit(frame, y).coef_, Ridge().fit(np.round(X), y).coef_)


@pytest.mark.parametrize("target", [3.0, "a", {"a": 1}, {1, 2}, sparse.csr_matrix(X[:, :1]), iter(y), np.array(3.0)])
def test_what_is_no_target_is_refused(target):
    with pytest.raises(DataError, match="y must be a list or array"):
        Ridge().fit(X, target)
    with pytest.raises(DataError, match="y must be a list or array"):
        KNNClassifier().fit(X, target)


@pytest.mark.parametrize("table", [None, 3.0, "table.csv", {"a": [1]}, {1, 2}, iter(X)])
def test_what_is_no_table_is_refused(table):
    for method in (Ridge(), KNNClassifier(), Scale(), ZeroRRegressor()):
        with pytest.raises(KindError, match="X must be a table"):
            method.fit(table, y)


def test_two_columns_of_one_name_are_refused_by_every_kind_of_method():
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    for method in (Ridge(), KNNClassifier(), Scale(), ZeroRRegressor()):
        with pytest.raises(DataError, match="'a' comes more than once"):
            method.fit(frame, y)


def test_a_step_fitted_on_an_array_takes_a_frame_by_position():
    step = Scale().fit(X)
    frame = pl.DataFrame(X, schema=["p", "q", "r"])
    np.testing.assert_array_equal(step.transform(frame).to_numpy(), step.transform(X))


def test_no_rows_are_refused_by_the_baselines_too():
    for method in (ZeroRClassifier(), ZeroRRegressor()):
        with pytest.raises(DataError, match="0 sample"):
            method.fit(X[:0], y[:0])


def test_weights_of_any_size_are_weights_up_to_a_common_factor():
    weights = np.random.default_rng(1).random(20) + 0.5
    wanted = LeastSquares().fit(X, y + X[:, 0] ** 2, sample_weight=weights).coef_
    for exponent in (1000, 300, -300, -1000):
        scaled = np.ldexp(weights, exponent)
        np.testing.assert_array_equal(LeastSquares().fit(X, y + X[:, 0] ** 2, sample_weight=scaled).coef_, wanted)
    with pytest.raises(DataError, match="must hold numbers"):
        check_weights("fit", ["heavy"], 1)


class Overflowing(Regressor):
    """Learns a number that is none."""

    def fit(self, X, y):
        """Overflow."""
        self.constant_, self.coef_se_ = float(np.square(1e200)), np.array([np.inf])
        return self

    def predict(self, X):
        """Ask for more memory than there is."""
        raise MemoryError


def test_a_fit_that_overflows_says_so_and_errors_of_estimates_may_be_infinite():
    with pytest.raises(DataError, match="fitted 'constant_' must be finite") as caught, np.errstate(over="ignore"):
        Overflowing().fit(X, y)
    assert "\n" not in str(caught.value)
    model = Overflowing()
    model.constant_, model.coef_se_ = 1.0, np.array([np.inf])
    require_finite_state(model)


def test_running_out_of_memory_is_a_sentence():
    with pytest.raises(CostError, match="needs more memory than there is"):
        Overflowing().predict(X)


def test_a_prediction_beyond_float64_says_so():
    model = LeastSquares().fit(X, y)
    with pytest.raises(DataError, match="result of predict is beyond the range of float64; first at row 1"):
        model.predict(np.array([[1.0, 1.0, 1.0], [1e308, 1e308, 1e308]]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"a": "aa"},
            "column 'a' is needed and not in the table; column 'aa' was not there in fit; is it 'a'? rename it.",
        ),
        ({"a": "zz"}, "not in the table; column 'zz' was not there in fit; give the table every column of fit"),
        (["b", "c"], "column 'a' is needed and not in the table; give the table every column of fit, under its name."),
        (["a"], "column 'b' (and 1 more) is needed and not in the table"),
        (["a", "b", "c", "b2"], "column 'b2' was not there in fit; select the columns of fit by name"),
        (["c", "b", "a"], "the columns of X must stand in the same order as in fit; select the columns of fit by name"),
    ],
)
def test_other_names_than_in_fit_are_a_sentence_above_the_list_of_scikit_learn(changed, said):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Ridge().fit(frame, y)
    frame["b2"] = 1.0
    later = frame[["a", "b", "c"]].rename(columns=changed) if isinstance(changed, dict) else frame[changed]
    with pytest.raises(DataError) as caught:
        model.predict(later)
    first, listed = str(caught.value).split("\n", 1)
    assert first.startswith("Ridge: ") and said in first
    assert listed.startswith("The feature names should match those that were passed during fit.")


def test_ordinary_input_passes_untouched():
    assert sound_table("fit", X) is X and sound_target("fit", y) is y and sound_target("fit", None) is None


def test_refusals_are_sentences_of_ours():
    for table in (X[:0], X[:, :0], [[1.0], [1.0, 2.0]], [[2**2000, 1], [1, 1]], X[:, 0]):
        for method in (Ridge(), KNNClassifier(), Scale()):
            with pytest.raises(AssayError) as caught:
                method.fit(table, y)
            assert str(caught.value).startswith(type(method).__name__ + ": ") and "\n" not in str(caught.value)
