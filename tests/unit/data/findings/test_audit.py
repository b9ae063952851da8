"""The audit finds what was planted, and keeps quiet where nothing is wrong."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from assay.data import DATASETS, Table, audit, load_dataset, read_table

N = 200
RNG = np.random.default_rng(0)
CLEAN = {
    "x": RNG.normal(size=N),
    "z": RNG.normal(size=N),
    "colour": RNG.choice(["red", "green", "blue"], N).tolist(),
    "y": RNG.choice(["yes", "no"], N).tolist(),
}


def findings(target="y", **columns):
    return audit(Table.from_frame(pl.DataFrame({**CLEAN, **columns})), target=target).findings


def only(found, code):
    matching = [finding for finding in found if finding.code == code]
    assert len(matching) == 1, found
    return matching[0]


def test_a_clean_table_has_no_findings():
    assert findings() == []


@pytest.mark.parametrize("name", ["iris", "wine", "diabetes", "breast-cancer", "digits", "weather", "customers"])
def test_the_classics_raise_no_alarm(name):
    assert audit(load_dataset(name), target=DATASETS[name].target).worst != "high"


def test_missing_values_are_counted_and_placed():
    finding = only(findings(m=[None, None] + [0.5 + i for i in range(N - 2)]), "A001")
    assert finding.rows == {"count": 2, "first": [0, 1]} and finding.severity == "low"
    assert only(findings(m=[None] * 150 + [0.5 + i for i in range(50)]), "A001").severity == "high"


def test_empty_and_constant_columns_are_found():
    assert only(findings(e=pl.Series([None] * N, dtype=pl.Float64)), "A002").columns == ["e"]
    assert only(findings(k=[3.5] * N), "A003").columns == ["k"]


def test_duplicate_rows_are_counted_once_each():
    frame = pl.DataFrame(CLEAN)
    doubled = Table.from_frame(pl.concat([frame, frame[[3, 3, 5]]]))
    finding = only(audit(doubled).findings, "A004")
    assert finding.rows == {"count": 3, "first": [200, 201, 202]}


def test_duplicates_are_found_beside_an_identifier():
    frame = pl.DataFrame(CLEAN)
    doubled = pl.concat([frame, frame[[3]]]).with_columns(pl.Series("row_id", np.arange(N + 1) + 500))
    assert only(audit(Table.from_frame(doubled)).findings, "A004").rows["first"] == [200]


def test_identifiers_and_prose_are_named():
    assert only(findings(user_id=[f"u{i}" for i in range(N)]), "A005").columns == ["user_id"]
    assert only(findings(note=[f"some long remark number {i} here" for i in range(N)]), "A013").columns == ["note"]


@pytest.mark.parametrize(
    "copy",
    [
        lambda y: y,
        lambda y: [label.upper() for label in y],
        lambda y: [1 if label == "yes" else 0 for label in y],
        lambda y: [label == "yes" for label in y],
        lambda y: [3.5 if label == "yes" else 2.25 for label in y],
    ],
)
def test_a_copy_of_the_classes_is_a_leak(copy):
    finding = only(findings(leak=copy(CLEAN["y"])), "A006")
    assert finding.severity == "high" and finding.columns == ["leak"]


def test_a_linear_copy_of_a_numeric_target_is_a_leak():
    found = findings(target="x", leak=CLEAN["x"] * -3 + 2)
    assert only(found, "A006").columns == ["leak"]


def test_a_leak_is_found_with_more_classes_and_missing_cells():
    three = RNG.choice(["a", "b", "c"], N).tolist()
    coded = [None if i % 9 == 0 else {"a": 10, "b": 5, "c": 7}[label] for i, label in enumerate(three)]
    assert only(findings(y=three, leak=coded), "A006").columns == ["leak"]


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_a_good_feature_is_no_leak(noise):
    assert not [f for f in findings(target="x", good=CLEAN["x"] + noise * RNG.normal(size=N)) if f.code == "A006"]


def test_a_label_that_decides_most_rows_is_no_leak():
    near = ["a" if label == "yes" else "b" for label in CLEAN["y"]]
    near[:5] = ["b" if label == "a" else "a" for label in near[:5]]
    assert not [f for f in findings(near=near) if f.code == "A006"]


def test_few_rows_prove_no_leak():
    table = Table.from_frame(pl.DataFrame({"x": [1, 0, 1], "y": ["a", "b", "a"]}))
    assert not [f for f in audit(table, target="y").findings if f.code == "A006"]


def test_disguised_missing_values_are_found():
    numbers = RNG.uniform(0, 50, N).round(2)
    numbers[:6] = -999
    assert only(findings(age=numbers), "A007").rows == {"count": 6, "first": [0, 1, 2, 3, 4]}
    words = RNG.choice(["red", "green", "unknown"], N).tolist()
    assert "'unknown'" in only(findings(c=words), "A007").evidence


def test_ordinary_extremes_are_not_disguised():
    assert findings(balance=np.concatenate([RNG.integers(-1000, 1000, N - 2), [-999, -999]])) == []
    assert findings(scores=RNG.integers(-1, 3, N)) == []


def test_many_categories_are_named():
    assert only(findings(city=[f"town {i % 90}" for i in range(N)]), "A008").severity == "medium"


def test_imbalance_and_rare_classes_are_named():
    labels = ["no"] * (N - 3) + ["yes"] * 3
    found = findings(y=labels)
    assert "98.5 %" in only(found, "A009").evidence
    assert only(found, "A010").rows == {"count": 3, "first": [197, 198, 199]}


def test_examples_of_unreadable_cells_do_not_repeat_and_dates_are_not_called_no_dates(tmp_path):
    file = tmp_path / "t.csv"
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(97)] + ["18/09/2023"] * 3
    sizes = [str(i) for i in range(97)] + ["unknown"] * 3
    file.write_text("day,size\n" + "\n".join(f"{day},{size}" for day, size in zip(days, sizes)))
    told = [finding.evidence for finding in audit(read_table(file)).findings if finding.code == "A011"]
    assert told == [
        "3 cells could not be read as a date like the others and became missing ('18/09/2023')",
        "3 cells could not be read as a number and became missing ('unknown')",
    ]


def test_unreadable_cells_are_told(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("v,y\n" + "\n".join(f"{i}.5,{'ab'[i % 2]}" for i in range(98)) + "\noops,a\n?,b\n")
    finding = only(audit(read_table(file)).findings, "A011")
    assert finding.rows == {"count": 1, "first": [98]} and "'oops'" in finding.evidence
    assert only(findings(v=[float("inf")] + [float(i) for i in range(N - 1)]), "A011").rows["first"] == [0]


def test_days_beyond_the_calendar_are_unreadable_cells():
    days = pl.Series([-10_857_147, *range(N - 1)]).cast(pl.Int32).cast(pl.Date)
    assert "could not be read as a date" in only(findings(v=days), "A011").evidence


def test_copies_of_columns_are_found():
    finding = only(findings(again=CLEAN["x"].copy()), "A012")
    assert finding.columns == ["again", "x"]


def test_rows_without_target_are_counted():
    labels = [None, None, *CLEAN["y"][2:]]
    assert only(findings(y=labels), "A014").rows == {"count": 2, "first": [0, 1]}


def test_labels_that_differ_in_case_are_found():
    assert "'Red', 'red'" in only(findings(c=RNG.choice(["red", "Red", "blue"], N).tolist()), "A015").evidence


def test_contradictory_rows_are_found():
    frame = pl.DataFrame({"a": [1.5, 1.5, 2.5] * 10, "b": ["u", "u", "v"] * 10, "y": ["yes", "no", "no"] * 10})
    finding = only(audit(Table.from_frame(frame), target="y").findings, "A016")
    assert finding.rows["count"] == 20


def test_the_most_severe_come_first_and_everything_is_plain_data():
    result = audit(Table.from_frame(pl.DataFrame({**CLEAN, "k": [1] * N, "leak": CLEAN["y"]})), target="y")
    assert [finding.code for finding in result.findings] == ["A006", "A003"] and result.worst == "high"
    told = json.loads(json.dumps(result.to_dict()))
    assert told["counts"] == {"high": 1, "medium": 0, "low": 1}
    assert list(told["findings"][0]) == [
        "code", "kind", "column", "columns", "severity", "rows", "evidence", "statistics", "remedy"
    ]  # fmt: skip
    assert told["findings"][0]["column"] == "leak" and told["findings"][0]["remedy"]["step"] == "drop-columns"
    assert str(result).splitlines()[1].split()[:2] == ["A006", "high"]


def test_the_html_view_escapes_what_comes_from_data():
    html = audit(Table.from_frame(pl.DataFrame({"<script>": ["<b>"] * 3})))._repr_html_()
    assert "<script>" not in html and "<b>" not in html and "&lt;script&gt;" in html


def test_the_audit_does_not_change_with_row_blocks():
    frame = pl.DataFrame({**CLEAN, "m": [None] + [0.5 + i for i in range(N - 1)]})
    blocks = pl.concat([frame[:70], frame[70:]], rechunk=False)
    whole, parts = (audit(Table.from_frame(f), target="y").to_dict() for f in (frame, blocks))
    assert whole == parts


@pytest.mark.parametrize(("shuffled", "words"), [(False, "rows follow each other"), (True, "another order than that")])
def test_rows_are_said_to_follow_each_other_only_where_they_do(shuffled, words):
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + (rng.permutation(200) if shuffled else np.arange(200))
    frame = pl.DataFrame({"day": days, "x": rng.normal(size=200), "y": rng.choice(["a", "b"], size=200)})
    (told,) = [one for one in audit(Table.from_frame(frame), target="y").findings if one.code == "A043"]
    assert words in told.evidence


@pytest.mark.parametrize("ids", [False, True])
def test_a_row_beside_its_copy_says_nothing_about_time(ids):
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + np.arange(300)
    frame = pl.DataFrame({"day": days, "x": rng.normal(size=300), "y": rng.normal(size=300)})
    twice = pl.concat([frame, frame])
    if ids:
        twice = twice.with_columns(pl.Series("id", np.arange(600)))
    (told,) = [one for one in audit(Table.from_frame(twice), target="y").findings if one.code == "A043"]
    assert told.severity == "low" and abs(told.statistics["correlation"]) < 0.2
    drifting = twice.with_columns(y=pl.col("y") + pl.Series(np.tile(np.arange(300) / 50, 2)))
    (told,) = [one for one in audit(Table.from_frame(drifting), target="y").findings if one.code == "A043"]
    assert told.severity == "medium" and "neighbours in time go together" in told.evidence
