"""Preparation: what a table needs before a learner can take it, fitted on training rows only."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .auto import Preparation as Preparation
    from .auto import auto_prepare as auto_prepare
    from .chain import Chain as Chain
    from .construct import Formula as Formula
    from .construct import Polynomial as Polynomial
    from .dates import DateParts as DateParts
    from .discretise import Discretise as Discretise
    from .embedding import Embedding as Embedding
    from .factor_analysis import FactorAnalysis as FactorAnalysis
    from .lda_projection import LDAProjection as LDAProjection
    from .pca import PCA as PCA
    from .pca import Distances as Distances
    from .pca import Scree as Scree
    from .remedy import step_for as step_for
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

__getattr__, __dir__ = lazy(
    __name__,
    {
        "auto": "Preparation auto_prepare",
        "chain": "Chain",
        "construct": "Formula Polynomial",
        "dates": "DateParts",
        "discretise": "Discretise",
        "embedding": "Embedding",
        "encode": "",
        "expression": "",
        "factor_analysis": "FactorAnalysis",
        "impute": "",
        "lda_projection": "LDAProjection",
        "pca": "PCA Distances Scree",
        "reduction": "",
        "remedy": "step_for",
        "scale": "Scale",
        "select_filter": "SelectFilter",
        "select_model": "SelectEmbedded SelectRFE",
        "stability": "Stability",
        "step": "RowStep TableStep",
        "subset": "BackwardSelector ExhaustiveSelector ForwardSelector",
    },
)
