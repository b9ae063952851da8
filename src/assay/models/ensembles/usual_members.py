"""Members that combiners take when none are given: different, quick, and at home in any table."""

from __future__ import annotations

from typing import Any

from ..bayes import NaiveBayes
from ..trees import CartClassifier, CartRegressor
from .extra_trees import ExtraTreesRegressor
from .random_forest import RandomForestClassifier, RandomForestRegressor

FOREST: Any = RandomForestClassifier
_FORESTS: tuple[Any, Any] = (RandomForestRegressor, ExtraTreesRegressor)


def usual_classifiers() -> list[tuple[str, Any]]:
    """Naive Bayes, a tree and a small forest.

    >>> [name for name, _ in usual_classifiers()]
    ['naive-bayes', 'tree', 'forest']
    """
    return [
        ("naive-bayes", NaiveBayes()),
        ("tree", CartClassifier(min_samples_leaf=5)),
        ("forest", FOREST(n_estimators=20)),
    ]


def usual_regressors() -> list[tuple[str, Any]]:
    """A tree, a small forest and small extra trees.

    >>> [name for name, _ in usual_regressors()]
    ['tree', 'forest', 'extra-trees']
    """
    return [
        ("tree", CartRegressor(min_samples_leaf=5)),
        ("forest", _FORESTS[0](n_estimators=20)),
        ("extra-trees", _FORESTS[1](n_estimators=20)),
    ]
