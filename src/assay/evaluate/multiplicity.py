"""Corrections for the number of comparisons: p-values adjusted so that they are compared with alpha itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import DataError


def holm(p_values: Any) -> np.ndarray:
    """Holm's step-down adjustment: the chance of any false rejection stays below alpha, whatever the dependence.

    The i-th smallest of m p-values is multiplied by m - i + 1, and no adjusted value falls below the one before it
    (Holm, Scandinavian Journal of Statistics 6, 1979).

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _check("holm", p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.shape[0], 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def bonferroni(p_values: Any) -> np.ndarray:
    """Bonferroni's adjustment: every p-value times their number; Holm's is never larger.

    >>> bonferroni([0.01, 0.4, 0.03]).round(3).tolist()
    [0.03, 1.0, 0.09]
    """
    p = _check("bonferroni", p_values)
    return np.minimum(p * p.shape[0], 1.0)


def _check(who: str, p_values: Any) -> np.ndarray:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise DataError(who, "p_values", "must be one-dimensional", f"got shape {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise DataError(who, "p_values", "must lie between 0 and 1", f"got {p[~((p >= 0) & (p <= 1))][0]:g}")
    return p
