"""What a table of numbers must be, in one sentence where it is not: two-dimensional, complete, finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DataError, plain


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
    """Refuse a matrix with a missing or infinite cell, and name the first.

    >>> require_finite("Lasso", np.array([[1.0, 2.0], [3.0, np.nan]]), ["age", "height"])
    Traceback (most recent call last):
    assay.base.errors.DataError: Lasso: column 'height' must not have missing cells; Input X contains NaN, first at \
row 1; fill them first, for example with ImputeSimple, or leave the rows out.
    """
    wrong = ~np.isfinite(rows)
    columns = np.flatnonzero(wrong.any(axis=0))
    if not columns.size:
        return
    missing = np.isnan(rows)
    column = int(np.flatnonzero(missing.any(axis=0))[0]) if missing.any() else int(columns[0])
    name = f"x{column}" if names is None else str(names[column])
    subject, place = f"column '{plain(name, 40)}'", int(np.flatnonzero(wrong[:, column])[0])
    if missing.any():
        came = f"Input X contains NaN, first at row {int(np.flatnonzero(missing[:, column])[0])}"
        way_out = "fill them first, for example with ImputeSimple, or leave the rows out"
        raise DataError(who, subject, "must not have missing cells", came, way_out)
    came = f"Input X contains infinity, first at row {place}"
    raise DataError(who, subject, "must hold finite numbers", came, "correct the cells or leave the rows out")
