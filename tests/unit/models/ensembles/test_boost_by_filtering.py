"""The original boosting: three learners, two filters."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.ensembles import BoostByFiltering
from assay.models.trees import CartClassifier


def _border(n, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "above", "below")


@pytest.mark.parametrize("filtering", ["balanced", "wrong"])
def test_three_weak_learners_beat_one(filtering):
    X, y = _border(6000)
    tests, truth = _border(3000, 1)
    model = BoostByFiltering(estimator=CartClassifier(max_depth=2), filter=filtering, random_state=0).fit(X, y)
    weak = CartClassifier(max_depth=2).fit(X, y)
    assert model.score(tests, truth) > weak.score(tests, truth) + 0.02


def test_repeating_the_construction_beats_doing_it_once():
    X, y = _border(20_000)
    tests, truth = _border(3000, 1)
    once, twice = (
        BoostByFiltering(estimator=CartClassifier(max_depth=1), depth=depth, random_state=0).fit(X, y)
        for depth in (1, 2)
    )
    assert twice.score(tests, truth) > once.score(tests, truth)
    assert all(len(inner.estimators_) == 3 for inner in twice.estimators_)


def test_the_second_learner_gets_as_many_right_rows_as_wrong_ones_and_the_third_disagreements():
    X, y = _border(3000)
    model = BoostByFiltering(random_state=0, trace=True).fit(X, y)
    first, second = (record["values"] for record in model.trace_)
    assert model.filtered_[0] == 1000 and first["rows"] == 2 * round(first["error"] * 1000)
    assert second["rows"] == round(second["disagreement"] * 1000) == model.filtered_[2]
    members = model.predict_members(X)
    agreed = members[0] == members[1]
    wanted = np.where(agreed, members[0], members[2])
    np.testing.assert_array_equal(model.predict(X), wanted)


def test_a_learner_without_mistakes_stands_alone():
    X = np.random.default_rng(0).integers(0, 9, (300, 1)).astype(float)
    model = BoostByFiltering(estimator=CartClassifier(), random_state=0).fit(X, X[:, 0] > 4)
    assert len(model.estimators_) == 1
    assert model.score(X, X[:, 0] > 4) == 1.0
