"""The percentage error with a named behaviour where the true value is 0.

>>> mape([100.0, 50.0], [110.0, 50.0])
5.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import DataError, ParameterError
from .ranking_metrics import paired_rows


def mape(y_true: Any, y_pred: Any, at_zero: str = "skip") -> float:
    """Mean absolute percentage error, in percent; `at_zero` says what a true value of 0 does.

    "skip" leaves those rows out (NaN if none is left), "raise" refuses them, "infinite" lets the division speak (a
    wrong prediction makes it infinite, an exact one counts 0), "tiny" divides by the least positive step, as
    scikit-learn does.

    >>> mape([100.0, 0.0, 50.0], [110.0, 1.0, 50.0])
    5.0
    >>> mape([100.0, 0.0, 50.0], [110.0, 1.0, 50.0], at_zero="infinite")
    inf
    """
    truth, predicted = paired_rows("mape", y_true, y_pred)
    error, size = np.abs(predicted - truth), np.abs(truth)
    zero = size == 0
    if at_zero == "raise" and zero.any():
        raise DataError(
            "mape", "y_true", "must not be 0", f"got {int(zero.sum())} zeros", "choose at_zero= or another metric"
        )
    if at_zero == "tiny":
        return float(100 * np.mean(error / np.maximum(size, np.finfo(np.float64).eps)))
    if at_zero == "infinite":
        return float(
            100
            * np.mean(
                np.where(
                    zero,
                    np.where(error > 0, np.inf, 0.0),
                    np.divide(error, size, out=np.zeros_like(error), where=~zero),
                )
            )
        )
    if at_zero not in ("skip", "raise"):
        raise ParameterError(
            "mape", "parameter 'at_zero'", "must be 'skip', 'raise', 'infinite' or 'tiny'", f"got {at_zero!r}"
        )
    return float(100 * np.mean(error[~zero] / size[~zero])) if not zero.all() else float("nan")
