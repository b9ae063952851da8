"""Stability of a selection: which columns are chosen again when the rows are drawn anew."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ..base import AssayWarning, Estimator, ParameterError, Stream, take_rows
from ..base.columns import column_names
from ..base.folds import open_seeds, seeds_of

MOST_CLASSES = 20


def holds_numbers(target: np.ndarray) -> bool:
    """Whether a target is a quantity rather than classes: fractions, or more than twenty different numbers.

    >>> holds_numbers(np.array([0, 1, 1])), holds_numbers(np.array([0.5, 1.0])), holds_numbers(np.arange(30))
    (False, True, True)
    """
    if target.dtype.kind not in "iuf":
        return False
    return bool((target != np.floor(target)).any()) or np.unique(target).shape[0] > MOST_CLASSES


@dataclass(frozen=True)
class Stability:
    """How often each column was chosen when half of the rows were drawn anew.

    `frequency` has one share per column, `sizes` the number of columns of each resample, and `agreement` is the mean
    Jaccard index (columns in common over columns in either) over pairs of resamples.
    """

    frequency: np.ndarray
    sizes: np.ndarray
    agreement: float


class StableSelection:
    """Gives a selector the method `stability`; the selector says what it chose by `_get_support_mask`."""

    def stability(
        self, X: Any, y: Any, n_resamples: int = 50, sample_weight: Any = None, random_state: Any = 0
    ) -> Stability:
        """Select again on random halves of the rows: how often is each column chosen?

        Halves are drawn without replacement (Meinshausen & Bühlmann, Stability selection, JRSS B 72, 2010). Folds given
        as lists of rows do not fit the halves; use a number or a splitter for `cv`.
        """
        if n_resamples < 2:
            raise ParameterError(
                "stability", "parameter 'n_resamples'", "must be an integer >= 2", f"got {n_resamples}"
            )
        target, weights = np.asarray(y), None if sample_weight is None else np.asarray(sample_weight)
        root, n_rows, chosen, seeds = Stream.of(random_state), target.shape[0], [], open_seeds(self)
        for index in range(n_resamples):
            stream = root.child(index)
            half = np.sort(stream.generator().permutation(n_rows)[: (n_rows + 1) // 2])
            selector = clone(self).set_params(**seeds_of(seeds, stream))
            extra = {} if weights is None else {"sample_weight": weights[half]}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssayWarning)
                chosen.append(selector.fit(take_rows(X, half), target[half], **extra)._get_support_mask())
        picked = np.array(chosen)
        common = picked.astype(float) @ picked.T
        sizes = picked.sum(axis=1)
        either = sizes[:, None] + sizes[None, :] - common
        jaccard = np.divide(common, either, out=np.ones_like(common), where=either > 0)
        above = np.triu_indices(n_resamples, 1)
        return Stability(picked.mean(axis=0), sizes, float(jaccard[above].mean()))


class ColumnSelector(StableSelection, SelectorMixin, Estimator):
    """A selector whose `support_` marks the columns that it keeps."""

    support_: np.ndarray

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def _names(self) -> list[str]:
        return column_names(self, self.n_features_in_)
