"""Worked examples of the course texts that a binary tree can say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.models.trees import CartClassifier

NATS = np.log(2.0)


def two_groups():
    """30 rows: a part of 20 with 2 of class 1, and a part of 10 with 7."""
    X = np.repeat([0.0, 1.0], [20, 10])[:, None]
    return X, np.array([1] * 2 + [0] * 18 + [1] * 7 + [0] * 3)


def test_002_entropy_of_a_fifth_is_half_a_nat():
    model = CartClassifier(criterion="entropy", max_depth=1).fit(np.zeros((10, 1)), [1] * 2 + [0] * 8)
    assert model.tree_.impurity[0] * NATS == pytest.approx(0.50, abs=0.005)


def test_002_children_at_a_tenth_and_seven_tenths_leave_42_hundredths():
    X, y = two_groups()
    tree = CartClassifier(criterion="entropy", max_depth=1).fit(X, y).tree_
    np.testing.assert_allclose(tree.value[1:, 1], [0.1, 0.7])
    after = (20 * tree.impurity[1] + 10 * tree.impurity[2]) / 30 * NATS
    assert after == pytest.approx(0.42, abs=0.005)
    assert 0.50 - round(after, 2) == pytest.approx(0.08)


def test_004_better_first_split_is_right_17_times_in_24():
    """Half of the weight on each side; the left is right for 3 of 4, the right for 4 of 6."""
    X = np.repeat([0.0, 1.0], [4, 6])[:, None]
    y = np.array(["B"] * 3 + ["R"] + ["R"] * 4 + ["B"] * 2)
    weights = np.where(X[:, 0] == 0, 1 / 8, 1 / 12)
    model = CartClassifier(criterion="misclassification", max_depth=1).fit(X, y, sample_weight=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(17 / 24)
    tree = model.tree_
    right = 1 - (tree.weighted_n_node_samples * tree.impurity)[1:].sum() / tree.weighted_n_node_samples[0]
    assert right == pytest.approx(17 / 24)


def weather():
    """The 14 days of the golf example."""
    days = """
        sunny hot high weak no, sunny hot high strong no, overcast hot high weak yes, rain mild high weak yes,
        rain cool normal weak yes, rain cool normal strong no, overcast cool normal strong yes, sunny mild high weak no,
        sunny cool normal weak yes, rain mild normal weak yes, sunny mild normal strong yes,
        overcast mild high strong yes, overcast hot normal weak yes, rain mild high strong no
    """
    table = pd.DataFrame([day.split() for day in days.split(",")])
    table.columns = pd.Index(["outlook", "temperature", "humidity", "wind", "play"])
    return table.drop(columns="play"), table["play"]


def test_golf_binary_root_is_outlook_with_overcast_apart():
    X, play = weather()
    model = CartClassifier(criterion="entropy", trace=True).fit(X, play)
    root = model.trace_[0]["values"]
    assert max(root["gains"], key=root["gains"].get) == "outlook"
    assert root["test"] == "outlook in {rain, sunny}"
    assert root["impurity"] == pytest.approx(0.940, abs=5e-4)
    assert root["gains"]["outlook"] == pytest.approx(0.226, abs=5e-4)
    assert root["gains"]["humidity"] == pytest.approx(0.152, abs=5e-4)
    assert root["gains"]["wind"] == pytest.approx(0.048, abs=5e-4)
    assert model.score(X, play) == 1.0
