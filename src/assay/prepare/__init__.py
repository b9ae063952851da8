"""Preparation: what a table needs before a learner can take it, fitted on training rows only."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .auto import Preparation as Preparation
    from .auto import auto_prepare as auto_prepare
    from .bag_of_words import BagOfWords as BagOfWords
    from .balance import Balance as Balance
    from .balance import class_weights as class_weights
    from .dates import DateParts as DateParts
    from .missing import DropMissing as DropMissing
    from .missing import ImputeGroup as ImputeGroup
    from .missing import ImputeKNN as ImputeKNN
    from .missing import ImputeSimple as ImputeSimple
    from .one_hot import OneHot as OneHot
    from .ordinal import LabelCode as LabelCode
    from .ordinal import OrdinalCode as OrdinalCode
    from .outliers import Outliers as Outliers
    from .ranges import RangeRules as RangeRules
    from .remedy import step_for as step_for
    from .replace import DropColumns as DropColumns
    from .replace import DropDuplicates as DropDuplicates
    from .replace import ReplaceValues as ReplaceValues
    from .scale import Scale as Scale
    from .step import RowStep as RowStep
    from .step import TableStep as TableStep
    from .subset import BackwardSelector as BackwardSelector
    from .subset import ExhaustiveSelector as ExhaustiveSelector
    from .subset import ForwardSelector as ForwardSelector
    from .thermometer import Thermometer as Thermometer

__getattr__, __dir__ = lazy(
    __name__,
    {
        "auto": "Preparation auto_prepare",
        "bag_of_words": "BagOfWords",
        "balance": "Balance class_weights",
        "dates": "DateParts",
        "encode": "",
        "impute": "",
        "missing": "DropMissing ImputeGroup ImputeKNN ImputeSimple",
        "one_hot": "OneHot",
        "ordinal": "LabelCode OrdinalCode",
        "outliers": "Outliers",
        "ranges": "RangeRules",
        "remedy": "step_for",
        "replace": "DropColumns DropDuplicates ReplaceValues",
        "scale": "Scale",
        "step": "RowStep TableStep",
        "subset": "BackwardSelector ExhaustiveSelector ForwardSelector",
        "thermometer": "Thermometer",
    },
)
