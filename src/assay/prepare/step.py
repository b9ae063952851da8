"""What preparation steps share: a table goes in, a table of the same kind comes out.

Inside a step the table is a Polars frame of plain types (Int64, Float64, Boolean, String, Datetime) in which every
missing cell is null. A step says what it learns (`_learn`) and what it does (`_apply`); reading, checking, choosing
columns and giving back the caller's kind of table is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple, NoReturn, Self

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, column_or_1d, validate_data

from ..base import (
    ArrayLike,
    Cost,
    DataError,
    Estimator,
    Nothing,
    ParameterError,
    check_lengths,
    param,
    plain,
    take_rows,
)
from ..base.cells import holds_no, is_pandas
from ..data.columns import split_columns
from ..data.forked import use_polars
from ..data.roles import nearest
from ..data.table import plain_rows, plain_types, to_polars
from .encode import as_text


def columns_param(
    meaning: str = "Columns to work on, by name or position; None for every one the step can use.",
) -> Any:
    """The declaration of `columns`, which most steps have."""
    return param(None, ArrayLike() | Nothing(), meaning)


class CellCost(NamedTuple):
    """What a step that looks at every cell costs: seconds and bytes per cell, and seconds to start."""

    seconds: float
    start: float
    bytes: float


class TableStep(TransformerMixin, Estimator):
    """Base of steps on tables of mixed columns: NumPy, pandas or Polars in, the same out unless `set_output` says so.

    A subclass writes `_learn(frame, y)`, which must set `names_out_`, and `_apply(frame)`, which returns a frame with
    just these columns. A step that can go back also writes `_undo(frame)` and gets `inverse_transform` from it.
    A step that says `_by_cells` also writes `_learn_cells` and `_apply_cells`, which do the same to a float64 matrix
    with NaN for missing: a small array then needs no frame, which takes longer to make than most steps take. One that
    also says `_floats_stay` does so with a pandas frame of floats.
    """

    _cell_cost: CellCost | None = None
    """Of a step whose cost grows with the cells alone; others override `estimate_cost`."""

    _floats_stay = False
    """Of a step by cells, whether columns of floats give columns of float64 alone, as the cells of the matrix do."""

    _allow_nan = True
    _requires_y = False
    names_in_: list[str]
    names_out_: list[str]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the training rows."""
        self._check_parameters()
        cells = self._matrix_in(X, reset=True)
        self._of_cells = cells is not None
        if cells is not None:
            self._check_cost(*cells.shape)
            framed = is_pandas(X)
            self.names_in_ = X.columns.tolist() if framed else [f"x{j}" for j in range(cells.shape[1])]
            self._learn_cells(cells, self._target(y, cells.shape[0]))
            return self
        frame = self._open(X, reset=True)
        self._check_cost(frame.height, frame.width)
        self.names_in_ = list(frame.columns)
        self._learn(frame, self._target(y, frame.height))
        return self

    def transform(self, X: Any) -> Any:
        """Prepare rows by what the training rows said; as many rows come out as went in."""
        check_is_fitted(self)
        cells = self._matrix_in(X, reset=False) if getattr(self, "_of_cells", False) else None
        made = None if cells is None else self._matrix_out(self._apply_cells(cells), X, "names_out_")
        if made is not None:
            return made
        return self._close(self._apply(self._open(X, reset=False)), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come out."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.names_out_, dtype=object)

    def explain(self) -> list[str]:
        """What the fitted step does, in words, one sentence per treatment."""
        raise NotImplementedError  # pragma: no cover

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        raise NotImplementedError  # pragma: no cover

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        raise NotImplementedError  # pragma: no cover

    def _by_cells(self) -> bool:
        """Whether a table of numbers is one matrix to the step."""
        return False

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        raise NotImplementedError  # pragma: no cover

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def _matrix_in(self, X: Any, *, reset: bool) -> np.ndarray | None:
        """The cells of X where the step can work on them as one matrix, and give back the like; remembers or checks
        the columns."""
        if not self._by_cells() or _get_output_config("transform", self)["dense"] != "default":
            return None
        framed = "f" if self._floats_stay else ""
        if reset and framed and is_pandas(X) and not all(_stays(name) for name in X.columns.tolist()):
            return None
        return self._plain_cells(X, reset=reset, ensure_all_finite="allow-nan", lists=False, framed=framed)

    def _matrix_out(self, cells: np.ndarray, like: Any, names: str) -> Any:
        """A matrix as the caller's kind of table, with the `names` of this attribute in a frame; None for a frame with
        a cell out of range, which `_close` names."""
        if not is_pandas(like):
            return cells
        if not holds_no(cells, missing=False):
            return None
        import pandas as pd

        return pd.DataFrame(
            cells, index=like.index, columns=_header(getattr(self, names), like.columns, pd), copy=False
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = self._requires_y
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []
        return tags

    # -- in and out ----------------------------------------------------------------------------------------------
    def _open(self, X: Any, *, reset: bool) -> pl.DataFrame:
        """X as a frame of plain types with null for missing; remembers or checks the number and names of columns."""
        if isinstance(X, np.ndarray) and X.ndim != 2:
            check_array(X, dtype=None, estimator=self)
        if isinstance(X, pl.LazyFrame) or type(X) is dict:
            raise DataError(
                type(self).__name__,
                "X",
                "must be an array or a pandas, Polars or pyarrow table",
                f"got a {type(X).__name__}",
                "collect it first" if isinstance(X, pl.LazyFrame) else "make a frame of it first",
            )
        use_polars(type(self).__name__)
        framed = is_frame(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if framed:
            frame = _with_categories(plain_rows(X, type(self).__name__), X)
            if frame.height == 0 or frame.width == 0:
                check_array(np.empty(frame.shape), estimator=self)
            if not reset and frame.columns != self.names_in_:
                # Names that count were compared; fitted on an array, or with numbers for names, position counts.
                frame.columns = self.names_in_
            return frame
        columns = split_columns(self, X)
        if isinstance(columns, np.ndarray):
            columns = list(np.ascontiguousarray(columns.T))
        names = [f"x{j}" for j in range(len(columns))] if reset else self.names_in_
        return pl.DataFrame(dict(zip(names, columns, strict=True)), nan_to_null=True)

    def _close(self, frame: pl.DataFrame, like: Any) -> Any:
        """The frame as the caller's kind of table, or as `set_output` says."""
        self._require_finite(frame)
        wanted = _get_output_config("transform", self)["dense"]
        if wanted == "default":
            return table_like(frame, like)
        if wanted == "polars":
            return frame
        import pandas as pd

        return to_pandas(frame, getattr(like, "index", None), pd)

    def _require_finite(self, frame: pl.DataFrame) -> None:
        """Refuse a column that overflowed; infinite cells do not come in."""
        for series in frame.get_columns():
            if series.dtype.is_float() and not np.isfinite(float(series.sum())) and series.is_infinite().any():
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name, 40)}' of the result",
                    "is beyond the range of float64",
                    way_out="its cells are too far from those of the training rows: check or scale them",
                )

    def _target(self, y: Any, n_rows: int) -> np.ndarray | None:
        if y is None:
            if self._requires_y:
                raise ValueError(
                    f"{type(self).__name__}: requires y to be passed, but the target y is None; give one value per row."
                )
            return None
        target = np.asarray(y)
        check_lengths(type(self).__name__, n_rows, target.shape[0])
        return target

    def _chosen(
        self, frame: pl.DataFrame, fits: Callable[[pl.Series], bool], what: str, columns: Any = None
    ) -> list[str]:
        """Names of the columns to work on: those asked for, or all that fit; one that does not fit is refused."""
        wanted = getattr(self, "columns", None) if columns is None else columns
        if wanted is None:
            return [series.name for series in frame.get_columns() if fits(series)]
        names = [self._column(frame, item) for item in np.asarray(wanted, dtype=object).ravel().tolist()]
        for name in names:
            if not fits(frame[name]):
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(name)}'",
                    f"must hold {what}",
                    f"its type is {plain(frame[name].dtype)}",
                    "leave it out of columns or convert it first",
                )
        return list(dict.fromkeys(names))

    def _column(self, frame: pl.DataFrame, item: Any, parameter: str = "columns") -> str:
        """The name of a column given by name or position."""
        return self._named(frame.columns, item, parameter)

    def _named(self, names: list[str], item: Any, parameter: str = "columns") -> str:
        if isinstance(item, str) and item in names:
            return item
        if isinstance(item, (int, np.integer)) and not isinstance(item, bool) and 0 <= item < len(names):
            return names[int(item)]
        raise ParameterError(
            type(self).__name__,
            f"parameter '{parameter}'",
            "must name columns of X",
            f"got {plain(repr(item))}",
            nearest(item, names),
        )

    def _asked_cells(self) -> dict[str, int]:
        """Of a matrix the columns that `columns` names, none where it is None, and their positions."""
        wanted = np.asarray([] if self.columns is None else self.columns, dtype=object).ravel().tolist()
        names = [self._named(self.names_in_, item) for item in wanted]
        return {name: self.names_in_.index(name) for name in names}

    def _by_column(self, frame: pl.DataFrame, given: dict[Any, Any] | None, parameter: str) -> dict[str, Any]:
        """A parameter that holds something per column, with names for keys."""
        return {self._column(frame, key, parameter): value for key, value in (given or {}).items()}

    def _like_fit(self, frame: pl.DataFrame, kinds: dict[str, str]) -> pl.DataFrame:
        """The frame with these columns of the kind they had in fit; one whose cells are all missing fits any kind."""
        empty = []
        for name, kind in kinds.items():
            series = frame[name]
            if kind_of(series) == kind or (kind == "number" and series.dtype == pl.Boolean):
                continue
            if series.null_count() < series.len():
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(name)}'",
                    f"was {_WORDS[kind]} in fit",
                    f"its type is {plain(series.dtype)}",
                    "clean it or fit again",
                )
            empty.append(pl.lit(None, dtype=_TYPES[kind]).alias(name))
        return frame.with_columns(empty) if empty else frame

    def _matrix(self, frame: pl.DataFrame, names: list[str]) -> np.ndarray:
        """Columns that were numeric in fit as a float64 matrix with NaN for missing."""
        return matrix_of(self._like_fit(frame, dict.fromkeys(names, "number")).select(names), frame.height)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Time and memory by the number of cells."""
        if self._cell_cost is None:
            return super().estimate_cost(n_rows, n_features, n_outputs)
        cells = float(n_rows) * n_features
        seconds = self._cell_cost.seconds * cells + self._cell_cost.start
        return Cost(seconds=seconds, bytes=self._cell_cost.bytes * cells)

    def _refuse_entry(self, parameter: str, name: str, rule: str, came: Any) -> NoReturn:
        """What a parameter says of one column breaks a rule."""
        raise ParameterError(
            type(self).__name__,
            f"parameter '{parameter}'",
            f"must be {rule} for column '{plain(name)}'",
            f"got {plain(repr(came))}",
        )

    def _open_prepared(self, X: Any) -> pl.DataFrame:
        """A table as `transform` gives it, for the way back: the columns of `names_out_`."""
        check_is_fitted(self)
        use_polars(type(self).__name__)
        if is_frame(X):
            frame = plain_types(to_polars(X), {})
            for name in self.names_out_:
                if name not in frame.columns:
                    raise DataError(
                        type(self).__name__,
                        f"column '{plain(name)}'",
                        "is not in the prepared table",
                        way_out=nearest(name, frame.columns),
                    )
            return frame.select(self.names_out_)
        columns = split_columns(self, X)
        if isinstance(columns, np.ndarray):
            columns = list(np.ascontiguousarray(columns.T))
        if len(columns) != len(self.names_out_):
            raise DataError(
                type(self).__name__,
                "the prepared table",
                f"must have {len(self.names_out_)} columns",
                f"got {len(columns)}",
            )
        return pl.DataFrame(dict(zip(self.names_out_, columns)), nan_to_null=True)


class RowStep(TableStep):
    """Base of steps that leave out or add training rows.

    `fit_resample(X, y)` gives the changed rows and experiments call it on training rows only. `transform` never changes
    the number of rows: every row that has to be predicted gets its prediction. Pipelines of imbalanced-learn refuse
    steps that also transform; they take the step's `fit_resample` in a `FunctionSampler`. A subclass writes
    `_kept(frame, y)`: the numbers of the rows to keep, in order.
    """

    _sampler_type = "clean-sampling"

    def fit_resample(self, X: Any, y: Any = None, **fitted: Any) -> tuple[Any, Any]:
        """Learn from the training rows and return those that stay, with their targets (None if y is None)."""
        self.fit(X, y)
        frame = self._open(X, reset=False)
        kept = np.asarray(self._kept(frame, self._target(y, frame.height)), dtype=np.int64)
        self.sample_indices_ = kept
        if kept.size == 0:
            raise DataError(
                type(self).__name__, "the table", "would lose every row", way_out="loosen the rule or check the table"
            )
        arrow = type(X).__module__.startswith("pyarrow")
        out = self.transform(X.take(kept) if arrow else take_rows(X, kept))
        return out, None if y is None else take_rows(y if hasattr(y, "iloc") else np.asarray(y), kept)

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover


def is_frame(X: Any) -> bool:
    """Whether X is a pandas, Polars or pyarrow table."""
    if isinstance(X, (np.ndarray, list)):
        return False
    if is_pandas(X) and X.columns.is_unique:
        return True
    try:
        return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)
    except nw.exceptions.DuplicateError:
        raise DataError(
            "X", "the frame", "must not have two columns of one name", way_out="give every column its own name"
        ) from None


def _with_categories(frame: pl.DataFrame, X: Any) -> pl.DataFrame:
    """The frame with categorical columns of X as text, also where their categories are numbers."""
    if all(dtype == pl.String for dtype in frame.dtypes):
        return frame
    types = nw.from_native(X, eager_only=True).schema.values()
    labels = [name for name, dtype in zip(frame.columns, types) if isinstance(dtype, (nw.Categorical, nw.Enum))]
    numbers = [as_text(frame[name]) for name in labels if frame[name].dtype != pl.String]
    return frame.with_columns(numbers) if numbers else frame


def is_number(series: pl.Series) -> bool:
    """Whether a column of plain type holds numbers (or booleans, which count as 0 and 1)."""
    return series.dtype.is_numeric() or series.dtype == pl.Boolean


_WORDS = {"number": "numeric", "text": "text", "boolean": "true or false", "date": "a date"}
_TYPES: dict[str, Any] = {"number": pl.Float64, "text": pl.String, "boolean": pl.Boolean, "date": pl.Datetime("us")}


def kind_of(series: pl.Series) -> str:
    """What a column of plain type holds: "number", "text", "boolean" or "date"."""
    dtype = series.dtype
    if dtype.is_numeric():
        return "number"
    return "text" if dtype == pl.String else "boolean" if dtype == pl.Boolean else "date"


def is_value(series: pl.Series) -> bool:
    """Whether a column of plain type holds numbers, text or booleans (not dates)."""
    return kind_of(series) != "date"


def is_quantity(series: pl.Series) -> bool:
    """Whether a column of plain type holds numbers proper."""
    return series.dtype.is_numeric()


def free_name(name: str, taken: Container[str]) -> str:
    """A column name that is not taken yet.

    >>> free_name("outlier", ["age", "outlier"])
    "outlier'"
    """
    while name in taken:
        name += "'"
    return name


def listed(names: list[str]) -> str:
    """Column names in a sentence, at most six of them.

    >>> listed(["a", "b"])
    'a, b'
    """
    shown = ", ".join(plain(name, 40) for name in names[:6])
    return shown + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def is_label(series: pl.Series) -> bool:
    """Whether a column of plain type holds text or booleans."""
    return series.dtype in (pl.String, pl.Boolean)


def refuse_missing(who: str, labels: np.ndarray) -> None:
    """Refuse objects among which one is missing.

    >>> refuse_missing("SelectFilter", np.array(["a", "b"], dtype=object))
    """
    missing = np.array([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in labels], dtype=bool)
    if missing.any():
        row = int(missing.argmax())
        raise DataError(who, "y", "must not hold missing labels", f"first at row {row}", "drop those rows first")


def class_codes(who: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The classes of a target and the code of each row; refuses what is no class.

    >>> class_codes("Balance", ["b", "a", "b"])[1].tolist()
    [1, 0, 1]
    """
    labels = column_or_1d(np.asarray(y))
    if labels.size == 0:
        raise DataError(who, "y", "must have at least one row", "got none")
    if labels.dtype.kind == "O":
        refuse_missing(who, labels)
        labels = labels.astype(str)
    if labels.dtype.kind == "f" and not (np.isfinite(labels) & (labels == np.round(labels))).all():
        raise DataError(who, "y", "must hold classes", "got numbers with decimals or missing", "discretise it first")
    return np.unique(labels, return_inverse=True)


def matrix_of(frame: pl.DataFrame, height: int | None = None) -> np.ndarray:
    """Columns of numbers as a C-ordered float64 matrix with NaN for missing; `height` counts the rows of no columns."""
    if not frame.width:
        return np.empty((frame.height if height is None else height, 0))
    # Column by column, as an expression would wake the threads of Polars.
    return np.ascontiguousarray(pl.DataFrame([s.cast(pl.Float64) for s in frame.get_columns()]).to_numpy(order="c"))


def table_like(frame: pl.DataFrame, like: Any) -> Any:
    """A Polars frame as the kind of table that `like` is.

    Arrays come out as float64 with NaN for missing, or as objects with None for missing if a column is not numeric.

    >>> import polars as pl
    >>> table_like(pl.DataFrame({"a": [1.0, None]}), np.zeros((2, 1)))
    array([[ 1.],
           [nan]])
    """
    if isinstance(like, pl.DataFrame):
        return frame
    if is_frame(like):
        native = nw.from_native(like, eager_only=True)
        namespace = native.implementation.to_native_namespace()
        if native.implementation.is_pandas():
            return to_pandas(frame, like.index, namespace)
        return frame.to_arrow() if native.implementation.is_pyarrow() else frame
    if all(is_number(series) for series in frame.get_columns()):
        return matrix_of(frame)
    cells = np.empty(frame.shape, dtype=object)
    for j, series in enumerate(frame.get_columns()):
        cells[:, j] = series.to_list()
    return cells


def _stays(name: Any) -> bool:
    """Whether a column of this name keeps it on the way through a Polars frame, and is not refused there.

    >>> [_stays(name) for name in ("age", "", "^a.*$", 7)]
    [True, False, False, False]
    """
    return type(name) is str and name.isprintable() and name[:1] not in ("", "^")


def _header(names: list[str], given: Any, pandas: Any) -> Any:
    """Names as the columns of a frame: those of the frame that came, where pandas would make the same of them."""
    if given.name is None and given.dtype == pandas.Index(names[:1]).dtype and given.tolist() == names:
        return given
    return pandas.Index(names)


def to_pandas(frame: pl.DataFrame, index: Any, pandas: Any) -> Any:
    """Column by column, so that pyarrow is not needed; a table with other rows than the index has is numbered anew."""
    index = index if index is not None and len(index) == frame.height else None
    if frame.width and all(dtype == pl.Float64 for dtype in frame.dtypes):
        cells = np.array([series.to_numpy() for series in frame.get_columns()]).T
        return pandas.DataFrame(cells, index=index, columns=frame.columns, copy=False)
    columns = {}
    for series in frame.get_columns():
        if series.dtype.is_integer() and series.null_count() and (series.abs() > 2**53).any():
            # As floats, which is what pandas makes of whole numbers with gaps, these would lose digits.
            columns[series.name] = pandas.array(series.to_list(), dtype=str(series.dtype))
        elif series.dtype.is_numeric():
            columns[series.name] = series.to_numpy()
        elif series.dtype.is_temporal():
            columns[series.name] = series.to_numpy().astype("datetime64[us]")
        elif series.dtype == pl.Boolean and not series.null_count():
            columns[series.name] = series.to_numpy()
        else:
            columns[series.name] = pandas.Series(series.to_list(), dtype=object).to_numpy()
    return pandas.DataFrame(columns, index=index, columns=frame.columns)
