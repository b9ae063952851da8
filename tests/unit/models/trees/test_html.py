"""The HTML page of a tree: complete, self-contained, escaped, and true to the tree."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from assay.base import DataError
from assay.models.trees import CartClassifier, CartRegressor

VOID = {"meta", "rect", "circle", "path"}


class Reader(HTMLParser):
    """Nodes of the page with their marks, and whether every element is closed."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.nodes, self.tags, self.seen = [], [], set(), []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.add(tag)
        self.seen += attributes
        marks = (given.get("class") or "").split()
        if "n" in marks:
            self.nodes.append({"tag": tag, "marks": marks, "open": "open" in given, "if": "", "then": "", "rows": ""})
        if tag not in VOID:
            self.open.append((tag, marks[0] if marks else ""))

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
        self.seen += attributes

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        part = self.open[-1][1] if self.open else ""
        if self.nodes and part in ("if", "then", "rows"):
            self.nodes[-1][part] += data


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, load_iris().target_names[y]


def test_every_node_is_there_with_its_condition_prediction_and_rows(iris):
    model = CartClassifier().fit(*iris)
    nodes = Reader(model.to_html()).nodes
    tree = model.tree_
    assert len(nodes) == tree.node_count
    for k, node in enumerate(nodes):
        assert ("leaf" in node["marks"]) == (tree.feature[k] < 0)
        assert node["tag"] == ("div" if tree.feature[k] < 0 else "details")
        assert node["then"] == model.classes_[tree.value[k].argmax()]
        assert node["rows"] == f"{tree.n_node_samples[k]} row{'s' if tree.n_node_samples[k] > 1 else ''}"
    assert nodes[0]["if"] == "all rows"
    for line in model.to_text().replace("<=", "≤").splitlines():
        assert line.strip("| ").split(":")[0] in {node["if"] for node in nodes}


def test_bars_are_the_class_shares(iris):
    model = CartClassifier(max_depth=2).fit(*iris)
    tips = re.findall(r'class="mix" title="([^"]*)"', model.to_html())
    assert unescape(tips[0]) == "setosa 33.3%, versicolor 33.3%, virginica 33.3%, impurity 0.6667"
    root = model.to_html().split('class="mix"')[1].split("</svg>")[0]
    assert [float(v) for v in re.findall(r'<rect x="([\d.]+)"', root)] == [0, 50, 100]


@pytest.mark.parametrize("row", ["frame", "array", "list", "mapping"])
def test_path_of_a_row_is_marked_and_open(iris, row):
    X, y = iris
    model = CartClassifier().fit(X, y)
    forms = {
        "frame": X.iloc[[70]],
        "array": X.to_numpy()[70:71],
        "list": X.iloc[70].tolist(),
        "mapping": X.iloc[70].to_dict(),
    }
    page = Reader(model.to_html(forms[row]))
    marked = [k for k, node in enumerate(page.nodes) if "on" in node["marks"]]
    parents, at = model.tree_.parents(), int(model.apply(X.iloc[[70]])[0])
    path = [at]
    while at:
        at = int(parents[at])
        path.append(at)
    assert marked == path[::-1]
    assert all(page.nodes[k]["open"] for k in marked[:-1])
    assert sum(node["open"] for node in page.nodes) == len(marked) - 1
    assert page.nodes[marked[-1]]["then"] == model.predict(X.iloc[[70]])[0]


def test_row_with_missing_unknown_and_unnamed_cells_is_led_as_predict_leads_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "kind": rng.choice(["a", "b", "c"], 200).astype(object)})
    X.loc[::7, "size"] = np.nan
    z = X["size"].fillna(3) + (X["kind"] == "b") * 2
    model = CartRegressor(max_depth=4).fit(X, z)
    for cells in ({"size": None, "kind": "b"}, {"size": 0.3, "kind": "never"}, {"size": 0.3}, {}):
        frame = pd.DataFrame([{"size": cells.get("size"), "kind": cells.get("kind")}]).astype({"size": float})
        page = model.to_html(cells)
        last = [node for node in Reader(page).nodes if "on" in node["marks"]][-1]
        assert float(last["then"].replace("−", "-")) == pytest.approx(model.predict(frame)[0], abs=2e-3)
    assert "<b>missing</b>" in model.to_html({"kind": "a"}) and "<b>never seen</b>" in model.to_html({"kind": "x"})


def test_row_of_another_table_is_refused(iris):
    model = CartClassifier().fit(*iris)
    with pytest.raises(DataError, match="must name columns"):
        model.to_html({"petal": 1.0})
    with pytest.raises(DataError, match="one row of 4 columns"):
        model.to_html([1.0, 2.0])
    with pytest.raises(DataError, match="one row"):
        model.to_html(iris[0])


def test_names_and_labels_are_escaped_and_nothing_is_loaded():
    nasty = "<img src=x onerror=alert(1)>\"'&"
    X = pd.DataFrame({nasty: [1.0, 2.0, 3.0, 4.0], "k": ["</script><b>", "a", "</script><b>", "a"]})
    y = np.array([nasty, nasty, "</style>", "</style>"])
    model = CartClassifier().fit(X, y)
    for page in (model.to_html(X.iloc[[0]], title=nasty), model._repr_html_()):
        read = Reader(page)
        assert "img" not in read.tags and "</script><b>" not in page
        assert page.count("</style>") == 1 and page.count("<script>") == page.count("</script>") <= 1
        assert not [
            name for name, _ in read.seen if name in ("src", "href", "onerror", "style") or name.startswith("on")
        ]
        assert "url(" not in page and "@import" not in page
        assert not set(re.findall(r"https?://[^\"' )]+", page)) - {"http://www.w3.org/2000/svg"}
        assert nasty in unescape(page)


def test_large_trees_leave_out_what_is_deep():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    model = CartClassifier().fit(X, y)
    nodes = Reader(model.to_html(max_nodes=101)).nodes
    assert len(nodes) <= 101 and [node for node in nodes if "cut" in node["marks"]]
    assert "more nodes below" in model.to_html(max_nodes=101)
    path = [node for node in Reader(model.to_html(X[0], max_nodes=11)).nodes if "on" in node["marks"]]
    assert "leaf" in path[-1]["marks"]
    opened = [node for node in Reader(model.to_html()).nodes if node["open"]]
    assert 5 < len(opened) < 24
    assert len(Reader(model._repr_html_()).nodes) <= 300


def test_many_classes_share_the_last_colour_and_numbers_are_dots():
    X = np.arange(36.0)[:, None]
    page = CartClassifier().fit(X, np.repeat(np.arange(12), 3)).to_html()
    assert "4 other classes" in page and 'class="f-c8"' in page
    page = CartRegressor(max_depth=3).fit(X, X[:, 0] ** 2).to_html()
    assert page.count("<circle") == len(Reader(page).nodes) and 'legend"' not in page
    Reader(CartRegressor(max_depth=2).fit(X, np.column_stack([X, -X])).to_html(row=[3.0]))
    assert len(Reader(CartRegressor().fit([[1.0]], [2.0]).to_html()).nodes) == 1


def test_notebooks_show_the_tree_once_it_is_fitted(iris):
    model = CartClassifier(max_depth=2)
    assert "assay-tree" not in model._repr_mimebundle_()["text/html"]
    with pytest.raises(NotFittedError):
        model.to_html()
    shown = model.fit(*iris)._repr_mimebundle_()
    assert shown["text/plain"] == "CartClassifier(max_depth=2)"
    assert shown["text/html"] == model._repr_html_() and "<script>" not in shown["text/html"]


def test_drawing_marks_the_path_of_a_row(iris):
    X, y = iris
    model = CartClassifier().fit(X, y)
    plain, marked = model.to_svg(), model.to_svg(row=X.iloc[[70]])
    assert "s-accent" not in plain
    depth = int(model.tree_.depths()[model.apply(X.iloc[[70]])[0]])
    drawn = min(depth, 4)
    assert marked.count('class="s-accent"') == drawn
    assert len(re.findall(r"<rect[^>]*s-accent", marked)) == drawn + 1
