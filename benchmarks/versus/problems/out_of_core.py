"""Logistic regression on a Parquet file larger than we let memory grow, against what fits such files elsewhere.

The file (20 columns, half a gigabyte per 3 million rows) lies in the folder of temporary files and is read by each
contender itself; memory is counted above the loaded process, and the page cache is nobody's. Stochastic descent by
`partial_fit` is given averaged steps and the best schedule found; with it one pass over the file is within the gate of
the optimum, and further passes are shown beside it at the smaller sizes. Dask-ML's Newton iteration holds the blocks of
the file by tasks. Quality is the mean log loss of rows that nobody fitted.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size

COLUMNS = 20
PIECE = 500_000
TESTED = 50_000


@cache
def _file(rows: int) -> Path:
    """Numbers of one scale, labels with log odds that are linear in them."""
    import polars as pl

    folder = Path(tempfile.gettempdir()) / f"assay-versus-logistic-{rows}"
    done = folder / "done"
    if done.exists():
        return folder
    folder.mkdir(exist_ok=True)
    for number, begin in enumerate(range(0, rows, PIECE)):
        X, y = _rows(min(PIECE, rows - begin), number)
        frame = pl.DataFrame({**{f"x{j}": X[:, j] for j in range(COLUMNS)}, "y": y})
        partial_file = folder / f"part-{number:03d}.{os.getpid()}"  # others may be making the same parts
        frame.write_parquet(partial_file)
        partial_file.replace(folder / f"part-{number:03d}.parquet")
    done.touch()
    return folder


def _rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    slopes = 0.5 * np.random.default_rng(1).standard_normal(COLUMNS)
    rng = np.random.default_rng([2, seed])
    X = rng.standard_normal((count, COLUMNS))
    chance = 1.0 / (1.0 + np.exp(0.5 - X @ slopes))
    return X, (rng.random(count) < chance).astype(np.int64)


def _make(rows: int) -> dict[str, Any]:
    X, y = _rows(TESTED, 10**6)
    return {"folder": _file(rows), "rows": rows, "X_test": X, "y_test": y}


def _ours(data: dict[str, Any]) -> tuple[np.ndarray, float]:
    from assay.data import Batches
    from assay.models.linear import LogisticRegression

    model = LogisticRegression().fit_batches(Batches(str(data["folder"] / "*.parquet"), "y"))
    return model.coef_[0], float(model.intercept_[0])


def _descent(data: dict[str, Any], passes: int) -> tuple[np.ndarray, float]:
    import pyarrow.dataset
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(
        loss="log_loss", alpha=1.0 / data["rows"], average=data["rows"] // 10, learning_rate="invscaling", eta0=1.0,
        power_t=0.5, random_state=0,
    )  # fmt: skip
    files = sorted(data["folder"].glob("*.parquet"))
    for _ in range(passes):
        for batch in pyarrow.dataset.dataset([str(file) for file in files]).to_batches(batch_size=100_000):
            columns = [batch.column(j).to_numpy() for j in range(COLUMNS)]
            model.partial_fit(np.column_stack(columns), batch.column(COLUMNS).to_numpy(), classes=[0, 1])
    return model.coef_[0], float(model.intercept_[0])


def _dask_ml(data: dict[str, Any]) -> tuple[np.ndarray, float]:
    import dask.dataframe
    from dask_ml.linear_model import LogisticRegression

    frame = dask.dataframe.read_parquet(str(data["folder"] / "*.parquet"))
    cells = frame.to_dask_array(lengths=True)
    model = LogisticRegression(solver="newton", C=1.0, max_iter=20).fit(cells[:, :COLUMNS], cells[:, COLUMNS])
    return np.asarray(model.coef_).ravel(), float(np.ravel(model.intercept_)[0])


def _test_log_loss(data: dict[str, Any], found: tuple[np.ndarray, float]) -> float:
    odds = data["X_test"] @ found[0] + found[1]
    return float(np.logaddexp(0.0, np.where(data["y_test"] == 1, -odds, odds)).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="logistic-out-of-core",
        title="Logistic regression on Parquet, memory bounded",
        make=_make,
        sizes=(
            Size("200,000 x 20", 200_000, {"rows": 200_000}),
            Size("2,000,000 x 20", 2_000_000, {"rows": 2_000_000}),
            Size(
                "20,000,000 x 20",
                20_000_000,
                {"rows": 20_000_000},
                repeats=1,
                without=("Dask-ML, Newton", "partial_fit, 5 passes"),
            ),
        ),
        ours=Contender("LogisticRegression.fit_batches", "assay", _ours),
        peers=(
            Contender("partial_fit, 1 pass", "scikit-learn", partial(_descent, passes=1), aim=5.0),
            Contender("partial_fit, 5 passes", "scikit-learn", partial(_descent, passes=5)),
            Contender("Dask-ML, Newton", "dask-ml", _dask_ml, aim=5.0),
        ),
        quality=_test_log_loss,
        gate=1e-5,
        quality_name="test log loss",
        lower_is_better=True,
        repeats=2,
        limit="one decoding of the file (3.2 GB of float64 at 20 million rows), one copy to disk, one back per pass",
        tried="Schedules of SGDClassifier, averaged: of eight, 'invscaling' with eta0 1 and power_t .5, averaged from "
        "a tenth of the rows on, is the best (2 million rows, one pass: log loss 2.7e-6 above the optimum on rows that "
        "nobody fitted); averaged from the first row it ends 1.0e-5 to 4e-5 above, 'optimal' far from it, and nothing "
        "in the fit says so. Dask-ML holds the table, and is left out at 20 million.",
    ),
)
