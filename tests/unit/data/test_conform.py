"""Later rows are read as the training table was, and every cell that cannot be is told with its row."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from assay.base import DataError
from assay.data import infer_roles
from assay.data.conform import Conform, conformed_pieces
from assay.data.profile import profile_table

TRAINING = pl.DataFrame(
    {
        "n": [1.5, 2.0, None, 3.0, 4.0, 5.0],
        "k": [1, 2, 3, 4, 5, 6],
        "flag": [True, False, True, None, True, False],
        "word": ["a", "b", "a", "a", None, "b"],
        "day": [datetime(2024, 1, d) for d in range(1, 7)],
    }
)
PROFILE = profile_table(TRAINING, infer_roles(TRAINING))


def test_typed_columns_stay_what_they_are():
    found = Conform(PROFILE)(TRAINING, 1)
    assert found.frame.equals(TRAINING) and found.rows.tolist() == [1, 2, 3, 4, 5, 6] and not found.problems


def test_text_becomes_what_it_says_and_the_rest_is_told():
    raw = pl.DataFrame(
        {
            "extra": ["x"] * 4,
            "word": ["a", " new ", "NA", "b"],
            "n": ["1.5", "x", "", "inf"],
            "k": ["1", "2", "", "4.5"],
            "flag": ["true", "FALSE", "", "maybe"],
            "day": ["2024-03-01", "2024-03-02", "", "yesterday"],
        }
    )
    found = Conform(PROFILE)(raw, first_row=11)
    assert found.rows.tolist() == [11, 13]
    assert found.frame.rows() == [(1.5, 1, True, "a", datetime(2024, 3, 1)), (None, None, None, None, None)]
    told = {(problem.row, problem.column): problem.cell for problem in found.problems}
    assert told == {(12, "n"): "x", (14, "n"): "inf", (14, "flag"): "maybe", (14, "day"): "yesterday"}


def test_a_measured_column_of_whole_numbers_takes_decimals_and_a_named_one_does_not():
    for role, kept in (("numeric", [1.5, 2.0]), ("nominal", [2])):
        found = Conform({"k": {"kind": "number", "role": role, "whole": True}})(pl.DataFrame({"k": ["1.5", "2"]}))
        assert found.frame["k"].to_list() == kept


def test_a_missing_column_is_one_sentence():
    with pytest.raises(DataError, match="column 'n' .and 1 more. is needed and not in the table"):
        Conform(PROFILE)(TRAINING.drop("n", "day"))


def test_lines_with_other_numbers_of_fields_cost_only_themselves(tmp_path):
    path = tmp_path / "a.csv"
    lines = ["n,word"] + [f"{k}.5,w" for k in range(5)]
    lines[2], lines[4] = "1.5,w,too,many", "3.5"
    path.write_text("\n".join(lines) + "\n")
    profile = {"n": PROFILE["n"], "word": PROFILE["word"]}
    (found,) = conformed_pieces(path, profile)
    assert found.rows.tolist() == [1, 3, 5] and found.frame["n"].to_list() == [0.5, 2.5, 4.5]
    assert [str(problem) for problem in found.problems] == [
        "row 2: line 3 has 4 fields and not 2",
        "row 4: line 5 has 1 fields and not 2",
    ]


def test_profiles_have_the_shares_of_bins():
    frame = pl.DataFrame({"x": list(range(100)), "zero": [0] * 90 + [5] * 10})
    found = profile_table(frame, infer_roles(frame))
    assert sum(found["x"]["bins"]) == pytest.approx(1) and max(found["x"]["bins"]) < 0.13
    assert found["zero"]["bins"][0] == pytest.approx(0.9) and sum(found["zero"]["bins"]) == pytest.approx(1)


def test_numbers_with_decimal_commas_and_currency_are_read_as_the_training_table_was():
    conform = Conform({"pay": {"kind": "number"}})
    found = conform(pl.DataFrame({"pay": ["1.234,50 €", "12,00 €", "abc"]}))
    assert found.frame["pay"].to_list() == [1234.5, 12.0] and [p.row for p in found.problems] == [3]
    assert conform(pl.DataFrame({"pay": ["2.000,00 €"]}), 4).frame["pay"].to_list() == [2000.0]


_CELLS = [
    "1.5",
    "2",
    "",
    "NA",
    " 3 ",
    "1e3",
    "-0",
    "007",
    "12345678901234567890",
    "inf",
    "nan",
    "1,5",
    "x",
    "+4",
    "true",
]


@pytest.mark.parametrize("seed", range(6))
def test_plain_text_read_at_once_is_what_text_read_by_cells_is(tmp_path, seed):
    """Quotes around one cell send a piece the slower way: both must give the same rows and the same problems."""
    rng = np.random.default_rng(seed)
    odd = _CELLS if seed % 2 else _CELLS[:3]
    rows = [(rng.choice(odd).replace(",", ";"), rng.choice(["a", "b ", "?", "", "-x"]), k) for k in range(300)]
    profile = {
        "n": {"kind": "number", "role": "numeric", "whole": bool(seed & 2)},
        "w": {"kind": "label", "role": "nominal"},
    }
    found = []
    for name, quoted in (("fast.csv", "{}"), ("slow.csv", '"{}"')):
        lines = ["id,n,w,z", *(f"{quoted.format(k)},{n},{w},0" for n, w, k in rows)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        found.append(list(conformed_pieces(tmp_path / name, profile, keep=["id"])))
    (fast,), (slow,) = found
    assert fast.frame.equals(slow.frame) and fast.rows.tolist() == slow.rows.tolist()
    assert fast.problems == slow.problems and fast.raw["id"].to_list() == slow.raw["id"].to_list()
    assert (seed % 2 == 0) == (not fast.problems) and "z" not in [*fast.raw.columns, *slow.raw.columns]


def test_a_quote_late_in_a_file_ends_plain_reading_and_nothing_else(tmp_path, monkeypatch):
    """The pieces before it hold the columns of the profile alone, and so must those after it."""
    monkeypatch.setattr("assay.data.read_delimited._PIECE_BYTES", 64)
    lines = ["z,n,word", *(f"0,{k}.5,w" for k in range(60)), '"1, 2",60.5,w']
    (tmp_path / "a.csv").write_text("\n".join(lines))  # its last line is a piece by itself
    found = list(conformed_pieces(tmp_path / "a.csv", {"n": PROFILE["n"], "word": PROFILE["word"]}))
    assert len(found) > 1 and {tuple(piece.raw.columns) for piece in found} == {("n", "word")}
    assert [x for piece in found for x in piece.frame["n"]] == [k + 0.5 for k in range(61)]


@pytest.mark.parametrize("odd", [None, 0, 700, 1999], ids=["plain", "first", "middle", "last"])
def test_pieces_of_plain_text_are_small_and_others_as_large_as_ever(tmp_path, monkeypatch, odd):
    """A cell in quotes is not plain: pieces are large from there on, and the rows are those of one piece."""
    lines = [f"{k}.5,{'red' if k % 3 else 'blue'}" for k in range(2000)]
    if odd is not None:
        lines[odd] = f'{odd}.5,"re""d"'
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["x,c", *lines, ""]))
    profile = {"x": {"kind": "number", "role": "numeric"}, "c": {"kind": "label", "role": "nominal"}}
    whole = list(conformed_pieces(path, profile))
    monkeypatch.setattr("assay.data.read_delimited._PLAIN_BYTES", 1000)
    monkeypatch.setattr("assay.data.read_delimited._PIECE_BYTES", 8000)
    monkeypatch.setattr("assay.data.read_text.TextStream._chunk_bytes", lambda stream: 250)
    pieces = list(conformed_pieces(path, profile))
    assert len(whole) == 1 and pl.concat([piece.frame for piece in pieces]).equals(whole[0].frame)
    assert np.concatenate([piece.rows for piece in pieces]).tolist() == list(range(1, 2001))
    sizes = [piece.frame.height for piece in pieces]
    assert (sizes[0] < 150) == (odd != 0) and (max(sizes) > 400) == (odd in (0, 700))
