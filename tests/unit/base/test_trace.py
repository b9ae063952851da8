from assay.base import Trace


def test_records_are_numbered_in_order():
    trace = Trace(on=True)
    trace.record("loss", value=1.0)
    trace.record("split", column="age")
    assert [r["step"] for r in trace.records] == [0, 1]
    assert trace.records[1] == {"step": 1, "what": "split", "values": {"column": "age"}}


def test_nothing_is_kept_when_nobody_asked():
    trace = Trace(on=False)
    trace.record("loss", value=1.0)
    assert trace.records == []
