"""`Batches`: what is read of files and frames, what is left out, and what is said of tables that cannot be used."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import polars as pl
import pytest

from assay.base.batches import CodedLabels
from assay.base.errors import AssayError
from assay.data import Batches, batches, read_columnar, scan_table
from assay.models.bayes import NaiveBayes
from assay.models.linear import LeastSquares, LogisticRegression, Ridge

RNG = np.random.default_rng(3)
N = 900


@pytest.fixture(scope="module")
def frame():
    x = RNG.normal(size=(N, 3))
    return pl.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "kind": np.array(["low", "mid", "high"])[np.arange(N) % 3],
            "flag": np.arange(N) % 2 == 0,
            "y": x @ [1.0, 2.0, 0.0] + 0.1 * x[:, 2],
            "label": np.where(x[:, 0] > 0, "yes", "no"),
        }
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "several"])
def test_files_of_each_kind_give_the_rows_they_hold(frame, tmp_path, kind):
    if kind == "csv":
        frame.write_csv(tmp_path / "t.csv")
    elif kind == "parquet":
        frame.write_parquet(tmp_path / "t.parquet")
    else:
        for k in range(3):
            frame[k * 300 : (k + 1) * 300].write_parquet(tmp_path / f"t{k}.parquet")
    table = Batches(str(tmp_path / "t*"), "y", columns=["a", "b", "kind", "flag"]).table
    assert table.shape == (N, 4) and len(table.parts) == (3 if kind == "several" else 1)
    np.testing.assert_array_equal(table[:][:, :2], frame.select("a", "b").to_numpy())
    np.testing.assert_array_equal(table.target, frame["y"].to_numpy())
    assert table.categories[2].tolist() == ["high", "low", "mid"]
    np.testing.assert_array_equal(table.categories[2][table[:][:, 2].astype(int)], frame["kind"].to_numpy())
    np.testing.assert_array_equal(table[:][:, 3], frame["flag"].to_numpy().astype(float))


def test_parts_with_other_labels_are_coded_alike(tmp_path):
    pl.DataFrame({"c": ["b", "c", None], "y": ["u", "v", "u"]}).write_parquet(tmp_path / "p1.parquet")
    pl.DataFrame({"c": ["a", "b", "a"], "y": ["t", "t", "v"]}).write_parquet(tmp_path / "p2.parquet")
    table = Batches(scan_table(str(tmp_path / "p*.parquet"), roles={"c": "nominal", "y": "nominal"}), "y").table
    np.testing.assert_array_equal(table[:][:, 0], [1.0, 2.0, np.nan, 0.0, 1.0, 0.0])
    assert isinstance(table.target, CodedLabels) and table.target.labels.tolist() == ["t", "u", "v"]
    assert table.target.codes.tolist() == [1, 2, 1, 0, 0, 2]


def test_numbers_declared_as_categories_are_coded(frame):
    numbered = frame.with_columns(pl.Series("code", [30.0, 10.0, 20.0] * 300))
    source = Batches([numbered[:500], numbered[500:]], "label", columns=["a", "code"], nominal=["code"])
    model = NaiveBayes().fit_batches(source)
    whole = NaiveBayes(categorical_features=["code"]).fit(numbered.select("a", "code"), numbered["label"].to_numpy())
    rows = numbered.select("a", "code")
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)


def test_rows_without_target_or_weight_are_left_out_and_counted(frame):
    holes = frame.with_columns(
        pl.when(pl.int_range(N) % 10 == 0).then(None).otherwise(pl.col("y")).alias("y"),
        pl.Series("w", (np.arange(N) % 4 > 0).astype(float)),
    )
    source = Batches([holes[:450], holes[450:]], "y", weight="w", columns=["a", "b"])
    model = Ridge().fit_batches(source)
    kept = holes.filter(pl.col("y").is_not_null() & (pl.col("w") > 0))
    assert source.rows_left_out == N - kept.height
    whole = Ridge().fit(kept.select("a", "b"), kept["y"].to_numpy(), kept["w"].to_numpy())
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12)


def test_ids_texts_and_dates_are_left_out_with_their_reason(frame, tmp_path):
    dated = frame.with_columns(
        pl.Series("id", [f"K{i:06d}" for i in range(N)]),
        pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 1, 1) + pl.duration(days=N - 1), eager=False).alias("day"),
    )
    dated.write_parquet(tmp_path / "t.parquet")
    source = Batches(tmp_path / "t.parquet", "label")
    assert source.table.names == ("a", "b", "kind", "flag", "y")
    assert source.left_out == {"id": "an id", "day": "a date or time"}


def test_one_reading_serves_several_learners(frame):
    asked = []

    def give():
        asked.append(1)
        return [frame[:450], frame[450:]]

    source = Batches(give, "label", columns=["a", "b"])
    LogisticRegression().fit_batches(source)
    before = len(asked)
    LogisticRegression(C=0.1).fit_batches(source)
    assert len(asked) == before


def test_collinear_columns_are_named_as_in_memory(frame):
    doubled = frame.with_columns((pl.col("a") * 2.0).alias("twice"))
    with pytest.warns(UserWarning, match="twice"):
        model = LeastSquares().fit_batches(Batches([doubled[:700], doubled[700:]], "y", columns=["a", "b", "twice"]))
    with pytest.warns(UserWarning, match="twice"):
        whole = LeastSquares().fit(doubled.select("a", "b", "twice"), doubled["y"].to_numpy())
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)


def test_one_row_and_fewer_rows_than_columns():
    few = pl.DataFrame({"a": [1.0, 2.0], "b": [0.5, 0.0], "c": [3.0, 1.0], "y": [1.0, 2.0]})
    model = Ridge().fit_batches(Batches([few], "y"))
    np.testing.assert_allclose(model.coef_, Ridge().fit(few.select("a", "b", "c"), few["y"].to_numpy()).coef_)
    one = Ridge().fit_batches(Batches([few[:1]], "y"))
    assert one.predict(few[:1].select("a", "b", "c")).tolist() == [1.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": "nothing"}, "parameter 'target' must name columns of the table; got 'nothing'"),
        ({"columns": ["a", "q"]}, "parameter 'columns' must name columns of the table; got 'q'"),
        ({"weight": "y"}, "column 'y' must hold weights >= 0; got -"),
        ({"weight": "kind"}, "column 'kind' must hold numbers in every batch"),
        ({"scratch": "/nowhere/at/all"}, "scratch file in '/nowhere/at/all' could not be written; No such file"),
        ({"columns": []}, "has no usable column beside the target"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(frame, change, words):
    given = {"target": "label", "columns": ["a", "b"], **change}
    with pytest.raises(AssayError) as caught:
        LogisticRegression().fit_batches(Batches([frame], **given))
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_batches_that_change_their_columns_are_refused(frame):
    with pytest.raises(AssayError, match="column 'b' must be in every batch; it is missing in the batch after row 900"):
        Ridge().fit_batches(Batches([frame, frame.drop("b")], "y", columns=["a", "b"]))
    other = frame.with_columns(pl.col("b").cast(pl.String) + "x")
    with pytest.raises(AssayError, match="column 'b' must hold numbers in every batch; got String after row 900"):
        Ridge().fit_batches(Batches([frame, other], "y", columns=["a", "b"]))


def test_targets_that_do_not_suit_are_one_sentence_and_true_and_false_are_numbers(frame):
    with pytest.raises(AssayError, match="Ridge: y must be numeric for regression; got labels such as 'no'"):
        Ridge().fit_batches(Batches([frame], "label", columns="a"))
    with pytest.raises(AssayError, match="Ridge: fit_batches needs the name of the target"):
        Ridge().fit_batches(Batches([frame], columns=["a"]))
    found = Ridge().fit_batches(Batches([frame], "flag", columns=["a", "b"]))
    whole = Ridge().fit(frame.select("a", "b"), frame["flag"].to_numpy().astype(float))
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-12)


def test_a_column_of_labels_without_a_label_changes_nothing(frame):
    empty = frame.with_columns(pl.lit(None, dtype=pl.String).alias("empty"))
    rows = empty.select("a", "empty", "kind")
    found = NaiveBayes().fit_batches(Batches([empty[:400], empty[400:]], "label", columns=rows.columns))
    whole = NaiveBayes().fit(rows, frame["label"].to_numpy())
    np.testing.assert_allclose(found.predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)


def test_a_table_without_rows_is_refused(frame):
    with pytest.raises(AssayError, match="must have at least one row"):
        Ridge().fit_batches(Batches([frame.clear()], "y", columns=["a"]))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Two Parquet files of numbers of several kinds with missing and infinite cells, and the frames they hold."""
    n, folder = 4000, tmp_path_factory.mktemp("numbers")
    cells = RNG.normal(size=(n, 4))
    cells[7, 0], cells[3100, 1], cells[20, 2] = np.inf, -np.inf, np.nan
    frame = pl.DataFrame(
        {
            "unused": np.arange(n).astype(str),
            "y": pl.Series([None if i % 701 == 5 else float(i % 2) for i in range(n)]),
            "a": cells[:, 0],
            "b": pl.Series(cells[:, 1], dtype=pl.Float32),
            "c": pl.Series([None if i % 11 == 0 else v for i, v in enumerate(cells[:, 2].tolist())]),
            "whole": pl.Series(np.arange(n) % 5, dtype=pl.Int16),
            "w": (np.arange(n) % 9 > 0).astype(float),
        }
    )
    parts = [frame[:2500], frame[2500:]]
    for k, part in enumerate(parts):
        part.write_parquet(folder / f"part-{k}.parquet", row_group_size=700)
    return folder / "*.parquet", parts


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("written", [True, False])
def test_cells_that_the_decoder_writes_are_those_that_it_would_send(numbers, weight, written, monkeypatch):
    path, parts = numbers
    monkeypatch.setattr(read_columnar, "_PIECE_BYTES", 1000)
    asked = []
    take = batches._Reader.take_written
    monkeypatch.setattr(batches._Reader, "take_written", lambda self, *more: asked.append(1) or take(self, *more))
    if not written:
        monkeypatch.setattr(batches.ScratchPart, "path", "/nowhere/at/all")
    names = ["a", "b", "c", "whole"]
    found = Batches(str(path), "y", weight=weight, columns=names, nominal=["whole"])
    expected = Batches(parts, "y", weight=weight, columns=names, nominal=["whole"])
    assert (len(asked) if found.table.shape else 0) == (5 if written else 0)  # pieces of 1024 rows, file by file
    np.testing.assert_array_equal(found.table[:], expected.table[:])
    np.testing.assert_array_equal(found.table[[3800, 5, 5, 2400]], expected.table[[3800, 5, 5, 2400]])
    np.testing.assert_array_equal(found.table.target, expected.table.target)
    if weight is not None:
        np.testing.assert_array_equal(found.table.weights, expected.table.weights)
    for name in ("low", "high", "missing", "infinite", "first_odd", "zero_one"):
        np.testing.assert_array_equal(getattr(found.table.facts, name), getattr(expected.table.facts, name))
    assert found.rows_left_out == expected.rows_left_out > 0
    assert found.table.categories[3].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_moments_of_the_first_pass_are_the_bits_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.base.batches.LEAST_BLOCK", 512)
    monkeypatch.setattr("assay.base.batches.BLOCK_CELLS", 1000)
    cells = RNG.normal(size=(3000, 3)) * [1.0, 1e-3, 1e5]
    for k in range(2):
        frame = pl.DataFrame({f"x{j}": cells[1500 * k : 1500 * (k + 1), j] for j in range(3)})
        frame.write_parquet(tmp_path / f"p{k}.parquet")
    table = Batches(str(tmp_path / "*.parquet")).table
    known = table.moments(None, 1)
    table._moments = None
    for one, other in zip(known, table.moments(None, 2), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(known[1], cells.var(axis=0), rtol=1e-12)


def test_a_scratch_file_that_is_full_is_one_sentence(numbers, monkeypatch):
    monkeypatch.setattr(batches.ScratchPart, "path", "/dev/full")
    with pytest.raises(AssayError, match="the scratch file in '.*' could not be written; No space left on device"):
        _ = Batches(str(numbers[0]), "y", columns=["a", "b"]).table


def test_a_part_with_other_types_is_refused_as_before(tmp_path):
    pl.DataFrame({"x": [1, 2, 3], "y": [0.5, 1.0, 2.0]}).write_parquet(tmp_path / "p1.parquet")
    pl.DataFrame({"x": [1.0, 2.5], "y": [0.5, 1.0]}).write_parquet(tmp_path / "p2.parquet")
    with pytest.raises(AssayError, match=r"'2\.5' in row 2, column 'x', which holds Int64 in the first 3 rows"):
        _ = Batches(scan_table(str(tmp_path / "*.parquet"), sample_rows=3), "y", columns=["x"]).table
    pl.DataFrame({"z": [1, 2], "y": [0.5, 1.0]}).write_parquet(tmp_path / "p2.parquet")
    with pytest.raises(AssayError, match="has a column 'z' in row 1 that the first 3 rows do not have"):
        _ = Batches(scan_table(str(tmp_path / "*.parquet"), sample_rows=3), "y", columns=["x"]).table


def test_new_numbers_in_a_binary_column_are_told_with_their_row(tmp_path):
    values = [0, 1] * 15_000
    values[25_000] = 7
    pl.DataFrame({"flag": values, "y": np.arange(30_000.0)}).write_parquet(tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match=r"column 'flag' is binary in the first 20000 rows, but row 25001 .* '7"):
        table = Batches(tmp_path / "t.parquet", "y").table
    assert table.shape == (30_000, 1) and np.unique(table[:]).shape == (3,)


def test_a_file_without_any_target_is_one_sentence_and_a_part_without_one_is_passed_over(tmp_path):
    pl.DataFrame({"x": [1.0, 2.0], "y": pl.Series([None, None], dtype=pl.Float64)}).write_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(AssayError, match="must have at least one row with a target"):
        _ = Batches(tmp_path / "a.parquet", "y").table
    pl.DataFrame({"x": [3.0], "y": [4.0]}).write_parquet(tmp_path / "b.parquet")
    source = Batches(str(tmp_path / "*.parquet"), "y")
    assert source.table[:].tolist() == [[3.0]] and source.rows_left_out == 2


def test_scratch_files_that_nobody_closes_go_without_a_warning():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        part = batches.ScratchPart(None, 2)
        part.write(np.ones((3, 2)))
        path = part.path
        del part
        gc.collect()
    assert not heard
    with pytest.raises(OSError):
        open(path, "rb").close()
