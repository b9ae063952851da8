"""Mixed columns: a table as one float64 matrix in which nominal columns hold category codes.

This is how learners that take nominal columns and missing values natively read their input. Numeric cells keep
their value; a nominal cell becomes the index of its category among the sorted categories seen in `fit`; a missing
cell is NaN; a category that was not seen in `fit` is `UNSEEN` (-1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from ..base.errors import DataError, ParameterError, plain

UNSEEN = -1.0


@dataclass(frozen=True)
class ColumnSchema:
    """What `fit` learned about the columns: which are nominal, and the sorted categories of each."""

    names: tuple[str, ...]
    nominal: np.ndarray
    categories: tuple[np.ndarray | None, ...]

    @property
    def n_categories(self) -> np.ndarray:
        """Categories per column (0 for numeric columns), int32."""
        return np.array([0 if c is None else c.shape[0] for c in self.categories], dtype=np.int32)


class MixedInput:
    """Mixin for estimators that take numeric and nominal columns with missing values as they come.

    Put it before `Classifier` or `Regressor`; it replaces `_read`, sets `schema_`, and declares the tags. The
    estimator must have a `categorical_features` parameter (see `assay.base.categorical_features_param`).
    """

    _allow_nan = True
    schema_: ColumnSchema

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            values, self.schema_ = fit_columns(self, X, getattr(self, "categorical_features", "from_dtype"))
            return values
        return read_columns(self, X, self.schema_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.categorical = True
        return tags


def fit_columns(owner: Any, X: Any, categorical_features: Any) -> tuple[np.ndarray, ColumnSchema]:
    """Encode a training table and describe its columns."""
    columns = _split(owner, X)
    names = _names(owner, X, len(columns))
    chosen = _nominal_mask(owner, columns, names, categorical_features)
    categories = tuple(_categories(owner, c, names[j]) if chosen[j] else None for j, c in enumerate(columns))
    schema = ColumnSchema(names, chosen, categories)
    return _encode(owner, columns, schema), schema


def read_columns(owner: Any, X: Any, schema: ColumnSchema) -> np.ndarray:
    """Encode another table with the categories of `schema`."""
    return _encode(owner, _split(owner, X), schema)


def _split(owner: Any, X: Any) -> list[np.ndarray] | np.ndarray:
    """The columns of X: a float64 matrix if all are numbers, else a list of float64 or object arrays."""
    if issparse(X):
        check_array(X, accept_sparse=False, estimator=owner)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            check_array(np.empty(frame.shape), estimator=owner)
        columns = [_from_series(owner, frame[name]) for name in frame.columns]
        if all(c.dtype.kind == "f" for c in columns):
            return check_array(np.column_stack(columns), ensure_all_finite="allow-nan", estimator=owner)
        return columns
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype.kind in "OUS" and array.ndim == 2 and array.size and _holds_text(array):
        return [_from_objects(owner, array[:, j].astype(object), str(j)) for j in range(array.shape[1])]
    return check_array(X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", estimator=owner)


def _holds_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "US" or any(isinstance(v, str) for v in array.ravel())


def _from_series(owner: Any, series: nw.Series) -> np.ndarray:
    who, dtype = type(owner).__name__, series.dtype
    if dtype.is_numeric():
        missing = series.is_null().to_numpy()
        if missing.any():
            return series.cast(nw.Float64).fill_null(float("nan")).to_numpy().astype(np.float64)
        return series.to_numpy().astype(np.float64)
    if dtype.is_temporal():
        raise DataError(
            who,
            f"column '{plain(series.name)}'",
            "holds dates",
            way_out="expand it with assay.prepare.DateParts or leave it out",
        )
    values = series.to_numpy().astype(object)
    values[series.is_null().to_numpy()] = None
    return _from_objects(owner, values, str(series.name))


def _from_objects(owner: Any, values: np.ndarray, name: str) -> np.ndarray:
    """An object column: float64 if every present cell is a number, else objects with None for missing."""
    out = values.copy()
    numbers = True
    for i, value in enumerate(values):
        if value is None or (isinstance(value, float) and value != value):
            out[i] = None
        elif isinstance(value, (bool, np.bool_)):
            out[i], numbers = bool(value), False
        elif isinstance(value, str):
            out[i], numbers = str(value), False
        elif not isinstance(value, (int, float, np.number)):
            raise TypeError(
                f"{type(owner).__name__}: column '{plain(name)}' holds a {type(value).__name__} at row {i}; "
                "a cell (float() argument must be a string or a real number) must be text or a number."
            )
    if numbers:
        return np.array([np.nan if v is None else float(v) for v in out], dtype=np.float64)
    return out


def _names(owner: Any, X: Any, count: int) -> tuple[str, ...]:
    names = getattr(owner, "feature_names_in_", None)
    return tuple(map(str, names)) if names is not None else tuple(f"x{j}" for j in range(count))


def _columns(columns: list[np.ndarray] | np.ndarray) -> list[np.ndarray]:
    return [columns[:, j] for j in range(columns.shape[1])] if isinstance(columns, np.ndarray) else columns


def _nominal_mask(owner: Any, columns: Any, names: tuple[str, ...], chosen: Any) -> np.ndarray:
    listed = _columns(columns)
    mask = np.array([c.dtype.kind == "O" for c in listed], dtype=bool)
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return mask
    wanted = np.asarray(chosen)
    if wanted.dtype.kind == "b" and wanted.shape == mask.shape:
        return mask | wanted
    for item in wanted.tolist():
        position = names.index(item) if isinstance(item, str) and item in names else item
        if not isinstance(position, int) or not 0 <= position < len(names):
            raise ParameterError(
                type(owner).__name__,
                "parameter 'categorical_features'",
                "must name columns of X",
                f"got {plain(repr(item))}",
                f"X has {len(names)} columns",
            )
        mask[position] = True
    return mask


def _categories(owner: Any, column: np.ndarray, name: str) -> np.ndarray:
    """Sorted categories as a plain array: numbers, booleans, or text (mixed cells count as text)."""
    if column.dtype.kind == "f":
        return np.unique(column[~np.isnan(column)])
    present = {v for v in column if v is not None}
    if present and all(isinstance(v, bool) for v in present):
        return np.array(sorted(present), dtype=bool)
    return np.array(sorted({_text(v) for v in present}), dtype=str)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _encode(owner: Any, columns: list[np.ndarray] | np.ndarray, schema: ColumnSchema) -> np.ndarray:
    if isinstance(columns, np.ndarray) and not schema.nominal.any():
        return columns
    listed = _columns(columns)
    values = np.empty((listed[0].shape[0], len(listed)), dtype=np.float64)
    for j, column in enumerate(listed):
        categories = schema.categories[j]
        if categories is None:
            if column.dtype.kind == "O":
                row = next(i for i, v in enumerate(column) if isinstance(v, (str, bool)))
                raise DataError(
                    type(owner).__name__,
                    f"column '{plain(schema.names[j])}'",
                    "was numeric in fit",
                    f"got {plain(repr(column[row]))} at row {row}",
                    "clean it or fit again",
                )
            values[:, j] = column
        elif column.dtype.kind == "f" and categories.dtype.kind == "f":
            values[:, j] = _lookup_numbers(column, categories)
        else:
            values[:, j] = _lookup_objects(column, categories)
    return values


def _lookup_numbers(column: np.ndarray, categories: np.ndarray) -> np.ndarray:
    if categories.shape[0] == 0:
        return np.where(np.isnan(column), np.nan, UNSEEN)
    position = np.minimum(np.searchsorted(categories, column), categories.shape[0] - 1)
    codes = np.where(categories[position] == column, position.astype(np.float64), UNSEEN)
    return np.where(np.isnan(column), np.nan, codes)


def _lookup_objects(column: np.ndarray, categories: np.ndarray) -> np.ndarray:
    as_text = categories.dtype.kind == "U"
    lookup: dict[Any, float] = {value: float(code) for code, value in enumerate(categories.tolist())}
    if column.dtype.kind == "f":
        column = np.array([None if np.isnan(v) else v for v in column], dtype=object)
    return np.array(
        [np.nan if v is None else lookup.get(_text(v) if as_text else v, UNSEEN) for v in column],
        dtype=np.float64,
    )
