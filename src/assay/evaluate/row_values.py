"""What each row contributes to a score: jackknife pseudo-values, by which a score is a mean over rows.

For a score M of n rows and M_(i), the score without row i, the pseudo-value n M - (n - 1) M_(i) is the row's loss or
hit where M is a mean, DeLong's placements where it is an area under ROC, and the linear part of the score for
everything else. Their variance over n is the variance of the score over samples of rows; the covariance of two
learners' values that of their scores on the same rows. Unlike the spread between stratified folds it holds the variance
of the class shares.

>>> import numpy as np
>>> from .metrics import Evidence, get_metric
>>> evidence = Evidence(np.array([0, 1, 1, 0]), labels=np.array([0, 1, 0, 0]), classes=np.arange(2))
>>> row_values(get_metric("accuracy"), evidence).round(6).tolist()
[1.0, 1.0, 0.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.randomness import Stream
from .metrics import Evidence, Metric
from .replicates import route_for


def row_values(metric: Metric, evidence: Evidence) -> np.ndarray | None:
    """The pseudo-value of each row; None if the score is undefined without some row, or has no fast jackknife."""
    n = evidence.y.shape[0]
    if n < 3 or not evidence.has(metric.needs):
        return None
    route = route_for(metric, evidence)
    left_out = route.jackknife(Stream.of(0))
    if left_out.shape != (n,) or not np.isfinite(left_out).all() or not np.isfinite(route.estimate):
        return None
    return n * route.estimate - (n - 1) * left_out


def covariance_of_rows(values: Mapping[str, np.ndarray], units: Any = None) -> np.ndarray:
    """The covariance of the mean pseudo-values of several learners on the same rows.

    With `units`, rows of a unit (a patient) count as one observation, and the covariance is the jackknife's, which
    leaves out one unit at a time: units of unequal sizes do not make it too small.

    >>> covariance_of_rows({"a": np.array([0.0, 1.0, 1.0, 0.0])}).round(4).tolist()
    [[0.0833]]
    """
    matrix = np.vstack(list(values.values()))
    n = matrix.shape[1]
    deviations = matrix - matrix.mean(axis=1, keepdims=True)
    if units is not None:
        codes = np.unique(np.asarray(units), return_inverse=True)[1]
        count = int(codes.max()) + 1
        others = n - np.bincount(codes, minlength=count)
        deviations = np.stack([np.bincount(codes, weights=row, minlength=count) for row in deviations]) / others
        return np.asarray(deviations @ deviations.T * ((count - 1) / count), dtype=np.float64)
    return np.asarray(deviations @ deviations.T / (n * (n - 1)), dtype=np.float64)
