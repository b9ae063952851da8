"""RIPPER against WEKA's JRip on the same folds.

Recorded in trees.json beside this file, which says how. The two draw their pruning rows differently, so that
single rules differ; over many tables they should be as good.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

from assay.models.rules import Ripper, RulesFromTree

RECORDED = json.loads((Path(__file__).parent / "trees.json").read_text())["jrip"]


def mixed() -> tuple[pl.DataFrame, np.ndarray]:
    """Eight nominal columns and two numbers; rules for four classes, a tenth of the labels drawn at random."""
    rng = np.random.default_rng(0)
    nominal = {f"n{j}": rng.choice(list("abcd"), 600) for j in range(8)}
    x = rng.normal(size=(600, 2)).round(2)
    y = np.where(x[:, 1] > 0.8, "r", "s")
    y = np.where((nominal["n2"] == "c") & (x[:, 0] > 0), "q", y)
    y = np.where((nominal["n0"] == "a") & (nominal["n1"] != "b"), "p", y)
    drawn = rng.random(600) < 0.1
    y[drawn] = rng.choice(list("pqrs"), drawn.sum())
    return pl.DataFrame({**nominal, "x0": x[:, 0], "x1": x[:, 1]}), y


MADE = {
    "made3": lambda: datasets.make_classification(500, 10, n_informative=5, n_classes=3, random_state=0),
    "made6": lambda: datasets.make_classification(
        900, 12, n_informative=6, n_classes=6, n_clusters_per_class=1, flip_y=0.05, random_state=1
    ),
    "blobs5": lambda: datasets.make_blobs(500, 4, centers=5, cluster_std=3.0, random_state=2),
    "quantiles4": lambda: datasets.make_gaussian_quantiles(n_samples=600, n_features=3, n_classes=4, random_state=3),
}


def table(name: str) -> tuple[pl.DataFrame, np.ndarray]:
    if name == "nominal":
        return mixed()
    if name in MADE:
        cells, codes = MADE[name]()
        cells = cells.round(3)
    else:
        cells, codes = getattr(datasets, f"load_{name}")(return_X_y=True)
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(cells.T)}), np.array([f"c{one}" for one in codes])


def share_right(model, name: str) -> float:
    X, y = table(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    return sum(int((model.fit(X[a], y[a]).predict(X[b]) == y[b]).sum()) for a, b in folds) / len(y)


@pytest.mark.parametrize("name", RECORDED)
def test_the_table_is_the_one_recorded(name):
    """As many rows in each fold as WEKA can have got right, and classes enough."""
    X, y = table(name)
    sizes = [len(test) for _, test in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y)]
    assert all(right <= size for right, size in zip(RECORDED[name]["jrip"], sizes, strict=True))
    assert X.height == len(y) and len(set(y.tolist())) >= 2


def test_ripper_is_right_as_often_as_jrip_and_as_rules_from_a_tree():
    """Share of held-out rows right, the mean over eight tables."""
    ours, jrip, tree = [], [], []
    for name, theirs in RECORDED.items():
        ours.append(share_right(Ripper(random_state=0), name))
        jrip.append(sum(theirs["jrip"]) / table(name)[0].height)
        tree.append(share_right(RulesFromTree(), name))
    assert np.mean(ours) >= np.mean(jrip)
    assert np.mean(ours) >= np.mean(tree)
    assert min(np.subtract(ours, jrip)) > -0.05
