"""Bayes' rule with a density for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.decisions import Decisions, class_priors, costs_param, priors_param
from ...base.errors import DataError, ParameterError, plain, quoted
from ...base.estimator import Classifier
from ...base.parameters import Choice, Instance, param
from ...base.unsupervised import DensityEstimator
from ...base.usual_parameters import n_jobs_param
from .histogram_density import HistogramDensity
from .knn_density import KNNDensity
from .naive_density import NaiveDensity
from .parzen_density import ParzenDensity

DENSITIES: dict[str, type[DensityEstimator]] = {
    "parzen": ParzenDensity,
    "histogram": HistogramDensity,
    "naive": NaiveDensity,
    "knn": KNNDensity,
}


class DensityClassifier(Decisions, Classifier):
    """Estimates the density of each class and gives a row to the class with the largest prior times density.

    A row where no class has any density (beyond every kernel or cell) gets the priors. A class whose rows are all equal
    takes the bandwidth of all rows ("parzen"). Columns enter with the scale they have: standardise them first, unless
    the density does it.

    Attributes
    ----------
    classes_, class_count_, priors_ : the labels, their summed weights and their prior probabilities
    densities_ : the fitted density of each class

    Examples
    --------
    >>> from assay.models.density import DensityClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]], ["low", "low", "low", "high", "high", "high"]
    >>> DensityClassifier().fit(X, y).predict([[1.5], [7.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _squares = True

    density: Any = param(
        "parzen",
        Choice(*DENSITIES) | Instance(DensityEstimator),
        "The density of each class: one by name, with its usual parameters, or one with parameters of your own.",
    )
    priors: Any = priors_param()
    costs: Any = costs_param()
    n_jobs: int | None = n_jobs_param()

    def _new(self) -> Any:
        if not isinstance(self.density, str):
            return clone(self.density)
        return DENSITIES[self.density](**({} if self.density == "histogram" else {"n_jobs": self.n_jobs}))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DensityClassifier:
        """Fit a density to the rows of each class."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        size = np.bincount(codes, weights=weights, minlength=self.classes_.shape[0]).astype(float)
        self.class_count_, self.priors_ = size, class_priors(type(self).__name__, self.priors, size)
        self._costs()
        if weights is not None and self.density == "knn":
            raise ParameterError(
                type(self).__name__,
                "parameter 'density'",
                "cannot be 'knn' with sample weights",
                way_out="use 'parzen'",
            )
        self.densities_ = []
        for k in range(self.classes_.shape[0]):
            mine = codes == k
            extra = {} if weights is None else {"sample_weight": weights[mine]}
            fresh = self._new()
            if isinstance(fresh, ParzenDensity) and (rows[mine] == rows[mine][0]).all() and (rows != rows[0]).any():
                fresh = ParzenDensity(n_jobs=fresh.n_jobs, kernel=fresh.kernel).fit(rows, sample_weight=weights)
                fresh = clone(fresh).set_params(bandwidth=fresh.bandwidth_)
            try:
                self.densities_.append(fresh.fit(rows[mine], **extra))
            except DataError as error:
                raise DataError(
                    type(self).__name__,
                    f"the density of class {quoted(self.classes_[k])}",
                    "could not be fitted",
                    plain(str(error)),
                ) from None
        return self

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        with np.errstate(divide="ignore"):
            prior = np.log(self.priors_)
        scores = np.column_stack([density.score_samples(rows) for density in self.densities_]) + prior
        lost = ~np.isfinite(scores).any(axis=1)
        scores[lost] = prior
        return scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """The class probabilities of each row."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of the class probabilities of each row."""
        return log_softmax(self._scores(X), axis=1)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """That of one density of all rows."""
        fresh = self._new() if isinstance(self.density, (str, DensityEstimator)) else ParzenDensity()
        return fresh.estimate_cost(n_rows, n_features)
