"""Experiments: a plan says which learners meet which folds; a run does it; a store keeps every finished fold.

>>> from assay.data import load_dataset
>>> from assay.experiment import Plan, run
>>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="5-fold"))
>>> results.learners[0].title
'ZeroR'
"""

from .cluster_report import METHODS, ClusterReport, cluster_table
from .comparing import compare
from .model import PreparedModel
from .plan import Learner, Plan, default_learners
from .predictions import FoldPredictions, Predictions
from .results import LearnerResult, Results
from .run import Progress, run
from .store import Store

__all__ = [
    "METHODS",
    "ClusterReport",
    "FoldPredictions",
    "Learner",
    "LearnerResult",
    "Plan",
    "Predictions",
    "PreparedModel",
    "Progress",
    "Results",
    "Store",
    "cluster_table",
    "compare",
    "default_learners",
    "run",
]
