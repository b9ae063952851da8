"""Sequences as they come: one table with lengths, or a list of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import DataError, plain

_PIECE = 8192  # symbols that are encoded at a time


def as_table(who: str, X: Any, lengths: Any, symbols: bool) -> tuple[Any, Any]:
    """A table and the lengths of its sequences.

    A list of two-dimensional arrays is a list of sequences; where `symbols` are emitted, so is a list of lists,
    whatever their lengths. An array of one column is one sequence.

    >>> [as_table("fit", X, None, symbols=True)[1] for X in ([["a", "b"], ["b"]], [["a"], ["b"]])]
    [[2, 1], [1, 1]]
    """
    if isinstance(X, (list, tuple)) and X and lengths is not None and not symbols:
        _same_lengths(who, X)
    if lengths is None and isinstance(X, (list, tuple)) and X:
        parts = [_sequence(who, number, part, symbols) for number, part in enumerate(X)]
        several = all(part.ndim == 2 for part in parts)
        if symbols and not several:
            several = all(part.ndim == 1 for part in parts)
        if several:
            held = [part.reshape(-1, 1) if part.ndim == 1 else part for part in parts]
            empty = [number for number, part in enumerate(held) if not len(part)]
            if empty:
                raise DataError(who, f"sequence {empty[0]}", "must have some row", "got none", "leave it out")
            if len({part.shape[1] for part in held}) > 1:
                raise DataError(who, "X", "must hold sequences with the same number of columns")
            return np.concatenate(held), [len(part) for part in held]
        if len({part.ndim for part in parts}) > 1:
            came = " and ".join(f"{ndim}" for ndim in sorted({part.ndim for part in parts}))
            raise DataError(
                who,
                "X",
                "must be one table, or a list of tables with a row for each time",
                f"got parts of {came} dimensions",
                "give sequences of one column as tables too, [[1.0], [2.0]]",
            )
        if not symbols:
            _same_lengths(who, X)
    return X, lengths


def flat_states(states: Any) -> np.ndarray:
    """States of all rows one after the other, given so or as a list for each sequence.

    >>> flat_states([[0, 1], [1]]), flat_states([0, 1, 1])
    (array([0, 1, 1]), array([0, 1, 1]))
    """
    if isinstance(states, (list, tuple)) and states and all(np.ndim(part) == 1 for part in states):
        return np.concatenate([np.asarray(part) for part in states])
    return np.asarray(states)


def _same_lengths(who: str, rows: Any) -> None:
    """Refuse rows (or sequences) of different lengths that are no list of tables."""
    lengths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in rows]
    if len(set(lengths)) > 1:
        other = next(k for k, length in enumerate(lengths) if length != lengths[0])
        raise DataError(
            who,
            "X",
            "must be one table, or a list of tables with a row for each time",
            f"got rows of {max(lengths[0], 0)} and of {max(lengths[other], 0)} cells (row {other})",
            "give sequences of one column as tables too, [[1.0], [2.0]]",
        )


def _sequence(who: str, number: int, part: Any, symbols: bool) -> np.ndarray:
    """One sequence as an array; one whose rows differ in length is refused."""
    try:
        return np.asarray(part, dtype=object if symbols else None)
    except ValueError:
        raise DataError(
            who,
            f"sequence {number}",
            "must have rows of one length",
            "got rows of different lengths",
            "give NaN for cells that are missing, and a list of tables for several sequences",
        ) from None


def offsets_of(who: str, lengths: Any, n_rows: int) -> np.ndarray:
    """Where each sequence begins, and the end.

    >>> offsets_of("fit", [2, 3], 5)
    array([0, 2, 5])
    """
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    given = np.asarray(lengths)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or (given < 1).any():
        raise DataError(who, "lengths", "must hold whole numbers >= 1", f"got {plain(repr(lengths), 60)}")
    if int(given.sum()) != n_rows:
        raise DataError(who, "lengths", f"must add up to the {n_rows} rows", f"got a sum of {int(given.sum())}")
    return np.concatenate([[0], np.cumsum(given)]).astype(np.int64)


def symbols_of(who: str, X: Any) -> np.ndarray:
    """One column of symbols as a flat array; refuses tables of several columns."""
    cells = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1 or not cells.size:
        raise DataError(who, "X", "must be one column of symbols with some row", f"got shape {cells.shape}")
    return cells


def is_unknown(cells: np.ndarray) -> np.ndarray:
    """Which symbols are missing: None and NaN."""
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    if cells.dtype.kind != "O":
        return np.zeros(cells.shape, dtype=bool)
    return np.array([cell is None or cell != cell for cell in cells.tolist()], dtype=bool)


def encode(who: str, cells: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Codes of symbols, -1 where missing; a symbol that was never seen is refused. Symbols that are codes stay as they
    are."""
    numbered = cells.dtype == np.int64 and np.array_equal(categories, np.arange(len(categories)))
    if numbered and cells.flags.c_contiguous and cells.min() >= 0 and cells.max() < len(categories):
        return cells
    codes = np.empty(cells.shape, dtype=np.int64)
    for first in range(0, len(cells), _PIECE):
        codes[first : first + _PIECE] = _codes_of(who, cells[first : first + _PIECE], categories)
    return codes


def _codes_of(who: str, cells: np.ndarray, categories: np.ndarray) -> np.ndarray:
    unknown = is_unknown(cells)
    codes = np.full(cells.shape, -1, dtype=np.int64)
    known = cells[~unknown]
    if known.dtype.kind == "O":
        known = np.array(known.tolist())
    if not known.size:
        return codes
    if (known.dtype.kind in "US") != (categories.dtype.kind in "US"):
        raise DataError(who, "X", "must hold symbols of the kind that was fitted", f"got {plain(repr(known[0]), 40)}")
    places = np.minimum(np.searchsorted(categories, known), len(categories) - 1)
    strange = categories[places] != known
    if strange.any():
        raise DataError(
            who,
            "X",
            "must hold symbols that were fitted",
            f"got {plain(repr(known[strange][0].item()), 40)}",
            "name it in the parameter 'categories', or give it as missing (None)",
        )
    codes[~unknown] = places
    return codes
