"""Small tables for the conformance tests: every learner of a task must cope with each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import issparse
from sklearn.base import is_clusterer

from assay import catalogue
from assay.base import Estimator
from assay.catalogue import Entry

from .small_methods import SMALL_METHODS


def claiming(group: str) -> list[Entry]:
    """The entries whose task makes this group of claims; the small methods written for these tests come last."""
    return [e for e in [*catalogue.entries(), *SMALL_METHODS] if group in catalogue.TASKS[e.task].claims]


LEARNERS = claiming("learner")
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
TRANSFORMERS = claiming("transformer")


def named(entries: list[Entry]) -> dict[str, Any]:
    """Arguments of `pytest.mark.parametrize` with the entry's id as test id."""
    return {"argnames": "entry", "argvalues": entries, "ids": [entry.id for entry in entries]}


def numeric(entry: Entry, n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A complete numeric table of three classes, or of a noisy linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    if catalogue.TASKS[entry.task].classes or getattr(entry.load(), "_needs_classes", False):
        y = np.array(["a", "b", "c"])[np.arange(n) % 3]
        X += np.where(y == "b", 1.5, np.where(y == "c", -1.5, 0.0))[:, None]
        return X, y
    return X, X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * rng.normal(size=n)


def with_missing(entry: Entry) -> tuple[np.ndarray, np.ndarray]:
    """The numeric table with a tenth of its cells missing."""
    X, y = numeric(entry)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y


def with_nominal(entry: Entry, missing: bool = False) -> tuple[dict[str, list[Any]], np.ndarray]:
    """A table by column with one text column that says most of what the target is."""
    X, y = numeric(entry)
    signal = y if y.dtype.kind == "U" else np.where(y > np.median(y), "high", "low")
    colour = [str(v) for v in signal]
    colour[0], colour[1] = colour[1], colour[0]
    columns: dict[str, list[Any]] = {"size": X[:, 0].tolist(), "colour": list(colour), "width": X[:, 1].tolist()}
    if missing:
        columns["colour"][5] = None
        columns["size"][7] = None
    return columns, y


def predictions(model: Any, X: Any) -> np.ndarray:
    """What a fitted learner says, as numbers: probabilities where it has them, else scores."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    return np.asarray(model.predict(X), dtype=float)


def outputs(model: Any, X: Any) -> np.ndarray:
    """What a fitted learner predicts or a fitted transformer gives, as a dense array."""
    if is_clusterer(model):
        # A clustering need not know where a new row belongs.
        out = model.predict(X) if hasattr(model, "predict") else model.labels_
    elif hasattr(model, "score_samples"):
        out = model.score_samples(X)
    else:
        out = model.transform(X) if hasattr(model, "transform") else predictions(model, X)
    return out.toarray() if issparse(out) else np.asarray(out)


def quick(entry: Entry, **parameters: Any) -> Any:
    """An instance with a fixed seed where the class has one."""
    cls: Any = entry.load()
    if "random_state" in cls.__parameters__:
        parameters.setdefault("random_state", 0)
    return cls(**parameters)


def is_plain(value: Any) -> bool:
    """Whether fitted state is arrays of numbers and texts, and small values of Python, at every depth."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "O"
    if isinstance(value, dict):
        return all(isinstance(k, (str, int)) and is_plain(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if hasattr(value, "__dataclass_fields__"):
        return all(is_plain(getattr(value, name)) for name in value.__dataclass_fields__)
    if isinstance(value, Estimator):
        return all(is_plain(part) for part in vars(value).values())
    return value is None or isinstance(value, (str, bool, int, float, np.generic))
