"""What a table of numbers must be, in one sentence where it is not: two-dimensional, complete, finite."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .columns import column_name
from .errors import AssayError, DataError, plain

_FLOAT64 = np.dtype(np.float64)
_LISTS = (list, tuple)


def is_pandas(X: Any) -> bool:
    """Whether X is a frame of pandas, which is not imported for the question.

    >>> import pandas as pd
    >>> is_pandas(pd.DataFrame({"a": [1.0]})), is_pandas(np.ones((2, 3)))
    (True, False)
    """
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(X) is getattr(pandas, "DataFrame", None)


def plain_cells(X: Any, *, lists: bool = True, framed: str = "fiu") -> np.ndarray | None:
    """X as a C-ordered float64 matrix by one conversion, X itself where it is one; None for what needs a closer look.

    An array of numbers, a list of rows of numbers (with `lists`) and a pandas frame of NumPy's numbers of the kinds
    `framed` are enough, with some cell; the cells may be missing or infinite.

    >>> plain_cells([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    >>> plain_cells([["1", "2"]]) is plain_cells(np.ones(3)) is None
    True
    """
    cells = X if type(X) is np.ndarray else _numbers_of_rows(X, lists, framed)
    if cells is None or cells.ndim != 2 or not cells.size:
        return None
    if cells.dtype == _FLOAT64 and cells.flags.c_contiguous and cells.flags.aligned:
        return cells
    # Of more than eight bytes a number may leave the range of float64.
    return cells.astype(np.float64, order="C") if cells.dtype.kind in "fiu" and cells.dtype.itemsize <= 8 else None


def _numbers_of_rows(X: Any, lists: bool, framed: str) -> np.ndarray | None:
    """The cells of a frame or list as NumPy holds them together, if no cell is anything but a number."""
    if type(X) in _LISTS:
        row = X[0] if lists and X and type(X[0]) in _LISTS else None
        if not row or type(row[0]) not in (float, int):
            return None
        try:
            return np.asarray(X)
        except ValueError:  # rows of several lengths
            return None
    if not framed or not is_pandas(X):
        return None
    numbers = all(isinstance(dtype, np.dtype) and dtype.kind in framed for dtype in X.dtypes.tolist())
    return X.to_numpy() if numbers else None


def holds_no(cells: np.ndarray, *, missing: bool) -> bool:
    """Whether a matrix has no infinite cell and, with `missing`, none that is missing; one pass mostly proves it.

    >>> holds_no(np.array([[1.0, np.nan]]), missing=True), holds_no(np.array([[1.0, np.nan]]), missing=False)
    (False, True)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(cells.sum())) or not (missing or np.isinf(cells).any())


def require_table(who: str, X: Any) -> None:
    """Refuse a single list of numbers, which may be meant as one row or as one column.

    >>> require_table("Lasso", np.zeros(3))
    Traceback (most recent call last):
    assay.base.errors.DataError: Lasso: X must be a table of rows and columns; Expected 2D array, got 1D array of \
shape (3,); Reshape your data with X.reshape(-1, 1) if it is one column, or X.reshape(1, -1) if it is one row.
    """
    shape = getattr(X, "shape", None)
    if shape is None and isinstance(X, (list, tuple)) and X and np.isscalar(X[0]):
        shape = (len(X),)
    if isinstance(shape, tuple) and len(shape) == 1:
        came = f"Expected 2D array, got 1D array of shape {shape}"
        way_out = "Reshape your data with X.reshape(-1, 1) if it is one column, or X.reshape(1, -1) if it is one row"
        raise DataError(who, "X", "must be a table of rows and columns", came, way_out)


def require_squares(who: str, y: np.ndarray) -> None:
    """Refuse a target whose squares are no numbers of float64.

    >>> require_squares("RidgeCV", np.array([1e12, -1e-12]))
    """
    if np.abs(y).max(initial=0.0) > 1e150:
        raise DataError(who, "y", "is too large to square in float64", way_out="divide it by its largest value")


def require_finite(who: str, rows: np.ndarray, names: Any = None) -> None:
    """Refuse a matrix with a missing or infinite cell, and name the first such column.

    >>> require_finite("Lasso", np.array([[1.0, 2.0], [3.0, np.inf]]), ["age", "height"])
    Traceback (most recent call last):
    assay.base.errors.DataError: Lasso: column 'height' must hold finite numbers; Input X contains infinity, first at \
row 1; correct the cells first, or leave the rows out.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):  # one read without a mask; a sum out of range proves nothing
            return
    for test, refusal in ((np.isnan, missing_cells), (np.isinf, _infinite)):
        wrong = test(rows)
        columns = np.flatnonzero(wrong.any(axis=0))
        if columns.size:
            raise refusal(who, _column(names, int(columns[0])), int(np.flatnonzero(wrong[:, columns[0]])[0]))


@contextlib.contextmanager
def naming_cells(estimator: Any, X: Any) -> Iterator[None]:
    """Turn scikit-learn's complaint about the cells of X into one sentence that names the column and the way out."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as complaint:
        refused = _refusal(estimator, X, complaint)
        if refused is None:
            raise
        raise refused from None


def _refusal(estimator: Any, X: Any, complaint: Exception) -> AssayError | None:
    """What is wrong with the first column of X that is no column of finite numbers, if that was the complaint."""
    who, words = type(estimator).__name__, str(complaint)
    if type(complaint).__name__ == "DuplicateError":
        return DataError(who, "X", "must not have two columns of one name", way_out="rename one of them")
    X = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
    if issparse(X) or len(getattr(X, "shape", ())) != 2 or "feature names" in words:
        return None
    framed = hasattr(X, "columns")
    held: Any = X.column_names if hasattr(X, "to_batches") else getattr(X, "columns", None)  # Arrow, or any frame
    names: Any = list(held) if framed else getattr(estimator, "feature_names_in_", None)
    for j in range(X.shape[1]):
        cells, column = np.asarray(X[names[j]] if framed else X[:, j]), _column(names, j)
        if cells.dtype.kind in "mM" or any(isinstance(cell, date) for cell in cells[:100].tolist()):
            way_out = "make numbers of it first (`assay.prepare.DateParts`, or `assay.prepare.auto_prepare`)"
            return DataError(who, column, "holds dates where numbers are needed", way_out=way_out)
        numbers = _numbers(cells)
        if numbers is None:
            return None
        if isinstance(numbers, str):
            rule = f"holds labels such as '{plain(numbers, 30)}' where numbers are needed"
            way_out = "encode it first (`assay.prepare.auto_prepare` does what a learner needs), or use a method that "
            return DataError(who, column, rule, way_out=way_out + "takes labels (`assay methods --native nominal`)")
        if "NaN" in words and np.isnan(numbers).any():
            return missing_cells(who, column, int(np.flatnonzero(np.isnan(numbers))[0]))
        if ("inf" in words or "too large" in words) and np.isinf(numbers).any():
            return _infinite(who, column, int(np.flatnonzero(np.isinf(numbers))[0]))
    return None


def _numbers(cells: np.ndarray) -> np.ndarray | str | None:
    """A column as numbers, missing cells as NaN; or the first text in it that is no number; None for other things."""
    if cells.dtype.kind == "c":
        return None
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(cells.shape, np.nan)
        for i, cell in enumerate(cells.tolist()):
            try:
                numbers[i] = np.nan if cell is None or type(cell).__name__ == "NAType" else float(cell)
            except OverflowError:
                numbers[i] = np.inf
            except (TypeError, ValueError):
                return cell if isinstance(cell, str) else None
        return numbers


def _column(names: Any, j: int) -> str:
    return f"column '{plain(column_name(names, j), 40)}'"


def missing_cells(who: str, column: str, row: int) -> DataError:
    """The refusal of a column that lacks a cell.

    >>> str(missing_cells("demo", "column 'a'", 3))[:44]
    "demo: column 'a' must not have missing cells"
    """
    way_out = (
        "fill them first (`assay.prepare.ImputeSimple`), or use a method that takes them (`assay methods --native "
    )
    came = f"Input X contains NaN, first at row {row}"
    return DataError(who, column, "must not have missing cells", came, way_out + "missing`)")


def _infinite(who: str, column: str, row: int) -> DataError:
    came = f"Input X contains infinity, first at row {row}"
    return DataError(who, column, "must hold finite numbers", came, "correct the cells first, or leave the rows out")
