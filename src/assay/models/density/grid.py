"""Gaussian kernel sums on a grid: rows shared among grid points, one convolution by the fast Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.fft import next_fast_len
from scipy.signal import fftconvolve

from ... import _kernels
from ...base.errors import DataError, ParameterError, plain
from .kernel_tree import Placement, log_constant

# Deviations of the kernel beyond which it is below rounding.
_REACH = 8.7
# Steps of a grid to a deviation from which on the transform of the kernel at its points is that of the kernel itself.
_SMOOTH = 3.0
_USUAL = {1: 4096, 2: 256, 3: 64}
_MOST_POINTS = 2**26


@dataclass(frozen=True)
class DensityGrid:
    """A density at the points of a grid: `axes` holds the points along each column, `values` the densities.

    No value differs by more than `error_bound` from the exact sum of kernels.
    """

    axes: tuple[np.ndarray, ...]
    values: np.ndarray
    error_bound: float


def binned_density(model: Any, placement: Placement, sizes: Any, low: Any, high: Any) -> DensityGrid:
    """The density of a fitted `ParzenDensity` on a grid.

    Sharing a row linearly among the 2^d points around it replaces the kernel, as a function of the row, by its linear
    interpolation between grid points. Along axis j that errs by at most step_j^2 / 8 times the largest second
    derivative of the kernel, which for a Gaussian is its peak times the j-th diagonal of the inverse covariance; the
    axes add up.
    """
    who, d = type(model).__name__, model.n_features_in_
    if model.kernel != "gaussian" or d > 3:
        raise ParameterError(
            who,
            "on_grid",
            "needs the Gaussian kernel and at most three columns",
            f"got '{model.kernel}' and {d} columns",
            "use score_samples at the points of the grid",
        )
    counts = _sizes(who, sizes, d)
    rows = model.rows_
    if "back" in placement.arrays:
        rows = np.ascontiguousarray(placement.unplace(rows) + placement.arrays["mean"])
    # Of one column the shape of a kernel is one number; otherwise it is a matrix.
    back = placement.arrays.get("back", np.ones((1, 1)) if d == 1 else np.eye(d)) * model.bandwidth_
    covariance = back**2 if d == 1 else back.T @ back
    inverse = 1.0 / covariance if d == 1 else np.linalg.inv(covariance)
    log_volume = 0.5 * float(np.log(covariance[0, 0]) if d == 1 else np.linalg.slogdet(covariance)[1])
    spread = np.sqrt(covariance.diagonal())
    reach = 4.0 * spread
    least, most = rows.min(axis=0), rows.max(axis=0)
    start = least - reach if low is None else np.broadcast_to(np.asarray(low, dtype=np.float64), (d,))
    end = most + reach if high is None else np.broadcast_to(np.asarray(high, dtype=np.float64), (d,))
    if not (end > start).all():
        raise ParameterError(who, "on_grid", "needs low < high", f"got {plain(repr(low))} and {plain(repr(high))}")
    step = (end - start) / (counts - 1)
    if not ((least >= start).all() and (most <= end).all()):
        raise DataError(who, "on_grid", "needs a grid that covers the training rows", way_out="widen low and high")
    shares = _kernels.linear_binning(
        rows, model.weights_, np.ascontiguousarray(start), np.ascontiguousarray(step), counts.astype(np.int64)
    ).reshape(tuple(counts))
    half = np.minimum(counts - 1, np.ceil(_REACH * spread / step).astype(int))
    log_peak = -log_constant("gaussian", d) - log_volume
    total, peak = float(shares.sum()), float(np.exp(log_peak))
    if d == 1 and spread[0] >= _SMOOTH * step[0]:
        smooth = _smoothed(shares, int(half[0]), float(spread[0] / step[0])) / step[0]
    else:
        # The kernel at differences of grid points, as far as it reaches.
        axes = [np.arange(-h, h + 1) * s for h, s in zip(half, step)]
        apart = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        kernel = np.exp(log_peak - 0.5 * np.einsum("...i,ij,...j->...", apart, inverse, apart))
        smooth = fftconvolve(shares, kernel, mode="same")
    values = np.maximum(smooth, 0.0, out=smooth)
    values /= total
    bound = peak * (float((step**2 * inverse.diagonal()).sum()) / 8.0 + 1e-13)
    points = tuple(s + w * np.arange(c) for s, w, c in zip(start, step, counts))
    return DensityGrid(points, values, bound)


def _smoothed(shares: np.ndarray, half: int, deviation: float) -> np.ndarray:
    """Shares of points one apart under a Gaussian of this deviation, which reaches over `half` points.

    >>> _smoothed(np.array([0.0, 1.0, 0.0]), 30, 3.0).round(4)
    array([0.1258, 0.133 , 0.1258])
    """
    size = next_fast_len(shares.shape[0] + half, real=True)
    # In place: on a small grid new memory takes longer than what is computed.
    waves = np.arange(size // 2 + 1, dtype=np.float64)
    waves *= 2.0 * np.pi * deviation / size
    waves *= waves
    waves *= -0.5
    spectrum = np.fft.rfft(shares, size)
    spectrum *= np.exp(waves, out=waves)
    return np.fft.irfft(spectrum, size)[: shares.shape[0]]


def _sizes(who: str, sizes: Any, d: int) -> np.ndarray:
    try:
        counts = np.broadcast_to(np.asarray(_USUAL[d] if sizes is None else sizes), (d,)).astype(np.int64)
    except (TypeError, ValueError):
        counts = np.zeros(1, dtype=np.int64)
    if min(counts.tolist()) < 2 or math.prod(counts.tolist()) > _MOST_POINTS:
        raise ParameterError(
            who,
            "parameter 'sizes'",
            f"must be whole numbers >= 2, one per column, of at most {_MOST_POINTS:,} points in all",
            f"got {plain(repr(sizes))}",
        )
    return counts
