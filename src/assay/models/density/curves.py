"""What a density looks like: the density of each column by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ...base.columns import column_names
from ...base.views import DensityCurves

_COLUMNS = 6
_POINTS = 160
_ROWS = 20_000


def column_curves(model: Any, rows: np.ndarray, weights: np.ndarray | None, **parameters: Any) -> DensityCurves:
    """The curves of a density of the same kind fitted to each column alone (to a sample of very many rows)."""
    step = max(1, rows.shape[0] // _ROWS)
    taken, share = rows[::step], None if weights is None else weights[::step]
    names, points, values = column_names(model)[:_COLUMNS], [], []
    for j in range(len(names)):
        column = np.ascontiguousarray(taken[:, j : j + 1])
        extra = {} if share is None else {"sample_weight": share}
        alone = clone(model).set_params(**parameters).fit(column, **extra)
        margin = 0.1 * float(np.ptp(column)) or 1.0
        grid = np.linspace(column.min() - margin, column.max() + margin, _POINTS)
        points.append(grid.tolist())
        values.append(np.exp(np.minimum(alone.score_samples(grid[:, None]), 700.0)).tolist())
    return DensityCurves(names=names, points=points, values=values, columns=int(model.n_features_in_))
