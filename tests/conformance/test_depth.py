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
