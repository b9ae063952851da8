"""Distances as policies: what a metric accepts, how it places rows before the search, how its distance is read.

The compiled kernels compare *reduced* distances (squared, or a sum of powers), which order rows as the distance does;
`finish` turns them into distances. A metric that is a plain one after moving the rows (Mahalanobis, cosine, mixed)
says so in `learn` and `place`.

>>> get("manhattan").finish(np.array([4.0]))
array([4.])
>>> sorted(METRICS)[:3]
['chebyshev', 'cosine', 'euclidean']
"""

from __future__ import annotations

import math

import numpy as np

from .moments import PrincipalAxes

Placement = dict[str, np.ndarray]

# Codes of cpp/include/assay/neighbours/metrics.hpp.
_EUCLIDEAN, _MANHATTAN, _CHEBYSHEV, _MINKOWSKI, _HAMMING, _MATCHING, _JACCARD, _COSINE, _MIXED = range(9)
PRESENT_EUCLIDEAN, KNOWN_EUCLIDEAN = 9, 10


class Distance:
    """A metric: the kernel's code for it, what it takes, and what it learns from the training rows."""

    code = _EUCLIDEAN
    power = 2.0
    has_tree = False
    takes_nominal = False
    takes_missing = False
    learns = False
    """True if placement depends on the training rows as a whole, so that a search cannot be shared across folds."""

    def learn(self, rows: np.ndarray, nominal: np.ndarray) -> Placement:
        """What `place` needs to know about the training rows."""
        return {}

    def place(self, rows: np.ndarray, placement: Placement) -> np.ndarray:
        """The rows as the kernel compares them; each row is placed on its own."""
        return rows

    def finish(self, reduced: np.ndarray) -> np.ndarray:
        """Distances from reduced distances, which may be overwritten."""
        return reduced

    def reduce_radius(self, radius: float) -> float:
        """The largest reduced distance that `finish` does not put beyond the radius.

        >>> get("euclidean").reduce_radius(3.0) >= 9.0
        True
        """
        reduced = self._reduced(radius)
        while self._finished(reduced) > radius:
            reduced = math.nextafter(reduced, -math.inf)
        while reduced < math.inf and self._finished(math.nextafter(reduced, math.inf)) <= radius:
            reduced = math.nextafter(reduced, math.inf)
        return reduced

    def _reduced(self, radius: float) -> float:
        return radius

    def _finished(self, reduced: float) -> float:
        return float(self.finish(np.array([max(reduced, 0.0)]))[0])


class Euclidean(Distance):
    """Root of the sum of squared differences."""

    has_tree = True

    def finish(self, reduced: np.ndarray) -> np.ndarray:
        return np.sqrt(reduced, out=reduced)

    def _reduced(self, radius: float) -> float:
        return radius * radius


class Manhattan(Distance):
    """Sum of absolute differences."""

    code, has_tree = _MANHATTAN, True


class Chebyshev(Distance):
    """Largest absolute difference."""

    code, has_tree = _CHEBYSHEV, True


class Minkowski(Distance):
    """p-th root of the sum of p-th powers of absolute differences."""

    code, has_tree = _MINKOWSKI, True

    def __init__(self, p: float):
        self.power = float(p)

    def finish(self, reduced: np.ndarray) -> np.ndarray:
        return reduced ** (1.0 / self.power)

    def _reduced(self, radius: float) -> float:
        return radius**self.power


class Hamming(Distance):
    """Share of columns that differ."""

    code, takes_nominal = _HAMMING, True


class Matching(Distance):
    """Simple matching: share of columns where exactly one of the two rows has the property (a cell that is not 0)."""

    code = _MATCHING


class Jaccard(Distance):
    """Simple matching over the columns where at least one of the two rows has the property."""

    code = _JACCARD


class Cosine(Distance):
    """One minus the cosine of the angle; a row of zeros is at distance 1 from every row."""

    code = _COSINE

    def place(self, rows: np.ndarray, placement: Placement) -> np.ndarray:
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        scaled = rows / np.where(largest > 0, largest, 1.0)
        length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
        return scaled / np.where(length > 0, length, 1.0)


class Mahalanobis(Euclidean):
    """Euclidean distance after whitening by the training covariance (directions without spread are left out)."""

    learns = True

    def learn(self, rows: np.ndarray, nominal: np.ndarray) -> Placement:
        covariance = np.atleast_2d(np.cov(rows, rowvar=False)) if rows.shape[0] > 1 else np.zeros((rows.shape[1],) * 2)
        axes = PrincipalAxes.of(covariance, rows.shape[1] * np.finfo(float).eps)
        whitening = axes.whitening if axes.variances.size else np.zeros((rows.shape[1], 1))
        return {"mean": rows.mean(axis=0), "whitening": whitening}

    def place(self, rows: np.ndarray, placement: Placement) -> np.ndarray:
        # Column by column instead of one matrix product, so that a row's place never depends on its batch.
        whitening, centred = placement["whitening"], rows - placement["mean"]
        placed = np.zeros((rows.shape[0], whitening.shape[1]))
        for j in range(rows.shape[1]):
            placed += centred[:, j : j + 1] * whitening[j]
        return placed


class Mixed(Distance):
    """Mean over the columns known in both rows: 0 or 1 for nominal, the difference in units of the range for numbers.

    Numbers are placed in [0, 1] by the range of the training rows (a query outside it counts as the nearest end);
    columns of the mask `ranked` hold ranks in [0, 1] already. Two rows without a common known column are at distance 1.
    """

    code = _MIXED
    has_tree = takes_nominal = takes_missing = learns = True

    def __init__(self, ranked: np.ndarray | None = None):
        self.ranked = ranked

    def learn(self, rows: np.ndarray, nominal: np.ndarray) -> Placement:
        known = ~np.isnan(rows)
        low = np.where(known, rows, np.inf).min(axis=0)
        high = np.where(known, rows, -np.inf).max(axis=0)
        plain = nominal | ~known.any(axis=0)
        low = np.where(plain, 0.0, low)
        span = np.where(plain, 0.0, high - low)
        if self.ranked is not None:
            low, span = np.where(self.ranked, 0.0, low), np.where(self.ranked, 1.0, span)
        return {"low": low, "span": span, "nominal": nominal.astype(np.uint8)}

    def place(self, rows: np.ndarray, placement: Placement) -> np.ndarray:
        span, nominal = placement["span"], placement["nominal"].astype(bool)
        placed = rows - placement["low"]  # and on in place: a large table is held once more, not five times
        placed /= np.where(span > 0, span, 1.0)
        np.clip(placed, 0.0, 1.0, out=placed)
        # A column without spread says nothing about training rows; NaN stays NaN.
        flat = ~(span > 0) & ~nominal
        placed[:, flat] = rows[:, flat] * 0.0
        placed[:, nominal] = rows[:, nominal]
        return placed


METRICS: dict[str, type[Distance]] = {
    "euclidean": Euclidean,
    "manhattan": Manhattan,
    "minkowski": Minkowski,
    "chebyshev": Chebyshev,
    "hamming": Hamming,
    "matching": Matching,
    "jaccard": Jaccard,
    "cosine": Cosine,
    "mahalanobis": Mahalanobis,
    "mixed": Mixed,
}


def get(metric: str, p: float = 2.0) -> Distance:
    """The distance of this name; Minkowski with p = 1 or 2 is the plain metric of that p.

    >>> type(get("minkowski", 1.0)).__name__
    'Manhattan'
    """
    if metric == "minkowski":
        return {1.0: Manhattan(), 2.0: Euclidean()}.get(float(p), Minkowski(p))
    return METRICS[metric]()
