"""Mixed columns: a table as one float64 matrix in which nominal columns hold category codes.

This is how learners that take nominal columns and missing values natively read their input. Numeric cells keep
their value; a nominal cell becomes the index of its category among the sorted categories seen in `fit`; a missing
cell is NaN; a category that was not seen in `fit` is `UNSEEN` (-1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from ..base.batches import BatchedTable
from ..base.columns import column_names
from ..base.errors import DataError, ParameterError, plain
from .forked import use_polars

UNSEEN = -1.0

Column = np.ndarray | pl.Series
"""A column on its way to codes: float64 numbers (NaN is missing), or text or booleans (null is missing)."""


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

    def _read_batches(self, table: BatchedTable) -> BatchedTable:
        """As `_read`; which columns are categories is said where the table is opened."""
        chosen = getattr(self, "categorical_features", None)
        if chosen is not None and not isinstance(chosen, str):
            raise ParameterError(
                type(self).__name__,
                "parameter 'categorical_features'",
                "must be left alone in fit_batches",
                f"got {plain(repr(chosen))}",
                "name the columns in Batches(nominal=[...])",
            )
        found = super()._read_batches(table)  # type: ignore[misc]
        self.schema_ = ColumnSchema(table.names, table.nominal, table.categories)
        return found

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        columns: list[Column] | np.ndarray | None
        columns = self._plain_cells(X, reset=reset, ensure_all_finite="allow-nan")  # type: ignore[attr-defined]
        if columns is None:
            if isinstance(X, np.ndarray) and X.ndim != 2:
                check_array(X, dtype=None, estimator=self)
            try:
                validate_data(self, X, reset=reset, skip_check_array=True)
            except nw.exceptions.DuplicateError:
                raise _one_name_twice(self) from None
            columns = split_columns(self, X)
        if reset:
            self.schema_ = _schema(self, columns, self._nominal_wish())
        return _encode(self, columns, self.schema_)

    def _nominal_wish(self) -> Any:
        """Which columns are to be nominal, as `categorical_features` says it."""
        return getattr(self, "categorical_features", "from_dtype")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.categorical = True
        return tags


def fit_columns(owner: Any, X: Any, categorical_features: Any) -> tuple[np.ndarray, ColumnSchema]:
    """Encode a training table and describe its columns.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [1.5, None], "colour": ["red", "blue"]})
    >>> codes, schema = fit_columns("demo", frame, "from_dtype")
    >>> codes
    array([[1.5, 1. ],
           [nan, 0. ]])
    >>> schema.categories[1].tolist()
    ['blue', 'red']
    """
    columns = split_columns(owner, X)
    schema = _schema(owner, columns, categorical_features)
    return _encode(owner, columns, schema), schema


def _schema(owner: Any, columns: list[Column] | np.ndarray, categorical_features: Any) -> ColumnSchema:
    names = _names(owner, columns)
    chosen = _nominal_mask(owner, columns, names, categorical_features)
    listed = _columns(columns) if chosen.any() else []
    categories = tuple(_categories(listed[j]) if chosen[j] else None for j in range(len(names)))
    return ColumnSchema(names, chosen, categories)


def read_columns(owner: Any, X: Any, schema: ColumnSchema) -> np.ndarray:
    """Encode another table with the categories of `schema`.

    >>> import polars as pl
    >>> _, schema = fit_columns("demo", pl.DataFrame({"colour": ["red", "blue"]}), "from_dtype")
    >>> read_columns("demo", pl.DataFrame({"colour": ["red", "green", None]}), schema).ravel()
    array([ 1., -1., nan])
    """
    return _encode(owner, split_columns(owner, X), schema)


def _who(owner: Any) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__


def _one_name_twice(owner: Any) -> DataError:
    way_out = "give every column its own name"
    return DataError(_who(owner), "X", "must not have two columns of one name", way_out=way_out)


def split_columns(owner: Any, X: Any) -> list[Column] | np.ndarray:
    """The columns of X: a float64 matrix if all are numbers, else a list of float64 arrays and Polars series."""
    if issparse(X):
        check_array(X, accept_sparse=False, estimator=owner)
    try:
        frame = X if isinstance(X, np.ndarray) else nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise _one_name_twice(owner) from None
    if isinstance(frame, nw.DataFrame):
        use_polars(_who(owner))
        return _split_frame(owner, frame)
    array = X if isinstance(X, np.ndarray) else np.asarray(X)
    if array.dtype.kind in "OUST" and array.ndim == 2 and array.size and _holds_text(array):
        use_polars(_who(owner))
        columns = [_from_objects(owner, array[:, j].astype(object), str(j)) for j in range(array.shape[1])]
        _check_finite(owner, columns, [f"x{j}" for j in range(len(columns))])
        return columns
    return _numbers(owner, X)


def _numbers(owner: Any, table: Any, names: Sequence[str] | None = None) -> np.ndarray:
    """A table of numbers alone, as float64; the first infinite cell is named.

    >>> _numbers("demo", [[0.0, 1.0], [2.0, np.inf]])
    Traceback (most recent call last):
    assay.base.errors.DataError: demo: column 'x1' must be finite (Input X contains infinity); first at row 1; \
clean it first.
    """
    try:
        return check_array(table, dtype=np.float64, order="C", ensure_all_finite="allow-nan", estimator=owner)
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        columns: list[Column] = list(np.asarray(table, dtype=np.float64).T)
        _check_finite(owner, columns, [f"x{j}" for j in range(len(columns))] if names is None else list(names))
        raise


def _split_frame(owner: Any, frame: nw.DataFrame[Any]) -> list[Column] | np.ndarray:
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        check_array(np.empty(frame.shape), estimator=owner)
    native = frame.to_native()
    if isinstance(native, pl.DataFrame) and all(dtype.is_numeric() for dtype in native.dtypes):
        # A null becomes NaN on the way to float64.
        return _numbers(owner, native.cast(pl.Float64).to_numpy(order="c"), frame.columns)
    columns = [_from_series(owner, series) for series in frame.iter_columns()]
    if all(isinstance(c, np.ndarray) for c in columns):
        return _numbers(owner, np.column_stack(columns), frame.columns)
    _check_finite(owner, columns, frame.columns)
    return columns


def _check_finite(owner: Any, columns: list[Column], names: list[str]) -> None:
    for column, name in zip(columns, names):
        if isinstance(column, np.ndarray) and np.isinf(column).any():
            raise DataError(
                _who(owner),
                f"column '{plain(name)}'",
                "must be finite (Input X contains infinity)",
                f"first at row {int(np.flatnonzero(np.isinf(column))[0])}",
                "clean it first",
            )


def _holds_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "UST" or any(isinstance(v, str) for v in array.ravel())


def _from_series(owner: Any, series: Any) -> Column:
    dtype, native = series.dtype, series.to_native()
    if dtype.is_numeric():
        if isinstance(getattr(native, "dtype", None), np.dtype):  # a missing cell is NaN already
            return np.asarray(native, dtype=np.float64)
        if series.is_null().any():
            return series.cast(nw.Float64).fill_null(float("nan")).to_numpy().astype(np.float64, copy=False)
        return series.to_numpy().astype(np.float64, copy=False)
    if dtype.is_temporal():
        raise DataError(
            _who(owner),
            f"column '{plain(series.name)}'",
            "holds dates",
            way_out="expand it with assay.prepare.DateParts or leave it out",
        )
    if isinstance(native, pl.Series) and native.dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        return native if native.dtype == pl.Boolean else native.cast(pl.String)
    coded: Any = getattr(native, "cat", None)
    if isinstance(dtype, (nw.Categorical, nw.Enum)) and hasattr(coded, "codes"):
        labels = list(coded.categories)
        if labels and all(type(label) is str for label in labels):
            # One look-up by the codes: no cell becomes an object. A missing cell has the code -1.
            codes = np.asarray(coded.codes)
            return pl.Series([*labels, None], dtype=pl.String).gather(np.where(codes < 0, len(labels), codes))
    values = series.to_numpy().astype(object)
    values[series.is_null().to_numpy()] = None
    # A categorical column is nominal whatever its categories are, numbers too.
    return _from_objects(owner, values, str(series.name), as_text=isinstance(dtype, (nw.Categorical, nw.Enum)))


def _from_objects(owner: Any, values: np.ndarray, name: str, *, as_text: bool = False) -> Column:
    """An object column: float64 if every present cell is a number, else booleans or text with null for missing."""
    kinds = {type(value) for value in values}
    present = kinds - {type(None)}
    if present and present <= {str, np.str_}:
        return pl.Series(values.tolist(), dtype=pl.String)
    if present and present <= {bool, np.bool_}:
        return pl.Series([None if v is None else bool(v) for v in values], dtype=pl.Boolean)
    for kind in present:
        if not issubclass(kind, (str, bool, int, float, np.bool_, np.number)) and not _is_missing_type(kind):
            row = next(i for i, value in enumerate(values) if type(value) is kind)
            raise TypeError(
                f"{_who(owner)}: column '{plain(name)}' holds a {plain(kind.__name__)} at row {row}; "
                "a cell (float() argument must be a string or a real number) must be text or a number."
            )
    cells = [None if _is_missing(value) else value for value in values]
    text_or_bool = any(issubclass(kind, (str, bool, np.bool_)) for kind in present)
    if not as_text and not text_or_bool:
        return np.array([np.nan if v is None else float(v) for v in cells], dtype=np.float64)
    if not as_text and all(v is None or isinstance(v, (bool, np.bool_)) for v in cells):
        return pl.Series([None if v is None else bool(v) for v in cells], dtype=pl.Boolean)
    return pl.Series([None if v is None else _text(v) for v in cells], dtype=pl.String)


def _is_missing_type(kind: type) -> bool:
    return kind.__name__ in ("NAType", "NaTType")


def _is_missing(value: Any) -> bool:
    return (
        value is None or _is_missing_type(type(value)) or (isinstance(value, (float, np.floating)) and value != value)
    )


def _names(owner: Any, columns: list[Column] | np.ndarray) -> tuple[str, ...]:
    return tuple(column_names(owner, columns.shape[1] if isinstance(columns, np.ndarray) else len(columns)))


def _columns(columns: list[Column] | np.ndarray) -> list[Column]:
    return [columns[:, j] for j in range(columns.shape[1])] if isinstance(columns, np.ndarray) else columns


def _nominal_mask(owner: Any, columns: list[Column] | np.ndarray, names: tuple[str, ...], chosen: Any) -> np.ndarray:
    mask = np.zeros(len(names), dtype=bool)
    if not isinstance(columns, np.ndarray):
        mask[:] = [isinstance(column, pl.Series) for column in columns]
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return mask
    return mask | named_columns(owner, names, chosen)


def named_columns(owner: Any, names: Sequence[str], chosen: Any) -> np.ndarray:
    """A mask of the columns that `categorical_features` names, by name, position or mask; any other is refused.

    >>> named_columns(object(), ("age", "plan"), ["plan"])
    array([False,  True])
    """
    mask, wanted = np.zeros(len(names), dtype=bool), np.asarray(chosen)
    if wanted.dtype.kind == "b" and wanted.shape == mask.shape:
        return wanted
    for item in wanted.tolist():
        position = list(names).index(item) if isinstance(item, str) and item in names else item
        if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < len(names):
            raise ParameterError(
                _who(owner),
                "parameter 'categorical_features'",
                "must name columns of X",
                f"got {plain(repr(item))}",
                f"X has {len(names)} columns",
            )
        mask[position] = True
    return mask


def _categories(column: Column) -> np.ndarray:
    """Sorted categories as a plain array: numbers, booleans, or text."""
    if isinstance(column, np.ndarray):
        return np.unique(column[~np.isnan(column)])
    if column.dtype == pl.Boolean:
        found = [column.all() is False, column.any() is True]  # missing cells are left out of both
        return np.flatnonzero(found).astype(bool)
    present = column.drop_nulls().unique().to_list()
    # NumPy drops trailing zero characters, which could make two categories equal.
    return np.array(sorted({label.rstrip("\0") for label in present}), dtype=str)


def _text(value: Any) -> str:
    """A cell as the label of its category; a whole number has one label, be it an integer or a float."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    number = float(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return str(int(number)) if number.is_integer() else repr(number)


def _encode(owner: Any, columns: list[Column] | np.ndarray, schema: ColumnSchema) -> np.ndarray:
    if isinstance(columns, np.ndarray) and not schema.nominal.any():
        return columns
    listed = _columns(columns)
    values = np.empty((len(listed[0]), len(listed)), dtype=np.float64)
    for j, column in enumerate(listed):
        categories = schema.categories[j]
        if categories is not None:
            values[:, j] = _codes(column, categories)
        elif isinstance(column, np.ndarray):
            values[:, j] = column
        elif column.null_count() == column.len():
            values[:, j] = np.nan
        else:
            row = int(column.is_not_null().arg_max() or 0)
            raise DataError(
                _who(owner),
                f"column '{plain(schema.names[j])}'",
                "was numeric in fit",
                f"got {plain(repr(column[row]))} at row {row}",
                "clean it or fit again",
            )
    return values


def _codes(column: Column, categories: np.ndarray) -> np.ndarray:
    """Positions of the cells among the categories; NaN for missing, `UNSEEN` for what is not there."""
    if isinstance(column, np.ndarray):
        if categories.dtype.kind == "U":
            distinct, inverse = np.unique(column, return_inverse=True)
            labels = pl.Series([None if np.isnan(v) else _text(v) for v in distinct], dtype=pl.String)
            return _codes(labels, categories)[inverse]
        return number_codes(column, categories.astype(np.float64))
    if categories.dtype.kind == "b":
        if column.dtype != pl.Boolean:
            return np.where(column.is_null().to_numpy(), np.nan, UNSEEN)
        return number_codes(column.cast(pl.Float64).to_numpy().astype(np.float64), categories.astype(np.float64))
    if categories.dtype.kind == "f" or categories.shape[0] == 0:
        return np.where(column.is_null().to_numpy(), np.nan, UNSEEN)
    if column.dtype == pl.Boolean:
        column = column.cast(pl.String).str.to_titlecase()
    found = column.cast(pl.Enum(categories.tolist()), strict=False).to_physical().cast(pl.Float64)
    codes = found.fill_null(UNSEEN).to_numpy()
    if column.null_count():
        codes = np.where(column.is_null().to_numpy(), np.nan, codes)
    return codes


def number_codes(column: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Places of numbers among sorted ones; NaN stays, and `UNSEEN` stands for what is not there.

    >>> number_codes(np.array([7.0, np.nan, 5.0, 6.0]), np.array([5.0, 7.0]))
    array([ 1., nan,  0., -1.])
    """
    if categories.shape[0] == 0:
        return np.where(np.isnan(column), np.nan, UNSEEN)
    first, count = np.floor(categories[0]), categories.shape[0]
    if categories[-1] - first == count - 1 and (categories == np.floor(categories)).all():
        # Whole numbers without a gap: no search.
        place = column - first
        known = column == np.floor(column)
        known &= place >= 0.0
        known &= place < count
        if known.all():
            return place
    else:
        place = np.minimum(np.searchsorted(categories, column), count - 1).astype(np.float64)
        known = categories[place.astype(np.intp)] == column
    return np.where(np.isnan(column), np.nan, np.where(known, place, UNSEEN))
