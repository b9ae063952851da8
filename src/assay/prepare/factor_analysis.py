"""Factor analysis, through scikit-learn's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import AssayWarning, Choice, Cost, DataError, Integer, Nothing, Real, param
from .reduction import Reduction


class FactorAnalysis(Reduction):
    """Explains columns by few Gaussian factors and noise of its own for each column: x = W z + mean + noise.

    Fitted by scikit-learn's maximum likelihood; unlike PCA the noise may differ between columns, so that scaling a
    column scales its loadings and changes nothing else. The new columns are the expected factors of each row.

    {parameters}

    Attributes
    ----------
    components_ : array (factors, columns), the loadings
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
    tol: float = param(1e-2, Real(0, None, "left"), "Stop when the log-likelihood grows by less.")

    def fit(self, X: Any, y: Any = None) -> FactorAnalysis:
        """Find the loadings by maximum likelihood."""
        from sklearn.decomposition import FactorAnalysis as Peer
        from sklearn.exceptions import ConvergenceWarning

        rows, _ = self._rows(X, None)
        if rows.shape[0] < 2:
            raise DataError(
                type(self).__name__, "the table", "must have at least 2 rows", f"got n_samples = {rows.shape[0]}"
            )
        peer = Peer(
            n_components=self.n_components,
            rotation=self.rotation,
            max_iter=self.max_iter,
            tol=self.tol,
            svd_method="lapack",
        )
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", ConvergenceWarning)
            peer.fit(rows)
        if any(issubclass(warning.category, ConvergenceWarning) for warning in heard):
            text = f"FactorAnalysis: not converged after {self.max_iter} iterations; raise max_iter or tol."
            warnings.warn(AssayWarning("W152", text), stacklevel=2)
        self.components_, self.mean_, self.noise_variance_ = peer.components_, peer.mean_, peer.noise_variance_
        self.log_likelihood_, self.n_iter_ = np.array(peer.loglike_), int(peer.n_iter_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The expected factors of each row, given its cells."""
        check_is_fitted(self)
        centred = self._read(X, reset=False) - self.mean_
        weighted = self.components_ / self.noise_variance_
        covariance = np.linalg.inv(np.eye(self.components_.shape[0]) + weighted @ self.components_.T)
        return centred @ weighted.T @ covariance

    def explain(self) -> list[str]:
        """How much of the columns the factors say, in words."""
        check_is_fitted(self)
        common = (self.components_**2).sum(axis=0)
        share = float((common / (common + self.noise_variance_)).mean())
        return [f"{self.components_.shape[0]} factors explain {share:.1%} of the variance of a column on average."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A singular value decomposition per iteration."""
        small, large = sorted((float(n_rows), float(n_features)))
        return Cost(seconds=20 * 2e-9 * large * small**2 + 1e-4, bytes=8.0 * (4.0 * n_rows * n_features + 3 * small**2))
