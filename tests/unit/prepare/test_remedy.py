"""Remedies become steps of the catalogue and nothing else."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assay.base import AssayError
from assay.prepare import Scale, step_for


def test_a_remedy_names_step_columns_and_parameters():
    step = step_for({"step": "scale", "columns": ["a"], "parameters": {"method": "robust"}})
    assert isinstance(step, Scale) and step.columns == ["a"] and step.method == "robust"


def test_a_finding_is_taken_by_its_remedy():
    assert isinstance(step_for(SimpleNamespace(remedy={"step": "scale"})), Scale)


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        ({"step": None, "words": "look at the source"}, "look at the source"),
        ("text", "has no step"),
        ({"step": "os.system"}, "is not in the catalogue"),
        ({"step": "zero-r"}, "not a preparation step"),
        ({"step": "scale", "parameters": {"nosuch": 1}}, "nosuch"),
    ],
)
def test_what_is_no_step_of_the_catalogue_is_refused(remedy, words):
    with pytest.raises(AssayError, match=words):
        step_for(remedy)
