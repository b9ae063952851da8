"""Classes of methods stand on few others: parts are composed, not inherited."""

import pytest

from assay import catalogue

MOST = 8
DEEPER = {
    "bagging-classifier": 10,
    "bagging-regressor": 9,
    "random-subspace-classifier": 11,
    "random-subspace-regressor": 10,
    "stacking-classifier": 9,
    "voting-classifier": 9,
}
"""Methods that stand on more, and on how many; none may come, and no number may grow."""


def own_classes(method: str) -> list[str]:
    cls = catalogue.get(method).load()
    return [one.__name__ for one in cls.__mro__ if one.__module__.split(".")[0] == "assay"]


@pytest.mark.parametrize("method", [entry.id for entry in catalogue.entries()])
def test_a_method_stands_on_few_of_our_classes(method):
    classes = own_classes(method)
    assert len(classes) <= DEEPER.get(method, MOST), f"{method} stands on {', '.join(classes)}"


def test_the_exceptions_are_still_needed():
    assert {method for method, most in DEEPER.items() if len(own_classes(method)) < most} == set()
