"""Preparation: what a table needs before a learner can take it, fitted on training rows only."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .auto import Preparation as Preparation
    from .auto import auto_prepare as auto_prepare
    from .convergence import Convergence as Convergence
    from .convergence import gelman_rubin as gelman_rubin
    from .dates import DateParts as DateParts
    from .impute_multiple import ImputeMultiple as ImputeMultiple
    from .pooling import MultipleFit as MultipleFit
    from .pooling import Pooled as Pooled
    from .pooling import fit_multiple as fit_multiple
    from .pooling import pool as pool
    from .scale import Scale as Scale
    from .step import RowStep as RowStep
    from .step import TableStep as TableStep
    from .subset import BackwardSelector as BackwardSelector
    from .subset import ExhaustiveSelector as ExhaustiveSelector
    from .subset import ForwardSelector as ForwardSelector

__getattr__, __dir__ = lazy(
    __name__,
    {
        "auto": "Preparation auto_prepare",
        "convergence": "Convergence gelman_rubin",
        "dates": "DateParts",
        "encode": "",
        "impute": "",
        "impute_multiple": "ImputeMultiple",
        "pooling": "MultipleFit Pooled fit_multiple pool",
        "scale": "Scale",
        "step": "RowStep TableStep",
        "subset": "BackwardSelector ExhaustiveSelector ForwardSelector",
    },
)
