"""ARFF: declared types are believed and checked, sparse rows mean what the format says they mean."""

from __future__ import annotations

import gzip
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import arff as scipy_arff

from assay.base import DataError
from assay.data import read_table, scan_table
from tests.helpers import examples

WEATHER = """% The weather, as declared
@RELATION 'weather report'

@attribute outlook {sunny, overcast, 'light rain'}
@attribute\ttemperature   numeric
@ATTRIBUTE "relative humidity" REAL % a comment
@attribute windy {TRUE,FALSE}
@attribute count integer
@attribute remark string
@attribute day date "yyyy-MM-dd"
@attribute at DATE
@data
sunny, 85, 85.5, FALSE, 1, 'it''s', 2024-05-01, 2024-05-01T10:30:00
% between
'light rain',?,70, TRUE,2,"a, b",2024-05-02,?
overcast,64,?,?,?,?,?,'2024-05-03T00:00:00'
"""


@pytest.fixture
def write(tmp_path):
    def make(content: str, name: str = "t.arff"):
        file = tmp_path / name
        data = content.encode()
        file.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        return file

    return make


def test_declarations_become_types_roles_and_categories(write):
    table = read_table(write(WEATHER.replace("'it''s'", r"'it\'s'")))
    assert table.name == "weather report"
    assert table.columns[2] == "relative humidity"
    frame = table.frame
    assert frame["outlook"].to_list() == ["sunny", "light rain", "overcast"]
    assert frame["temperature"].to_list() == [85, None, 64] and frame["relative humidity"].to_list() == [
        85.5,
        70.0,
        None,
    ]
    assert frame["remark"].to_list() == ["it's", "a, b", None]
    assert frame["day"].to_list() == [datetime(2024, 5, 1), datetime(2024, 5, 2), None]
    assert frame["at"].to_list() == [datetime(2024, 5, 1, 10, 30), None, datetime(2024, 5, 3)]
    assert table.roles["outlook"].role == "nominal" and table.roles["windy"].role == "binary"
    assert table.roles["outlook"].confidence == 1.0 and "light rain" in table.roles["outlook"].reason
    assert table.notes["outlook"]["categories"] == ["sunny", "overcast", "light rain"]
    assert table.roles["day"].role == "datetime"


def test_given_roles_overrule_declared_ones(write):
    table = read_table(write("@relation r\n@attribute s {l,m}\n@data\nl\nm\n"), roles={"s": ("ordinal", ["l", "m"])})
    assert table.roles["s"].order == ("l", "m")


def test_sparse_rows_leave_out_zeros_and_first_labels(write):
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c numeric\n@attribute s string\n@data\n"
    table = read_table(write(text + "{0 5, 3 'w w'}\n{1 y, 2 ?}\n{}\n{ 0 1.5 ,1 x,2 2 }\n"))
    assert table.frame["a"].to_list() == [5, 0, 0, 1.5]
    assert table.frame["b"].to_list() == ["x", "y", "x", "x"]
    assert table.frame["c"].to_list() == [0, None, 0, 2]
    assert table.frame["s"].to_list() == ["w w", None, None, None]


def test_gzip_and_batches_work_too(write):
    file = write("@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n" + "1,x\n2,y\n" * 50, "t.arff.gz")
    assert read_table(file).n_rows == 100
    scan = scan_table(file, batch_rows=30)
    assert [batch.n_rows for batch in scan] == [30, 30, 30, 10] and scan.roles["b"].confidence == 1.0


HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD + "1,x\n2,z\n", ["label 'z' on line 6 (row 2)", "column 'b'"]),
        (HEAD + "1,x\ntwo,x\n", ["'two' on line 6 (row 2)", "column 'a'", "no number"]),
        (HEAD + "1\n", ["1 fields on line 5", "2 attributes"]),
        (HEAD + "1,x,3\n", ["3 fields on line 5"]),
        (HEAD + "1,x,{5}\n", ["weight", "line 5"]),
        (HEAD + "1,'x\n", ["line 5", "column 'b'"]),
        (HEAD + "{0 1, 7 x}\n", ["sparse cell on line 5", "0 to 1"]),
        (HEAD + "{1 x, 0 1}\n", ["rising"]),
        (HEAD + "{0 1\n", ["not closed", "line 5"]),
        (HEAD, ["no rows"]),
        ("@relation r\n@attribute a numeric\n", ["no @data"]),
        ("@relation r\n@data\n1\n", ["no @attribute"]),
        ("a,b\n1,2\n", ["no declaration on line 1"]),
        ("@relation r\n@attribute a relational\n@data\n", ["'relational' on line 2"]),
        ("@relation r\n@attribute a\n@data\n", ["without a name or a type on line 2"]),
        ("@relation r\n@attribute a {x,y\n@data\n", ["not closed"]),
        ("@relation r\n@attribute a {x,x}\n@data\n", ["twice on line 2"]),
        ("@relation r\n@attribute a numeric\n@attribute a real\n@data\n1,2\n", ["two columns named 'a'"]),
        ("@relation r\n@attribute a integer\n@data\n1.5\n", ["'1.5' on line 4", "no integer"]),
        ("@relation r\n@attribute a date yyyy-MM-dd\n@data\n2024-13-01\n", ["line 4", "no date"]),
        ("@relation r\n@attribute a date qqq\n@data\n1\n", ["date pattern on line 2"]),
    ],
)
def test_what_breaks_the_grammar_or_a_declaration_names_its_line(write, content, words):
    with pytest.raises(DataError) as caught:
        read_table(write(content))
    text = str(caught.value)
    assert "t.arff" in text and "\n" not in text
    for word in words:
        assert word in text


def test_agrees_with_scipy(write):
    """Outside reference: `scipy.io.arff.loadarff`, which reads dense numeric and nominal attributes."""
    rng = np.random.default_rng(0)
    rows = "".join(
        f"{a:.6g},{'xyz'[k]},{b}\n" for a, k, b in zip(rng.normal(size=50), rng.integers(0, 3, 50), range(50))
    )
    file = write("@relation r\n@attribute a real\n@attribute k {x,y,z}\n@attribute b numeric\n@data\n" + rows)
    expected, _ = scipy_arff.loadarff(file)
    table = read_table(file)
    np.testing.assert_array_equal(table.frame["a"].to_numpy(), expected["a"])
    assert table.frame["k"].to_list() == [k.decode() for k in expected["k"]]
    np.testing.assert_array_equal(table.frame["b"].to_numpy(), expected["b"])


LABEL = st.text(st.sampled_from("ab c,'\"\\{}%?ü"), min_size=1, max_size=5).filter(
    lambda s: s.strip() == s and s != "?"
)


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=st.lists(LABEL, min_size=1, max_size=4, unique=True),
    data=st.lists(
        st.tuples(st.integers(0, 3), st.none() | st.floats(-1e9, 1e9), st.none() | LABEL), min_size=1, max_size=9
    ),
    sparse=st.booleans(),
)
def test_a_written_table_comes_back(write, labels, data, sparse):
    rows = [(labels[k % len(labels)], x, s) for k, x, s in data]
    spec = ",".join(map(quoted, labels))
    text = f"@relation r\n@attribute 'the kind' {{{spec}}}\n@attribute x numeric\n@attribute s string\n@data\n"
    for label, x, s in rows:
        cells = [quoted(label), "?" if x is None else repr(x), "?" if s is None else quoted(s)]
        text += ("{" + ", ".join(f"{i} {c}" for i, c in enumerate(cells)) + "}" if sparse else ",".join(cells)) + "\n"
    table = read_table(write(text))
    assert table.frame["the kind"].to_list() == [row[0] for row in rows]
    assert table.frame["x"].cast(pl.Float64).to_list() == [row[1] for row in rows]
    assert table.frame["s"].to_list() == [row[2] for row in rows]
