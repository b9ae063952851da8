"""The guard at the door of every method: what an array must be before any code of ours, SciPy or a kernel reads it.

`Estimator` puts `guarded` around the public methods of each class. On the way in, arrays are made aligned and native,
indices of sparse matrices are proved to lie inside, and what is no target is refused; on the way out, a fit on finite
numbers must have given finite numbers, and so must a prediction. Each refusal is one sentence.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

from .. import _kernels
from .cells import is_pandas
from .columns import column_name
from .errors import AssayError, CostError, DataError, KindError, plain, sentence

# Methods that get the guard; a class that has none of its own inherits a guarded one, or one that calls them.
GUARDED = (
    "fit",
    "partial_fit",
    "fit_folds",
    "fit_resample",
    "fit_transform",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "apply",
    "transform",
    "inverse_transform",
    "score",
)
# The comparison of the columns' names with those of fit is a list by scikit-learn; its own checks ask for it, which is
# why it stands below our sentence.
_NAMES = "The feature names should match those that were passed during fit"
# How the conversion of cells to numbers complains, be it called by NumPy, pandas or Polars.
_CONVERSION = ("setting an array element with a sequence", "float() argument must be", "could not convert")
# How SciPy's decompositions and exact sums complain of what is not finite.
_OVERFLOWS = ("array must not contain infs or NaNs", "-inf + inf in fsum", "intermediate overflow in fsum")
# What is said about a fit, not what predictions come from: without degrees of freedom an error is infinite and a test
# has no value.
INFERENCE = (
    *("coef_se_", "intercept_se_", "t_values_", "intercept_t_value_", "p_values_", "intercept_p_value_"),
    *("intercept_p_values_", "covariance_", "vif_", "sigma_", "r2_", "adjusted_r2_", "f_statistic_", "f_p_value_"),
    *("dispersion_", "aic_", "bic_", "log_likelihood_", "deviance_", "null_deviance_"),
    "penalty_weights_",  # an infinite one leaves its column out
)
_FLOAT64 = np.dtype(np.float64)
_LEARNS = ("fit", "partial_fit", "fit_resample", "fit_transform")


def sound_array(array: np.ndarray) -> np.ndarray:
    """The array with its elements where the processor reads them at once: aligned, in native byte order.

    A masked array becomes an ordinary one with NaN in the masked cells.

    >>> packed = np.zeros(2, dtype=[("flag", "i1"), ("value", "f8")])["value"]
    >>> packed.flags.aligned, sound_array(packed).flags.aligned
    (False, True)
    """
    if isinstance(array, np.ma.MaskedArray):
        text = array.dtype.kind in "OUS"
        cells = np.asarray(array.data) if not array.mask.any() else array.data.astype(object if text else np.float64)
        if array.mask.any():
            cells[array.mask] = None if text else np.nan
        array = cells
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.aligned else np.array(array)


def sound_sparse(who: str, X: Any) -> Any:
    """A sparse matrix whose indices all lie inside it, with aligned arrays; any other is refused.

    SciPy's conversions trust the indices, so this comes before every one of them.

    >>> from scipy.sparse import csr_matrix
    >>> broken = csr_matrix(np.eye(2))
    >>> broken.indices[0] = 7
    >>> sound_sparse("Lasso", broken)
    Traceback (most recent call last):
    assay.base.errors.DataError: Lasso: the sparse matrix X must have indices inside its shape (2, 2); got a column \
index of 7; build it anew from its cells.
    """
    if X.ndim != 2:
        raise DataError(who, "X", "must be a table of rows and columns", f"got a sparse array of shape {X.shape}")
    if X.format in ("lil", "dok"):
        X = X.tocoo() if X.format == "dok" else X.tocsr()
    if X.format == "dia":
        if X.data.ndim != 2 or X.data.shape[0] != np.size(X.offsets):
            _refuse_sparse(who, X, "one row of data for each diagonal", f"got {X.data.shape} for {np.size(X.offsets)}")
        return X
    if X.format == "coo":
        parts = {"row": X.row, "column": X.col}
        if not len(X.row) == len(X.col) == len(X.data):
            _refuse_sparse(who, X, "as many indices as values", f"got {len(X.row)}, {len(X.col)}, {len(X.data)}")
        for (name, indices), size in zip(parts.items(), X.shape):
            _check_indices(who, X, name, indices, size)
        return X
    lines, places = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        height, width = X.data.shape[1:] if X.data.ndim == 3 else (0, 0)
        if not height or not width or lines % height or places % width:
            _refuse_sparse(who, X, "blocks that divide it", f"got data of shape {X.data.shape}")
        lines, places = lines // height, places // width
    starts = sound_array(np.asarray(X.indptr))
    if starts.dtype.kind not in "iu" or starts.ndim != 1 or starts.shape[0] != lines + 1 or starts[0] != 0:
        _refuse_sparse(who, X, f"{lines + 1} starts of which the first is 0", f"got {starts.shape[0]} starts")
    if (starts[1:] < starts[:-1]).any() or int(starts[-1]) > min(len(X.indices), len(X.data)):
        _refuse_sparse(who, X, "starts that rise up to the number of its values", f"the last is {starts[-1]}")
    _check_indices(who, X, "row" if X.format == "csc" else "column", X.indices[: int(starts[-1])], places)
    return X


def _check_indices(who: str, X: Any, name: str, indices: Any, size: int) -> None:
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        _refuse_sparse(who, X, "indices that are integers", f"got {indices.dtype}")
    if indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        wrong = int(indices.min()) if int(indices.min()) < 0 else int(indices.max())
        _refuse_sparse(who, X, f"indices inside its shape {X.shape}", f"got a {name} index of {wrong}")


def _refuse_sparse(who: str, X: Any, rule: str, came: str) -> None:
    raise DataError(who, "the sparse matrix X", f"must have {rule}", came, "build it anew from its cells")


def sound_table(who: str, X: Any) -> Any:
    """X as it came, or as an equal table that is safe to read; a table that is none is refused."""
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "VmM" and X.dtype.names is not None:
            raise DataError(
                who, "X", "must be a plain array or a frame", "got a structured array", "make a frame of it first"
            )
        if X.dtype.kind == "c":
            raise DataError(who, "X", "must hold real numbers", "Complex data not supported", "take its real part")
        return sound_array(X)
    if issparse(X):
        return sound_sparse(who, X)
    if X is None or isinstance(X, (str, bytes, dict, set, frozenset)) or np.isscalar(X) or isinstance(X, Iterator):
        raise KindError(
            who,
            "X",
            "must be a table of rows and columns (Expected 2D array, got scalar array instead)",
            f"got a {type(X).__name__}",
            "make a frame of it first" if isinstance(X, dict) else "Reshape your data or make a frame of it first",
        )
    columns = getattr(X, "columns", None)
    if columns is not None and hasattr(columns, "is_unique"):
        return _sound_pandas(who, X)
    return X


def _sound_pandas(who: str, X: Any) -> Any:
    if not X.columns.is_unique:
        name = plain(X.columns[X.columns.duplicated()][0], 40)
        raise DataError(
            who,
            "X",
            "must not have two columns of one name",
            f"'{name}' comes more than once",
            "give every column its own name",
        )
    dtypes = X.dtypes.tolist()
    if all(isinstance(dtype, np.dtype) for dtype in dtypes):
        return X
    held = [
        name
        for name, dtype in zip(X.columns, dtypes, strict=True)
        if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value")
    ]
    return X.assign(**{name: X[name].sparse.to_dense() for name in held}) if held else X


def sound_target(who: str, y: Any, name: str = "y") -> Any:
    """One value per row, as it came or as an equal aligned array; a scalar, mapping or sparse matrix is refused."""
    if y is None:
        return y
    if isinstance(y, np.ndarray) and y.ndim:
        if y.dtype.kind == "c":
            raise DataError(who, name, "must hold real numbers", "Complex data not supported", "take its real part")
        if y.dtype.names is not None:
            raise DataError(who, name, "must be a plain array", "got a structured array", "take one field of it")
        return sound_array(y)
    scalar = np.isscalar(y) or isinstance(y, np.ndarray)
    if scalar and name == "sample_weight":
        return y
    listed = (hasattr(y, "__len__") or hasattr(y, "__array__")) and not isinstance(y, (dict, set, frozenset))
    if scalar or issparse(y) or not listed:
        kind = "sparse matrix" if issparse(y) else type(y).__name__
        raise DataError(
            who,
            name,
            "must be a list or array with one value per row (y should be a 1d array)",
            f"got a {kind}",
            "use y.toarray().ravel()" if issparse(y) else "",
        )
    return y


# Cells beyond these have no squares in float64, or squares that are zero.
LARGEST, SMALLEST = 1e152, 1e-150


_squared = threading.local()


def _sum_of_squares(flat: np.ndarray) -> float:
    """By BLAS where its threads pay; on a busy machine waking them takes longer than a million squares."""
    return float(flat.dot(flat) if flat.size > 2**22 else np.einsum("i,i->", flat, flat))


def squares_add_up(rows: np.ndarray) -> bool:
    """Whether the squares of all cells add up to less than the largest square, which proves them finite too.

    One pass along the memory settles most tables; a look at each column takes many times as long.

    >>> squares_add_up(np.array([[1.0, 2.0]])), squares_add_up(np.array([[np.nan, 2.0]]))
    (True, False)
    """
    flat = rows.ravel(order="K") if rows.flags.c_contiguous or rows.flags.f_contiguous else None
    return flat is not None and flat.dtype == np.float64 and _sum_of_squares(flat) <= LARGEST**2


def is_squared(rows: Any) -> bool:
    """Whether a call that needs squares is reading, and `squares_add_up` of these rows; looks at them once."""
    if not getattr(_squared, "reading", False):
        return False
    if _squared.rows is not rows and squares_add_up(rows):
        _squared.rows = rows
    return _squared.rows is rows


def require_squares_of_columns(who: str, rows: np.ndarray, names: Any, *, learning: bool) -> None:
    """Refuse columns whose cells cannot be squared in float64; columns of zeros pass.

    >>> require_squares_of_columns("KNNClassifier", np.array([[1e-200], [2e-200]]), ["mass"], learning=True)
    Traceback (most recent call last):
    assay.base.errors.DataError: KNNClassifier: column 'mass' must hold numbers with squares in float64; its largest \
is 2e-200; bring it to another unit or scale it first (`assay.prepare.Scale`).
    """
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f" or not rows.size:
        return
    within = is_squared(rows)
    within = within or (float(rows.min()) >= -LARGEST and float(rows.max()) <= LARGEST)
    if within and (not learning or bool((np.abs(rows[:8]).max(axis=0) >= SMALLEST).all())):
        return
    with np.errstate(all="ignore"):
        largest = np.fmax(np.fmax.reduce(rows, axis=0), -np.fmin.reduce(rows, axis=0)).astype(np.float64)
    wrong = np.isfinite(largest) & ((largest > LARGEST) | (learning & (largest < SMALLEST) & (largest > 0)))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        raise DataError(
            who,
            f"column '{plain(column_name(names, j), 40)}'",
            "must hold numbers with squares in float64",
            f"its largest is {largest[j]:.6g}",
            "bring it to another unit or scale it first (`assay.prepare.Scale`)",
        )


def squaring(read: Callable[..., Any]) -> Callable[..., Any]:
    """`_read` of a method that takes distances or products: what it gives can be squared."""

    @functools.wraps(read)
    def call(self: Any, X: Any, *, reset: bool) -> Any:
        if not self._needs_squares():
            return read(self, X, reset=reset)
        # What `is_squared` sees on the way need not be looked at again.
        _squared.reading, _squared.rows = True, None
        try:
            rows = read(self, X, reset=reset)
            names = getattr(self, "feature_names_in_", None)
            require_squares_of_columns(type(self).__name__, rows, names, learning=reset)
        finally:
            _squared.reading, _squared.rows = False, None
        return rows

    call.__assay_guarded__ = True  # type: ignore[attr-defined]
    return call


def require_finite_state(model: Any) -> None:
    """Refuse a fit that overflowed: what was learned from finite numbers must be finite numbers.

    Names in the class's `_open_state` may hold NaN or infinity for a reason (training rows with missing cells, a
    standard error without degrees of freedom).
    """
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_") or name in model._open_state:
            continue
        if not _is_finite(value):
            raise DataError(
                type(model).__name__,
                f"the fitted '{name}'",
                "must be finite, and the numbers in X, y or the weights are too large or too small for that in float64",
                way_out="bring the columns to a common scale first (`assay.prepare.Scale`)",
            )


# What cannot hold a number that is not finite: a model has many names, and every fold of a run is looked at.
_PLAIN = frozenset({str, bytes, int, bool, type(None)})


def _is_finite(value: Any) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f":
            return True
        plain_numbers = value.dtype == _FLOAT64 and value.flags.aligned
        return _kernels.all_finite(value) if plain_numbers else bool(np.isfinite(value).all())
    if isinstance(value, float):
        return value - value == 0.0
    if isinstance(value, (list, tuple)):
        return all(_is_finite(part) for part in value if type(part) not in _PLAIN)
    if isinstance(value, dict):
        return all(_is_finite(part) for part in value.values() if type(part) not in _PLAIN)
    if hasattr(value, "__dataclass_fields__"):
        return all(_is_finite(getattr(value, name)) for name in value.__dataclass_fields__)
    return True


def _require_finite_result(model: Any, method: str, result: Any) -> None:
    """Refuse a result that overflowed; a transformer may hand on a missing cell, and a logarithm may be of zero."""
    values = result
    if type(values) is not np.ndarray:
        values = result.data if issparse(result) else result
        if not isinstance(values, np.ndarray):
            return
    if values.dtype.kind != "f" or method == "predict_log_proba":
        return
    if values.flags.c_contiguous:
        flat = values.ravel()
        if math.isfinite(_sum_of_squares(flat)):  # one quick pass; squares out of range prove nothing
            return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    hands_on = method in ("transform", "inverse_transform", "fit_transform")
    wrong = np.isinf(values) if hands_on else ~np.isfinite(values)
    if wrong.any():
        row = (
            "" if issparse(result) else f"first at row {int(np.flatnonzero(wrong.reshape(len(values), -1).any(1))[0])}"
        )
        raise DataError(
            type(model).__name__,
            f"the result of {method}",
            "is beyond the range of float64",
            row,
            "its cells are too far from those of the training rows: check or scale them",
        )


def _other_names(who: str, words: str) -> str:
    """The sentence for a table whose columns have other names than in fit, from scikit-learn's list of them.

    >>> lost = "Feature names seen at fit time, yet now missing:\\n- age\\n"
    >>> _other_names("LDA", f"Feature names unseen at fit time:\\n- agge\\n{lost}")
    "LDA: column 'age' is needed and not in the table; column 'agge' was not there in fit; is it 'age'? rename it."
    >>> _other_names("LDA", "Feature names unseen at fit time:\\n- id\\n").split("; ")[0]
    "LDA: column 'id' was not there in fit"
    """
    import difflib

    part, found = "", {"seen": [], "unseen": []}  # type: tuple[str, dict[str, list[str]]]
    for line in words.splitlines():
        part = "unseen" if "unseen at fit" in line else "seen" if "seen at fit" in line else part
        if part and line.startswith("- "):
            found[part].append(line[2:])

    def named(names: list[str]) -> str:
        return f"column '{plain(names[0], 60)}'" + (f" (and {len(names) - 1} more)" if names[1:] else "")

    select = "select the columns of fit by name: X[list(model.feature_names_in_)]"
    lost, new = found["seen"], found["unseen"]
    if not lost and not new:
        return sentence(who, "the columns of X", "must stand in the same order as in fit", "", select)
    if not lost:
        return sentence(who, named(new), "was not there in fit", "", select)
    came = f"{named(new)} was not there in fit" if new else ""
    near = difflib.get_close_matches(lost[0], new, n=1, cutoff=0.6)
    way_out = "give the table every column of fit, under its name"
    if near:
        it = "it" if near[0] == new[0] else f"'{plain(near[0], 60)}'"
        way_out = f"is {it} '{plain(lost[0], 60)}'? rename it"
    return sentence(who, named(lost), "is needed and not in the table", came, way_out)


def _restated(who: str, error: Exception) -> Exception | None:
    """A refusal by scikit-learn's validation, NumPy's conversion to numbers or an encoder as one sentence of ours.

    Any other exception is a defect and stays what it is.
    """
    if isinstance(error, UnicodeEncodeError):
        way_out = "replace it first (text.encode(errors='replace').decode())"
        return DataError(who, "X", "must hold text of Unicode", "got a lone surrogate", way_out)
    words = str(error)
    if words in _OVERFLOWS or isinstance(error, np.linalg.LinAlgError):
        came = "products of its cells are beyond the range of float64"
        return DataError(who, "X", "cannot be used as it is", came, "scale its columns first (`assay.prepare.Scale`)")
    if isinstance(error, (AssayError, NotFittedError)) or words.startswith(f"{who}: "):
        return None
    if words.startswith(_NAMES):
        return DataError(f"{_other_names(who, words)}\n{words}")
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    converting = isinstance(error, OverflowError) or words.startswith(_CONVERSION)
    if not module.startswith("sklearn.utils.") and not converting:
        return None
    of_target = module.endswith("multiclass") or re.search(r"\by\b|label", words)
    kind = KindError if isinstance(error, TypeError) else DataError
    came = " ".join(re.sub(r"array=.*?\]\.?\s", "", words, flags=re.DOTALL).split())
    return kind(who, "y" if of_target else "X", "cannot be used as it is", plain(came, 400))


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an estimator with the guard around it; its name, signature and documentation stay."""
    name = method.__name__
    given = list(inspect.signature(method).parameters)[1:]
    learns = name in _LEARNS

    def enter(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if len(args) == 1 and not kwargs and (_is_sound(args[0]) or _is_unread(self, args[0])):
            return args, kwargs
        who = type(self).__name__
        args = tuple(_sound(who, k, v) for k, v in zip(given, args)) + args[len(given) :]
        return args, {k: _sound(who, k, v) for k, v in kwargs.items()}

    if name == "fit_folds":

        @functools.wraps(method)
        def fold_by_fold(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
            args, kwargs = enter(self, args, kwargs)
            for model in method(self, *args, **kwargs):
                require_finite_state(model)
                yield model

        fold_by_fold.__assay_guarded__ = True  # type: ignore[attr-defined]
        return fold_by_fold

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = enter(self, args, kwargs)
        try:
            result = method(self, *args, **kwargs)
        except MemoryError as error:
            if isinstance(error, CostError):
                raise
            raise CostError(
                type(self).__name__, f"this {name}", "needs more memory than there is", way_out=self._way_out
            ) from error
        except (ValueError, TypeError, OverflowError) as error:
            restated = _restated(type(self).__name__, error)
            if restated is None:
                raise
            raise restated from None
        if learns:
            require_finite_state(self)
        _require_finite_result(self, name, result)
        return result

    call.__assay_guarded__ = True  # type: ignore[attr-defined]
    return call


def _is_sound(value: Any) -> bool:
    """Whether a value is what most calls give: an array of float64 that needs no further look."""
    return type(value) is np.ndarray and value.dtype == _FLOAT64 and value.ndim > 0 and value.flags.aligned


def _is_unread(model: Any, value: Any) -> bool:
    """Whether a value is a frame of pandas whose cells the model never looks at."""
    return not model._reads_cells and is_pandas(value) and value.columns.is_unique


def _sound(who: str, name: str, value: Any) -> Any:
    """An argument of a guarded method, safe to read."""
    if _is_sound(value):
        return value
    if name == "X":
        return sound_table(who, value)
    if name == "sample_weight":
        return _sound_weights(who, value)
    return sound_target(who, value, name) if name == "y" else value


def _sound_weights(who: str, weights: Any) -> Any:
    """Weights of which every code may take a mask or a sum: numbers, or what is refused as no list of them.

    >>> _sound_weights("Lasso", ["heavy"])
    Traceback (most recent call last):
    assay.base.errors.DataError: Lasso: sample_weight must hold numbers; could not convert string to float: 'heavy'.
    """
    weights = sound_target(who, weights, "sample_weight")
    if weights is None or (isinstance(weights, np.ndarray) and weights.dtype.kind in "fiub"):
        return weights
    try:
        numbers = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(who, "sample_weight", "must hold numbers", plain(error)) from None
    return weights if numbers.ndim == 0 else numbers
