"""A remedy becomes the step it names, and nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from assay.base import AssayError
from assay.prepare import DropColumns, DropDuplicates, ImputeGroup, ReplaceValues, step_for


def test_columns_and_parameters_reach_the_step():
    step = step_for(
        {"step": "impute-group", "columns": ["height"], "parameters": {"by": ["sex"], "strategy": "median"}}
    )
    assert isinstance(step, ImputeGroup) and step.columns == ["height"] and step.by == ["sex"]
    both = step_for({"step": "drop-columns", "columns": ["k"], "parameters": {"columns": ["k"]}})
    assert isinstance(both, DropColumns) and both.columns == ["k"]
    assert step_for({"step": "drop-duplicates", "columns": ["id"]}).keys == ["id"]
    assert isinstance(step_for({"step": "drop-duplicates"}), DropDuplicates)


def test_findings_and_nested_dicts_are_understood():
    remedy = {
        "words": "correct",
        "step": "replace-values",
        "columns": ["c"],
        "parameters": {"mapping": {"c": {"?": None}}},
    }
    for found in (SimpleNamespace(remedy=remedy), {"code": "A001", "remedy": remedy}, remedy):
        step = step_for(found)
        assert isinstance(step, ReplaceValues)
        assert step.fit_transform(pl.DataFrame({"c": ["?", "a"]}))["c"].to_list() == [None, "a"]


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        ({"words": "look at it", "step": None}, "names no step of preparation; look at it"),
        ({"step": "os.system"}, "is not in the catalogue"),
        ({"step": "zero-r"}, "method 'zero-r' is no step of preparation"),
        ({"step": "drop-columns", "parameters": {"exec": "x"}}, "parameter 'exec' is none of DropColumns"),
        ({"step": "impute-simple", "parameters": {"strategy": "guess"}}, "parameter 'strategy' must be one of"),
        ({"step": "impute-simple", "parameters": ["mean"]}, "must be a dict"),
        ("drop everything", "the finding must be a dict"),
    ],
)
def test_everything_else_is_refused(remedy, words):
    with pytest.raises(AssayError, match=words):
        step_for(remedy)
