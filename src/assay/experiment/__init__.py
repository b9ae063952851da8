"""Experiments: a plan says which learners meet which folds; a run does it; a store keeps every finished fold.

>>> from assay.data import load_dataset
>>> from assay.experiment import Plan, run
>>> results = run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="5-fold"))
>>> results.learners[0].title
'ZeroR'
"""

from .comparing import compare
from .model import PreparedModel
from .plan import Learner, Plan, default_learners
from .predictions import FoldPredictions, Predictions
from .results import LearnerResult, Results
from .run import Progress, run
from .store import Store

__all__ = [
    "FoldPredictions",
    "Learner",
    "LearnerResult",
    "Plan",
    "Predictions",
    "PreparedModel",
    "Progress",
    "Results",
    "Store",
    "compare",
    "default_learners",
    "run",
]
