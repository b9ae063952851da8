"""Parameters that many methods have, declared with one wording each."""

from __future__ import annotations

from typing import Any

from .parameters import ArrayLike, Boolean, Choice, Integer, Nothing, Seed, param


def random_state_param() -> Any:
    """Declare `random_state` with the wording used by every learner."""
    return param(None, Seed(), "Seed of the stream tree; the same seed gives the same result.")


def n_jobs_param() -> Any:
    """Declare `n_jobs` with the wording used by every learner."""
    return param(
        None,
        Integer() | Nothing(),
        "Threads to use: None for the current limit, -1 for all cores; never changes the result.",
    )


def trace_param() -> Any:
    """Declare `trace` with the wording used by every learner."""
    return param(False, Boolean(), "Record the steps of the algorithm in `trace_`.")


def categorical_features_param() -> Any:
    """Declare `categorical_features` with the wording used by every learner that takes nominal columns."""
    return param(
        "from_dtype",
        Choice("from_dtype") | ArrayLike() | Nothing(),
        "Nominal columns: 'from_dtype' (text, categorical and boolean columns), names, indices, or a mask.",
    )
