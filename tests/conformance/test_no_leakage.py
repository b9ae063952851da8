"""No step of preparation learns from the rows it is tested on; one that did would be caught."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from assay.base import take_rows
from assay.catalogue import Entry
from assay.data.roles import infer_roles
from assay.prepare import Preparation

from .tables import TRANSFORMERS, is_plain, named, quick

OPTIONS: dict[str, dict[str, Any]] = {
    "drop-missing": {"axis": "columns", "max_share": 0.25},
    "impute-simple": {"add_indicator": True},
    "impute-group": {"by": ["colour"]},
    "range-rules": {"rules": {"size": {"min": -1, "max": 1}}, "action": "clip"},
    "replace-values": {"mapping": {"colour": {"red": "rouge"}}},
    "drop-columns": {"columns": ["width"]},
    "drop-duplicates": {"keys": ["colour"]},
    "ordinal": {"columns": ["level", "colour"]},
    "label": {"handle_unknown": "missing"},
    "bag-of-words": {"columns": ["note"]},
}
"""Parameters that make a step do something on the table below; other steps do so as they are."""

MORE = [
    ("outliers", {"method": method, "action": action})
    for method, action in (("percentile", "winsorise"), ("z", "flag"), ("mahalanobis", "winsorise"), ("dbscan", "flag"))
] + [("impute-group", {"by": ["colour"], "strategy": "most_frequent"}), ("one-hot", {"max_categories": 2})]

TOLD = {"drop-columns", "formula", "polynomial"}
"""Steps that do only what their parameters say: nothing is learned, so nothing can leak."""

TRAIN, TEST = np.arange(90), np.arange(90, 120)


def table(entry: Entry | None) -> tuple[Any, np.ndarray]:
    """Rows of which the last 30, the test rows, differ in every respect: size, labels, dates, words, missing cells."""
    rng = np.random.default_rng(7)
    late = np.arange(120) >= 90
    size, width = rng.normal(size=120) + 9 * late, rng.normal(size=120) * (1 + 5 * late)
    y = np.where(late, 2 * size, width) + rng.normal(size=120)
    if entry is not None and getattr(entry.load(), "_needs_classes", False):
        # The classes hold the test rows apart as the numbers do, and turning the sign of a class leaves it a class.
        y = np.where(y > np.median(y), 2.0, 1.0)
    if entry is not None and "nominal" not in entry.native:
        X = np.column_stack([size, width, rng.normal(size=120) + late, size * width])
        return X, y
    start = datetime(2024, 1, 1)
    holes = rng.random(120) < np.where(late, 0.6, 0.1)
    frame = {
        "size": size,
        "width": [None if hole else float(w) for hole, w in zip(holes, width)],
        "colour": np.where(late, rng.choice(["red", "violet"], 120), rng.choice(["red", "green", "blue"], 120)),
        "level": np.where(late, rng.choice(["low", "very high"], 120), rng.choice(["low", "medium", "high"], 120)),
        "note": np.where(late, "a late word", "an early phrase"),
        "when": [
            start + timedelta(days=int(d), hours=int(d) % 5 * int(l))
            for d, l in zip(rng.integers(0, 9, 120) - 50 * late, late)
        ],
    }
    return pl.DataFrame(frame), y


def honest(step: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    """What an experiment does: fit on the training rows, transform the test rows."""
    fitted = clone(step).fit(take_rows(X, train), y[train])
    return fitted, fitted.transform(take_rows(X, test))


def leaky(step: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
    """The planted leak: fit on all rows."""
    fitted = clone(step).fit(X, y)
    return fitted, fitted.transform(take_rows(X, test))


def state(step: Any) -> dict[str, Any]:
    """What a step has learned: its attributes that are no parameters."""
    return {name: value for name, value in vars(step).items() if name not in step.get_params()}


def same(a: Any, b: Any) -> bool:
    """Whether two fitted values are equal, missing numbers included."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__") and type(a) is type(b):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
    return type(a) is type(b) and bool(a == b or a != a)


def rows_of(out: Any) -> list[tuple[Any, ...]]:
    """A transformed table as comparable rows, with None for missing."""
    frame = out if isinstance(out, pl.DataFrame) else pl.DataFrame(np.asarray(out), nan_to_null=True)
    return frame.fill_nan(None).rows()


def close(a: list[tuple[Any, ...]], b: list[tuple[Any, ...]]) -> bool:
    """Whether rows are equal, numbers up to the rounding of sums in another order."""
    return len(a) == len(b) and all(
        u == pytest.approx(v, rel=1e-9, abs=1e-9) if isinstance(u, float) and isinstance(v, float) else u == v
        for row, other in zip(a, b, strict=True)
        for u, v in zip(row, other, strict=True)
    )


def disturbed(X: Any, y: np.ndarray, test: np.ndarray) -> tuple[Any, np.ndarray]:
    """The table with its test rows in reverse order and their numbers turned round; the training rows untouched."""
    order, sign = np.arange(len(y)), np.ones(len(y))
    order[test], sign[test] = test[::-1], -3.0
    if isinstance(X, np.ndarray):
        return X[order] * sign[:, None], y[order] * sign
    frame = X[order]
    turned = [(frame[c] * pl.Series(sign)).alias(c) for c in frame.columns if frame[c].dtype.is_float()]
    return frame.with_columns(turned), y[order] * sign


def assert_learned_from_training_rows_only(
    step: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, prepare: Callable[..., Any] = honest
) -> None:
    """Fail unless `prepare` learns from the training rows alone and treats every test row by itself.

    `prepare(step, X, y, train, test)` gives the fitted step and the transformed test rows. Its step must have the state
    of a step that never saw the test rows; that state must not change when the test rows do; and a test row must come
    out the same alone as among the others.
    """
    fitted, out = prepare(step, X, y, train, test)
    alone = clone(step).fit(take_rows(X, train), y[train])
    assert same(state(fitted), state(alone)), "the fitted state is not that of the training rows"
    other, _ = prepare(step, *disturbed(X, y, test), train, test)
    assert same(state(fitted), state(other)), "the fitted state changes with the test rows"
    singly = [row for i in test for row in rows_of(fitted.transform(take_rows(X, np.array([i]))))]
    assert close(rows_of(out), singly), "a test row depends on the other test rows"


def make(entry: Entry, options: dict[str, Any] | None = None) -> Any:
    return quick(entry, **(OPTIONS.get(entry.id, {}) if options is None else options))


every_transformer = pytest.mark.parametrize(**named(TRANSFORMERS))
BY_ID = {entry.id: entry for entry in TRANSFORMERS}


@every_transformer
def test_every_step_learns_from_training_rows_only(entry):
    X, y = table(entry)
    assert_learned_from_training_rows_only(make(entry), X, y, TRAIN, TEST)


@every_transformer
def test_a_planted_leak_is_caught(entry):
    X, y = table(entry)
    if entry.id in TOLD:
        assert same(state(leaky(make(entry), X, y, TRAIN, TEST)[0]), state(honest(make(entry), X, y, TRAIN, TEST)[0]))
        return
    with pytest.raises(AssertionError, match="the fitted state"):
        assert_learned_from_training_rows_only(make(entry), X, y, TRAIN, TEST, prepare=leaky)


@pytest.mark.parametrize(("method", "options"), MORE, ids=[f"{m}-{'-'.join(map(str, o.values()))}" for m, o in MORE])
def test_other_options_learn_from_training_rows_only(method, options):
    entry = BY_ID[method]
    X, y = table(entry)
    assert_learned_from_training_rows_only(make(entry, options), X, y, TRAIN, TEST)
    with pytest.raises(AssertionError, match="the fitted state"):
        assert_learned_from_training_rows_only(make(entry, options), X, y, TRAIN, TEST, prepare=leaky)


def test_the_preparation_of_experiments_learns_from_training_rows_only():
    X, y = table(None)
    step = Preparation(roles=infer_roles(X), standardise=True)
    assert_learned_from_training_rows_only(step, X, y, TRAIN, TEST)
    with pytest.raises(AssertionError, match="the fitted state"):
        assert_learned_from_training_rows_only(step, X, y, TRAIN, TEST, prepare=leaky)


def test_a_step_that_looks_at_the_other_test_rows_is_caught():
    class Sneaky(type(make(BY_ID["scale"]))):
        """Centres whatever it is given."""

        def _apply(self, frame):
            return super()._apply(frame.with_columns(pl.col("size") - pl.col("size").mean()))

    X, y = table(BY_ID["scale"])
    with pytest.raises(AssertionError, match="depends on the other test rows"):
        assert_learned_from_training_rows_only(Sneaky(), X, y, TRAIN, TEST)


@every_transformer
def test_fitted_stateis_plain_on_a_mixed_table_too(entry):
    X, y = table(entry)
    for name, value in state(make(entry).fit(take_rows(X, TRAIN), y[TRAIN])).items():
        assert name == "feature_names_in_" or is_plain(value), f"{name} is a {type(value).__name__}"
