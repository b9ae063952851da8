"""Looking at a table: audit and description against profilers, the correlation matrix against pandas.

The audit reads a mixed CSV of 1,000,000 x 30 and looks for everything; skrub's TableReport (where installed) describes
and associates, on a sample of the rows for the associations. ydata-profiling needs older versions of NumPy than we do,
so it runs in an interpreter of its own, named by ASSAY_YDATA_PYTHON, on the same file; without that variable it is left
out. Starting that interpreter is part of its time (a second or two of minutes). The quality of a look at a table is how
many of its columns it reports on; that of a correlation matrix is its largest error against NumPy.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size, by_rows

COLUMNS = 30
YDATA = os.environ.get("ASSAY_YDATA_PYTHON")


@cache
def _file(rows: int) -> Path:
    """A mixed table: 18 numbers (three with gaps), 4 integers, 5 columns of labels, a date, an identifier, a target."""
    import polars as pl

    path = Path(tempfile.gettempdir()) / f"assay-versus-mixed-{rows}.csv"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"id": [f"r{k}" for k in range(rows)]}
    for k in range(18):
        values = (rng.normal(size=rows) if k % 3 else np.exp(rng.normal(size=rows))).round(4)
        series = pl.Series(values)
        columns[f"x{k}"] = series.set(pl.Series(rng.random(rows) < 0.05), None) if k in (2, 5, 8) else series
    for k, most in enumerate((5, 50, 1000, 100_000)):
        columns[f"n{k}"] = rng.integers(0, most, rows)
    labels = pl.Series([f"label {k}" for k in range(200)])
    for k, most in enumerate((3, 8, 20, 60, 200)):
        columns[f"c{k}"] = labels.gather(rng.integers(0, most, rows))
    columns["when"] = pl.Series(rng.integers(1_500_000_000, 1_700_000_000, rows) * 1_000_000).cast(pl.Datetime("us"))
    columns["y"] = pl.Series(["no", "yes"]).gather((rng.random(rows) < 0.3).astype(np.int64))
    partial = path.with_suffix(f".{os.getpid()}")
    pl.DataFrame(columns).write_csv(partial)
    partial.replace(path)
    return path


def _look(file: Path) -> int:
    from assay.data import audit, read_table

    result = audit(read_table(file), target="y")
    result.to_html()
    return result.n_columns


def _skrub(file: Path) -> int:
    import polars as pl
    from skrub import TableReport

    frame = pl.read_csv(file, try_parse_dates=True)
    TableReport(frame, verbose=0).html()
    return frame.width


_PROFILE = """
import sys
import pandas as pd
from ydata_profiling import ProfileReport
frame = pd.read_csv(sys.argv[1])
ProfileReport(frame, progress_bar=False, minimal=sys.argv[2] == "minimal").to_html()
print(frame.shape[1])
"""


def _ydata_version() -> str:
    if YDATA is None:
        return "absent"
    code = "import importlib.metadata as m; print(m.version('ydata-profiling'))"
    return subprocess.run([YDATA, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _ydata(file: Path, how: str) -> int:
    if YDATA is None:
        raise RuntimeError("set ASSAY_YDATA_PYTHON to an interpreter that has ydata-profiling")
    done = subprocess.run([YDATA, "-c", _PROFILE, str(file), how], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def _cells(columns: int, gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(100_000, columns))
    cells[:, 1::2] += cells[:, ::2]
    if gaps:
        cells[rng.random(cells.shape) < gaps] = np.nan
    return cells


def _correlate(cells: np.ndarray) -> np.ndarray:
    from assay.data import correlations

    return correlations(cells)


def _pandas(cells: np.ndarray) -> np.ndarray:
    import pandas as pd

    return pd.DataFrame(cells, copy=False).corr().to_numpy()


def _polars(cells: np.ndarray) -> np.ndarray:
    import polars as pl

    return pl.DataFrame(cells).corr().to_numpy()


def _numpy(cells: np.ndarray) -> np.ndarray:
    return np.corrcoef(cells, rowvar=False)


def _error(cells: np.ndarray, found: np.ndarray) -> float:
    """The largest error over the first 20 columns, against NumPy on the rows where both cells are present."""
    worst = 0.0
    for i in range(min(20, cells.shape[1])):
        for j in range(i):
            both = ~(np.isnan(cells[:, i]) | np.isnan(cells[:, j]))
            worst = max(worst, abs(np.corrcoef(cells[both, i], cells[both, j])[0, 1] - found[i, j]))
    return worst


def _daal(cells: Any) -> Any:
    import daal4py

    return daal4py.covariance(outputMatrixType="correlationMatrix").compute(cells).correlation


def _masked(cells: Any) -> Any:
    """Sums over the rows that both columns have, as four matrix products."""
    import numpy as np

    known = ~np.isnan(cells)
    centred = np.where(known, cells - np.nanmean(cells, axis=0), 0.0)
    known = known.astype(float)
    count, sums, squares = known.T @ known, centred.T @ known, (centred * centred).T @ known
    spread = squares - sums**2 / count
    return (centred.T @ centred - sums * sums.T / count) / np.sqrt(spread * spread.T)


def _count(_: Any, columns: int) -> float:
    return float(columns)


_PROFILERS = (
    Contender("TableReport", "skrub", _skrub, aim=20),
    *(
        (
            Contender(
                "ProfileReport minimal", "ydata-profiling", lambda file: _ydata(file, "minimal"), 20, _ydata_version
            ),
            Contender("ProfileReport", "ydata-profiling", partial(_ydata, how="full"), 20, _ydata_version),
        )
        if YDATA
        else ()
    ),
)

_SHAPES = tuple(
    Size(f"100,000 x {p}", p, {"columns": p}, without=("DataFrame.corr",) if p == 500 else ()) for p in (20, 100, 500)
)
_SHAPES_WITH_GAPS = tuple(Size(s.label, s.n, {**s.arguments, "gaps": 0.1}) for s in _SHAPES)

PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="audit",
        title="audit and page with pictures of a mixed CSV, from the file",
        make=_file,
        sizes=by_rows(f"{{n}} x {COLUMNS}", 20_000, 100_000, 1_000_000),
        ours=Contender("audit and page", "assay", _look),
        peers=_PROFILERS,
        quality=_count,
        gate=0,
        quality_name="columns looked at",
        repeats=1,
        headline=True,
        limit="reading the text into fresh memory (about half of the processor time), one sort and one binning of each "
        "number, five passes over the numbers: moments, two Gram matrices, distances, hashes of rows; a twentieth of "
        "TableReport's time is less than polars.read_csv alone takes for the file",
        tried="TableReport runs no tests and takes associations from a sample; ProfileReport needs an older NumPy and "
        "runs in an interpreter of its own where ASSAY_YDATA_PYTHON names one.",
    ),
    Problem(
        id="correlation",
        title="correlation matrix",
        make=_cells,
        sizes=_SHAPES,
        ours=Contender("correlations", "assay", _correlate),
        peers=(
            Contender("corrcoef", "numpy", _numpy, aim=1.5),
            Contender("daal4py covariance", "scikit-learn-intelex", _daal, aim=1.5),
            Contender("DataFrame.corr", "polars", _polars, aim=1.5),
        ),
        quality=_error,
        gate=1e-9,
        quality_name="largest error",
        lower_is_better=True,
        limit="n p^2 / 2 multiply-adds",
        tried="DataFrame.corr of pandas and of polars: over a hundred times as long at 500 columns (polars 252 "
        "s). Centred "
        "columns times themselves, which BLAS takes for a symmetric product, are as fast as corrcoef.",
    ),
    Problem(
        id="correlation-gaps",
        title="correlation matrix, 10 % of the cells missing, pair by pair",
        make=_cells,
        sizes=_SHAPES_WITH_GAPS[:2],
        ours=Contender("correlations", "assay", _correlate),
        peers=(
            Contender("NumPy, four products of masked columns", "numpy", _masked, aim=1.2),
            Contender("DataFrame.corr", "pandas", _pandas, aim=5),
        ),
        quality=_error,
        gate=1e-9,
        quality_name="largest error",
        lower_is_better=True,
        repeats=1,
        limit="n p^2 / 2 multiply-adds for the products, 2 g n p^2 for sums over the share g of cells that is missing",
        tried="pandas loops over pairs; the products of masks and masked columns are what one writes by hand.",
    ),
)
