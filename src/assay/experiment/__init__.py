"""Experiments: a plan says which learners meet which folds; a run does it; a store keeps every finished fold.

>>> from assay.data import load_dataset
>>> from assay.experiment import Plan, run
>>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="5-fold"))
>>> results.learners[0].title
'ZeroR'
"""

from typing import TYPE_CHECKING

from .._lazy import lazy
from .comparing import compare, tune
from .ledger import Ledger
from .model import PreparedModel
from .plan import Learner, Plan, default_learners
from .predictions import FoldPredictions, Predictions
from .results import LearnerResult, Results
from .run import Progress, run
from .runs import StoredRun, find_run, load_results, stored_runs
from .search import Search, Tuned
from .space import Space
from .store import Store
from .tuning import Tuning

if TYPE_CHECKING:
    from .cluster_report import METHODS, ClusterReport, cluster_table
    from .explaining import explain_results
    from .final_look import HoldoutLook, open_holdout
    from .rules_report import RulesReport, rules_table

# What a comparison does not need arrives when it is asked for.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "cluster_report": "METHODS ClusterReport cluster_table",
        "explaining": "explain_results",
        "final_look": "HoldoutLook open_holdout",
        "rules_report": "RulesReport rules_table",
    },
)

__all__ = [
    "METHODS",
    "ClusterReport",
    "FoldPredictions",
    "HoldoutLook",
    "Learner",
    "LearnerResult",
    "Ledger",
    "Plan",
    "Predictions",
    "PreparedModel",
    "Progress",
    "Results",
    "RulesReport",
    "Search",
    "Space",
    "Store",
    "StoredRun",
    "Tuned",
    "Tuning",
    "cluster_table",
    "compare",
    "default_learners",
    "explain_results",
    "find_run",
    "load_results",
    "open_holdout",
    "rules_table",
    "run",
    "stored_runs",
    "tune",
]
