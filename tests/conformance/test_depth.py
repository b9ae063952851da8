"""From a public method of any method of the catalogue to a kernel stand at most four of our functions: no exceptions.

`tests/kernel_paths.py` says where a path begins: a learner that calls the public method of another learner, or makes a
`Graph`, begins a new one there.
"""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from assay import catalogue
from assay.data import Batches
from tests.kernel_paths import MOST, kernel_paths, longest

from .tables import named, numeric, outputs, quick
from .test_packages import fitted

ENTRIES = catalogue.entries()
ELSEWHERE = ("convnet", "deep-q")
"""On PyTorch, and on a net that is measured itself."""


def asked(model, rows) -> None:
    """Everything that a fitted method says of rows."""
    outputs(model, rows)
    if hasattr(model, "predict"):
        model.predict(rows)


@pytest.mark.parametrize(**named([entry for entry in ENTRIES if entry.id not in ELSEWHERE]))
def test_four_functions_at_most_stand_before_a_kernel(entry):
    with warnings.catch_warnings(), kernel_paths() as paths:
        warnings.simplefilter("ignore")
        model, rows = fitted(entry)
        if rows is not None and entry.task != "control":
            asked(model, pl.DataFrame(rows) if isinstance(rows, dict) else rows)
        if "sparse" in entry.native and entry.task != "control":
            X, y = numeric(entry)
            cells = csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
            asked(quick(entry).fit(cells, y), cells)
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize(**named([entry for entry in ENTRIES if entry.out_of_core]))
def test_tables_in_blocks_take_no_longer_way(entry, tmp_path):
    """Before a table in blocks stand at most four functions, and four between it and a kernel."""
    X, y = numeric(entry)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
    if y is not None:
        frame = frame.with_columns(pl.Series("y", np.asarray(y)))
    frame.write_parquet(tmp_path / "table.parquet")
    with warnings.catch_warnings(), kernel_paths() as paths:
        warnings.simplefilter("ignore")
        quick(entry).fit_batches(Batches(tmp_path / "table.parquet", None if y is None else "y"))
    assert paths, "no kernel was called: nothing was measured"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))
