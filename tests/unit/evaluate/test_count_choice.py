"""What most criteria say of a count: equals, the next count, and where the pictures stand."""

from __future__ import annotations

import itertools
import re

import pytest

from assay.evaluate.cluster_choice import KChoice
from assay.evaluate.count_choice import CountChoice


def chosen_by(*votes: int) -> CountChoice:
    return CountChoice.of((1, 2, 3, 4), {}, {f"criterion {i}": vote for i, vote in enumerate(votes)})


@pytest.mark.parametrize(
    ("votes", "chosen", "words"),
    [
        ((2, 3), 2, "2 parts, the fewest that have most votes:"),
        ((4, 3, 4, 3, 1), 3, "3 parts, the fewest that have most votes:"),
        ((3, 1, 3), 3, "3 parts have most votes:"),
        ((1, 1, 3), 1, "1 part has most votes:"),
        ((4, 3, 1), 1, "1 part, the fewest that have most votes:"),
        ((2,), 2, "2 parts have most votes:"),
    ],
)
def test_the_count_that_most_name_is_chosen_and_the_fewest_of_equals(votes, chosen, words):
    for order in itertools.permutations(votes):
        found = chosen_by(*order)
        assert found.chosen == chosen and found.sentence.startswith(words)


@pytest.mark.parametrize(
    ("votes", "next_one"),
    [((1, 1, 3), 3), ((2, 2, 1), 2), ((1, 1, 1, 3, 4), 3), ((1, 1, 1, 4, 4, 3), 4), ((3,), 3)],
)
def test_the_next_count_is_beyond_the_chosen_one(votes, next_one):
    """Where votes for the chosen count outnumber those beyond it, too."""
    assert chosen_by(*votes).runner_up() == next_one


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_every_picture_stands_in_the_frame_and_none_on_another(n):
    names = [f"c{i}" for i in range(n)]
    svg = KChoice.of((1, 2, 3), dict.fromkeys(names, (3.0, 1.0, 2.0)), dict.fromkeys(names, 2)).to_svg()
    frame = re.search(r'viewBox="0 0 (\d+) (\d+)" width="(\d+)" height="(\d+)"', svg)
    width, height, shown_width, shown_height = map(int, frame.groups())
    assert (width, height) == (shown_width, shown_height)
    parts = re.findall(r'<svg x="(-?\d+)" y="(-?\d+)"[^>]*?width="(\d+)" height="(\d+)"', svg)
    assert len(parts) == n
    boxes = [tuple(map(int, part)) for part in parts]
    for x, y, w, h in boxes:
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
    for (x, y, w, h), (u, v, s, t) in itertools.combinations(boxes, 2):
        assert x + w <= u or u + s <= x or y + h <= v or v + t <= y
    # No more room than rows of two need.
    assert width * height - sum(w * h for _, _, w, h in boxes) < 330 * 270 + 1


def test_values_that_are_not_finite_are_not_drawn_and_errors_lie_on_both_sides():
    found = CountChoice.of((1, 2, 3), {"a": (float("-inf"), 2.0, 1.0)}, {"a": 2}, {"a": (float("nan"), 0.5, 0.25)})
    (line,) = found.charts()[0].lines
    assert list(line.x) == [2, 3] and list(line.y) == [2.0, 1.0]
    assert list(line.low) == [1.5, 0.75] and list(line.high) == [2.5, 1.25]
    marked = {row[0]: row[1].endswith("*") for row in found.grid().rows}
    assert marked == {"1": False, "2": True, "3": False}
