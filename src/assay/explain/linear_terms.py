"""Coefficients of linear models: in words, and as importances on a common scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base.columns import column_names
from ..base.errors import UsageError
from ..base.words import clean, number
from ..data.cell_table import CellTable
from .asked import classes_of
from .explanation import Explanation


def coefficients_of(who: str, model: Any) -> tuple[np.ndarray, list[str], list[Any], str]:
    """Coefficients (outputs x columns), names of columns, names of outputs, and what they act on."""
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        raise UsageError(who, "model", "must be linear, with coef_", f"got {type(model).__name__}")
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    names = column_names(model, coef.shape[1])
    classes = classes_of(model)
    if classes is None:
        link = str(getattr(model, "link_", "") or getattr(model, "link", "") or "")
        unit = "the target's own unit" if link in ("", "identity", "auto") else f"the {link} of the mean"
        outputs: list[Any] = [f"target {k + 1}" for k in range(coef.shape[0])] if coef.shape[0] > 1 else []
        return coef, names, outputs, unit
    listed = classes.tolist()
    if coef.shape[0] == 1:
        return coef, names, [listed[-1]], f"log odds of {listed[-1]}"
    outputs = listed if len(listed) == coef.shape[0] else [f"score {k + 1}" for k in range(coef.shape[0])]
    return coef, names, outputs, "scores of the classes"


def coefficient_importance(model: Any, X: Any = None) -> Explanation:
    """The size of each coefficient times the standard deviation of its column, which makes columns comparable.

    Without `X` the coefficients themselves, which compare only columns of the same scale. The notes say the largest
    ones in words.

    >>> import numpy as np
    >>> from assay.models.linear import LeastSquares
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0]])
    >>> found = coefficient_importance(LeastSquares().fit(X, 2 * X[:, 0] - X[:, 1]), X)
    >>> found.notes[0]
    'one more of x1 lowers the prediction by 1.000 (others equal); a standard deviation more, by 1.299'
    """
    who = "coefficient_importance"
    coef, names, outputs, unit = coefficients_of(who, model)
    spread = None
    if X is not None:
        table = CellTable.of(who, X)
        if table.cells.shape[1] == coef.shape[1] and not table.levels:
            spread = np.nanstd(table.cells, axis=0)
    sized = np.abs(coef) * (1.0 if spread is None else spread)
    values = sized.mean(axis=0)
    order = np.argsort(-values, kind="stable")[:5]
    notes = [_in_words(names[j], coef[:, j], None if spread is None else spread[j], outputs, unit) for j in order]
    return Explanation(
        method="coefficients" if spread is None else "coefficients times standard deviations",
        scope="global",
        values=values[None, :],
        base_values=np.empty(0),
        names=names,
        unit=unit,
        notes=notes,
    )


def _in_words(name: str, coef: np.ndarray, spread: float | None, outputs: list[Any], unit: str) -> str:
    if coef.shape[0] > 1:
        parts = [f"{clean(o, 30)} {number(float(c), signed=True)}" for o, c in zip(outputs, coef)]
        return f"one more of {clean(name, 60)} changes {unit}: {', '.join(parts[:8])}"
    value = float(coef[0])
    if value == 0:
        return f"{clean(name, 60)} does not count"
    verb, size = ("raises" if value > 0 else "lowers"), abs(value)
    if unit.startswith("log odds of "):
        target = clean(unit.removeprefix("log odds of "), 40)
        times = math.exp(min(size, 700.0))
        text = f"one more of {clean(name, 60)} {'multiplies' if value > 0 else 'divides'} the odds of {target} by "
        text += f"{number(times)} (others equal)"
        return (
            text
            if spread is None
            else text + f"; a standard deviation more, by {number(math.exp(min(size * spread, 700.0)))}"
        )
    of = "the prediction" if unit == "the target's own unit" else unit
    text = f"one more of {clean(name, 60)} {verb} {of} by {number(size)} (others equal)"
    return text if spread is None else text + f"; a standard deviation more, by {number(size * spread)}"
