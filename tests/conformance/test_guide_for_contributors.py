"""The method and the entry that CONTRIBUTING.md writes down prove every claim, as the guide says of any method."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
import types
from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue.families import read_family

from . import test_learner_claims, test_table_claims

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
CLAIMS = [
    check
    for claims in (test_table_claims, test_learner_claims)
    for name, check in vars(claims).items()
    if name.startswith("test_") and list(inspect.signature(check).parameters) == ["entry"]
]


def block(kind: str) -> str:
    """The first block of this language."""
    found = re.search(rf"^ *```{kind}\n(.*?)^ *```", PAGE, re.M | re.S)
    assert found is not None
    return textwrap.dedent(found[1])


@pytest.fixture
def entry(monkeypatch):
    """The entry of the guide, whose class is that of the guide too."""
    page = types.ModuleType("page_for_contributors")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    exec(compile(block("python"), "CONTRIBUTING.md", "exec"), vars(page))
    (read,) = read_family(block("toml"))
    assert catalogue.get(read.id).class_path.endswith(read.class_path.rpartition(".")[2])
    return dataclasses.replace(read, class_path=f"{page.__name__}.{read.class_path.rpartition('.')[2]}")


@pytest.mark.parametrize("check", CLAIMS, ids=lambda check: check.__name__)
def test_the_method_of_the_guide_proves_its_claims(check, entry):
    check(entry)


def test_a_false_claim_of_the_guide_would_be_noticed(entry):
    """Both files of claims are tried, and a claim turned round fails in one of them."""
    assert len(CLAIMS) > 10 and {check.__module__ for check in CLAIMS} == {
        test_table_claims.__name__,
        test_learner_claims.__name__,
    }
    check = test_learner_claims.test_probabilities_are_probabilities_exactly_if_claimed
    with pytest.raises(AssertionError):
        check(dataclasses.replace(entry, probabilities=not entry.probabilities))
