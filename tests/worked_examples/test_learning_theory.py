"""Text 001, chapters 3 and 8: the rectangle's sample size, VC dimensions, and what a bootstrap sample leaves out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.evaluate import (
    BootstrapSplitter,
    RectangleVersionSpace,
    largest_shattered,
    pac_sample_size,
    shatters,
    support_vector_bound,
    vc_dimension,
)


def test_001_section_3_3_1_rows_for_the_rectangle():
    n = pac_sample_size("rectangle", epsilon=0.001, delta=0.001)
    assert n == 33_176
    # (4 / epsilon) ln(4 / delta) is 33,176.2; its whole part keeps the promise it was derived from.
    assert int(4 / 0.001 * math.log(4 / 0.001)) == n
    assert 4 * (1 - 0.001 / 4) ** n <= 0.001


def test_001_section_3_2_vc_dimensions():
    assert vc_dimension("rectangle", n_features=2) == 4
    assert [vc_dimension("line", n_features=k) for k in (1, 2, 3, 10)] == [2, 3, 4, 11]


def test_001_section_3_2_by_search():
    assert shatters([[0, 1], [1, 0], [0, -1], [-1, 0]], "rectangle")
    assert shatters([[0, 0], [1, 0], [0, 1]], "line")
    cloud = np.random.default_rng(0).normal(size=(7, 2))
    assert largest_shattered(cloud, "line").size == 3
    assert largest_shattered(cloud, "rectangle").size == 4


def test_001_figure_3_1_family_cars():
    """Price and engine power: S around the family cars, G up to the others, doubt in between."""
    X = [[12, 110], [16, 150], [14, 130], [8, 120], [22, 140], [15, 60], [15, 210]]
    space = RectangleVersionSpace(X, [1, 1, 1, 0, 0, 0, 0])
    assert (space.specific.low.tolist(), space.specific.high.tolist()) == ([12, 110], [16, 150])
    assert [(g.low.tolist(), g.high.tolist()) for g in space.general] == [([8, 60], [22, 210])]
    assert space.classify([[14, 120], [18, 170], [30, 120]]).tolist() == [1, 0, -1]
    middle = space.halfway()
    assert (middle.low.tolist(), middle.high.tolist()) == ([10, 85], [19, 180])


def test_001_chapter_8_bootstrap_leaves_out_368_of_1000():
    left_out = [test.size / 1000 for _, test in BootstrapSplitter(300, random_state=0).split(range(1000))]
    assert np.mean(left_out) == pytest.approx(0.368, abs=2e-3)


def test_001_chapter_11_support_vectors_over_rows():
    assert support_vector_bound(15, 300) == 0.05
