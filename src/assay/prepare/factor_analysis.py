"""Factor analysis by maximum likelihood."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import OptimizeResult, minimize
from sklearn.utils.validation import check_is_fitted

from ..base import AssayWarning, Choice, Cost, DataError, Integer, Nothing, ParameterError, Real, param
from ..base.threads import one_blas_thread
from ..base.words import count as counted
from ..numeric.moments import varies
from .reduction import Reduction, settle_signs

LEAST_NOISE = 0.005
"""Least share of a column's variance that is noise: without a bound the likelihood may have no maximum (Heywood)."""


class FactorAnalysis(Reduction):
    """Explains columns by few Gaussian factors and noise of its own for each column: x = W' z + mean + noise.

    Maximum likelihood on standardised columns; unlike PCA the noise may differ between columns, so that scaling a
    column scales its loadings and changes nothing else. For given noise variances psi the best loadings are known: the
    leading eigenvectors of psi^-1/2 R psi^-1/2, with R the correlation matrix; psi itself is found by L-BFGS on its
    logarithm (Jöreskog 1967), with at least 0.5 % of a column's variance as noise. The new columns are the expected
    factors of each row. Rotations work on the loadings of standardised columns, varimax with Kaiser's normalisation.

    Attributes
    ----------
    components_ : array (factors, columns), the loadings in the units of the columns, the strongest factor first
    noise_variance_ : variance of the noise of each column
    mean_ : mean of each column
    log_likelihood_ : log-likelihood of the training rows, per iteration
    n_iter_ : iterations

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(200, 1))
    >>> grades = ability @ np.array([[1.0, 0.8, 0.6]]) + 0.3 * rng.normal(size=(200, 3))
    >>> FactorAnalysis(n_components=1).fit(grades).transform(grades).shape
    (200, 1)
    """

    n_components: int | None = param(None, Integer(1) | Nothing(), "Factors; None for as many as columns.")
    rotation: str | None = param(None, Choice("varimax", "quartimax") | Nothing(), "Rotation of the loadings.")
    max_iter: int = param(1000, Integer(1), "Iterations at most.")
    tol: float = param(1e-8, Real(0, None, "left"), "Stop when the log-likelihood grows by less.")

    def fit(self, X: Any, y: Any = None) -> FactorAnalysis:
        """Find the loadings by maximum likelihood."""
        rows, _ = self._begin_weighted(X, None)
        n_rows, n_columns = rows.shape
        if n_rows < 2:
            raise DataError(
                type(self).__name__, "the table", "must have at least 2 rows", f"got n_samples = {n_rows}", "add rows"
            )
        self.mean_ = rows.mean(axis=0)
        deviation = np.sqrt(np.mean((rows - self.mean_) ** 2, axis=0))
        varying = varies(deviation, self.mean_)
        scale = deviation[varying]
        standard = (rows[:, varying] - self.mean_[varying]) / (scale * np.sqrt(n_rows))
        wanted = n_columns if self.n_components is None else self.n_components
        if wanted > n_columns:
            raise ParameterError(
                type(self).__name__,
                "parameter 'n_components'",
                f"must be at most {n_columns} for this table",
                f"got {wanted}",
            )
        noise, loadings, path, converged = _likeliest(standard, min(wanted, n_columns), self.max_iter, self.tol)
        if not converged:
            text = f"FactorAnalysis: not converged after {self.max_iter} iterations; raise max_iter or tol."
            warnings.warn(AssayWarning("W152", text), stacklevel=3)
        if loadings.size:
            turned = loadings if self.rotation is None else _rotated(loadings, self.rotation)
            loadings = settle_signs(turned[np.argsort(-(turned**2).sum(axis=1), kind="stable")])
        self.components_ = np.zeros((wanted, n_columns))
        self.components_[: loadings.shape[0], varying] = loadings * scale
        self.noise_variance_ = np.zeros(n_columns)
        self.noise_variance_[varying] = noise * scale**2
        constant = scale.size * np.log(2 * np.pi) + 2 * np.log(scale).sum()
        self.log_likelihood_ = -0.5 * n_rows * (np.array(path) + constant)
        self.n_iter_ = len(path)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The expected factors of each row, given its cells."""
        check_is_fitted(self)
        centred = self._read(X, reset=False) - self.mean_
        noise = self.noise_variance_
        weighted = np.divide(self.components_, noise, out=np.zeros_like(self.components_), where=noise > 0)
        covariance = np.linalg.inv(np.eye(self.components_.shape[0]) + weighted @ self.components_.T)
        return centred @ weighted.T @ covariance

    def explain(self) -> list[str]:
        """How much of the columns the factors say, in words."""
        check_is_fitted(self)
        common = (self.components_**2).sum(axis=0)
        whole = common + self.noise_variance_
        share = float(np.mean(common[whole > 0] / whole[whole > 0])) if (whole > 0).any() else 0.0
        factors = counted(self.components_.shape[0], "factor")
        verb = "explains" if self.components_.shape[0] == 1 else "explain"
        return [f"{factors} {verb} {share:.1%} of the variance of a column on average."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One correlation matrix, then the leading eigenvectors of a matrix of its size per iteration."""
        small, large = sorted((float(n_rows), float(n_features)))
        return Cost(
            seconds=1e-10 * large * small**2 + 50 * (1e-9 * small**3 + 1e-4),
            bytes=8.0 * (3.0 * n_rows * n_features + 4 * small**2),
        )


def _largest_eigenpairs(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, rising, and their vectors; of a small matrix all are quicker found than some."""
    size = matrix.shape[0]
    if size <= 48:
        values, vectors = np.linalg.eigh(matrix)
        return values[size - count :], vectors[:, size - count :]
    return scipy.linalg.eigh(matrix, subset_by_index=[size - count, size - 1])


def _likeliest(
    standard: np.ndarray, factors: int, max_iter: int, tol: float
) -> tuple[np.ndarray, np.ndarray, list[float], bool]:
    """Noise shares, loadings, -2/n log-likelihood per iteration (less its constant), and whether it has converged.

    `standard` (n, d) has columns of length 1. With L the best loadings for psi and lambda the eigenvalues of
    psi^-1/2 R psi^-1/2, the value is sum log psi + sum over the factors (log lambda + 1) + sum of the other lambda (a
    factor with lambda <= 1 is none), and its derivative by log psi is the diagonal of (L L' + psi - R) / psi.
    """
    n_rows, size = standard.shape
    tall = n_rows >= size
    matrix = standard.T @ standard if tall else standard
    kept = min(factors, size, n_rows)

    def leading(psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = np.sqrt(psi)
        if tall:
            scaled = matrix / root / root[:, None]
            values, vectors = _largest_eigenpairs(scaled, kept)
        else:
            scaled = matrix / root
            values, left = _largest_eigenpairs(scaled @ scaled.T, kept)
            vectors = (scaled.T @ left) / np.sqrt(np.maximum(values, 1e-300))
        values = values[::-1]
        return values, vectors[:, ::-1].T * np.sqrt(np.maximum(values - 1, 0.0))[:, None] * root

    def value(logs: np.ndarray) -> tuple[float, np.ndarray]:
        psi = np.exp(logs)
        values, loadings = leading(psi)
        factor = np.where(values > 1, np.log(np.maximum(values, 1.0)) + 1, values)
        rest = (1 / psi).sum() - values.sum()
        gradient = ((loadings**2).sum(axis=0) + psi - 1) / psi
        return float(logs.sum() + factor.sum() + rest), gradient

    path: list[float] = []
    if size == 0 or kept == 0:
        return np.ones(size), np.zeros((0, size)), [0.0], True
    settled = False

    def step(intermediate_result: OptimizeResult) -> None:
        nonlocal settled
        path.append(float(intermediate_result.fun))
        if len(path) > 1 and 0.5 * n_rows * (path[-2] - path[-1]) <= tol:
            settled = True
            raise StopIteration

    # What the other columns leave unexplained, roughly, is where the search starts.
    unexplained = 1 / np.diag(np.linalg.inv(matrix + 1e-3 * np.eye(size))) if tall else np.ones(size)
    start = np.clip((1 - 0.5 * kept / size) * unexplained, LEAST_NOISE, 1.0)
    # Hundreds of small products: threads of the linear algebra would only wait for each other.
    with one_blas_thread():
        found = minimize(
            value,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            bounds=[(np.log(LEAST_NOISE), 0.0)] * size,
            callback=step,
            options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 1e-12, "maxcor": 20},
        )
    psi = np.exp(found.x)
    path = path or [float(found.fun)]
    # A line search that finds nothing better at the precision of the numbers has arrived too.
    return psi, leading(psi)[1], path, settled or found.status != 1


def _rotated(loadings: np.ndarray, rotation: str, rounds: int = 1000) -> np.ndarray:
    """Loadings (factors, columns) turned so that their squares vary most, within factors or columns."""
    cells = loadings.T
    lengths = np.sqrt((cells**2).sum(axis=1))
    lengths = np.where(lengths > 0, lengths, 1.0) if rotation == "varimax" else np.ones(cells.shape[0])
    cells = cells / lengths[:, None]
    turn, reached = np.eye(cells.shape[1]), 0.0
    for _ in range(rounds):
        turned = cells @ turn
        pull = turned**3
        if rotation == "varimax":
            pull -= turned * (turned**2).mean(axis=0)
        left, singular, right = np.linalg.svd(cells.T @ pull)
        turn = left @ right
        if singular.sum() <= reached * (1 + 1e-14):
            break
        reached = float(singular.sum())
    return (cells @ turn * lengths[:, None]).T
