"""The random subspace method: one learner on many random choices of the columns."""

from __future__ import annotations

from typing import Any

from ...base.parameters import Boolean, Integer, Real, param
from .bagging import Resampled, ResampledClasses, ResampledNumbers


class _Subspaces(Resampled):
    max_features: Any = param(
        0.5, Integer(1) | Real(0, 1, "right"), "Columns drawn for each: a number, or a share of all columns."
    )
    bootstrap: bool = param(False, Boolean(), "Whether rows are drawn with replacement, too.")


class RandomSubspaceClassifier(_Subspaces, ResampledClasses):
    """One classifier on many random halves of the columns; their probabilities are averaged.

    Members that see different columns make different mistakes, and each has fewer columns to overfit to. All rows go
    to every member unless `max_samples` or `bootstrap` says otherwise (random patches).

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.ensembles import RandomSubspaceClassifier
    >>> frame = load_dataset("iris").frame
    >>> model = RandomSubspaceClassifier(random_state=0).fit(frame.drop("species"), frame["species"])
    >>> model.columns_.shape
    (10, 2)
    """


class RandomSubspaceRegressor(_Subspaces, ResampledNumbers):
    """One regressor on many random halves of the columns; their predictions are averaged, or their median is taken.

    As `RandomSubspaceClassifier`, for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import RandomSubspaceRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> model = RandomSubspaceRegressor(n_estimators=30, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> bool(model.score(X, X[:, 0] + X[:, 1]) > 0.8)
    True
    """
