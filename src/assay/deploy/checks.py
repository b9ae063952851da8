"""The answers that travel with a model: rows made from what it knows of its columns, and what it said of them.

The rows are never training rows. A fitted model knows the number, names and categories of its columns; a prepared one
also how they were distributed.
"""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..base.errors import PackageError, plain
from ..data.frames import frame_of

METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
N_ROWS = 24
_TOLERANCE = 1e-6


def answers(model: Any, check: Any = None) -> tuple[Any, dict[str, Any]]:
    """Rows to try a model with, as plain data, and what it says of them; (None, {}) where it says nothing of rows."""
    if check is not None:
        rows = as_plain(check)
        try:
            found = ask(model, rows)
        except Exception as error:
            raise PackageError(
                "save", "parameter 'check'", "must be rows that the model can predict", plain(error, 300)
            ) from None
        if not found:
            raise PackageError("save", "parameter 'check'", "is of no use", "the model says nothing of rows")
        return rows, found
    for rows in candidates(model):
        try:
            found = ask(model, rows)
        except Exception:  # rows of another kind may do
            continue
        if found:
            return rows, found
    return None, {}


def differing(model: Any, rows: Any, outputs: Any) -> list[str]:
    """The methods whose answers are not those that were kept."""
    if not isinstance(outputs, dict) or not set(outputs) <= set(METHODS):
        raise ValueError("answers are kept by method")
    if not outputs:
        return []
    table = as_rows(rows)
    return [name for name, kept in outputs.items() if not same(kept, as_plain(getattr(model, name)(table)))]


def same(kept: Any, found: Any) -> bool:
    """Whether two answers are equal: labels exactly, numbers up to what other hardware rounds differently.

    >>> same(np.array([1.0]), np.array([1.0 + 1e-12])), same(np.array(["a"]), np.array(["b"]))
    (True, False)
    """
    if isinstance(kept, dict) or isinstance(found, dict):
        alike = isinstance(kept, dict) and isinstance(found, dict) and list(kept) == list(found)
        return alike and all(same(kept[name], found[name]) for name in kept)
    kept, found = np.asarray(kept), np.asarray(found)
    if kept.shape != found.shape:
        return False
    if kept.dtype.kind == "f" and found.dtype.kind == "f":
        scale = np.max(np.abs(kept), initial=0.0, where=np.isfinite(kept))
        with np.errstate(invalid="ignore", over="ignore"):
            return bool(np.allclose(kept, found, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True))
    return bool(np.array_equal(kept, found))


def candidates(model: Any) -> list[Any]:
    """Rows of several kinds, the likeliest first."""
    columns = getattr(model, "facts", {}).get("profile") if hasattr(model, "facts") else None
    if columns:
        return [{name: _profile_cells(about, place) for place, (name, about) in enumerate(columns.items())}]
    width = getattr(model, "n_features_in_", None)
    if width is None:
        return [np.arange(4), np.zeros((4, 1))]
    matrix = _numbers(int(width))
    schema = getattr(model, "schema_", None)
    names = getattr(model, "feature_names_in_", None)
    labels = getattr(schema, "categories", None)
    found: list[Any] = []
    if names is not None:
        kinds = getattr(model, "kinds_", {})
        cells = {
            str(name): _labelled(matrix[:, j], labels[j] if labels is not None and len(labels) == width else None)
            if not isinstance(kinds, dict) or kinds.get(name, "number") == "number"
            else _of_kind(kinds[name])
            for j, name in enumerate(names)
        }
        found += [cells, {name: np.array([f"{v!s:.4}" for v in column]) for name, column in cells.items()}]
    elif labels is not None and any(part is not None for part in labels):
        mixed = np.empty(matrix.shape, dtype=object)
        for j in range(int(width)):
            mixed[:, j] = _labelled(matrix[:, j], labels[j] if len(labels) == width else None).tolist()
        found.append(mixed)
    return [*found, matrix, np.abs(matrix), np.abs(np.round(matrix)).astype(np.int64), np.arange(int(width))]


def as_plain(table: Any) -> Any:
    """Rows or answers as arrays: a frame as a dict of columns, a sparse matrix as itself."""
    if isinstance(table, dict):
        return table
    if issparse(table):
        return table.tocsr()
    if hasattr(table, "columns") and not isinstance(table, np.ndarray):
        from ..data.table import to_polars

        frame = to_polars(table)
        return {name: frame[name].to_list() for name in frame.columns}
    return np.asarray(table)


def as_rows(rows: Any) -> Any:
    """Rows as a model takes them: a dict of columns becomes a frame."""
    return frame_of({str(name): list(cells) for name, cells in rows.items()}) if isinstance(rows, dict) else rows


def height(rows: Any) -> int:
    """How many rows there are."""
    if rows is None:
        return 0
    return len(next(iter(rows.values()))) if isinstance(rows, dict) else int(rows.shape[0])


def ask(model: Any, rows: Any) -> dict[str, Any]:
    """What a model says of rows, by method."""
    table, found = as_rows(rows), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in METHODS:
            if hasattr(model, name):
                found[name] = as_plain(getattr(model, name)(table))
    return found


def _numbers(width: int) -> np.ndarray:
    """Rows of several sizes, the same in every process."""
    drawn = np.random.default_rng([2026, width]).standard_normal((N_ROWS, width))
    return drawn * np.array([0.3, 1.0, 3.0, 30.0])[np.arange(N_ROWS) % 4, None]


def _labelled(cells: np.ndarray, categories: Any) -> np.ndarray:
    if categories is None or not len(categories):
        return cells
    return np.asarray(categories)[np.arange(cells.shape[0]) * 7 % len(categories)]


def _of_kind(kind: str) -> list[Any]:
    """Cells of a column that a step remembers as text, true or false, or dates."""
    start = datetime(2024, 1, 1)
    made: dict[str, list[Any]] = {"text": ["a", "b", None], "boolean": [True, False, None]}
    made["date"] = [start, start + timedelta(days=40), None]
    return [made.get(kind, made["text"])[k % 3] for k in range(N_ROWS)]


def _profile_cells(about: dict[str, Any], place: int) -> list[Any]:
    """Cells of a column that lie where its training rows lay, missing ones included if there were any."""
    known = list(about.get("values") or [None])
    cells = [known[int((k * 0.618034 + place * 0.381966) % 1.0 * len(known))] for k in range(N_ROWS)]
    if about.get("missing"):
        cells[place % N_ROWS] = None
    return cells
