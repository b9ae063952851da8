"""From the audit of a dirty table to steps that mend it, and on to a comparison that uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.data import audit, load_dataset, read_table
from assay.experiment import Plan, run
from assay.prepare import step_for

DIRTY = Path(__file__).parents[1] / "data" / "dirty.csv"


def applied(step, frame):
    return step.fit_resample(frame)[0] if hasattr(step, "fit_resample") else step.fit_transform(frame)


@pytest.fixture(scope="module")
def dirty():
    return read_table(DIRTY)


def test_every_remedy_with_a_step_builds_it_and_the_step_runs_on_the_table(dirty):
    built = 0
    for finding in audit(dirty).findings:
        if finding.remedy["step"] is None:
            assert finding.remedy["words"]
            continue
        step = step_for(finding)
        out = applied(step, dirty.frame)
        assert out.height <= dirty.n_rows
        read_back = json.loads(json.dumps(finding.to_dict()))["remedy"]
        assert applied(step_for(read_back), dirty.frame).equals(out), finding.code
        built += 1
    assert built > 25


def test_mended_cells_are_no_longer_found(dirty):
    frame = dirty.frame
    mended = ("A007", "A015", "A022", "A025", "A026", "A027", "A040")
    before = [f for f in audit(dirty).findings if f.code in mended and f.remedy["step"]]
    for finding in before:
        frame = step_for(finding).fit_transform(frame)
    after = audit(type(dirty).from_frame(frame, name="mended", roles=None))
    left = {(f.code, tuple(f.columns)) for f in after.findings if f.code in mended and f.severity != "low"}
    assert len(before) >= 10
    assert not left & {(f.code, tuple(f.columns)) for f in before}


def test_every_step_that_a_remedy_names_makes_its_finding_vanish(dirty):
    found = [f for f in audit(dirty, target="outcome").findings if f.remedy["step"] and f.code != "A009"]
    # The first finding of each code and step: one of each kind is enough, and each takes an audit.
    first = {(f.code, f.remedy["step"]): f for f in reversed(found)}
    assert len({code for code, _ in first}) >= 25
    for (code, step), finding in first.items():
        mended = type(dirty).from_frame(applied(step_for(finding), dirty.frame))
        left = [f for f in audit(mended, target="outcome").findings if f.code == code]
        assert finding.columns[:1] not in [f.columns[:1] for f in left], (code, step)


def test_remedies_go_into_a_comparison():
    table = load_dataset("customers")
    steps = [f.remedy for f in audit(table, target="churned").findings if f.remedy["step"] == "impute-simple"]
    assert steps
    results = run(Plan(table, "churned", learners=["logistic"], design="5-fold", prepare=steps))
    words = " ".join(results.learners[0].preparation)
    assert results.learners[0].error is None and "missing" in words
    assert "--prepare 'impute-simple=" in results.command
