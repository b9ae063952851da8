"""Diagnostics from out-of-fold predictions: areas as other programs have them, limits that cover, costs by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from assay.experiment.diagnostics import Diagnostics, diagnose
from assay.experiment.predictions import Predictions


def said(n: int = 400, classes: int = 2, repetitions: int = 2, seed: int = 0) -> Predictions:
    """Calibrated probabilities of some classes, tested in each repetition."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(classes), size=n)
    truth = np.array([rng.choice(classes, p=p) for p in scores])
    rows = np.tile(np.arange(n), repetitions)
    shares = np.tile(scores, (repetitions, 1))
    names = np.array([f"class {k}" for k in range(classes)])
    repetition = np.repeat(np.arange(repetitions), n)
    return Predictions(rows, repetition, rows % 5, truth[rows], shares.argmax(axis=1), shares, names)


def test_areas_equal_those_of_scikit_learn_and_limits_hold_them():
    given = said(repetitions=1)
    found = diagnose(given)
    roc, pr = found.roc[0], found.precision_recall[0]
    assert roc.area == pytest.approx(roc_auc_score(given.truth, given.probabilities[:, 1]), abs=1e-12)
    assert pr.area == pytest.approx(average_precision_score(given.truth, given.probabilities[:, 1]), abs=1e-12)
    for band in (roc, pr):
        assert band.area_low < band.area < band.area_high
        assert all(low <= y <= high for low, y, high in zip(band.low, band.y, band.high))
    assert roc.y[0] >= 0 and roc.y[-1] == 1.0 and np.all(np.diff(roc.y) >= -1e-12)
    assert found.positive == "class 1" and "class 1" in found.calibration["sentence"]


def test_repetitions_do_not_make_limits_narrower():
    once, often = diagnose(said(repetitions=1)), diagnose(said(repetitions=4))
    width = [found.roc[0].area_high - found.roc[0].area_low for found in (once, often)]
    assert width[1] == pytest.approx(width[0], rel=0.3)
    assert [one["rows"] for one in once.classes] == [one["rows"] for one in often.classes]
    assert once.classes[0]["recall_interval"] == pytest.approx(often.classes[0]["recall_interval"])


def test_several_classes_have_a_curve_each_and_no_price():
    found = diagnose(said(classes=4))
    assert [band.name for band in found.roc] == [f"class {k}" for k in range(4)]
    assert (
        found.costs == []
        and found.positive is None
        and set(found.charts()) == {"roc", "precision_recall", "calibration"}
    )


def test_costs_are_those_counted_by_hand_and_calibrated_probabilities_need_the_textbook_threshold():
    given = said(n=4000, repetitions=1)
    for one in diagnose(given).costs:
        calls = given.probabilities[:, 1] >= one["threshold"]
        by_hand = (one["miss"] * (~calls & (given.truth == 1)) + (calls & (given.truth == 0))).mean()
        assert one["least"] == pytest.approx(by_hand, abs=1e-12)
        assert one["least"] <= one["at_half"] and one["threshold"] == pytest.approx(1 / (1 + one["miss"]), abs=0.12)


def test_residuals_lie_in_bins_of_the_prediction():
    rng = np.random.default_rng(1)
    predicted = rng.normal(size=600)
    rows = np.arange(600)
    given = Predictions(rows, 0 * rows, rows % 5, predicted + 2 + rng.normal(size=600), predicted, None, None)
    found = diagnose(given)
    assert sum(found.residuals["rows"]) == 600 and np.allclose(found.residuals["median"], 2, atol=0.5)
    assert set(found.charts()) == {"residuals", "agreement"}


def test_the_record_survives_json_and_every_chart_is_drawn_with_its_numbers():
    for given in (said(), said(classes=3)):
        found = diagnose(given, random_state=3)
        assert found.to_dict() == diagnose(given, random_state=3).to_dict()
        again = Diagnostics.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again == found
        for chart in again.charts().values():
            assert chart.to_svg().startswith("<svg") and chart.grid().rows
        assert again.grid().rows and "class 0" in str(again)


def test_labels_without_probabilities_still_say_how_classes_fare():
    given = said()
    bare = Predictions(given.rows, given.repetition, given.fold, given.truth, given.predicted, None, given.classes)
    found = diagnose(bare)
    assert not found.charts() and len(found.classes) == 2
