"""Fits by batches: which methods can, that their models are those of all rows at once, and what the others say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import is_clusterer

from assay import catalogue
from assay.base import AssayError, batches
from assay.catalogue import TASKS
from assay.data import Batches

from .tables import claiming, named, numeric, outputs, quick

every_method = pytest.mark.parametrize(**named(claiming("table")))
out_of_core = pytest.mark.parametrize(**named([e for e in catalogue.entries() if e.out_of_core]))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 64 rows, so that a small table has several."""
    monkeypatch.setattr(batches, "LEAST_BLOCK", 64)
    monkeypatch.setattr(batches, "BLOCK_CELLS", 64)


def frames(X: np.ndarray, size: int, **columns: np.ndarray) -> list[pl.DataFrame]:
    whole = pl.DataFrame({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, **columns})
    return [whole[begin : begin + size] for begin in range(0, whole.height, size)]


@every_method
def test_fit_batches_is_there_exactly_if_claimed(entry):
    assert entry.load()._by_batches == entry.out_of_core
    if not entry.out_of_core:
        X, y = numeric(entry)
        with pytest.raises(AssayError, match="fit_batches needs a method whose fit is sums over rows"):
            quick(entry).fit_batches(Batches(frames(X, 50, y=y), "y"))


@out_of_core
@pytest.mark.parametrize("weighted", [False, True], ids=["alone", "weighted"])
def test_fit_batches_is_fit_on_all_rows_to_rounding(entry, weighted):
    X, y = numeric(entry, n=1500)
    weights = np.random.default_rng(2).integers(0, 3, size=len(y)).astype(float)
    target = None if TASKS[entry.task].target is None else "y"
    given = {"y": y, "w": weights} if weighted else {"y": y}
    columns = [f"x{j}" for j in range(X.shape[1])]
    source = Batches(frames(X, 400, **given), target, columns=columns, weight="w" if weighted else None)
    model = quick(entry).fit_batches(source)
    kept = weights > 0 if weighted else np.ones(len(y), dtype=bool)
    known = pl.DataFrame(X[kept], schema=columns)
    extra = {"sample_weight": weights[kept]} if weighted else {}
    whole = quick(entry).fit(known, None if target is None else y[kept], **extra)
    assert source.rows_left_out == int((~kept).sum())
    found, wanted = outputs(model, known), outputs(whole, known)
    if any(word in entry.id for word in ("forest", "boosting", "trees")):
        np.testing.assert_array_equal(found, wanted)  # sums of whole numbers
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    if not is_clusterer(model):
        assert list(model.feature_names_in_) == columns


@out_of_core
def test_batches_of_any_size_and_any_number_of_threads_give_the_same_bits(entry):
    X, y = numeric(entry, n=600)
    found = []
    for size, jobs in ((600, 1), (250, 2)):
        source = Batches(frames(X, size, y=y), "y")
        found.append(outputs(quick(entry, n_jobs=jobs).fit_batches(source), pl.DataFrame(X, schema=source.table.names)))
    np.testing.assert_array_equal(found[0], found[1])


@out_of_core
def test_what_a_method_cannot_take_is_said_before_the_fit(entry):
    X, y = numeric(entry)
    text = frames(X, 50, y=y, colour=np.array(["red", "blue"])[np.arange(len(y)) % 2])
    source = Batches(text, "y")
    if "nominal" in entry.native:
        quick(entry).fit_batches(source)
    else:
        with pytest.raises(AssayError, match="column 'colour' must hold numbers; got labels such as 'blue'"):
            quick(entry).fit_batches(source)
    X[70, 1] = np.nan
    holed = Batches(frames(X, 50, y=y), "y")
    if "missing" in entry.native:
        quick(entry).fit_batches(holed)
    else:
        with pytest.raises(AssayError, match="column 'x1' must hold finite numbers; got 1 missing cells, the first in"):
            quick(entry).fit_batches(holed)
