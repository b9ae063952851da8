"""Cuts by MDL and scores of columns agree with WEKA 3.6.14 (facts with their script beside this file)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.data import load_dataset
from assay.prepare import Discretise, SelectFilter

FACTS = Path(__file__).parent
CUTS = json.loads((FACTS / "discretize.json").read_text())["cuts"]
SCORES = json.loads((FACTS / "attribute_evaluation.json").read_text())["scores"]
TARGETS = {
    "iris": "species",
    "wine": "cultivar",
    "breast-cancer": "diagnosis",
    "diabetes": "progression",
    "weather": "play",
}


def table(name: str) -> tuple[pl.DataFrame, list[str]]:
    frame = load_dataset(name).frame
    target = frame[TARGETS[name]]
    if name == "diabetes":
        target = pl.Series(np.where(target > target.median(), "high", "low"))
    return frame.drop(TARGETS[name]), target.cast(pl.String).to_list()


@pytest.mark.parametrize("name", list(CUTS))
def test_cuts_are_those_of_weka(name):
    X, y = table(name)
    step = Discretise(method="mdl").fit(X, y)
    found = dict(zip(step.cut_, step.cuts_, strict=True))
    assert {column: len(cuts) for column, cuts in found.items()} == {c: len(cuts) for c, cuts in CUTS[name].items()}
    for column, cuts in CUTS[name].items():
        np.testing.assert_allclose(found[column], cuts, atol=1e-6, err_msg=column)


@pytest.mark.parametrize("name", list(SCORES))
@pytest.mark.parametrize(("place", "measure"), [(0, "mutual-information"), (1, "gain-ratio"), (2, "chi-square")])
def test_scores_of_labels_are_those_of_weka(name, place, measure):
    """WEKA's information gain has no correction for chance; ours less Miller and Madow's is the same number."""
    X, y = table(name)
    if name != "weather":
        X = Discretise(method="mdl", output="labels").fit(X, y).transform(X)
    scores = SelectFilter(measure=measure, k=None).fit(X, y).scores_
    for column, ours in zip(X.columns, scores, strict=True):
        theirs = SCORES[name][column][place]
        if place == 0:
            labels, classes = X[column].n_unique(), len(set(y))
            cells = pl.DataFrame({"x": X[column], "y": y}).n_unique()
            excess = (cells - labels - classes + 1) / (2 * len(y) * np.log(2))
            theirs = max(theirs - excess, 0.0) if labels > 1 else 0.0
        assert ours == pytest.approx(theirs, rel=1e-10, abs=1e-12), column
