"""Two tables of one kind: overlap and drift are found, equal ones raise no alarm."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from assay.data import Table, audit
from assay.data.findings.against import shift_of
from assay.data.findings.survey import Survey


def make(seed, rows=500, shift=0.0, p=0.5):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "x": rng.normal(shift, 1, rows),
        "z": rng.exponential(size=rows),
        "c": rng.choice(["a", "b"], rows, p=[p, 1 - p]),
        "y": rng.choice(["no", "yes"], rows),
    })  # fmt: skip


def against(one, two, code=None):
    found = audit(one, target="y", against=two).findings
    return [f for f in found if code is None or f.code == code]


def test_tables_of_one_source_do_not_differ():
    for seed in range(10):
        assert [f for f in against(make(2 * seed), make(2 * seed + 1)) if f.code >= "A035"] == []


def test_a_shift_of_numbers_and_of_shares_is_found():
    (number,) = against(make(0), make(1, shift=0.8), "A036")
    assert number.columns == ["x"] and number.statistics["p_holm"] < 0.01
    (label,) = against(make(0), make(1, p=0.15), "A036")
    assert label.columns == ["c"] and label.severity == "medium"


def test_the_distance_and_its_p_value_are_those_of_scipy():
    """scipy.stats.ks_2samp, asymptotic; the small-sample correction of Stephens moves p a little."""
    one, two = (Survey.of(Table.from_frame(make(seed, shift=seed / 8))) for seed in (0, 1))
    told = shift_of(one.columns["x"], two.columns["x"])
    reference = stats.ks_2samp(one.columns["x"].sorted, two.columns["x"].sorted, method="asymp")
    assert told["shift"] == pytest.approx(reference.statistic)
    assert told["p"] == pytest.approx(reference.pvalue, abs=0.02)


def test_rows_in_both_tables_are_an_overlap():
    one = make(0)
    two = pl.concat([make(1), one[:50]])
    (told,) = against(one, two, "A035")
    assert told.severity == "high" and told.rows == {"count": 50, "first": [500, 501, 502, 503, 504]}


def test_identifiers_in_both_tables_are_an_overlap_and_counters_are_not():
    one, two = make(0), make(1)
    keyed = [
        t.with_columns(pl.Series("user_id", [f"u{k}" for k in range(s, s + 500)])) for t, s in ((one, 0), (two, 480))
    ]
    assert against(*keyed, "A035")[0].rows["count"] == 20
    counted = [t.with_columns(pl.Series("row_id", np.arange(1, 501))) for t in (one, two)]
    assert against(*counted, "A035") == []


def test_columns_types_and_labels_that_differ_are_told():
    other = make(1).drop("z").with_columns(pl.col("x").cast(pl.String) + "?", pl.lit(1.5).alias("new"))
    other = other.with_columns(pl.when(pl.arange(0, 500) < 30).then(pl.lit("q")).otherwise("c").alias("c"))
    told = against(make(0), other)
    lost, added, kinds = (next(f for f in told if f.code == "A037" and f.columns == [c]) for c in ("z", "new", "x"))
    assert (lost.severity, added.severity, kinds.severity) == ("high", "low", "high")
    (unseen,) = [f for f in told if f.code == "A038"]
    assert unseen.rows["count"] == 30 and "'q'" in unseen.evidence


def test_a_missing_target_in_the_other_table_is_no_fault():
    assert against(make(0), make(1).drop("y"), "A037") == []


def test_gaps_that_come_with_the_other_table_are_drift():
    other = make(1).with_columns(pl.when(pl.arange(0, 500) % 5 == 0).then(None).otherwise("z").alias("z"))
    assert "missing" in against(make(0), other, "A036")[0].evidence


def test_a_change_that_only_columns_together_show_is_not_claimed_but_a_joint_shift_is():
    rng = np.random.default_rng(5)
    one = pl.DataFrame({f"x{k}": rng.normal(size=2000) for k in range(12)})
    two = pl.DataFrame({f"x{k}": rng.normal(0.35, 1, size=2000) for k in range(12)})
    told = [f for f in audit(one, against=two).findings if f.code == "A039"]
    assert told[0].statistics["area"] > 0.75
    assert [
        f for f in audit(one, against=one.sample(fraction=1, shuffle=True, seed=0)).findings if f.code == "A039"
    ] == []
