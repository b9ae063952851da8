"""Gradient boosting of the first order: trees fitted to negative gradients, leaves by a line search each."""

from __future__ import annotations

from typing import Any

from .boosting import Boosting
from .newton_boosting import BoostedClasses, BoostedNumbers


class _FirstOrder(Boosting):
    """Trees fitted to the gradients alone, limited by their size and by nothing else."""

    _first_order = True

    def _penalties(self, n_rows: int) -> dict[str, Any]:
        return {
            "columns_per_node": 0,
            "min_hessian": 0.0,
            "l2": 0.0,
            "l1": 0.0,
            "min_gain": 0.0,
            "smoothing": 0.0,
            "min_category_rows": 3.0,
            "depth_wise": False,
            "monotone": [],
            "interactions": [],
        }


class GradientBoostingClassifier(_FirstOrder, BoostedClasses):
    """Boosted trees by first-order steps, for two or more classes.

    Every round fits a tree to the negative gradients of the log loss by least squares, and each leaf takes the step
    that lowers the loss in it most, to second order (Friedman 2001). The engine is that of `NewtonBoostingClassifier`
    with unit curvature in the search for splits.

    Examples
    --------
    >>> from assay.models.ensembles import GradientBoostingClassifier
    >>> model = GradientBoostingClassifier(n_estimators=10, min_samples_leaf=1)
    >>> model.fit([[0.0], [1.0], [8.0], [9.0]], ["low", "low", "high", "high"]).predict([[0.4], [8.7]])
    array(['low', 'high'], dtype='<U4')
    """


class GradientBoostingRegressor(_FirstOrder, BoostedNumbers):
    """Boosted trees by first-order steps, for numbers.

    As `GradientBoostingClassifier`, for squared, absolute, Huber, quantile, Poisson, gamma and Tweedie loss, or one of
    your own.

    Examples
    --------
    >>> from assay.models.ensembles import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(loss="quantile", quantile=0.9, n_estimators=50)
    >>> model.fit([[i / 200] for i in range(200)], [i / 200 for i in range(200)]).predict([[0.5]]).shape
    (1,)
    """
