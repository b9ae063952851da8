"""The registry: every listed class exists, names are unique, nothing is imported by a name from outside."""

from __future__ import annotations

import pytest

from assay import catalogue
from assay.base import PackageError
from assay.deploy.registry import RECORDS, SKLEARN, Registry

LISTED = [name for names in RECORDS.values() for name in names.split()]
PARTS = [f"sklearn/{name}" for names in SKLEARN.values() for name in names.split()]


@pytest.mark.parametrize("name", [*LISTED, *PARTS, *(entry.id for entry in catalogue.entries())])
def test_a_name_leads_to_a_class_and_back(name):
    registry = Registry()
    assert registry.name(registry.cls(name)) == name


def test_names_are_unique():
    names = [*LISTED, *PARTS, *(entry.id for entry in catalogue.entries())]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name", ["os.system", "assay.models.linear.Ridge", "Ridge", "sklearn/Bunch", "", None, 3, "subprocess"]
)
def test_other_names_are_refused(name):
    with pytest.raises(PackageError, match="is not one that Assay knows"):
        Registry().cls(name)


def test_a_class_of_the_same_name_elsewhere_is_not_taken():
    class Ridge:
        pass

    Ridge.__module__ = "assay.models.linear.ridge"
    assert Registry().name(Ridge) is None and Registry().name(dict) is None
