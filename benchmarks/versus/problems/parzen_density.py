"""Kernel densities: every row of three columns scored at one relative tolerance, and one column on a grid.

KDEpy's FFTKDE is the fastest known on grids; both contenders use linear binning and 2^12 points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size, by_rows

RTOL = 1e-4
POINTS = 4096


def _make(rows: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, 3))


def _width(X: np.ndarray) -> float:
    return float(X.shape[0] ** (-1.0 / (X.shape[1] + 4.0)))


def _ours(X: np.ndarray) -> np.ndarray:
    from assay.models.density import ParzenDensity

    return ParzenDensity(bandwidth=_width(X), rtol=RTOL, n_jobs=-1).fit(X).score_samples(X)


def _scikit_learn(X: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import KernelDensity

    return KernelDensity(bandwidth=_width(X), rtol=RTOL, algorithm="kd_tree").fit(X).score_samples(X)


def _numpy(X: np.ndarray) -> np.ndarray:
    """All pairs in float32, in blocks of rows: a product, an exponential and a sum."""
    h, n, found = _width(X), len(X), np.empty(len(X))
    Z = (X / h).astype(np.float32)
    halves = -0.5 * (Z * Z).sum(axis=1)
    for begin in range(0, n, 512):
        kernel = Z[begin : begin + 512] @ Z.T
        kernel += halves
        kernel += halves[begin : begin + 512, None]
        np.exp(kernel, out=kernel)
        found[begin : begin + 512] = np.log(kernel.sum(axis=1))
    return found - np.log(n * (2.0 * np.pi * h * h) ** (X.shape[1] / 2))


def _torch(X: np.ndarray) -> np.ndarray:
    """The same by PyTorch, whose exponentials take both cores."""
    import torch

    h, n, found = _width(X), len(X), np.empty(len(X))
    Z = torch.from_numpy((X / h).astype(np.float32))
    halves = -0.5 * (Z * Z).sum(dim=1)
    with torch.inference_mode():
        for begin in range(0, n, 512):
            kernel = torch.addmm(halves, Z[begin : begin + 512], Z.T).add_(halves[begin : begin + 512, None]).exp_()
            found[begin : begin + 512] = kernel.sum(dim=1).log().numpy()
    return found - np.log(n * (2.0 * np.pi * h * h) ** (X.shape[1] / 2))


def _make_column(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.where(rng.random(rows) < 0.4, rng.normal(-2, 0.5, rows), rng.normal(1, 1, rows))[:, None]


def _our_grid(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from assay.models.density import ParzenDensity

    grid = ParzenDensity(bandwidth=0.1, tree=False).fit(X).on_grid(POINTS)
    return grid.axes[0], grid.values


def _kdepy(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from KDEpy import FFTKDE

    return FFTKDE(kernel="gaussian", bw=0.1).fit(X[:, 0]).evaluate(POINTS)


def _statsmodels(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from statsmodels.nonparametric.kde import KDEUnivariate

    found = KDEUnivariate(X[:, 0])
    found.fit(kernel="gau", bw=0.1, fft=True, gridsize=POINTS)
    return found.support, found.density


def _log_likelihood(X: np.ndarray, found: Any) -> float:
    return float(np.mean(found))


def _grid_likelihood(X: np.ndarray, found: Any) -> float:
    """The mean log density of some rows, read off the grid by linear interpolation."""
    return float(np.mean(np.log(np.interp(X[:2000, 0], *found))))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="parzen-scores",
        title="Gaussian kernel density, every row scored",
        make=_make,
        sizes=(
            *by_rows("{n} x 3, relative error 1e-4", 2_000, 20_000),
            Size("50,000 x 3, relative error 1e-4", 50_000, {"rows": 50_000}, repeats=1),
        ),
        ours=Contender("assay ParzenDensity", "assay", _ours),
        peers=(
            Contender("scikit-learn KernelDensity", "scikit-learn", _scikit_learn, aim=5.0),
            Contender("NumPy, all pairs in float32", "numpy", _numpy, aim=1.5, by_hand=True),
            Contender("PyTorch, all pairs in float32", "torch", _torch, aim=1.5, by_hand=True),
        ),
        quality=_log_likelihood,
        gate=1e-4,
        tried="ball tree, leaves of 10 to 400 rows and depth first are a tenth to a half slower than the k-d "
        "tree as it is; two processes save it less than half; all pairs by hand in float32 take a "
        "tenth of its time on the fewest rows.",
        quality_name="mean log density",
        limit="an exponential for each pair that counts at this tolerance, about a tenth of all",
    ),
    Problem(
        id="parzen-grid",
        title="Gaussian kernel density on a grid",
        make=_make_column,
        sizes=by_rows("{n} x 1, 4,096 points", 10_000, 100_000, 1_000_000),
        ours=Contender("assay ParzenDensity.on_grid", "assay", _our_grid),
        peers=(
            Contender("KDEpy FFTKDE", "KDEpy", _kdepy, aim=1.0),
            Contender("statsmodels KDEUnivariate", "statsmodels", _statsmodels, aim=1.0),
        ),
        quality=_grid_likelihood,
        gate=1e-3,
        tried="FFTKDE is the way of KDEpy for a grid, as fast on a grid given to it and slower in float32; "
        "KDEUnivariate of statsmodels takes half its time on the fewest rows and twice on the most; bins by "
        "np.bincount and a filter of SciPy are slower from 100,000 rows on.",
        quality_name="mean log density",
        limit="one pass over the rows",
    ),
)
