"""scikit-learn's own estimator checks over the whole catalogue: no failure, no exemption."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from assay import catalogue

TASKS = ("classify", "regress", "transform", "rank")
INSTANCES = [entry.load()() for entry in catalogue.entries() if entry.task in TASKS]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(INSTANCES)
def test_estimator_follows_the_scikit_learn_protocol(estimator, check):
    check(estimator)


def test_every_class_of_the_catalogue_is_checked():
    assert {type(instance) for instance in INSTANCES} == {entry.load() for entry in catalogue.entries()}
