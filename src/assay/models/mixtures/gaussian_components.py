"""Components of a mixture of normal distributions, and the exact maximisation step of each form of covariance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import _kernels
from ...numeric.moments import deviation_or_one, weighted_mean
from ...numeric.solves import inverse_triangles

FORMS = ("full", "tied", "diag", "spherical")
_BLOCK = 512  # rows of a block of the kernel
_PIECE = 8192  # rows that are centred at a time


class PassBounds:
    """What a pass over the rows tells the next one: owners of rows, and how far a row at least is from a component.

    The kernel's header says how bounds follow the components as they move; they change no digit beyond rounding.
    """

    def __init__(self, n_rows: int, k: int, owners: np.ndarray | None = None) -> None:
        self.owners = np.zeros(n_rows, dtype=np.int32) if owners is None else owners.astype(np.int32)
        self._lower = np.zeros(-(-n_rows // _BLOCK) * _BLOCK * k, dtype=np.float32)
        self._means, self._factors = np.empty(0), np.empty(0)

    def moved_to(
        self, means: np.ndarray, whitening: np.ndarray, factors: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Owners and bounds, and what the move since the pass before costs the bounds."""
        k = means.shape[0]
        shrink, shift = np.ones(k), np.zeros(k)
        if self._means.size:
            change = whitening @ self._factors
            squares = np.linalg.eigvalsh(change @ np.swapaxes(change, 1, 2))
            shrink = np.sqrt(np.maximum(squares[:, 0] - 1e-12 * squares[:, -1], 0.0))
            shift = np.linalg.norm(np.einsum("kij,kj->ki", whitening, means - self._means), axis=1)
        self._means, self._factors = means, factors
        # More than what float32 loses.
        shrink, shift = shrink * (1 - 1e-6), shift * (1 + 1e-6)
        return self.owners, self._lower, shrink.astype(np.float32), shift.astype(np.float32)


@dataclass(frozen=True)
class Gaussians:
    """Weights, means and covariances of k normal distributions; `form` tells the shape of the covariances.

    `floor` is the least variance along any direction in units of `deviation`, the standard deviations of the columns;
    `centre` and `scatter` are the mean of the rows and their sum of squares about it, which tied covariances need.
    """

    form: str
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    floor: float = 0.0
    deviation: np.ndarray = field(default_factory=lambda: np.ones(1))
    centre: np.ndarray = field(default_factory=lambda: np.zeros(1))
    scatter: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))

    @classmethod
    def family(cls, form: str, rows: np.ndarray, weights: np.ndarray | None, floor: float) -> Gaussians:
        """No components yet: what is learned from the rows as a whole."""
        centre = weighted_mean(rows, weights)
        scatter = np.zeros((rows.shape[1], rows.shape[1]))
        for first in range(0, len(rows), _PIECE):
            gaps = rows[first : first + _PIECE] - centre
            scatter += gaps.T @ (gaps if weights is None else gaps * weights[first : first + _PIECE, None])
        deviation = np.sqrt(np.diagonal(scatter) / (len(rows) if weights is None else weights.sum()))
        empty = np.empty(0)
        return cls(form, empty, empty, empty, floor, deviation_or_one(deviation, centre), centre, scatter)

    def matrices(self) -> np.ndarray:
        """The covariances as k full matrices."""
        k, d = self.means.shape
        if self.form == "full":
            return self.covariances
        if self.form == "tied":
            return np.broadcast_to(self.covariances, (k, d, d))
        return np.stack([np.diag(np.broadcast_to(own, d)) for own in self.covariances])

    # -- expectation -----------------------------------------------------------------------------------------
    def whitening(self) -> tuple[np.ndarray, np.ndarray]:
        """What makes rows of each component uncorrelated with variance 1, and the log of its determinant."""
        k, d = self.means.shape
        if self.form in ("full", "tied"):
            factors = np.linalg.cholesky(self.covariances.reshape(-1, d, d))
            whitening = inverse_triangles(factors)
            logs = -np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
            return whitening, np.broadcast_to(logs, (k,))
        variances = np.broadcast_to(self.covariances.reshape(k, -1), (k, d))
        return 1.0 / np.sqrt(variances), -0.5 * np.log(variances).sum(axis=1)

    def _given(self, rows: np.ndarray, weights: Any = None, bounds: PassBounds | None = None) -> dict[str, Any]:
        """What the kernel's pass over the rows takes."""
        k, d = self.means.shape
        whitening, logs = self.whitening()
        with np.errstate(divide="ignore"):
            constants = np.log(self.weights) + logs - 0.5 * d * np.log(2 * np.pi)
        constants = np.maximum(constants, -1e300)
        means, table = self.means, rows
        if self.form == "tied":
            table, means = rows @ whitening[0].T, self.means @ whitening[0].T
            whitening = np.ones((k, d))
        shape = (k * d, d) if self.form == "full" else (k, d)
        table, constants, means = (np.ascontiguousarray(a) for a in (table, constants, means))
        scales = np.ascontiguousarray(whitening.reshape(shape))
        full = self.form == "full"
        known = bounds.moved_to(means, whitening, np.linalg.cholesky(self.covariances)) if bounds and full else None
        components = {"constants": constants, "means": means, "whitening": scales, "diagonal": not full, "factors": 0}
        return {"rows": table, "weights": weights, **components, "bounds": known}

    def log_parts(self, rows: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row, and responsibilities."""
        _, density, shares, _ = _kernels.gaussian_pass(
            **self._given(rows), want_density=True, want_responsibilities=True, want_moments=False, threads=threads
        )
        return density, shares

    def step(
        self, rows: np.ndarray, weights: np.ndarray | None, threads: int, bounds: PassBounds | None = None
    ) -> tuple[Gaussians, float]:
        """One step of expectation-maximisation, and the log likelihood before it."""
        k, d = self.means.shape
        given = self._given(rows, weights, bounds)
        total, _, _, moments = _kernels.gaussian_pass(
            **given, want_density=False, want_responsibilities=False, want_moments=True, threads=threads
        )
        if self.form == "full":
            moments = moments.reshape(k, d + 1, d + 1)
            return self.maximised(moments[:, d, d], moments[:, :d, d], moments[:, :d, :d]), total
        counts, first, second = moments[:, 2 * d], moments[:, :d], moments[:, d : 2 * d]
        if self.form == "tied":
            first = first @ np.linalg.cholesky(self.covariances).T
        return self.maximised(counts, first, second), total

    # -- maximisation ----------------------------------------------------------------------------------------
    def maximised(self, counts: np.ndarray, first: np.ndarray, second: np.ndarray) -> Gaussians:
        """The likeliest components given moments about the current means: N, sum r (x-m), sum r (x-m)(x-m)'.

        `second` may be the diagonals alone for diagonal and spherical covariances. A component that has lost every row
        keeps its mean and covariance.
        """
        total = counts.sum()
        alive = counts > 1e-12 * total
        counts_or_one = np.where(alive, counts, 1.0)
        moves = np.where(alive[:, None], first / counts_or_one[:, None], 0.0)
        means = self.means + moves
        weights = counts / total
        if self.form == "tied":
            gaps = means - self.centre
            return self._with(weights, means, (self.scatter - gaps.T @ (gaps * counts[:, None])) / total, None)
        if self.form == "full":
            found = second / counts_or_one[:, None, None] - moves[:, :, None] * moves[:, None, :]
            return self._with(weights, means, found, alive)
        if second.ndim == 3:
            second = np.diagonal(second, axis1=1, axis2=2)
        variances = second / counts_or_one[:, None] - moves**2
        return self._with(weights, means, variances if self.form == "diag" else variances.mean(axis=1), alive)

    def _with(self, weights: np.ndarray, means: np.ndarray, found: np.ndarray, alive: np.ndarray | None) -> Gaussians:
        held = _floored(self.form, found, self.floor, self.deviation)
        if alive is not None and not alive.all():
            held[~alive] = self.covariances[~alive]
        return replace(self, weights=weights, means=means, covariances=held)


def _floored(form: str, found: np.ndarray, floor: float, deviation: np.ndarray) -> np.ndarray:
    """The likeliest covariances with no variance below the floor: eigenvalues are raised to it."""
    if form == "spherical":
        return np.maximum(found, floor * float(np.mean(deviation**2)))
    if form == "diag":
        return np.maximum(found, floor * deviation**2)
    unit = deviation[:, None] * deviation
    values, vectors = np.linalg.eigh((found + np.swapaxes(found, -1, -2)) / (2 * unit))
    low = np.asarray(values < floor)
    if not low.any():
        return (found + np.swapaxes(found, -1, -2)) / 2
    raised = (vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.where(np.expand_dims(low.any(axis=-1), (-1, -2)), raised * unit, (found + np.swapaxes(found, -1, -2)) / 2)


def with_given(
    start: Gaussians, weights: np.ndarray | None, means: np.ndarray | None, precisions: np.ndarray | None
) -> Gaussians:
    """A start with some of its parts given; precisions are inverse covariances."""
    if precisions is None:
        covariances = start.covariances
    elif start.form in ("full", "tied"):
        covariances = np.linalg.inv(precisions)
    else:
        covariances = 1.0 / precisions
    return replace(
        start,
        weights=start.weights if weights is None else weights / weights.sum(),
        means=start.means if means is None else means,
        covariances=_floored(start.form, covariances, start.floor, start.deviation),
    )


def from_labels(
    family: Gaussians, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None, k: int
) -> Gaussians:
    """Components of the rows of each label; a label that is flat in some direction starts with the covariance of
    all."""
    d = rows.shape[1]
    share = np.ones(rows.shape[0]) if weights is None else weights
    counts = np.bincount(labels, share, minlength=k)
    firsts, seconds = np.zeros((k, d)), np.zeros((k, d, d))
    for c in range(k):
        own = labels == c
        gaps, mass = rows[own] - family.centre, share[own]
        firsts[c] = mass @ gaps
        mean = firsts[c] / max(counts[c], 1e-300)
        seconds[c] = (gaps - mean).T @ ((gaps - mean) * mass[:, None])
    pooled = seconds.sum(axis=0) / counts.sum()
    unit = family.deviation[:, None] * family.deviation * np.maximum(counts, 1e-300)[:, None, None]
    flat = np.linalg.eigvalsh(seconds / unit)[:, 0] < 1e-4
    if k > 1 and flat.any():
        seconds[flat] = pooled * counts[flat, None, None]
    means = family.centre + firsts / np.maximum(counts, 1e-300)[:, None]
    start = replace(family, means=means, covariances=np.broadcast_to(np.eye(d), (k, d, d)))
    found = start.maximised(np.maximum(counts, 1e-9 * counts.sum()), np.zeros((k, d)), seconds)
    return replace(found, weights=counts / counts.sum())


def from_rows(
    family: Gaussians, rows: np.ndarray, weights: np.ndarray | None, k: int, rng: np.random.Generator
) -> Gaussians:
    """Random rows as means, with the covariance of all rows."""
    share = None if weights is None else weights / weights.sum()
    means = rows[rng.choice(rows.shape[0], k, replace=False, p=share)]
    total = float(rows.shape[0] if weights is None else weights.sum())
    counts = np.full(k, total / k)
    start = replace(family, means=means, covariances=np.empty(0))
    seconds = np.broadcast_to(family.scatter / k, (k, *family.scatter.shape))
    if family.form == "tied":
        return replace(
            start,
            weights=counts / total,
            covariances=_floored("tied", family.scatter / total, family.floor, family.deviation),
        )
    return start.maximised(counts, np.zeros_like(means), seconds)
