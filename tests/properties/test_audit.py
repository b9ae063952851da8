"""Whatever the table, the audit, the description and the merge check say something and break nothing."""

from __future__ import annotations

import json

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.data import Table, audit, describe, merge_check
from tests.helpers import examples

ROWS = 24
CELLS = {
    "float": st.floats(allow_nan=True, allow_infinity=True, width=64),
    "small": st.floats(-3, 3),
    "int": st.integers(-(2**62), 2**62),
    "code": st.integers(0, 3),
    "bool": st.booleans(),
    "text": st.text(max_size=12),
    "label": st.sampled_from(["a", "b", "A ", "?", "12 kg", "1,5", "1.5", "2024-01-02", "02.01.2024", "é"]),
    "when": st.datetimes(),
}


@st.composite
def frames(draw, rows=ROWS):
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5))
    columns = {}
    for k, kind in enumerate(kinds):
        cells = draw(st.lists(st.none() | CELLS[kind], min_size=rows, max_size=rows))
        columns[f"{kind}_{k}"] = pl.Series(cells, strict=False)
    return pl.DataFrame(columns)


@settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))
@given(frames(), frames())
def test_any_table_is_audited_described_and_compared(one, two):
    table = Table.from_frame(one)
    result = audit(table, against=two)
    told = result.to_dict()
    json.dumps(told, allow_nan=False)
    for finding in told["findings"]:
        assert finding["severity"] in ("high", "medium", "low") and finding["evidence"] and finding["remedy"]["words"]
        assert 0 <= len(finding["rows"]["first"]) <= 5 and finding["rows"]["count"] >= len(finding["rows"]["first"])
    json.dumps(describe(table).to_dict(), allow_nan=False)
    assert str(result) and result.to_html().startswith("<!doctype html>")
    json.dumps(merge_check(one, two).to_dict(), allow_nan=False)


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(frames(), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_changes_no_finding(frame, random):
    names = frame.columns
    random.shuffle(names)

    def told(result):
        # Of equal or dependent columns it is the later that is named, so these two kinds are only counted.
        return sorted(
            (f.code, f.severity, f.rows["count"], () if f.code in ("A012", "A031") else tuple(sorted(f.columns)))
            for f in result.findings
        )

    assert told(audit(frame)) == told(audit(frame.select(names)))
