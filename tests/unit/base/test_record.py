"""Records and grids: one table in five forms, plain data without NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.base.record import Grid, Record, jsonable


@dataclass(frozen=True)
class Found(Record):
    value: float
    _hidden: int
    sentence: str = "a < b."

    def _facts(self):
        return [("<value>", str(self.value))]


def test_a_grid_escapes_its_cells_in_every_form():
    grid = Grid(["a|b", "x_1 & 5 %"], [["<i>", "1"], ["long word", "22"]], caption="<c>", notes=["<n>"])
    assert "<i>" not in grid.to_html() and "<c>" not in grid.to_html() and "<n>" not in grid.to_html()
    assert grid.to_markdown().splitlines()[0] == r"| a\|b | x_1 & 5 % |"
    assert r"x\_1 \& 5 \%" in grid.to_latex() and r"\textless{}i\textgreater{}" in grid.to_latex()
    assert grid.to_text().splitlines()[1:4] == ["a|b        x_1 & 5 %", "<i>                1", "long word         22"]


def test_a_record_is_its_sentence_its_fields_and_its_facts():
    found = Found(float("nan"), 3)
    assert str(found) == "a < b." and found.to_dict() == {"value": None, "sentence": "a < b."}
    assert "<th>&lt;value&gt;</th><td>nan</td>" in found._repr_html_() and "a &lt; b." in found._repr_html_()


def test_json_knows_no_nan_no_numpy_and_no_sets():
    assert jsonable({1: (np.float64("inf"), np.int32(2), np.bool_(True))}) == {"1": [None, 2, True]}
    assert jsonable({"r": Found(1.0, 2), "s": {3, 1}}) == {"r": {"value": 1.0, "sentence": "a < b."}, "s": [1, 3]}
    assert jsonable(np.array([np.nan, 1.0])) == [None, 1.0]


def test_numbers_of_plain_data_may_be_cut_to_digits():
    given = {"a": np.array([1 / 3, np.nan]), "b": (np.float32(2.5), 123456789, True), "c": None}
    assert jsonable(given, 3) == {"a": [0.333, None], "b": [2.5, 123456789, True], "c": None}
