"""The perceptron in the space of a kernel."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import AssayWarning
from ...base.estimator import LabelClassifier
from ...base.parameters import Boolean, Integer, Nothing, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from .kernel_choice import KernelMethod
from .smo import cache_param


class KernelPerceptron(KernelMethod, LabelClassifier):
    """Looks at rows one by one and adds the kernel of a row to its score only when it is wrong.

    Two classes: the kernel of a row on the wrong side (or on the boundary) is added with the sign of its class. Three
    or more: it is added to the score of its class and taken from that of the class that beat it. Stops after an epoch
    without a mistake; rows that the kernel cannot separate keep it moving until the mistakes no longer become fewer:
    warning W201, and `average` gives a steadier answer. Needs no optimiser, and its mistakes are at most (R / g)^2 on
    rows within R of the origin that a margin g separates.

    Attributes
    ----------
    support_ : array, the training rows on which mistakes were made, in order
    support_vectors_ : array (n_support, n_features), these rows
    dual_coef_ : array (n_outputs, n_support), mistakes with their sign (or their mean over time); one output for two
        classes, else one for each class
    intercept_ : array (n_outputs,)
    n_iter_ : int, epochs run
    n_mistakes_ : int, mistakes made in all epochs
    trace_ : with `trace`, the mistakes of each epoch

    Examples
    --------
    >>> from assay.models.kernel_machines import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> KernelPerceptron(kernel="polynomial", degree=2, shuffle=False).fit(X, y).predict(X).tolist()
    ['same', 'other', 'other', 'same']
    """

    _way_out = "use Perceptron, which has no kernel, or take a sample of the rows or fewer epochs"

    average: bool = param(False, Boolean(), "Whether to keep the mean of the scores over all rows seen.")
    max_iter: int = param(100, Integer(1), "Most epochs (passes over the rows).")
    n_iter_no_change: int | None = param(
        10, Integer(1) | Nothing(), "Stop after this many epochs without fewer mistakes than the best; None: never."
    )
    shuffle: bool = param(True, Boolean(), "Whether each epoch draws a new order of the rows.")
    cache_bytes: float = cache_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def _draws(self) -> bool:
        return bool(self.shuffle)

    def fit(self, X: Any, y: Any) -> KernelPerceptron:
        """Make epochs until one has no mistake."""
        rows, codes, _ = self._begin(X, y)
        self._require_classes()
        threads = thread_count(self.n_jobs)
        source = self._source(self._learn_kernel(rows, None), rows)
        given: dict[str, Any] = {
            "codes": codes,
            "classes": int(self.classes_.shape[0]),
            "max_epochs": int(self.max_iter),
            "patience": 0 if self.n_iter_no_change is None else int(self.n_iter_no_change),
            "shuffle": bool(self.shuffle),
            "key": self._stream().key if self.shuffle else 0,
            "threads": threads,
        }
        kernel, _ = source.of(None)
        if isinstance(kernel, np.ndarray):
            found = _kernels.kernel_perceptron_gram(kernel, **given)
        else:
            found = _kernels.kernel_perceptron_rows(kernel, float(self.cache_bytes), **given)
        beta, drift, offset, offset_drift, seen, mistakes = found
        if self.average:
            beta, offset = beta - drift / seen, offset - offset_drift / seen
        used = np.flatnonzero(beta.any(axis=1))
        self.support_ = used
        self.support_vectors_ = np.empty((0, 0)) if self._precomputed else rows[used].copy()
        self.dual_coef_, self.intercept_ = np.ascontiguousarray(beta[used].T), offset
        self._single_ = source.single
        self.n_iter_, self.n_mistakes_ = len(mistakes), int(sum(mistakes))
        trace = self._new_trace()
        for count in mistakes:
            trace.record("epoch", mistakes=int(count))
        self._keep_trace(trace)
        if mistakes[-1] > 0:
            text = (
                f"{type(self).__name__}: still {mistakes[-1]} mistakes in the last of {self.n_iter_} epochs; the "
                "kernel may not separate the classes: use average=True or SVMClassifier, or raise n_iter_no_change."
            )
            warnings.warn(AssayWarning("W201", text), stacklevel=3)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of `classes_[1]` (two classes), or one score per class."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        centres = self.support_ if self._precomputed else self.support_vectors_
        sums = self._kernel_sums(rows, centres, self.dual_coef_.T, self._single_, thread_count(self.n_jobs))
        scores = sums + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of highest score of each row; the first in `classes_` wins a tie."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Kernel rows of the mistakes, made more than once where the cache cannot hold them."""
        pairs = float(n_rows) ** 2
        again = 1.0 + 2.0 * pairs / max(float(self.cache_bytes), 1.0)
        held = min(8.0 * pairs, max(float(self.cache_bytes), 8.0 * n_rows))
        seconds = 1e-4 + 1e-10 * pairs * (n_features + 30.0) * again
        return Cost(seconds=seconds, bytes=held + 24.0 * n_rows * n_features)
