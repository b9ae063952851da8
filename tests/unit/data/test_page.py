"""The pages: complete, safe, and within their size."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from assay.data import Table, audit, describe, load_dataset, read_table

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        f"{HOSTILE} a": rng.normal(size=120),
        'b" onload="x': rng.choice([HOSTILE, "&amp;", "fine"], 120),
        "c": [None, *rng.normal(size=119)],
        "d": [7.0] * 120,
    })  # fmt: skip
    return Table.from_frame(frame, name=f"{HOSTILE}")


def test_text_from_data_is_escaped(hostile):
    for page in (audit(hostile).to_html(), describe(hostile).to_html()):
        assert "<script" not in page and 'onload="x' not in page
        assert "&lt;script&gt;" in page


def test_a_page_loads_nothing_and_runs_nothing(hostile):
    page = audit(hostile).to_html()
    assert not re.search(r"(?:src|href)=\"(?!#)", page) and "<script" not in page and "style=" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert "default-src 'none'" in policy and "sha256-" in policy


def test_the_page_of_an_audit_shows_findings_columns_gaps_and_associations():
    table = load_dataset("customers")
    result = audit(table, target="churned")
    page = result.to_html()
    for part in ('id="findings"', 'id="columns"', 'id="missing"', 'id="associations"'):
        assert part in page
    for finding in result.findings:
        assert finding.code in page and (finding.remedy["step"] or "") in page
    assert page.count('<li><div class="top">') == len(table.columns)


def test_no_rows_are_in_the_page():
    table = load_dataset("customers")
    page = audit(table, target="churned").to_html()
    assert not [value for value in table.frame["customer_id"].cast(pl.String).to_list()[20:] if f">{value}<" in page]


def test_a_hundred_columns_stay_under_two_megabytes(tmp_path):
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({
        f"column number {k} with a long name": rng.normal(size=400) if k % 3 else rng.choice(["a", "b", "c"], 400)
        for k in range(100)
    })  # fmt: skip
    holed = frame.with_columns(
        pl.when(pl.Series(rng.random(400)) < 0.1).then(None).otherwise(pl.col(c)).alias(c) for c in frame.columns[::2]
    )
    file = tmp_path / "page.html"
    page = audit(Table.from_frame(holed)).to_html(file)
    assert file.read_text() == page and len(page.encode()) < 2_000_000


def test_the_same_table_gives_the_same_page():
    table = load_dataset("weather")
    assert describe(table).to_html() == describe(table).to_html()
    assert "Nothing was found" in audit(table).to_html()


def test_row_numbers_are_written_plainly_and_only_where_they_are_known(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "id,v\n" + "".join(f"{i},{('n/a', '')[i % 9] if i % 9 < 2 else i * i % 97}\n" for i in [*range(1500), 7, 8])
    )
    result = audit(read_table(file))
    assert any(finding.rows["count"] and not finding.rows["first"] for finding in result.findings)
    page = result.to_html()
    assert "1501, 1502" in page and 'quiet">, …' not in page
