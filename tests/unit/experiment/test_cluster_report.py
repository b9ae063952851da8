"""Clusters of a table in one call: the number found, methods side by side, stability, profiles, the page."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assay.base import AssayError
from assay.data import Table
from assay.experiment import cluster_table


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    owner = np.repeat([0, 1, 2], 50)
    frame = pl.DataFrame(
        {
            "height": np.array([0.0, 8.0, 0.0])[owner] + rng.normal(size=150),
            "weight": np.array([0.0, 0.0, 8.0])[owner] + rng.normal(size=150),
            "colour": np.array(["red", "blue", "blue"])[owner],
        }
    )
    return cluster_table(Table.from_frame(frame), n_resamples=3, random_state=0)


def test_the_number_of_clusters_is_found_and_methods_agree(report):
    assert report.k == 3 and {m["method"] for m in report.methods} == {
        "k-means",
        "gaussian-mixture",
        "hierarchical",
        "dbscan",
        "hdbscan",
    }
    assert report.agreement["k-means"]["hierarchical"] > 0.9
    assert report.methods[0]["stability"] > 0.9 and 0 <= report.methods[0]["stability_low"] <= 1


def test_profiles_name_what_tells_clusters_apart_and_no_p_value(report):
    words = " ".join(p["words"] for p in report.profiles)
    assert "high height" in words and "high weight" in words and "colour is red" in words
    assert sum(p["rows"] for p in report.profiles) == 150
    assert any("no p-values" in note for note in report.notes)


def test_it_is_a_page_and_plain_data(report):
    page = report.to_page()
    assert page.startswith("<!doctype html>") and "<script" not in page and page.count("<svg") >= 5
    assert report.to_dict()["choice"]["chosen"] == 3 and "most stable" in str(report)


def test_unknown_methods_are_refused():
    with pytest.raises(AssayError, match="parameter 'methods' must name some of k-means"):
        cluster_table(Table.from_frame(pl.DataFrame({"x": [1.0, 2.0, 3.0]})), methods=["tea-leaves"])


def test_a_messy_table_without_groups_is_one_cluster_without_profiles():
    """A key, a constant, an empty column, labels and numbers with gaps: nothing breaks, nothing is made up."""
    draw = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "key": [f"K{i:04d}" for i in range(120)],
            "same": ["x"] * 120,
            "empty": pl.Series([None] * 120, dtype=pl.String),
            "town": [None if i % 7 == 0 else ("Bern", "Basel")[i % 2] for i in range(120)],
            "age": [None if i % 11 == 0 else float(v) for i, v in enumerate(draw.normal(size=120))],
            "pay": draw.normal(size=120),
        }
    )
    told = cluster_table(Table.from_frame(frame), 1, n_resamples=2)
    assert told.columns == ["town", "age", "pay"] and told.profiles == []
    assert told.sentence.startswith("One cluster")
    assert "Left out" in " ".join(told.notes)


def test_known_labels_stay_out_and_are_compared():
    rng = np.random.default_rng(1)
    owner = np.repeat([0, 1], 40)
    frame = pl.DataFrame({"x": 6.0 * owner + rng.normal(size=80), "kind": np.array(["low", "high"])[owner]})
    told = cluster_table(Table.from_frame(frame), 2, methods=["k-means"], against="kind", n_resamples=2)
    assert told.columns == ["x"] and told.external["k-means"].adjusted_rand > 0.9
    assert told.methods[0]["silhouette_low"] < told.methods[0]["silhouette"] < told.methods[0]["silhouette_high"]
    assert "Against kind" in told.to_page()
    with pytest.raises(AssayError, match="parameter 'against' must name a column"):
        cluster_table(Table.from_frame(frame), 2, against="nothing")


def test_the_audit_is_told_first():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"x": rng.normal(size=60), "town": ["Bern", "bern", "Basel", "basel"] * 15})
    told = cluster_table(Table.from_frame(frame), 2, methods=["k-means"], n_resamples=2)
    assert told.findings and all(f["severity"] in ("high", "medium") for f in told.findings)
    assert "What the audit found" in told.to_page()


def test_dates_and_texts_of_their_own_make_no_clusters():
    rng = np.random.default_rng(0)
    owner = np.repeat([0, 3, 6], 40)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 4, 29), eager=True)
    frame = pl.DataFrame(
        {"a": owner + rng.normal(0, 0.5, 120), "b": owner + rng.normal(0, 0.5, 120), "when": days,
         "note": [f"row {i} of many" for i in range(120)]}
    )  # fmt: skip
    found = cluster_table(Table.from_frame(frame), methods=["k-means"], n_resamples=2, random_state=0)
    assert found.k == 3 and found.columns == ["a", "b"]
    assert any("dates" in note and "when" in note for note in found.notes)
    words = [profile["words"] for profile in found.profiles]
    assert "near the average in all columns" in words and not any("0.0 sd" in one for one in words)


def test_a_method_that_finds_one_cluster_is_not_the_stable_one_and_gaps_are_named():
    rng = np.random.default_rng(1)
    kinds = [("red", "blue", None)[i % 3] for i in range(120)]
    frame = pl.DataFrame({"a": np.arange(120) % 3 * 2.0 + rng.normal(size=120), "kind": kinds})
    found = cluster_table(Table.from_frame(frame), k=3, methods=["k-means", "dbscan"], n_resamples=2, random_state=0)
    clusters = {one["method"]: one["clusters"] for one in found.methods}
    assert clusters["k-means"] == 3 and (clusters["dbscan"] > 1 or "stable method is k-means" in found.sentence)
    assert any("kind is missing" in profile["words"] for profile in found.profiles)


def table_of(cells: np.ndarray) -> Table:
    return Table.from_frame(pl.DataFrame({f"x{j}": column for j, column in enumerate(cells.T)}))


def test_five_blobs_are_five_clusters_by_all_criteria_and_nothing_speaks_against_them():
    rng = np.random.default_rng(1)
    centres = 8.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]])
    report = cluster_table(
        table_of(centres[np.arange(250) % 5] + 0.7 * rng.normal(size=(250, 2))), methods=["k-means"], n_resamples=2
    )
    assert report.k == 5 and set(report.choice.best.values()) == {5}
    assert report.sentence.startswith("5 clusters; the most stable method is k-means")
    assert report.sentence.endswith("All criteria say 5.")
    assert report.evidence["stability"] > max(report.evidence["without_groups"])
    assert len(report.to_dict()["evidence"]["without_groups"]) == 19


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_noise_is_said_to_be_no_evidence_for_clusters(kind):
    rng = np.random.default_rng(3)
    cells = rng.normal(size=(300, 4)) if kind == "normal" else rng.random((300, 4))
    report = cluster_table(table_of(cells), methods=["k-means"], n_resamples=1)
    assert "no evidence for more" in report.sentence.lower()
    asked = cluster_table(table_of(cells), 4, methods=["k-means"], n_resamples=1)
    assert asked.sentence.startswith(
        "No evidence for more than one cluster: k-means finds 4 clusters again on halves no"
    )
    assert not asked.evidence["stability"] > max(asked.evidence["without_groups"])


def test_criteria_that_disagree_are_named_and_no_lack_of_evidence_is_claimed():
    """Two far groups of two near ones, which standard deviations of columns hide: the criteria do not agree."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [30.0, 0.0], [33.0, 0.0]])
    cells = centres[np.arange(300) % 4] + 0.3 * rng.normal(size=(300, 2))
    report = cluster_table(table_of(cells), methods=["k-means"], n_resamples=1)
    assert len(set(report.choice.best.values())) > 2 and report.choice.best["gap"] > 1
    assert "the criteria disagree (elbow says 1, silhouette says 4" in report.sentence
    assert "no evidence" not in report.sentence.lower() and "--k 4" in report.sentence
