"""Worked examples of the course texts and published trees for ID3 and C4.5."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from assay.data import load_dataset
from assay.models.trees import C45Classifier, ID3Classifier, pessimistic_errors

NATS = np.log(2.0)


def weather(name="weather"):
    table = load_dataset(name).frame
    return table.drop("play"), table["play"]


def test_002_entropy_of_a_fifth_is_half_a_nat():
    model = ID3Classifier().fit([["same"]] * 10, [1] * 2 + [0] * 8)
    assert model.tree_.impurity[0] * NATS == pytest.approx(0.50, abs=0.005)


def test_002_children_at_a_tenth_and_seven_tenths_leave_42_hundredths():
    """20 rows at .1 and 10 rows at .7 leave .42 nats; from .50 that is a gain of .08."""
    X = [["left"]] * 20 + [["right"]] * 10
    tree = ID3Classifier().fit(X, [1] * 2 + [0] * 18 + [1] * 7 + [0] * 3).tree_
    children = tree.children(0)
    np.testing.assert_allclose(tree.value[children, 1], [0.1, 0.7])
    after = (tree.weighted_n_node_samples[children] * tree.impurity[children]).sum() / 30 * NATS
    assert after == pytest.approx(0.42, abs=0.005)
    assert 0.50 - round(after, 2) == pytest.approx(0.08)


def test_golf_root_is_outlook_with_gain_247_and_ratio_156():
    """Quinlan 1986 and 1993: gains .247, .029, .152, .048 bits; split information of outlook 1.577, ratio .156."""
    X, play = weather()
    root = C45Classifier(trace=True).fit(X, play).trace_[0]["values"]
    assert root["test"] == "outlook"
    assert root["impurity"] == pytest.approx(0.940, abs=5e-4)
    gains = {name: round(one["gain"], 3) for name, one in root["candidates"].items()}
    assert gains == {"outlook": 0.247, "temperature": 0.029, "humidity": 0.152, "windy": 0.048}
    assert root["candidates"]["outlook"]["split_information"] == pytest.approx(1.577, abs=5e-4)
    assert root["candidates"]["outlook"]["gain_ratio"] == pytest.approx(0.156, abs=5e-4)


@pytest.mark.parametrize("model", [C45Classifier(), C45Classifier(subtree_raising=True), ID3Classifier()])
def test_golf_tree_has_the_five_known_leaves(model):
    """The tree of the textbooks, which WEKA's J48 also prints for weather.nominal: 5 leaves, 8 nodes."""
    X, play = weather()
    model.fit(X, play)
    assert model.to_text().splitlines() == [
        "outlook = overcast: yes (4 rows, 100%)",
        "outlook = rainy",
        "|   windy = False: yes (3 rows, 100%)",
        "|   windy = True: no (2 rows, 100%)",
        "outlook = sunny",
        "|   humidity = high: no (3 rows, 100%)",
        "|   humidity = normal: yes (2 rows, 100%)",
    ]
    assert (model.get_n_leaves(), model.tree_.node_count) == (5, 8)


@pytest.mark.parametrize("subtree_raising", [False, True])
def test_golf_with_numbers_cuts_humidity_at_75(subtree_raising):
    """WEKA's J48 on weather.numeric: sunny days by humidity <= 75 (2 rows) and > 75 (3 rows), the rest as before."""
    X, play = weather("weather-numeric")
    lines = C45Classifier(threshold="observed", subtree_raising=subtree_raising).fit(X, play).to_text().splitlines()
    assert lines[-2:] == ["|   humidity <= 75: yes (2 rows, 100%)", "|   humidity > 75: no (3 rows, 100%)"]


def test_quinlan_missing_outlook_has_gain_199_and_five_thirteenths():
    """Quinlan 1993, ch. 3: with the outlook of one of the 14 cases unknown, the information of the rest is .961 bits,
    the gain 13/14 (.961 - .747) = .199, the split information 1.809, and the case splits 5/13, 3/13, 5/13.
    """
    outlook = ["sunny"] * 5 + [None] + ["overcast"] * 3 + ["rain"] * 5
    windy = [True, True, False, False, False, True, False, True, False, True, True, False, False, False]
    humidity = [70.0, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96]
    play = ["yes", "no", "no", "no", "yes", "yes", "yes", "yes", "yes", "no", "no", "yes", "yes", "yes"]
    X = [list(row) for row in zip(outlook, humidity, map(str, windy), strict=True)]
    model = C45Classifier(trace=True, prune=False).fit(X, play)
    root = model.trace_[0]["values"]
    assert root["test"] == "x0"
    assert root["candidates"]["x0"]["gain"] == pytest.approx(0.199, abs=1e-3)
    assert root["candidates"]["x0"]["split_information"] == pytest.approx(1.809, abs=1e-3)
    tree = model.tree_
    np.testing.assert_allclose(tree.weighted_n_node_samples[tree.children(0)], [3 + 3 / 13, 5 + 5 / 13, 5 + 5 / 13])


@pytest.mark.parametrize("subtree_raising", [False, True])
def test_iris_tree_is_the_one_that_j48_prints(subtree_raising):
    """WEKA's documentation, J48 on iris: 5 leaves, 9 nodes; 50, 48 with 1 error, 3, 3 with 1 error, 46 with 1 error."""
    iris = load_dataset("iris").frame
    model = C45Classifier(threshold="observed", subtree_raising=subtree_raising)
    model.fit(iris.drop("species"), iris["species"])
    assert model.to_text().splitlines() == [
        "petal_width <= 0.6: setosa (50 rows, 100%)",
        "petal_width > 0.6",
        "|   petal_width <= 1.7",
        "|   |   petal_length <= 4.9: versicolor (48 rows, 98%)",
        "|   |   petal_length > 4.9",
        "|   |   |   petal_width <= 1.5: virginica (3 rows, 100%)",
        "|   |   |   petal_width > 1.5: versicolor (3 rows, 67%)",
        "|   petal_width > 1.7: virginica (46 rows, 98%)",
    ]
    assert (model.get_n_leaves(), model.tree_.node_count) == (5, 9)


def test_quinlan_vote_subtree_expects_more_errors_than_its_leaf():
    """Quinlan 1993, ch. 4: leaves of 6, 9 and 1 cases without error expect 6 x .206 + 9 x .143 + 1 x .750 = 3.273
    errors; one leaf of 16 cases with 1 error expects fewer (16 x .157 = 2.512; 2.554 by the exact binomial limit).
    """
    leaves = pessimistic_errors([6, 9, 1], [0, 0, 0], 0.25)
    np.testing.assert_allclose(leaves / [6, 9, 1], [0.206, 0.143, 0.750], atol=5e-4)
    assert leaves.sum() == pytest.approx(3.273, abs=2e-3)
    # C4.5 reads the normal deviate at 0.25 off a short table, 0.6925 for 0.6745.
    assert pessimistic_errors(16, 1, norm.sf(0.6925))[0] == pytest.approx(16 * 0.157, abs=0.008)
