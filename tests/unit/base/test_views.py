"""Views: typed records of what a model looks like, each with one drawing, from plain data and back."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import assay.models.trees  # noqa: F401  registers the view of trees
from assay.base.views import (
    KINDS,
    Coefficients,
    ColumnShares,
    Contributions,
    NeighbourCurve,
    Neighbours,
    Rules,
    Shares,
    coefficients_of,
    view_of,
)

NASTY = '<b>&"x"\u202e'
NEAR = {"k": 3, "distance": "euclidean", "rows": 90, "radius": [0.1, 0.2, 0.4]}
VIEWS = [
    Shares(classes=["no", NASTY], shares=[0.75, 0.25]),
    Rules(rules=[{"if": f"a <= {NASTY}", "then": "yes", "rows": 10.0, "correct": 8.0}], default="no"),
    Coefficients(names=["a", NASTY], values=[[1.0, -2.0]], intercept=[0.5], classes=["no", "yes"]),
    Coefficients(names=["a", "b"], values=[[1.0, -2.0]] * 6, classes=list("uvwxyz")),
    ColumnShares(names=[NASTY, "b"], values=[0.8, 0.2], stages={"training": [0.5, 0.4]}),
    Contributions(names=[NASTY, "b"], classes=["no", "yes"], values=[[0.1, 0.7], [0.2, 0.0]]),
    Neighbours(**NEAR, classes=["a", "b"], shares=[[0.9, 0.1], [0.3, 0.7]]),
    Neighbours(**NEAR, spread=1.5, whole=4.0),
]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.kind)
def test_every_view_survives_json_and_draws_itself_escaped(view):
    assert view_of(json.loads(json.dumps(view.to_dict()))) == view
    root = ElementTree.fromstring(view.to_svg())
    assert root.tag.endswith("svg")
    assert "<b>" not in view.to_svg() and "<b>" not in view.to_html()
    assert view.how_to_read and len(view.grid().rows) >= 1 and str(view) == view.to_text()


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.kind)
def test_the_same_drawing_goes_on_axes_of_matplotlib(view):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = view.plot()
    root = ElementTree.fromstring(view.to_svg())
    space = "{http://www.w3.org/2000/svg}"
    assert len(ax.texts) == len(root.findall(f".//{space}text"))
    shapes = sum(len(root.findall(f".//{space}{tag}")) for tag in ("rect", "line", "circle", "polygon", "path"))
    assert len(ax.patches) == shapes
    ax.figure.canvas.draw()


def test_what_is_no_view_is_none():
    assert view_of(None) is None and view_of({"kind": "shares"}) is None and view_of({"kind": "nothing"}) is None
    assert set(KINDS) >= {"shares", "rules", "coefficients", "contributions", "neighbours", "tree"}


def test_the_words_say_what_signs_mean():
    assert "speak for yes" in VIEWS[2].how_to_read and "Intercept 0.500" in VIEWS[2].how_to_read
    assert "of the column" in VIEWS[3].how_to_read
    assert "differs by 1.500 from its neighbours'" in VIEWS[-1].how_to_read


def test_one_intercept_stands_for_every_output():
    from types import SimpleNamespace

    import numpy as np

    view = coefficients_of(SimpleNamespace(n_features_in_=2), np.ones((3, 2)), 0.5)
    assert view.intercept == [0.5, 0.5, 0.5] and view.names == ["x0", "x1"]


def test_a_chart_gives_back_its_axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    view = NeighbourCurve(
        errors=[0.3, 0.2], low=[0.2, 0.1], high=[0.4, 0.3], best=2, tied=[1, 2], level=0.05, measure="error rate"
    )
    ax = view.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k", "error rate")
    assert ax.lines[0].get_ydata().tolist() == view.errors
