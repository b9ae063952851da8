"""Preparation: what a table needs before a learner can take it, fitted on training rows only."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .auto import Preparation as Preparation
    from .auto import auto_prepare as auto_prepare
    from .bag_of_words import BagOfWords as BagOfWords
    from .balance import Balance as Balance
    from .balance import class_weights as class_weights
    from .chain import Chain as Chain
    from .construct import Formula as Formula
    from .construct import Polynomial as Polynomial
    from .convergence import Convergence as Convergence
    from .convergence import gelman_rubin as gelman_rubin
    from .dates import DateParts as DateParts
    from .discretise import Discretise as Discretise
    from .embedding import Embedding as Embedding
    from .factor_analysis import FactorAnalysis as FactorAnalysis
    from .impute_multiple import ImputeMultiple as ImputeMultiple
    from .lda_projection import LDAProjection as LDAProjection
    from .missing import DropMissing as DropMissing
    from .missing import ImputeGroup as ImputeGroup
    from .missing import ImputeKNN as ImputeKNN
    from .missing import ImputeSimple as ImputeSimple
    from .one_hot import OneHot as OneHot
    from .ordinal import LabelCode as LabelCode
    from .ordinal import OrdinalCode as OrdinalCode
    from .outliers import Outliers as Outliers
    from .pca import PCA as PCA
    from .pca import Distances as Distances
    from .pca import Scree as Scree
    from .pooling import MultipleFit as MultipleFit
    from .pooling import Pooled as Pooled
    from .pooling import fit_multiple as fit_multiple
    from .pooling import pool as pool
    from .ranges import RangeRules as RangeRules
    from .remedy import step_for as step_for
    from .replace import DropColumns as DropColumns
    from .replace import DropDuplicates as DropDuplicates
    from .replace import ReplaceValues as ReplaceValues
    from .scale import Scale as Scale
    from .select_filter import SelectFilter as SelectFilter
    from .select_model import SelectEmbedded as SelectEmbedded
    from .select_model import SelectRFE as SelectRFE
    from .stability import Stability as Stability
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
        "chain": "Chain",
        "construct": "Formula Polynomial",
        "convergence": "Convergence gelman_rubin",
        "dates": "DateParts",
        "discretise": "Discretise",
        "embedding": "Embedding",
        "encode": "",
        "expression": "",
        "factor_analysis": "FactorAnalysis",
        "impute": "",
        "impute_multiple": "ImputeMultiple",
        "lda_projection": "LDAProjection",
        "missing": "DropMissing ImputeGroup ImputeKNN ImputeSimple",
        "one_hot": "OneHot",
        "ordinal": "LabelCode OrdinalCode",
        "outliers": "Outliers",
        "pca": "PCA Distances Scree",
        "pooling": "MultipleFit Pooled fit_multiple pool",
        "ranges": "RangeRules",
        "reduction": "",
        "remedy": "step_for",
        "replace": "DropColumns DropDuplicates ReplaceValues",
        "scale": "Scale",
        "select_filter": "SelectFilter",
        "select_model": "SelectEmbedded SelectRFE",
        "stability": "Stability",
        "step": "RowStep TableStep",
        "subset": "BackwardSelector ExhaustiveSelector ForwardSelector",
        "thermometer": "Thermometer",
    },
)
