"""The critical-difference diagram says what the comparison found."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from assay.evaluate import compare
from assay.report import critical_difference_figure
from assay.report.critical_difference import _bars

SPACE = "{http://www.w3.org/2000/svg}"
RNG = np.random.default_rng(0)
SCORES = {f"learner <{j}>": RNG.normal(0.7 + 0.02 * j, 0.03, 16) for j in range(7)}
COMPARISON = compare(SCORES, "datasets")


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def test_every_learner_stands_there_with_its_rank_and_names_are_escaped():
    svg = critical_difference_figure(COMPARISON)
    texts = [node.text for node in parse(svg).iter(f"{SPACE}text")]
    for name, row in COMPARISON.summary.items():
        assert name in texts and f"{row['average_rank']:.2f}" in texts
    assert "<0>" not in svg and "style=" not in svg
    assert f"critical difference {COMPARISON.critical_difference:.2f}" in texts


def test_points_lie_at_their_ranks_best_at_the_left():
    root = parse(critical_difference_figure(COMPARISON))
    x = [float(node.get("cx")) for node in root.iter(f"{SPACE}circle")]
    ranks = sorted(row["average_rank"] for row in COMPARISON.summary.values())
    assert x == sorted(x)
    assert np.corrcoef(x, ranks)[0, 1] == pytest.approx(1.0, abs=1e-5)


def test_a_bar_joins_each_group_of_learners_not_told_apart():
    root = parse(critical_difference_figure(COMPARISON))
    bars = [node for node in root.iter(f"{SPACE}line") if node.get("stroke-width") == "4"]
    assert len(bars) == sum(len(group) > 1 for group in COMPARISON.groups) > 1


def test_bars_that_overlap_lie_on_different_levels():
    ranks = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    bars = _bars([["a", "b"], ["b", "c"], ["c", "d"]], ranks)
    assert [level for _, _, level in bars] == [0, 1, 0]


def test_the_comparison_its_dict_and_its_parts_give_the_same_figure():
    ranks = {name: row["average_rank"] for name, row in COMPARISON.summary.items()}
    parts = critical_difference_figure(
        ranks, groups=COMPARISON.groups, critical_difference=COMPARISON.critical_difference
    )
    assert parts == critical_difference_figure(COMPARISON) == critical_difference_figure(COMPARISON.to_dict())


def test_the_description_says_it_in_words():
    words = parse(critical_difference_figure(COMPARISON)).find(f"{SPACE}desc").text
    assert words.startswith("Average ranks, best first: learner <6>") and "Not told apart" in words
    apart = critical_difference_figure({"a": 1.0, "b": 2.0}, groups=[["a"], ["b"]], critical_difference=0.4)
    assert "Every pair was told apart" in apart


def test_titles_width_and_odd_sizes():
    assert "Forest" in critical_difference_figure({"a": 1.0, "b": 2.0}, titles={"a": "Forest"})
    assert 'viewBox="0 0 400' in critical_difference_figure({"a": 1.0, "b": 2.0}, width=400)
    assert "longer than the axis" in critical_difference_figure({"a": 1.4, "b": 1.6}, critical_difference=3.0)
    assert "No ranks" in critical_difference_figure({})
    many = critical_difference_figure({f"m{j}": j + 1.0 for j in range(40)})
    assert len(re.findall("<circle", many)) == 40
