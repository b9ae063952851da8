"""Methods made of other learners: X stays as it came, and which columns are fit to use is for the learners to say."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from .cells import naming_cells, require_table
from .cost import Cost
from .errors import ParameterError
from .estimator import Estimator, check_lengths, check_weights
from .folds import take_rows
from .parameters import Kind
from .threads import thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")


def takes_weights(estimator: Any) -> bool:
    """Whether `fit` of an estimator has a parameter `sample_weight`.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> takes_weights(KNeighborsClassifier())
    False
    """
    return "sample_weight" in inspect.signature(estimator.fit).parameters


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """What `work` gives for each item, in their order, on as many threads as allowed.

    >>> in_threads(abs, [-1, 2], n_jobs=1)
    [1, 2]
    """
    listed = list(items)
    workers = min(thread_count(n_jobs), len(listed))
    if workers <= 1:
        return [work(item) for item in listed]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, listed))


class Members(Kind):
    """A list of estimators, or of pairs (name, estimator)."""

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple)) or not value:
            return False
        pairs = [one if isinstance(one, tuple) and len(one) == 2 else ("member", one) for one in value]
        return all(isinstance(name, str) and isinstance(one, BaseEstimator) for name, one in pairs)

    def describe(self) -> str:
        return "a list of estimators or of pairs (name, estimator)"

    def bad_values(self) -> list[Any]:
        return [[], [3], "members", [("a",)], object()]


def named_members(given: Iterable[Any]) -> list[tuple[str, Any]]:
    """Members with their names: those given, or distinct ones made from the classes.

    >>> from sklearn.tree import DecisionTreeClassifier as Tree
    >>> [name for name, _ in named_members([Tree(), Tree(max_depth=1), ("forest", Tree())])]
    ['decisiontreeclassifier', 'decisiontreeclassifier-2', 'forest']
    """
    listed = list(given)
    named: list[tuple[str, Any]] = []
    taken = {one[0] for one in listed if isinstance(one, tuple)}
    for one in listed:
        if isinstance(one, tuple):
            named.append((one[0], one[1]))
            continue
        base = type(one).__name__.lower()
        numbered = (f"{base}-{k}" for k in itertools.count(2))
        name = next(name for name in itertools.chain([base], numbered) if name not in taken)
        taken.add(name)
        named.append((name, one))
    return named


class AroundLearners(Estimator):
    """Base of methods made of other learners."""

    _way_out = "take a sample of the rows or a quicker estimator"

    def _templates(self) -> list[Any]:
        """The unfitted learners."""
        raise NotImplementedError  # pragma: no cover

    def inner_learners(self) -> list[Any]:
        """The learners inside, unfitted: what they take decides what this method takes."""
        return self._templates()

    def _begin_around(
        self, X: Any, target: np.ndarray, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """X as it came, the target and the weights (None or float64), without rows of weight 0; lengths are checked,
        and that every learner takes weights where there are some."""
        who = type(self).__name__
        X = self._table(X, reset=True)
        check_lengths(who, _num_samples(X), target.shape[0])
        weights = check_weights(who, sample_weight, target.shape[0])
        if weights is not None:
            for learner in self._templates():
                if not takes_weights(learner):
                    raise ParameterError(
                        who,
                        "sample_weight",
                        "must be taken by every learner inside",
                        f"{type(learner).__name__} does not",
                        "leave it out",
                    )
            if not weights.all():
                kept = np.flatnonzero(weights > 0)
                X, target, weights = take_rows(X, kept), target[kept], weights[kept]
        return X, target, weights

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Frames as they came, anything else as an array the learners can use."""
        as_it_is = type(X) is np.ndarray and X.dtype == np.float64 and X.flags.c_contiguous
        if as_it_is and self._plain_cells(X, reset=reset) is not None:
            return X
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        require_table(type(self).__name__, X)
        takes = get_tags(self).input_tags
        labels = takes.string or takes.categorical
        if labels and isinstance(X, (list, tuple)):
            X = np.array(X, dtype=object if any(isinstance(cell, str) for row in X for cell in row) else None)
        with naming_cells(self, X):
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=None if labels else "numeric",
                accept_sparse=("csr", "csc") if takes.sparse else False,
                ensure_all_finite="allow-nan" if takes.allow_nan else True,
            )

    def _check_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._table(X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(learner).input_tags for learner in self._templates()]
        for name in ("allow_nan", "sparse", "string", "categorical"):
            setattr(tags.input_tags, name, bool(inner) and all(getattr(one, name) for one in inner))
        return tags

    def _learners_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One fit of each learner."""
        seconds, size = 0.0, 16.0 * n_rows
        for learner in self._templates():
            estimate = getattr(learner, "estimate_cost", None)
            one = Cost(2e-8 * n_rows * n_features, 16.0 * n_rows * n_features)
            one = one if estimate is None else estimate(n_rows, n_features, n_outputs)
            seconds, size = seconds + one.seconds, max(size, one.bytes)
        return Cost(seconds, size)
