"""The tables of the recorded glmnet fits, from scikit-learn's bundled sets; run with a folder to write them as CSV."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

NAMES = ("diabetes", "cancer", "wine", "iris", "counts", "printed")

# The table of ten rows whose glmnet results are printed in the tests of the Julia package GLMNet.jl.
PRINTED = np.array(
    [
        [74, 1, 93, 93, 79, 18, 9],
        [98, 36, 2, 27, 65, 70, 67],
        [61, 8, 99, 53, 77, 92, 91],
        [47, 51, 67, 84, 87, 80, 80],
        [81, 32, 9, 18, 32, 10, 2],
        [78, 67, 92, 98, 4, 65, 61],
        [67, 94, 30, 20, 85, 73, 70],
        [51, 100, 75, 76, 86, 18, 13],
        [93, 71, 76, 64, 70, 91, 83],
        [30, 5, 13, 89, 19, 2, 21],
    ],
    dtype=float,
)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns and target: patients' raw measurements, cell nuclei, wines, flowers, counts made of the first."""
    if name == "printed":
        return PRINTED[:, :6], PRINTED[:, 6]
    if name in ("diabetes", "counts"):
        X, y = load_diabetes(return_X_y=True, scaled=False)
        return X, np.floor(y / 30.0) if name == "counts" else y
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X[:565, :10], y[:565]
    return (load_wine if name == "wine" else load_iris)(return_X_y=True)


def weights(n_rows: int) -> np.ndarray:
    """Observation weights 0, 0.5, 1, 1.5, 2 in turn."""
    return 0.5 * (np.arange(n_rows) % 5)


def offset(n_rows: int) -> np.ndarray:
    """Known part of the linear predictor: 0 to 0.3 in turn."""
    return 0.05 * (np.arange(n_rows) % 7)


if __name__ == "__main__":
    for name in NAMES:
        X, y = table(name)
        np.savetxt(Path(sys.argv[1]) / f"{name}.csv", np.column_stack([X, y]), delimiter=",", fmt="%.17g")
