"""From a public method of any method of the catalogue to a kernel stand at most four of our functions."""

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
# By id: how many functions there are, and why.
_FOLDS = "fits to all rows and to folds that share a kernel matrix are one function, which asks for the matrix"
_STEPS = "the one driver of expectation-maximisation calls the method's step, which asks its components"
_GRAPH = "rows are made a graph by the neighbour index first"
_SWEEPS = "a search over subsets of columns asks any score, of which the linear one has a kernel"
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "linear-rank": (7, "the hinge is finished by a Newton iteration on a rounded corner, over pairs given or implied"),
    "rda": (5, "both shares of the covariances are chosen by leaving rows out, within the fit of any discriminant"),
    "lmnn": (5, "the active set of impostors comes from the neighbour index"),
    "svm-classifier": (5, _FOLDS),
    "svm-regressor": (5, _FOLDS),
    "adaboost": (5, "votes are those of any members, of which trees are asked together"),
    "gaussian-mixture": (5, _STEPS),
    "hmm": (7, _STEPS),
    "spectral": (6, _GRAPH),
    "louvain": (6, _GRAPH),
    "fiedler-bipartition": (6, _GRAPH),
    "select-forward": (7, _SWEEPS),
    "select-backward": (7, _SWEEPS),
}
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
    most, _ = EXCEPTIONS.get(entry.id, (MOST, ""))
    path = longest(paths)
    assert len(path) <= most, " -> ".join(path)
    assert entry.id not in EXCEPTIONS or len(path) == most, f"{len(path)} functions: the exception says {most}"
