"""Predictions for files: the same as by hand, piece by piece, with problems told and intervals that hold."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assay.base import DataError, UsageError
from assay.cli.main import assay as command
from assay.data import load_dataset
from assay.deploy import Predictor, open_package
from assay.experiment import Plan, run
from assay.models.linear import Ridge

RNG = np.random.default_rng(0)
N = 400
TABLE = pl.DataFrame({"a": RNG.normal(size=N), "b": RNG.choice(["x", "y", "=z"], N), "id": [f"r{k}" for k in range(N)]})
TABLE = TABLE.with_columns(y=2 * pl.col("a") + (pl.col("b") == "x") + pl.Series(RNG.normal(size=N)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("predict")
    results = run(Plan(TABLE.drop("id"), "y", learners=["ridge"], design="3-fold"))
    results.best_model("ridge").save(place / "numbers.assay")
    weather = run(Plan(load_dataset("weather"), "play", learners=["naive-bayes"], design="3-fold"))
    weather.best_model("naive-bayes").save(place / "classes.assay")
    TABLE.write_csv(place / "table.csv")
    TABLE.write_parquet(place / "table.parquet")
    load_dataset("weather").frame.write_csv(place / "weather.csv")
    return place


def call(*words: object) -> object:
    return CliRunner().invoke(command, ["predict", *map(str, words)])


@pytest.mark.parametrize("data", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("out", ["o.csv", "o.parquet", "o.ndjson"])
def test_predictions_of_a_file_are_those_of_the_model(folder, tmp_path, data, out):
    done = call(folder / "numbers.assay", folder / data, "--out", tmp_path / out, "--keep", "id", "--interval", "0.9")
    assert done.exit_code == 0, done.output
    read = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".ndjson": pl.read_ndjson}[(tmp_path / out).suffix]
    found = read(tmp_path / out)
    assert found.columns == ["row", "id", "y", "low", "high"] and found["row"].to_list() == list(range(1, N + 1))
    model = open_package(folder / "numbers.assay").model
    np.testing.assert_array_equal(found["y"].to_numpy(), model.predict(TABLE))
    inside = ((TABLE["y"] >= found["low"]) & (TABLE["y"] <= found["high"])).mean()
    assert inside > 0.85 and found["id"].to_list() == TABLE["id"].to_list()
    assert "they held for" in done.stderr


def test_pieces_of_a_long_file_are_predicted_one_after_the_other(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.data.read_delimited._PIECE_BYTES", 2000)
    pl.concat([TABLE] * 100).write_csv(tmp_path / "long.csv")
    sizes: list[int] = []
    predictor = Predictor(open_package(folder / "numbers.assay"))
    summary = predictor.run(tmp_path / "long.csv", lambda frame: sizes.append(frame.height))
    assert summary.rows == summary.predicted == sum(sizes) == 100 * N and len(sizes) > 1


def test_rows_with_problems_are_listed_and_the_others_predicted(folder, tmp_path):
    lines = (folder / "table.csv").read_text().splitlines()
    lines[3] = "nonsense," + lines[3].partition(",")[2]
    lines[7] += ",too,many"
    (tmp_path / "broken.csv").write_text("\n".join(lines) + "\n")
    done = call(folder / "numbers.assay", tmp_path / "broken.csv", "--out", tmp_path / "o.csv")
    assert done.exit_code == 5
    assert pl.read_csv(tmp_path / "o.csv")["row"].to_list() == [k for k in range(1, N + 1) if k not in (3, 7)]
    told = pl.read_csv(tmp_path / "o.errors.csv")
    assert told["row"].to_list() == [3, 7] and told["column"].to_list() == ["a", ""]
    assert "row 3, column 'a': must be a number; got 'nonsense'" in done.stderr


def test_a_file_that_cannot_be_read_to_its_end_keeps_what_was_read(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.data.read_delimited._PIECE_BYTES", 2000)
    text = pl.concat([TABLE] * 100).write_csv() + '1.0,"never closed\n' * 3
    (tmp_path / "cut.csv").write_text(text)
    done = call(folder / "numbers.assay", tmp_path / "cut.csv", "--out", tmp_path / "o.csv")
    assert done.exit_code == 3 and "quote" in done.stderr
    assert pl.read_csv(tmp_path / "o.csv").height > 300


def test_classes_come_with_probabilities_sets_and_reasons(folder):
    words = ("--probabilities", "--interval", "0.8", "--explain", "2")
    done = call(folder / "classes.assay", folder / "weather.csv", *words)
    assert done.exit_code == 0, done.output
    found = pl.read_csv(done.stdout.encode())
    assert found.columns == ["row", "play", "p(no)", "p(yes)", "set", "because"]
    np.testing.assert_allclose(found["p(no)"] + found["p(yes)"], 1.0)
    assert set(found["set"].drop_nulls()) <= {"no", "yes", "no | yes"}
    assert found["because"].str.contains("outlook").any()


def test_json_tells_the_summary(folder, tmp_path):
    done = call(folder / "numbers.assay", folder / "table.csv", "--out", tmp_path / "o.csv", "--json")
    told = json.loads(done.stdout)
    assert told["schema"] == "assay.predict/1" and told["predicted"] == N and told["problems"] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--interval", "1.5"), 2, "must lie between 0 and 1"), (("--out", "x.docx"), 2, "must end in"),
        (("--keep", "nothing"), 2, "is to be kept and is not in the table"),
        (("--probabilities",), 2, "gives no probabilities"),
    ],
)  # fmt: skip
def test_bad_options_are_one_sentence(folder, words, code, said):
    done = call(folder / "numbers.assay", folder / "table.csv", *words)
    assert done.exit_code == code and said in done.stderr and "Traceback" not in done.stderr


def test_a_table_without_a_column_and_a_file_that_is_no_package_are_refused(folder, tmp_path):
    TABLE.drop("a").write_csv(tmp_path / "t.csv")
    done = call(folder / "numbers.assay", tmp_path / "t.csv")
    assert done.exit_code == 3 and "column 'a' is needed and not in the table" in done.stderr
    done = call(folder / "table.csv", folder / "table.csv")
    assert done.exit_code == 4 and "is no package of Assay" in done.stderr


def test_a_bare_model_takes_the_columns_it_names(tmp_path):
    X = TABLE.select("a").to_pandas()
    package = open_package(Ridge().fit(X, TABLE["y"].to_numpy()).save(tmp_path / "m.assay"))
    found: list[pl.DataFrame] = []
    Predictor(package).run(TABLE_FILE(tmp_path), found.append)
    np.testing.assert_allclose(found[0]["prediction"].to_numpy(), package.model.predict(X))
    with pytest.raises(UsageError, match="holds no errors of rows"):
        Predictor(package, interval=0.9)


def TABLE_FILE(folder):
    TABLE.write_csv(folder / "t.csv")
    return folder / "t.csv"


@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_infinite_cells_are_not_taken_for_missing_ones(folder, cell):
    model = open_package(folder / "numbers.assay").model
    rows = TABLE.head(3).with_columns(a=pl.Series([0.5, cell, None]))
    with pytest.raises(DataError, match="column 'a' must be finite.*first at row 1"):
        model.predict(rows)
    assert np.isfinite(model.predict(rows[[0, 2]])).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("package", "more"),
    [("numbers", ["--interval", "0.9", "--keep", "id"]), ("classes", ["--probabilities", "--explain", "2"])],
)
def test_a_table_of_which_no_row_can_be_predicted_gives_the_columns(folder, tmp_path, package, more, ending):
    columns = TABLE.columns if package == "numbers" else load_dataset("weather").columns
    bad = pl.DataFrame({name: ["inf" if name in ("a", "temperature", "humidity") else "x"] * 3 for name in columns})
    good = TABLE if package == "numbers" else load_dataset("weather").frame
    good.write_csv(tmp_path / "good.csv")
    bad.write_csv(tmp_path / "bad.csv")
    read = pl.read_csv if ending == "csv" else pl.read_parquet
    found = {}
    for data in ("good", "bad"):
        out = tmp_path / f"{data}-out.{ending}"
        done = call(folder / f"{package}.assay", tmp_path / f"{data}.csv", "--out", out, *more)
        assert done.exit_code == (0 if data == "good" else 5), done.output
        found[data] = read(out)
    assert found["bad"].height == 0 and found["bad"].columns == found["good"].columns
    if ending == "parquet":
        assert found["bad"].schema == found["good"].schema
