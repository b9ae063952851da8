"""What results have in common: plain data without infinities, safe tables, the sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.evaluate.records import Record


@dataclass(frozen=True, eq=False)
class Finding(Record):
    value: float
    parts: dict
    _hidden: np.ndarray
    sentence: str

    def _facts(self):
        return [("<b>", "1 & 2")]


FINDING = Finding(np.inf, {"a": np.arange(2), "b": Finding(1.0, {}, np.zeros(1), "in")}, np.zeros(3), "a < b.")


def test_plain_data_leave_out_hidden_fields_and_infinities():
    record = FINDING.to_dict()
    assert record["value"] is None and "_hidden" not in record
    assert record["parts"]["a"] == [0, 1] and record["parts"]["b"]["sentence"] == "in"


def test_tables_escape_their_text():
    shown = FINDING._repr_html_()
    assert "<th>&lt;b&gt;</th><td>1 &amp; 2</td>" in shown and "a &lt; b." in shown and str(FINDING) == "a < b."
