"""The price of slack C: one number, or several from which cross-validation chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import ParameterError, plain
from ...base.parameters import ArrayLike, Real, param


def price_param(infinite: bool) -> Any:
    """Declare `C` with the wording used by every support vector machine."""
    hard = "; inf allows none (the hard margin)" if infinite else ""
    return param(
        1.0,
        Real(0, closed="neither", infinite=infinite) | ArrayLike(),
        f"Price of slack{hard}. A list: the one with the best score on held-out rows (`cv`) is taken.",
    )


def prices_of(who: str, C: Any) -> np.ndarray:
    """The prices asked for, rising.

    >>> prices_of("SVMClassifier", [10, 1.0])
    array([ 1., 10.])
    """
    try:
        given = np.unique(np.asarray(C, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 1 or not given.size or not (given > 0).all() or (given.size > 1 and not np.isfinite(given).all()):
        raise ParameterError(who, "parameter 'C'", "must be a number > 0 or hold finite ones", f"got {plain(repr(C))}")
    return given
