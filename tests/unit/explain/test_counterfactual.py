"""What would change the decision: it does, it is small, and it keeps to what may change."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import LogisticRegression as TheirLogistic

from assay.base.errors import DataError, ParameterError
from assay.explain import counterfactuals
from assay.models.ensembles import RandomForestClassifier
from tests.unit.explain.models import mixed_table, mixed_tree


def changed(frame, row, alternative):
    """The row of the frame with the changes of an alternative."""
    cells = frame[row].to_dicts()[0] | {c["column"]: c["to"] for c in alternative["changes"]}
    return pl.DataFrame([cells], schema=frame.schema)


@pytest.fixture(scope="module")
def forest():
    frame, y = mixed_table(300)
    return RandomForestClassifier(n_estimators=15, random_state=0).fit(frame, y), frame


@pytest.mark.parametrize("row", [0, 3, 7, 20])
def test_every_alternative_changes_the_decision_and_no_change_is_idle(forest, row):
    model, frame = forest
    found = counterfactuals(model, row, frame)
    assert len(found) >= 1 and found.now == model.predict(frame[row : row + 1])[0]
    for one in found.alternatives:
        assert model.predict(changed(frame, row, one))[0] == found.wanted == one["says"]
        for left_out in one["changes"]:
            fewer = {"changes": [c for c in one["changes"] if c is not left_out]}
            assert model.predict(changed(frame, row, fewer))[0] == found.now, "every change is needed"
    costs = [(len(one["changes"]), one["cost"]) for one in found.alternatives]
    assert costs == sorted(costs)


def test_immutable_columns_roles_and_ranges_are_kept(forest):
    model, frame = forest
    free = counterfactuals(model, 0, frame).alternatives[0]["changes"][0]["column"]
    found = counterfactuals(model, 0, frame, immutable=[free], n_alternatives=5)
    assert all(c["column"] != free for one in found.alternatives for c in one["changes"]) and free in found.fixed
    found = counterfactuals(model, 0, frame, roles={free: "id"}, n_alternatives=5)
    assert all(c["column"] != free for one in found.alternatives for c in one["changes"])
    ranges = {"size": (-0.2, 0.2), "age": (None, 55), "colour": ["red", "blue"]}
    found = counterfactuals(model, 0, frame, ranges=ranges, n_alternatives=8, max_changes=4)
    for one in found.alternatives:
        for c in one["changes"]:
            if c["column"] == "size":
                assert -0.2 <= c["to"] <= 0.2
            elif c["column"] == "age":
                assert c["to"] <= 55 and c["to"] == int(c["to"]), "whole numbers stay whole"
            elif c["column"] == "colour":
                assert c["to"] in ("red", "blue")
    nothing = counterfactuals(model, 0, frame, immutable=frame.columns)
    assert len(nothing) == 0 and nothing.sentence.startswith("No change")


def test_of_a_linear_model_the_change_is_the_known_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = TheirLogistic(C=1e6).fit(X, X[:, 0] > 0.25 * rng.normal(size=400))
    row = X[X[:, 0] < -1][:1]
    found = counterfactuals(model, row, X, immutable=["x1"])
    edge = -(model.intercept_[0] + model.coef_[0, 1] * row[0, 1]) / model.coef_[0, 0]
    assert abs(found.alternatives[0]["changes"][0]["to"] - edge) < 0.05
    assert found.wanted is True and "instead of" in found.sentence


def test_numbers_are_moved_into_an_interval():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = LinearRegression().fit(X, X @ [3.0, 1.0, 0.0])
    found = counterfactuals(model, X[:1], X, wanted=(4.0, None))
    assert all(one["output"] >= 4.0 - 1e-9 for one in found.alternatives)
    assert found.alternatives[0]["output"] < 4.2, "no farther than needed"
    assert "at least" in str(counterfactuals(model, X[:1], X, wanted=(1e6, None)))


def test_forms_and_bad_questions(forest):
    model, frame = forest
    found = counterfactuals(model, 0, frame)
    assert (
        found.to_svg().startswith("<svg") and "<table>" in found.to_html() and json.dumps(found.to_dict(), default=str)
    )
    assert "alternative" in found.to_text()
    with pytest.raises(ParameterError, match="wanted"):
        counterfactuals(model, 0, frame, wanted="maybe")
    with pytest.raises(DataError, match="row"):
        counterfactuals(model, 10_000, frame)
    with pytest.raises(DataError, match="one row"):
        counterfactuals(model, frame[:2], frame)
    with pytest.raises(ParameterError, match="max_changes"):
        counterfactuals(model, 0, frame, max_changes=0)
    with pytest.raises(DataError, match="not in the table"):
        counterfactuals(model, 0, frame, immutable=["weight"])
    with pytest.raises(ParameterError, match="ranges"):
        counterfactuals(model, 0, frame, ranges={"size": 3 * [1.0]})
    line = LinearRegression().fit(frame.select("size").to_numpy(), np.arange(300.0))
    with pytest.raises(ParameterError, match="low, high"):
        counterfactuals(line, [[0.0]], frame.select("size").to_numpy())
    tree, table, _ = mixed_tree()
    assert counterfactuals(tree, 1, table).asked_for > 0
