"""Extra trees: one random threshold per drawn column, every row in every tree."""

from __future__ import annotations

from ...base import Boolean, param
from .random_forest import ForestClasses, ForestNumbers, TreeEnsemble


class _AllRows(TreeEnsemble):
    _extra = True

    bootstrap: bool = param(False, Boolean(), "Draw as many rows as there are, with replacement, for each tree.")


class ExtraTreesClassifier(_AllRows, ForestClasses):
    """Trees whose tests are drawn at random, the best of one per column; class shares are averaged.

    At each node every drawn column gets one threshold, uniform between its extreme values in the node, and the best of
    these splits is made (Geurts, Ernst & Wehenkel 2006).

    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import ExtraTreesClassifier
    >>> X = np.linspace(-1, 1, 400)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 0.5, "in", "out")
    >>> ExtraTreesClassifier(n_estimators=20, random_state=0).fit(X, y).predict([[0.0], [0.9]])
    array(['in', 'out'], dtype='<U3')
    """


class ExtraTreesRegressor(_AllRows, ForestNumbers):
    """Trees whose tests are drawn at random, the best of one per column; means of leaves are averaged.

    As `ExtraTreesClassifier`, for targets of one column or several.

    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import ExtraTreesRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = ExtraTreesRegressor(n_estimators=30, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """
