"""Charts: described once, drawn as SVG and with matplotlib, with the numbers behind them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from assay.base.chart import Chart, Line, Mark, together

SPACE = "{http://www.w3.org/2000/svg}"
LINE = Line([0.0, 0.5, 1.0], [0.0, 0.8, 1.0], "tree", low=[0.0, 0.7, 0.9], high=[0.1, 0.9, 1.0])
CHART = Chart(
    "ROC", "false", "true", (LINE,), (Mark(), Mark(y=0.3, label="guess"), Mark(x=0.2)), (0.0, 1.0), (0.0, 1.0)
)


def test_a_chart_has_its_words_lines_marks_and_band():
    root = ElementTree.fromstring(CHART.to_svg())
    words = [text.text for text in root.iter(f"{SPACE}text")]
    assert {"tree", "false", "true", "guess"} <= set(words)
    assert len(root.findall(f".//{SPACE}path")) == 2
    assert sum("stroke-dasharray" in line.attrib for line in root.iter(f"{SPACE}line")) == 3


def test_the_numbers_behind_a_chart_are_its_table():
    grid = CHART.grid()
    assert list(grid.heads) == ["", "false", "true", "low", "high"] and len(grid.rows) == 3
    assert grid.rows[1] == ["tree", "0.500", "0.800", "0.700", "0.900"]
    many = Chart("", "x", "y", (Line(list(range(500)), list(range(500))),))
    assert len(many.grid().rows) == 40 and many.grid().rows[-1][0] == "499.000"


def test_charts_put_together_keep_one_colour_each():
    both = together("both", [("a", CHART), ("b", CHART)])
    assert [one.label for one in both.lines] == ["a", "b"] and both.lines[0].token != both.lines[1].token


@pytest.mark.parametrize("style", ["line", "step", "points"])
@pytest.mark.parametrize("names", [(), ("u", "v", "w")])
def test_every_style_draws_both_ways(style, names):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    line = Line([0.0, 1.0, 2.0], [1.0, 10.0, 100.0], "a", style=style, low=[1, 5, 50], high=[2, 20, 200], band=False)
    chart = Chart("t", "x", "y", (line,), (Mark(x=1.0), Mark(y=10.0), Mark()), log_y=True, x_names=names)
    ax, drawn = chart.plot()
    assert ax.get_yscale() == "log" and len(drawn) == 1 and list(drawn[0].get_ydata()) == [1.0, 10.0, 100.0]
    ElementTree.fromstring(chart.to_svg())


@pytest.mark.parametrize("options", [{}, {"log_x": True}])
@pytest.mark.parametrize("points", [([], []), ([1.0], [5.0])])
def test_an_empty_chart_and_one_without_spread_are_drawn(points, options):
    picture = Chart("a title", "across", "up", (Line(*points),), **options).to_svg()
    words = [node.text for node in ElementTree.fromstring(picture).iter() if node.text]
    assert "across" in words and "up" in words and "nan" not in picture
