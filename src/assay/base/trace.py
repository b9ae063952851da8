"""Traces: what an algorithm did, step by step, in one schema for every method.

`trace_` is a list of records `{"step": int, "what": str, "values": dict}`. When nobody asked, recording is free.

>>> trace = Trace(on=True)
>>> trace.record("loss", value=0.5)
>>> trace.record("loss", value=0.25)
>>> trace.records[1]
{'step': 1, 'what': 'loss', 'values': {'value': 0.25}}
>>> Trace(on=False).records
[]
"""

from __future__ import annotations

from typing import Any


class Trace:
    """Collects records while `on`; its `records` become the estimator's `trace_`."""

    def __init__(self, on: bool):
        self.on = on
        self.records: list[dict[str, Any]] = []

    def record(self, what: str, **values: Any) -> None:
        """Add one step; does nothing when the trace is off."""
        if self.on:
            self.records.append({"step": len(self.records), "what": what, "values": values})
