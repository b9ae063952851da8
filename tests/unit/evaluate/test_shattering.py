"""Shattering by search against the theorems, and the version space against its definition."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.evaluate import RectangleVersionSpace, growth_bound, largest_shattered, shatters, vc_dimension

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("ray", [[0.0]]),
        ("interval", [[0.0], [1.0]]),
        ("rectangle", [[0, 1], [1, 0], [0, -1], [-1, 0]]),
        ("rectangle", np.vstack([np.eye(3), -np.eye(3)])),
        ("half-space", [[0, 0], [1, 0], [0, 1]]),
        ("half-space", np.vstack([np.zeros(4), np.eye(4)])),
        ("half-space through the origin", np.eye(3)),
        ("ball", [[0, 0], [1, 0], [0, 1]]),
        ("decision stump", [[0.0], [1.0]]),
        ("convex polygon", [[math.cos(a), math.sin(a)] for a in np.arange(8) * 0.7]),
    ],
)
def test_a_set_as_large_as_the_vc_dimension_is_shattered(name, points):
    result = shatters(points, name)
    assert result and result.labellings == 2 ** len(points) and result.impossible is None
    d = np.shape(points)[1]
    takes = name not in ("ray", "interval", "convex polygon")
    assert vc_dimension(name, **({"n_features": d} if takes else {})) >= len(points)


@pytest.mark.parametrize(
    ("name", "d", "size"),
    [("rectangle", 2, 5), ("half-space", 2, 4), ("half-space", 3, 5), ("ball", 2, 4), ("decision stump", 2, 4)],
)
def test_no_random_set_beyond_the_vc_dimension_is_shattered(name, d, size):
    for _ in range(5):
        result = shatters(RNG.normal(size=(size, d)), name)
        assert not result and result.labellings is None and result.impossible.shape == (size,)


def test_three_columns_let_stumps_shatter_four_points_and_two_columns_do_not():
    """Gey (2018): the dimension is 4 and 3; only the order of the points in each column matters, so all are tried."""
    orders = list(itertools.permutations(range(4)))
    first = np.arange(4.0)
    assert any(shatters(np.column_stack([first, p, q]), "decision stump") for p in orders for q in orders)
    assert not any(shatters(np.column_stack([first, p]), "decision stump") for p in orders)
    assert vc_dimension("decision stump", n_features=3) == 4
    assert vc_dimension("decision stump", n_features=2) == 3


def test_half_spaces_shatter_exactly_the_affinely_independent_sets():
    """Radon's theorem, checked on points of a small grid so that dependent sets are common."""
    verdicts = set()
    for _ in range(40):
        points = RNG.integers(0, 3, size=(RNG.integers(2, 5), 2)).astype(float)
        independent = np.linalg.matrix_rank(np.column_stack([points, np.ones(len(points))])) == len(points)
        assert shatters(points, "half-space").shattered == independent
        verdicts.add(bool(independent))
    assert verdicts == {True, False}


@pytest.mark.parametrize(("n", "d"), [(5, 2), (6, 2), (5, 3), (6, 1)])
def test_half_spaces_give_as_many_labellings_as_cover_counted(n, d):
    """Cover (1965): 2 sum_{k <= d} (n - 1 choose k) for n points in general position."""
    want = 2 * sum(math.comb(n - 1, k) for k in range(d + 1))
    assert shatters(RNG.normal(size=(n, d)), "half-space", count=True).labellings == want


@pytest.mark.parametrize(("name", "k"), [("ray", 0), ("interval", 1), ("union of intervals", 2)])
def test_labellings_of_points_on_a_line(name, k):
    """n + 1 for rays, n (n + 1) / 2 + 1 for intervals; never more than Sauer's bound, which unions attain."""
    points = RNG.normal(size=(6, 1))
    found = shatters(points, name, n_intervals=max(k, 1), count=True).labellings
    assert found == {0: 7, 1: 22, 2: growth_bound(6, 4)}[k]


def test_points_that_coincide_are_never_shattered():
    for name in ("rectangle", "half-space", "ball", "decision stump", "convex polygon"):
        assert not shatters([[1.0, 2.0], [1.0, 2.0]], name)
    assert not shatters([[1.0], [1.0]], "union of intervals", n_intervals=2)


def test_far_and_tiny_points_are_judged_the_same():
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for scale, shift in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e5)):
        assert shatters(triangle * scale + shift, "half-space")
        assert not shatters(np.array([[0, 0], [1, 1], [2, 2]]) * scale + shift, "half-space")


@pytest.mark.parametrize("name", ["half-space", "ball", "convex polygon", "rectangle", "decision stump"])
def test_points_far_from_the_origin_are_labelled_as_often_as_near_it(name):
    points = RNG.integers(0, 9, size=(5, 2)).astype(float)
    near = shatters(points, name, count=True).labellings
    for shift in (2.0**33, -(2.0**33)):
        assert shatters(points + [shift, 0.0], name, count=True).labellings == near
        assert shatters((points + shift) * 2.0**-40, name, count=True).labellings == near


def test_the_largest_shattered_subset_has_the_dimension_where_the_points_allow():
    cloud = RNG.normal(size=(9, 2))
    assert largest_shattered(cloud, "half-space").size == 3
    found = largest_shattered(cloud, "rectangle")
    assert shatters(cloud[found], "rectangle")
    assert not any(
        shatters(cloud[list(more)], "rectangle") for more in itertools.combinations(range(9), found.size + 1)
    )
    assert largest_shattered(np.arange(5.0)[:, None], "interval").tolist() == [0, 1]


def test_a_function_may_stand_for_a_class():
    def even(points, labels):
        return labels.sum() % 2 == 0

    result = shatters([[0.0], [1.0], [2.0]], even, count=True)
    assert not result and result.labellings == 4 and "even" in result.sentence


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: shatters([[0, 1]], "interval"), DataError, "one column"),
        (lambda: shatters([[0.0]], "sine"), ParameterError, "cannot be searched"),
        (lambda: shatters([[np.nan]], "ray"), DataError, "finite"),
        (lambda: shatters([["a"]], "ray"), DataError, "numeric"),
        (lambda: shatters([], "ray"), DataError, "one row per point"),
        (lambda: shatters(np.zeros((21, 1)), "ray"), DataError, "at most 20"),
        (lambda: shatters([[0.0]], "union of intervals", n_intervals=0), ParameterError, "integer >= 1"),
        (lambda: RectangleVersionSpace([[0, 0]], [1, 0]), DataError, "one label for each"),
        (lambda: RectangleVersionSpace([[0, 0]], ["a"]), ParameterError, "positive"),
        (lambda: RectangleVersionSpace([[0], [1], [2]], [1, 0, 1]).classify([[0]]), DataError, "is empty"),
        (lambda: RectangleVersionSpace([[0], [1]], [1, 0]).classify([[0, 1]]), DataError, "1 columns"),
        (lambda: RectangleVersionSpace([[0], [1]], [1, 0]).contains([0, 1], [1, 1]), DataError, "1 sides"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_version_space_by_hand():
    """One positive at the origin, negatives to the right, above and at the upper right: two most general boxes."""
    space = RectangleVersionSpace([[0, 0], [2, 0], [0, 3], [1, 1]], [1, 0, 0, 0])
    boxes = [(box.low.tolist(), box.high.tolist()) for box in space.general]
    low = [-np.inf, -np.inf]
    assert boxes == [(low, [1.0, 3.0]), (low, [2.0, 1.0])]
    assert space.classify([[0, 0], [0.5, 2.0], [1.5, 0.5], [1.5, 2.0], [-9, -9]]).tolist() == [1, 0, 0, -1, 0]
    assert space.halfway(0).high.tolist() == [0.5, 1.5] and space.halfway(0).low.tolist() == low
    assert space.to_dict()["general"][0]["low"] == [None, None]
    json.dumps(space.to_dict(), allow_nan=False)


def test_the_halfway_box_is_as_far_from_the_tightest_as_from_the_general_one_on_every_side():
    X = np.array([[3, 7], [5, 8], [1, 7], [9, 8], [4, 2], [4, 12]], dtype=float)
    space = RectangleVersionSpace(X, [1, 1, 0, 0, 0, 0])
    (general,) = space.general
    middle = space.halfway()
    assert (middle.low - general.low).tolist() == (space.specific.low - middle.low).tolist() == [1.0, 2.5]
    assert (general.high - middle.high).tolist() == (middle.high - space.specific.high).tolist() == [2.0, 2.0]
    assert space.contains(middle.low, middle.high)


@pytest.mark.parametrize("seed", range(6))
def test_s_and_g_bound_every_consistent_box(seed):
    """On a small grid every closed box is listed: the consistent ones are those between S and some G."""
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(0, 6, size=(9, 2)), axis=0).astype(float)
    inside = ((X >= 1) & (X <= 3)).all(axis=1)
    if not inside.any():
        inside[0] = True
    space = RectangleVersionSpace(X, inside.astype(int))
    if space.empty:
        return
    members = 0
    for low in itertools.product(np.arange(-0.5, 6), repeat=2):
        for high in itertools.product(np.arange(0.0, 6.5, 0.5), repeat=2):
            low_, high_ = np.array(low), np.array(high)
            between = bool(
                (low_ <= space.specific.low).all()
                and (high_ >= space.specific.high).all()
                and any((low_ > box.low).all() and (high_ < box.high).all() for box in space.general)
            )
            assert space.contains(low_, high_) == between
            members += between
    assert members > 0


def test_without_positives_the_most_general_boxes_are_the_gaps():
    space = RectangleVersionSpace([[0.0], [1.0]], [0, 0])
    assert space.specific is None
    assert [(b.low[0], b.high[0]) for b in space.general] == [(-np.inf, 0.0), (0.0, 1.0), (1.0, np.inf)]
    assert space.classify([[0.5], [1.0]]).tolist() == [0, -1]


def test_one_interval_of_a_union_is_an_interval():
    points = np.arange(4.0)[:, None]
    one = shatters(points, "union of intervals", n_intervals=1, count=True).labellings
    assert one == shatters(points, "interval", count=True).labellings == 11
    assert [shatters(points[:n], "union of intervals", n_intervals=1).shattered for n in (2, 3)] == [True, False]
