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
    these splits is made (Geurts, Ernst & Wehenkel 2006). Labels of nominal columns are numbers here, too: the means of
    their targets in the node.

    Examples
    --------
    >>> from assay.models.ensembles import ExtraTreesClassifier
    >>> X, y = [[0.0], [1.0], [8.0], [9.0]], ["near", "near", "far", "far"]
    >>> model = ExtraTreesClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict_proba([[-1.0]]), model.classes_[0]
    (array([[0., 1.]]), np.str_('far'))
    """


class ExtraTreesRegressor(_AllRows, ForestNumbers):
    """Trees whose tests are drawn at random, the best of one per column; means of leaves are averaged.

    As `ExtraTreesClassifier`, for targets of one column or several.

    Examples
    --------
    >>> from assay.models.ensembles import ExtraTreesRegressor
    >>> model = ExtraTreesRegressor(n_estimators=20, random_state=0).fit([[0.0], [1.0], [8.0]], [2.0, 2.0, 6.0])
    >>> model.predict([[0.4]])
    array([2.])
    """
