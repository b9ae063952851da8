"""The figures alone: whole SVG, the right marks in the right places, nothing unescaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import fixture
import pytest

from assay.base.svg import fit, text_width, ticks, wrap
from assay.models.trees.svg import tree_outline
from assay.report.figures import (
    coefficients_figure,
    confusion_figure,
    rules_figure,
    score_plot,
    shares_figure,
    tree_figure,
)

SVG = "{http://www.w3.org/2000/svg}"
METRIC = {"name": "accuracy", "title": "accuracy", "greater_is_better": True}


def read(svg: str) -> ET.Element:
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title") is not None and root.find(f"{SVG}desc").text
    return root


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in read(svg).iter(f"{SVG}text")]


def inside(root: ET.Element) -> None:
    """No rectangle, circle or line outside the picture."""
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    for element in root.iter():
        for x, limit in (("x", width), ("cx", width), ("x1", width), ("x2", width), ("y", height), ("cy", height)):
            if x in element.attrib:
                assert -1 <= float(element.attrib[x]) <= limit + 1, ET.tostring(element)
        if element.tag == f"{SVG}rect":
            assert float(element.attrib["x"]) + float(element.attrib["width"]) <= width + 1


@pytest.mark.parametrize("width", [980, 380])
def test_score_plot_puts_scores_on_one_linear_axis(width):
    learners = fixture.classification()["learners"]
    root = read(score_plot(learners, METRIC, width=width))
    inside(root)
    dots = {}
    for circle in root.iter(f"{SVG}circle"):
        tip = circle.find(f"{SVG}title")
        if tip is not None:
            dots.setdefault(tip.text.rpartition(" ")[2], []).append(float(circle.attrib["cx"]))
    pairs = sorted((float(score), sum(xs) / len(xs)) for score, xs in dots.items())
    slope = (pairs[-1][1] - pairs[0][1]) / (pairs[-1][0] - pairs[0][0])
    for score, x in pairs:
        assert x == pytest.approx(pairs[0][1] + slope * (score - pairs[0][0]), abs=0.0011 * slope)
    assert len(list(root.iter(f"{SVG}circle"))) >= 60


def test_score_plot_orders_by_mean_and_says_so_in_words():
    root = read(score_plot(fixture.classification()["learners"], METRIC, recommended="logistic"))
    said = root.find(f"{SVG}desc").text
    places = [said.index(name) for name in ("Decision tree", "Logistic", "nearest", "Naive Bayes", "1R", "ZeroR")]
    assert places == sorted(places)
    assert "group bc" in said


def test_groups_differ_in_shape_as_well_as_in_colour():
    learners = fixture.classification()["learners"]
    one, two = (score_plot([{**learners[0], "id": "x", "group": group}], METRIC) for group in "ab")
    assert one.count("<polygon") == 0 and two.count("<polygon") == 1
    assert "f-g0" in one and "f-g1" in two


def test_one_hopeless_learner_does_not_squeeze_the_others():
    learners = fixture.classification()["learners"]
    learners[5] |= {"scores": [[-900.0, -1000.0]], "mean": -950.0, "interval": [-1500.0, -400.0]}
    root = read(score_plot(learners, METRIC))
    inside(root)
    said = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert "2 beyond the axis" in said
    xs = [float(c.attrib["cx"]) for c in root.iter(f"{SVG}circle")]
    assert max(xs) - min(xs) > 100


def test_many_folds_become_one_path():
    learners = fixture.large()["learners"]
    svg = score_plot(learners, METRIC)
    assert svg.count("<circle") < 20
    assert sum(d.count("h0") for d in re.findall(r'<path d="([^"]*)"', svg)) == 1000


def test_equal_scores_of_one_learner_can_be_drawn():
    learner = {"id": "tree", "title": "Tree", "scores": [[0.5, 0.5]], "mean": 0.5, "interval": [0.5, 0.5], "group": "a"}
    inside(read(score_plot([learner], "accuracy")))
    assert "No scores" in score_plot([], "accuracy")


def test_confusion_shows_counts_and_shares_of_the_row():
    svg = confusion_figure([[8, 2], [0, 5]], ["no", "yes"])
    inside(read(svg))
    assert {"8", "80%", "2", "20%", "5", "100%"} <= set(texts(svg))
    assert "2 rows of class no predicted as yes: 20% of the class" in svg


def test_a_class_without_rows_has_no_share_to_divide_by():
    svg = confusion_figure([[0, 0], [1, 2]], ["a", "b"])
    inside(read(svg))
    assert "nan" not in svg.lower() and {"33%", "67%"} <= set(texts(svg))


@pytest.mark.parametrize("classes", [2, 3, 7, 12])
def test_confusion_fits_any_number_of_classes(classes):
    view = [[1] * classes] * classes
    svg = confusion_figure(view, [f"a class with a long name {k}" for k in range(classes)])
    inside(read(svg))
    assert svg.count("1 rows of class") + svg.count("1 row of class") == classes**2


def test_bars_are_as_long_as_the_shares():
    root = read(shares_figure(["a", "b"], [0.75, 0.25]))
    widths = {r.attrib["class"]: float(r.attrib["width"]) for r in root.iter(f"{SVG}rect")}
    assert widths["f-c0"] == pytest.approx(0.75 * widths["f-soft"], abs=0.1)
    assert widths["f-c1"] == pytest.approx(0.25 * widths["f-soft"], abs=0.1)


def test_rules_show_condition_prediction_and_counts():
    view = next(one["view"] for one in fixture.classification()["learners"] if one["id"] == "one-r")
    svg = rules_figure(view)
    inside(read(svg))
    assert {"contract = monthly", "yes", "330 of 632 right", "otherwise"} <= set(texts(svg))


def test_only_the_largest_coefficients_are_drawn():
    view = {"names": [f"x{j}" for j in range(30)], "values": [[(-1) ** j * j for j in range(30)]], "classes": None}
    svg = coefficients_figure(view)
    inside(read(svg))
    assert "x29" in svg and "x10" in svg and ">x9<" not in svg
    assert texts(svg).index("x29") < texts(svg).index("x28")


def test_coefficient_bars_are_proportional_and_point_by_sign():
    root = read(coefficients_figure({"names": ["a", "b"], "values": [[2.0, -1.0]], "classes": ["no", "yes"]}))
    positive, negative = list(root.iter(f"{SVG}rect"))
    assert float(positive.attrib["width"]) == pytest.approx(2 * float(negative.attrib["width"]), abs=0.2)
    assert float(negative.attrib["x"]) + float(negative.attrib["width"]) == pytest.approx(
        float(positive.attrib["x"]), abs=0.2
    )
    assert positive.attrib["class"] == "f-c1" and negative.attrib["class"] == "f-c0"


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 10, 30])
def test_coefficients_of_several_classes_fit(classes):
    view = fixture.many_classes(classes)["learners"][3]["view"]
    svg = coefficients_figure(view)
    inside(read(svg))
    assert "alcohol" in svg and (classes > 10 or "cultivar B" in svg)


def test_the_tree_shows_tests_conditions_rows_and_shares():
    svg = tree_figure(fixture.customers_tree())
    root = read(svg)
    inside(root)
    shown = texts(svg)
    assert "contract = monthly?" in shown and "complaints ≤ 2.5" in shown and "793 rows" in shown
    bars = [r for r in root.iter(f"{SVG}rect") if r.attrib.get("class") == "f-c1" and r.find(f"{SVG}title") is not None]
    assert len(bars) == 15
    assert "yes: 26.6%" in svg


def test_boxes_of_the_tree_do_not_overlap():
    for view in (
        fixture.customers_tree(),
        fixture.large()["learners"][0]["view"],
        fixture.regression()["learners"][2]["view"],
    ):
        root = read(tree_figure(view))
        boxes = [
            tuple(float(r.attrib[k]) for k in ("x", "y", "width", "height"))
            for r in root.iter(f"{SVG}rect")
            if "s-line" in r.attrib.get("class", "")
        ]
        assert len(boxes) > 5
        for i, (x, y, w, h) in enumerate(boxes):
            for x2, y2, w2, h2 in boxes[i + 1 :]:
                assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_deep_trees_are_drawn_in_part_and_told_whole():
    view = fixture.large()["learners"][0]["view"]
    svg = tree_figure(view, max_depth=3)
    assert "6 more nodes below" in svg and "drawn to depth 3" in svg
    rows, more = tree_outline(view)
    assert len(rows) == 63 and more == 0
    assert [row.depth for row in rows[:6]] == [0, 1, 2, 3, 4, 5]
    assert tree_outline(view, limit=10)[1] == 53


def test_cut_nodes_say_that_they_go_on():
    assert "… goes on below" in tree_figure(fixture.regression()["learners"][2]["view"])


def test_wide_splits_keep_their_largest_branches():
    nodes = [
        {
            "id": 0,
            "parent": -1,
            "rows": 210.0,
            "value": [0.5, 0.5],
            "prediction": "a",
            "test": "city",
            "children": list(range(1, 21)),
        }
    ]
    for i in range(1, 21):
        leaf = {"id": i, "parent": 0, "rows": float(i), "value": [1.0, 0.0], "prediction": "a", "children": []}
        nodes.append({**leaf, "condition": f"city = city number {i}"})
    svg = tree_figure({"kind": "tree", "classes": ["a", "b"], "nodes": nodes})
    inside(read(svg))
    assert "city number 20" in svg and ">city = city number 8<" not in svg
    assert "8 smaller branches not drawn" in svg


@pytest.mark.parametrize(
    "nodes", [[], [{"id": 0, "children": [0, 7]}], [{"id": 0, "children": [1]}, {"id": 1, "children": [0, 1]}]]
)
def test_a_broken_tree_does_not_hang_the_drawing(nodes):
    whole = [{"rows": 1.0, "value": [1.0], "prediction": 1.0, "parent": -1, **node} for node in nodes]
    assert read(tree_figure({"kind": "tree", "classes": None, "nodes": whole})).tag == f"{SVG}svg"


@pytest.mark.parametrize("nasty", fixture.NASTY)
def test_names_from_data_are_escaped_in_every_figure(nasty):
    learner = {**fixture.classification()["learners"][1], "title": nasty, "group": nasty}
    tree = fixture.customers_tree()
    tree["classes"] = [nasty, nasty]
    for node in tree["nodes"]:
        node |= {"condition": nasty, "test": nasty, "prediction": nasty}
    rules = {"title": nasty, "rules": [{"if": nasty, "then": nasty, "rows": 2.0, "correct": 1.0}], "default": nasty}
    coefficients = {"names": [nasty, "b"], "values": [[1.0, 2.0]] * 6, "classes": [nasty] * 6, "intercept": [0.0]}
    for svg in (
        score_plot([learner], {"title": nasty}),
        confusion_figure([[1, 2], [3, 4]], [nasty, nasty], title=nasty),
        shares_figure([nasty], [1.0]),
        tree_figure(tree, title=nasty),
        rules_figure(rules),
        coefficients_figure(coefficients),
    ):
        root = read(svg)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "title", "desc", "text", "rect", "line", "path", "circle", "polygon", "g"
        }  # fmt: skip


def test_wrapped_and_fitted_text_stays_within_its_room():
    long = "payment in {card, transfer, cheque, direct debit} and a_very_long_column_name_without_any_space_at_all"
    lines, full = wrap(long, 150, 12, 3)
    assert len(lines) == 3 and full == long
    assert all(text_width(piece, 12) <= 150 for piece in lines)
    assert wrap("short", 150) == (["short"], "")
    short, full = fit("w" * 500, 100)
    assert text_width(short) <= 100 and len(full) == 500


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.2, 7.9), (0.8411, 0.8423), (1e6, 3e6), (5.0, 5.0)])
def test_ticks_are_inside_and_few(low, high):
    marks = ticks(low, high, 6)
    assert 1 <= len(marks) <= 9
    assert all(low - 1e-9 <= mark <= high + 1e-9 for mark in marks)
