"""The protocol below every method: estimators, parameters, errors, randomness, trace, cost.

Names arrive lazily, so that errors and the catalogue can be used without loading NumPy or scikit-learn.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from . import config as config
    from .class_weight import class_factors as class_factors
    from .class_weight import class_weight_param as class_weight_param
    from .class_weight import refuse_balance as refuse_balance
    from .class_weight import with_class_weights as with_class_weights
    from .cost import Cost as Cost
    from .cost import check_cost as check_cost
    from .errors import AssayError as AssayError
    from .errors import AssayWarning as AssayWarning
    from .errors import CostError as CostError
    from .errors import DataError as DataError
    from .errors import DesignError as DesignError
    from .errors import KindError as KindError
    from .errors import PackageError as PackageError
    from .errors import ParameterError as ParameterError
    from .errors import UsageError as UsageError
    from .errors import plain as plain
    from .errors import sentence as sentence
    from .estimator import Classifier as Classifier
    from .estimator import Estimator as Estimator
    from .estimator import Fold as Fold
    from .estimator import LabelClassifier as LabelClassifier
    from .estimator import Regressor as Regressor
    from .estimator import check_lengths as check_lengths
    from .estimator import check_weights as check_weights
    from .estimator import take_rows as take_rows
    from .parameters import AnyOf as AnyOf
    from .parameters import ArrayLike as ArrayLike
    from .parameters import Boolean as Boolean
    from .parameters import Choice as Choice
    from .parameters import Function as Function
    from .parameters import Instance as Instance
    from .parameters import Integer as Integer
    from .parameters import Kind as Kind
    from .parameters import Mapping as Mapping
    from .parameters import Nothing as Nothing
    from .parameters import Parameter as Parameter
    from .parameters import Real as Real
    from .parameters import Seed as Seed
    from .parameters import param as param
    from .randomness import Stream as Stream
    from .threads import thread_count as thread_count
    from .trace import Trace as Trace
    from .unsupervised import Clusterer as Clusterer
    from .unsupervised import DensityEstimator as DensityEstimator
    from .unsupervised import Detector as Detector
    from .unsupervised import Unsupervised as Unsupervised
    from .usual_parameters import categorical_features_param as categorical_features_param
    from .usual_parameters import n_jobs_param as n_jobs_param
    from .usual_parameters import random_state_param as random_state_param
    from .usual_parameters import trace_param as trace_param

__getattr__, __dir__ = lazy(
    __name__,
    {
        "class_weight": "class_factors class_weight_param refuse_balance with_class_weights",
        "config": "",
        "cost": "Cost check_cost",
        "errors": "AssayError AssayWarning CostError DataError DesignError KindError PackageError "
        "ParameterError UsageError plain sentence",
        "estimator": "Classifier Estimator Fold LabelClassifier Regressor check_lengths check_weights take_rows",
        "parameters": "AnyOf ArrayLike Boolean Choice Function Instance Integer Kind Mapping Nothing Parameter Real "
        "Seed param",
        "randomness": "Stream",
        "threads": "thread_count",
        "trace": "Trace",
        "unsupervised": "Clusterer DensityEstimator Detector Unsupervised",
        "usual_parameters": "categorical_features_param n_jobs_param random_state_param trace_param",
    },
)
