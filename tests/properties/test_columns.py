"""What holds for the codes of any table of labels and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import UNSEEN, fit_columns, read_columns
from tests.helpers import examples

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
CELLS = st.lists(st.tuples(st.none() | LABELS, st.none() | NUMBERS), min_size=1, max_size=30)


def frame_of(cells):
    labels, numbers = zip(*cells)
    return pl.DataFrame({"c": pl.Series(labels, dtype=pl.String), "n": pl.Series(numbers, dtype=pl.Float64)})


@settings(max_examples=examples(80))
@given(CELLS)
def test_codes_name_their_cells(cells):
    codes, schema = fit_columns("test", frame_of(cells), "from_dtype")
    for (label, number), (code, value) in zip(cells, codes):
        assert np.isnan(code) if label is None else schema.categories[0][int(code)] == label
        assert np.isnan(value) if number is None else value == number


@settings(max_examples=examples(80))
@given(CELLS)
def test_categories_are_sorted_and_distinct(cells):
    _, schema = fit_columns("test", frame_of(cells), "from_dtype")
    labels = schema.categories[0].tolist()
    assert labels == sorted({label for label, _ in cells if label is not None})


@settings(max_examples=examples(50))
@given(CELLS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(cells, random):
    order = list(range(len(cells)))
    random.shuffle(order)
    codes, _ = fit_columns("test", frame_of(cells), "from_dtype")
    shuffled, _ = fit_columns("test", frame_of([cells[i] for i in order]), "from_dtype")
    np.testing.assert_array_equal(shuffled, codes[order])


@settings(max_examples=examples(50))
@given(CELLS, CELLS)
def test_reading_gives_known_codes_unseen_or_missing(cells, later):
    _, schema = fit_columns("test", frame_of(cells), "from_dtype")
    known = {label: float(code) for code, label in enumerate(schema.categories[0].tolist())}
    codes = read_columns("test", frame_of(later), schema)[:, 0]
    expected = [np.nan if label is None else known.get(label, UNSEEN) for label, _ in later]
    np.testing.assert_array_equal(codes, expected)


@settings(max_examples=examples(50))
@given(CELLS)
def test_frames_and_arrays_of_objects_agree(cells):
    frame = frame_of(cells)
    if all(label is None for label, _ in cells):
        return
    expected, schema = fit_columns("test", frame, "from_dtype")
    objects = np.array([list(cell) for cell in cells], dtype=object)
    np.testing.assert_array_equal(fit_columns("test", objects, "from_dtype")[0], expected)
    pandas = pd.DataFrame({"c": [label for label, _ in cells], "n": frame["n"].to_list()}).astype({"n": float})
    np.testing.assert_array_equal(read_columns("test", pandas, schema), expected)
