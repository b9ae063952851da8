"""Conformance: the search space of every entry names declared parameters, and every corner of it can be fitted."""

from __future__ import annotations

import numpy as np
import pytest

from assay import catalogue
from assay.experiment.learners import catalogue_space
from assay.experiment.space import Space

TUNED = [entry for entry in catalogue.entries() if entry.space]


def test_the_learners_where_tuning_matters_have_a_space():
    ids = {entry.id for entry in TUNED}
    assert {"ridge", "logistic", "knn-classifier", "cart-classifier", "newton-boosting-classifier"} <= ids


@pytest.mark.parametrize("entry", TUNED, ids=lambda entry: entry.id)
def test_every_value_of_the_space_is_allowed_and_its_corners_fit(entry):
    space, declared = Space.of(catalogue_space(entry)), entry.load().__parameters__
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.repeat([0, 1], 30) if entry.task == "classify" else X @ [1.0, -1.0, 0.5]
    for dimension in space.dimensions:
        values = [*dimension.levels(5), *(dimension.at(place) for place in np.linspace(0, 1, 7))]
        for value in values:
            declared[dimension.name].check(entry.id, value)
    # Few rounds keep the corners cheap; what is tuned is not among them.
    quick = {name: 5 for name in ("n_estimators", "max_iter") if name in declared and name not in dict(entry.space)}
    for corner in (0.0, 1.0):
        setting = space.draw([corner] * len(space.dimensions))
        setting = {k: min(v, 40) if k in ("n_estimators", "hidden_layer_sizes") else v for k, v in setting.items()}
        predicted = np.asarray(entry.load()(**{**quick, **setting}).fit(X, y).predict(X))
        assert predicted.shape == y.shape and np.isfinite(predicted).all()
