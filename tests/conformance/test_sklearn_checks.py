"""scikit-learn's own estimator checks over the whole catalogue: no failure, no exemption."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from assay import catalogue

FITTED_TO_A_TABLE = [entry for entry in catalogue.entries() if "table" in catalogue.TASKS[entry.task].claims]
# The checks' ten columns have a thousand subsets, each fitted in five folds: those of two columns say as much.
LIGHTER = {"select-exhaustive": {"max_features": 2}}
INSTANCES = [entry.load()(**LIGHTER.get(entry.id, {})) for entry in FITTED_TO_A_TABLE]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(INSTANCES)
def test_estimator_follows_the_scikit_learn_protocol(estimator, check):
    before = repr(estimator)
    check(estimator)
    assert repr(estimator) == before, "a check works on copies, and the instance is as it was"


def test_every_class_that_is_fitted_to_a_table_is_checked():
    others = {"sequence", "rules", "control", "image"}
    assert {type(instance) for instance in INSTANCES} == {
        entry.load() for entry in catalogue.entries() if entry.task not in others
    }
