"""Worked examples of the course texts for nearest neighbours."""

from __future__ import annotations

import numpy as np

from assay.models.neighbours import KNNClassifier

HEIGHT_INCHES = np.array([63.0, 67.0, 70.0])
WEIGHT_POUNDS = np.array([150.0, 160.0, 171.0])


def nearest_to_b(height: np.ndarray, weight: np.ndarray, **parameters) -> str:
    people = np.column_stack([height, weight])
    model = KNNClassifier(n_neighbors=1, **parameters).fit(people[[0, 2]], ["A", "C"])
    return str(model.predict(people[1:2])[0])


def test_units_decide_who_is_nearest_and_scaling_settles_it():
    """001 2.1.2: nearest to B is A in inches and C in centimetres; after scaling the unit no longer matters."""
    assert nearest_to_b(HEIGHT_INCHES, WEIGHT_POUNDS) == "A"
    assert nearest_to_b(HEIGHT_INCHES * 2.54, WEIGHT_POUNDS) == "C"
    scaled = [
        nearest_to_b((h - h.mean()) / h.std(), (WEIGHT_POUNDS - WEIGHT_POUNDS.mean()) / WEIGHT_POUNDS.std())
        for h in (HEIGHT_INCHES, HEIGHT_INCHES * 2.54)
    ]
    assert scaled[0] == scaled[1]


def test_the_mixed_metric_scales_by_itself():
    inches = nearest_to_b(HEIGHT_INCHES, WEIGHT_POUNDS, metric="mixed")
    assert inches == nearest_to_b(HEIGHT_INCHES * 2.54, WEIGHT_POUNDS, metric="mixed")
