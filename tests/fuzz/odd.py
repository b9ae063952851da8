"""Odd tables, targets, weights and parameters: what users give by mistake, and what breaks careless code.

Each entry of a menu takes a random generator and an ordinary value and gives the odd one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from assay.base import AnyOf, ArrayLike, Boolean, Choice, Integer, Mapping, Parameter, Real, Seed

Maker = Callable[[np.random.Generator, np.ndarray], Any]


def ordinary(rng: np.random.Generator, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """A table of 12 to 60 rows and 1 to 5 columns with a target that depends on it."""
    n, d = int(rng.integers(12, 60)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    score = X.sum(axis=1) + 0.5 * rng.normal(size=n)
    if not classes:
        return X, score
    cuts = np.quantile(score, [0.5] if rng.random() < 0.5 else [0.33, 0.66])
    return X, np.array(["a", "b", "c"])[np.searchsorted(cuts, score)]


def _unaligned(array: np.ndarray) -> np.ndarray:
    held = np.zeros(array.nbytes + 1, dtype=np.uint8)
    out = np.ndarray(array.shape, dtype=array.dtype, buffer=held.data, offset=1)
    out[...] = array
    return out


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _with(X: np.ndarray, rng: np.random.Generator, *values: float) -> np.ndarray:
    X = X.copy()
    for value in values:
        X[rng.random(X.shape) < 0.2] = value
    return X


def _objects(X: np.ndarray, cell: Any) -> np.ndarray:
    out = X.astype(object)
    out[0, 0] = cell
    return out


def _columns(X: np.ndarray) -> dict[str, np.ndarray]:
    return {f"c{j}": X[:, j] for j in range(X.shape[1])}


def _duplicate_columns(rng: np.random.Generator, X: np.ndarray) -> Any:
    return pd.DataFrame(np.hstack([X, X]), columns=[f"c{j}" for j in range(X.shape[1])] * 2)


def _mixed(rng: np.random.Generator, X: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(_columns(X))
    frame["colour"] = rng.choice(["red", "green", "blue"], size=len(X))
    frame["sold"] = rng.random(len(X)) < 0.5
    frame.loc[3, "colour"] = None
    return frame


def _broken(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A sparse matrix of which one index or start points somewhere else."""
    form = rng.choice(["csr", "csc", "coo", "bsr"])
    given = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0)).asformat(form)
    given.data = given.data + 0.0
    part = "row" if form == "coo" else rng.choice(["indices", "indptr"])
    held = getattr(given, part)
    if not held.size:
        return given
    if not held.flags.writeable:
        held = held.copy()
        setattr(given, part, held)
    held[int(rng.integers(held.size))] = rng.choice([-1, -(2**31), 2**31 - 1, 10**6, max(X.shape)])
    return given


TABLES: dict[str, Maker] = {
    "float32": lambda rng, X: X.astype(np.float32),
    "float16": lambda rng, X: X.astype(np.float16),
    "longdouble": lambda rng, X: X.astype(np.longdouble) * np.longdouble("1e400"),
    "int8": lambda rng, X: (X * 20).astype(np.int8),
    "bool": lambda rng, X: X > 0,
    "uint64": lambda rng, X: (np.abs(X) * 1e18).astype(np.uint64),
    "2**63 and more": lambda rng, X: _objects(X, 2**63 + 5),
    "2**2000": lambda rng, X: _objects(X, 2**2000),
    "complex": lambda rng, X: X + 1j,
    "big endian": lambda rng, X: X.astype(">f8"),
    "big endian integers": lambda rng, X: (X * 9).astype(">i4"),
    "unaligned": lambda rng, X: _unaligned(X),
    "unaligned float32": lambda rng, X: _unaligned(X.astype(np.float32)),
    "read only": lambda rng, X: _read_only(X),
    "Fortran": lambda rng, X: np.asfortranarray(X),
    "strided": lambda rng, X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda rng, X: X[::-1, ::-1],
    "broadcast": lambda rng, X: np.broadcast_to(X[:1], X.shape),
    "masked": lambda rng, X: np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1),
    "matrix": lambda rng, X: np.matrix(X),
    "structured": lambda rng, X: np.array(
        [tuple(row) for row in X], dtype=[(f"f{j}", "f8") for j in range(X.shape[1])]
    ),
    "no rows": lambda rng, X: X[:0],
    "no columns": lambda rng, X: X[:, :0],
    "one row": lambda rng, X: X[:1],
    "two rows": lambda rng, X: X[:2],
    "one dimension": lambda rng, X: X[:, 0],
    "three dimensions": lambda rng, X: X[:, :, None],
    "scalar": lambda rng, X: 3.0,
    "none": lambda rng, X: None,
    "text": lambda rng, X: "table.csv",
    "dict": lambda rng, X: _columns(X),
    "set": lambda rng, X: {1.0, 2.0},
    "list": lambda rng, X: X.tolist(),
    "ragged list": lambda rng, X: [*X.tolist()[:-1], [1.0] * (X.shape[1] + 1)],
    "iterator": lambda rng, X: iter(X),
    "NaN": lambda rng, X: _with(X, rng, np.nan),
    "a column of NaN": lambda rng, X: np.hstack([X, np.full((len(X), 1), np.nan)]),
    "infinite": lambda rng, X: _with(X, rng, np.inf),
    "minus infinite": lambda rng, X: _with(X, rng, -np.inf, np.nan),
    "NaN with a payload": lambda rng, X: _with(X, rng, np.frombuffer(b"\x01\x02\x03\x04\x05\x06\xff\x7f")[0]),
    "largest": lambda rng, X: _with(X, rng, np.finfo(float).max, -np.finfo(float).max),
    "denormal": lambda rng, X: X * 5e-324 * 1e4,
    "smallest": lambda rng, X: X * 1e-308,
    "times 1e200": lambda rng, X: X * 1e200,
    "times 1e-200": lambda rng, X: X * 1e-200,
    "times 1e300": lambda rng, X: X * 1e300,
    "one column times 1e200": lambda rng, X: X * np.where(np.arange(X.shape[1]) == 0, 1e200, 1.0),
    "one column times 1e-200": lambda rng, X: X * np.where(np.arange(X.shape[1]) == 0, 1e-200, 1.0),
    "far from zero": lambda rng, X: X + 1e15,
    "constant": lambda rng, X: np.full_like(X, 7.0),
    "zero": lambda rng, X: np.zeros_like(X),
    "minus zero": lambda rng, X: _with(X, rng, -0.0),
    "copies": lambda rng, X: np.repeat(X[:3], 8, axis=0)[: len(X)],
    "equal columns": lambda rng, X: np.repeat(X[:, :1], 4, axis=1),
    "wide": lambda rng, X: rng.normal(size=(len(X), 2 * len(X))),
    "objects": lambda rng, X: X.astype(object),
    "objects with None": lambda rng, X: _objects(X, None),
    "objects with text": lambda rng, X: _objects(X, "seven"),
    "objects with a list": lambda rng, X: _objects(X, [1, 2]),
    "objects with a date": lambda rng, X: _objects(X, datetime(2026, 1, 1)),
    "objects with bytes": lambda rng, X: _objects(X, b"\xff"),
    "text cells": lambda rng, X: X.astype(str),
    "surrogates": lambda rng, X: _objects(X, "\ud800"),
    "dates": lambda rng, X: (X * 1e6).astype("datetime64[s]"),
    "pandas": lambda rng, X: pd.DataFrame(_columns(X)),
    "pandas mixed": _mixed,
    "pandas duplicate columns": _duplicate_columns,
    "pandas sparse": lambda rng, X: pd.DataFrame(_columns(np.round(X))).astype(pd.SparseDtype("float64", 0.0)),
    "pandas nullable": lambda rng, X: pd.DataFrame(_columns(np.round(X * 9))).astype("Int64"),
    "pandas no rows": lambda rng, X: pd.DataFrame(_columns(X))[:0],
    "pandas numbers as names": lambda rng, X: pd.DataFrame(X),
    "pandas names of two kinds": lambda rng, X: pd.DataFrame(X).rename(columns={0: "zero"}),
    "pandas levels": lambda rng, X: pd.DataFrame(
        X, columns=pd.MultiIndex.from_tuples([("a", j) for j in range(X.shape[1])])
    ),
    "pandas periods": lambda rng, X: pd.DataFrame({"p": pd.period_range("2020-01", periods=len(X), freq="M")}),
    "polars": lambda rng, X: pl.DataFrame(_columns(X)),
    "polars mixed": lambda rng, X: pl.from_pandas(_mixed(rng, X)),
    "polars lists": lambda rng, X: pl.DataFrame({"l": [[1.0, 2.0]] * len(X)}),
    "polars decimals": lambda rng, X: pl.DataFrame(_columns(X)).cast(pl.Decimal(20, 4)),
    "polars lazy": lambda rng, X: pl.DataFrame(_columns(X)).lazy(),
    "polars null column": lambda rng, X: pl.DataFrame({**_columns(X), "empty": [None] * len(X)}),
    "polars dates": lambda rng, X: pl.DataFrame({**_columns(X), "day": [datetime(2026, 1, 1)] * len(X)}),
    "arrow": lambda rng, X: pl.DataFrame(_columns(X)).to_arrow(),
    "csr": lambda rng, X: sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
    "csc array": lambda rng, X: sparse.csc_array(np.where(np.abs(X) > 0.5, X, 0.0)),
    "coo": lambda rng, X: sparse.coo_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
    "lil": lambda rng, X: sparse.lil_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
    "dia": lambda rng, X: sparse.dia_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
    "sparse of integers": lambda rng, X: sparse.csr_matrix((X * 9).astype(np.int32)),
    "sparse with NaN": lambda rng, X: sparse.csr_matrix(_with(X, rng, np.nan)),
    "sparse broken": _broken,
}

TARGETS: dict[str, Maker] = {
    "scalar": lambda rng, y: 3.0,
    "none": lambda rng, y: None,
    "text": lambda rng, y: "label",
    "dict": lambda rng, y: dict(enumerate(y.tolist())),
    "set": lambda rng, y: set(y.tolist()),
    "iterator": lambda rng, y: iter(y.tolist()),
    "sparse": lambda rng, y: sparse.csr_matrix(np.arange(len(y), dtype=float)[:, None]),
    "list": lambda rng, y: y.tolist(),
    "short": lambda rng, y: y[:-1],
    "long": lambda rng, y: np.concatenate([y, y[:1]]),
    "empty": lambda rng, y: y[:0],
    "column": lambda rng, y: y[:, None],
    "two columns": lambda rng, y: np.stack([y, y], axis=1),
    "three dimensions": lambda rng, y: y[:, None, None],
    "constant": lambda rng, y: np.repeat(y[:1], len(y)),
    "all different": lambda rng, y: np.arange(len(y)),
    "objects": lambda rng, y: y.astype(object),
    "objects with None": lambda rng, y: np.array([None, *y[1:].tolist()], dtype=object),
    "objects of two kinds": lambda rng, y: np.array(["a", 1] * len(y), dtype=object)[: len(y)],
    "NaN": lambda rng, y: np.where(np.arange(len(y)) % 5 == 0, np.nan, np.arange(len(y)) % 2),
    "infinite": lambda rng, y: np.where(np.arange(len(y)) % 5 == 0, np.inf, 1.0),
    "booleans": lambda rng, y: np.arange(len(y)) % 2 == 0,
    "integers": lambda rng, y: rng.integers(0, 3, size=len(y)),
    "negative integers": lambda rng, y: rng.integers(-2, 1, size=len(y)),
    "2**63 and more": lambda rng, y: np.array([2**63 + int(k) for k in rng.integers(0, 2, size=len(y))], dtype=object),
    "uint64": lambda rng, y: np.uint64(2**63) + rng.integers(0, 2, size=len(y)).astype(np.uint64),
    "huge": lambda rng, y: rng.normal(size=len(y)) * 1e300,
    "tiny": lambda rng, y: rng.normal(size=len(y)) * 1e-300,
    "largest": lambda rng, y: np.where(np.arange(len(y)) % 2 == 0, 1.7e308, -1.7e308),
    "complex": lambda rng, y: np.arange(len(y)) + 1j,
    "dates": lambda rng, y: np.arange(len(y)).astype("datetime64[D]"),
    "big endian": lambda rng, y: np.arange(len(y)).astype(">i8") % 2,
    "unaligned": lambda rng, y: _unaligned(np.asarray(rng.integers(0, 2, size=len(y)), dtype=float)),
    "unaligned integers": lambda rng, y: _unaligned(rng.integers(0, 2, size=len(y)).astype(np.int64)),
    "bytes": lambda rng, y: np.array([b"x", b"y"] * len(y))[: len(y)],
    "pandas": lambda rng, y: pd.Series(y),
    "pandas category": lambda rng, y: pd.Series(np.arange(len(y)) % 2, dtype="category"),
    "pandas frame": lambda rng, y: pd.DataFrame({"y": y}),
    "pandas nullable": lambda rng, y: pd.Series(np.arange(len(y)) % 2, dtype="Int64"),
    "polars": lambda rng, y: pl.Series("y", y.tolist()),
    "masked": lambda rng, y: np.ma.masked_array(np.arange(len(y)) % 2 * 1.0, mask=np.arange(len(y)) % 7 == 0),
}

WEIGHTS: dict[str, Maker] = {
    "scalar": lambda rng, y: 2.0,
    "ones": lambda rng, y: np.ones(len(y)),
    "some zero": lambda rng, y: (rng.random(len(y)) < 0.7).astype(float),
    "one row": lambda rng, y: np.eye(len(y))[0],
    "zero": lambda rng, y: np.zeros(len(y)),
    "negative": lambda rng, y: -np.ones(len(y)),
    "NaN": lambda rng, y: np.full(len(y), np.nan),
    "infinite": lambda rng, y: np.full(len(y), np.inf),
    "huge": lambda rng, y: np.full(len(y), 1e308),
    "tiny": lambda rng, y: np.full(len(y), 1e-308),
    "denormal": lambda rng, y: np.full(len(y), 5e-324),
    "far apart": lambda rng, y: 10.0 ** rng.uniform(-300, 300, size=len(y)),
    "short": lambda rng, y: np.ones(max(len(y) - 1, 0)),
    "two columns": lambda rng, y: np.ones((len(y), 2)),
    "text": lambda rng, y: ["heavy"] * len(y),
    "none inside": lambda rng, y: [None] * len(y),
    "integers": lambda rng, y: rng.integers(1, 5, size=len(y)),
    "2**63 and more": lambda rng, y: [2**70] * len(y),
    "2**2000": lambda rng, y: [2**2000] * len(y),
    "float32": lambda rng, y: np.ones(len(y), dtype=np.float32),
    "big endian": lambda rng, y: np.ones(len(y), dtype=">f8"),
    "unaligned": lambda rng, y: _unaligned(rng.random(len(y)) + 0.5),
    "strided": lambda rng, y: (rng.random(2 * len(y)) + 0.5)[::2],
    "read only": lambda rng, y: _read_only(rng.random(len(y)) + 0.5),
    "complex": lambda rng, y: np.ones(len(y)) + 0j,
    "dict": lambda rng, y: {"a": 1.0},
    "sparse": lambda rng, y: sparse.csr_matrix(np.ones((len(y), 1))),
    "pandas": lambda rng, y: pd.Series(np.ones(len(y))),
}

_ANYTHING: list[Any] = [
    None,
    "text",
    "",
    -1,
    0,
    1,
    2,
    3,
    2**31,
    2**63,
    -(2**63) - 1,
    2**64,
    10**30,
    10**400,
    1.5,
    -0.0,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    True,
    1 + 2j,
    b"x",
    [],
    (),
    {},
    [0],
    ["no such column"],
    [[1]],
    [None],
    [2**70],
    [float("nan")],
    {"a": None},
    {0: 1.0},
    np.zeros(0),
    np.zeros((2, 2)),
    np.array(["a"]),
    np.array([True, False]),
    np.int8(3),
    np.float32(0.5),
    object,
    print,
]


def odd_value(rng: np.random.Generator, declared: Parameter) -> Any:
    """A value for a parameter: often inside its range at the edge, sometimes anything at all."""
    if rng.random() < 0.35:
        return copy.deepcopy(_ANYTHING[int(rng.integers(len(_ANYTHING)))])
    kind = declared.kind
    if isinstance(kind, AnyOf):
        kind = kind.kinds[int(rng.integers(len(kind.kinds)))]
    if isinstance(kind, Choice):
        return kind.options[int(rng.integers(len(kind.options)))]
    if isinstance(kind, Integer):
        low = int(kind.low) if kind.low is not None else -3
        return int(rng.choice([low, low + 1, low + 2, 5, 50, 1000, 10**9, 2**31 - 1]))
    if isinstance(kind, Real):
        low, high = (0.0 if kind.low is None else kind.low), (1e308 if kind.high is None else kind.high)
        return float(rng.choice([low, high, low + 1e-300, low + 1e-12, 0.5, 1.0, 3.0, 1e6, 1e150, 1e300]))
    if isinstance(kind, Boolean):
        return bool(rng.random() < 0.5)
    if isinstance(kind, Seed):
        return [0, 1, 2**32, 2**64, 10**30, np.random.default_rng(0), np.random.RandomState(0)][int(rng.integers(7))]
    if isinstance(kind, ArrayLike):
        return [[], [0], [0, 0], [1, 2, 3], [0.5], [-1.0, 1.0], [1e300, 1e-300], ["x0"], [True], [[0, 1], [1, 0]]][
            int(rng.integers(10))
        ]
    if isinstance(kind, Mapping):
        return [{}, {"a": 1.0}, {"a": 1e308, "b": 1.0, "c": 0.0}, {0: 2}, {"x0": "mean"}, {"x0": None}, {0: [1, 2]}][
            int(rng.integers(7))
        ]
    return None if rng.random() < 0.5 else declared.default
