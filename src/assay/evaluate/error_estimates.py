"""Bootstrap estimates of prediction error: out-of-bag, .632 and .632+ (Efron and Tibshirani 1997).

With Q(b, i) the loss of the model of bootstrap sample b at row i, I(b, i) = 1 if the sample does not hold the row:

- training error: the mean loss of the model of all rows on these rows, too small;
- out-of-bag error (leave-one-out bootstrap): the mean over rows i of sum_b I Q / sum_b I, too large, as a sample holds
  only .632 of the rows;
- .632 error: .368 training + .632 out-of-bag, too small for learners that fit the training rows perfectly;
- no-information error: the mean loss over all pairs of a target and a prediction;
- relative overfitting R = (out-of-bag - training) / (no-information - training), in [0, 1];
- .632+ error: (1 - w) training + w out-of-bag, with w = .632 / (1 - .368 R).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..base.errors import DataError, ParameterError, UsageError, plain
from ..base.estimator import take_rows
from ..base.randomness import Stream
from .fits import fit_rows, read_target, run_all
from .intervals import check_alpha
from .records import Record
from .result import Interval, interval_words, number, percent
from .splitters import BootstrapSplitter

_NAMES = {"zero_one": "error rate", "squared": "mean squared error", "absolute": "mean absolute error"}


@dataclass(frozen=True, kw_only=True, eq=False)
class BootstrapError(Record):
    """Estimates of a learner's prediction error; `estimate` is the .632+ error.

    `standard_error` is that of the .632+ error and `interval` the normal interval from it: Efron and Tibshirani's
    delta-method standard error of the out-of-bag error, scaled by the ratio of the two estimates. `oob_errors` holds
    the out-of-bag error of each row (NaN if every sample held it).
    """

    loss: str
    n_replicates: int
    training: float
    oob: float
    e632: float
    e632_plus: float
    no_information: float
    relative_overfitting: float
    weight: float
    standard_error: float
    interval: Interval
    alpha: float
    oob_errors: np.ndarray
    sentence: str

    @property
    def estimate(self) -> float:
        """The .632+ error."""
        return self.e632_plus

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("training error", number(self.training)),
            ("out-of-bag error", number(self.oob)),
            (".632 error", number(self.e632)),
            (".632+ error", number(self.e632_plus)),
            ("no-information error", number(self.no_information)),
            ("relative overfitting", number(self.relative_overfitting)),
        ]


def bootstrap_error(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    loss: str | None = None,
    n_replicates: int = 200,
    groups: Any = None,
    alpha: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapError:
    """The out-of-bag, .632 and .632+ estimates of prediction error for any estimator.

    `loss` is "zero_one" (default for classifiers), "squared" (default otherwise) or "absolute". With `groups`, whole
    groups are drawn. Open seeds of the estimator are set from `random_state`; `n_jobs` never changes the result.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> error = bootstrap_error(KNeighborsClassifier(1), X, y, n_replicates=50, random_state=0)
    >>> error.training, error.e632 < error.e632_plus < error.oob
    (0.0, True)
    >>> round(error.no_information, 3)
    0.667
    """
    who = "bootstrap_error"
    check_alpha(who, alpha)
    if not hasattr(estimator, "fit"):
        raise UsageError(who, "estimator", "must have a fit method", f"got a {type(estimator).__name__}")
    classifier = is_classifier(estimator)
    kind = loss or ("zero_one" if classifier else "squared")
    if kind not in _LOSSES:
        raise ParameterError(
            who, "parameter 'loss'", f"must be one of {', '.join(_LOSSES)}", f"got {plain(repr(loss))}"
        )
    target = read_target(who, X, y, classifier)
    if target.ndim != 1:
        raise DataError(who, "y", "must be one-dimensional", f"got shape {target.shape}")
    if kind != "zero_one":
        if target.dtype.kind not in "iufb":
            raise DataError(who, "y", f"must be numeric for the loss '{kind}'")
        target = target.astype(np.float64)
    root = Stream.of(random_state)
    splitter = BootstrapSplitter(n_replicates, random_state=root.child(0))
    losses = _LOSSES[kind]

    def replicate(b: int, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        model = fit_rows(estimator, X, target, train, root.child(1).child(b))
        return losses(target[test], np.asarray(model.predict(take_rows(X, test))))

    pairs = list(splitter.split(target, None, groups))
    if kind == "zero_one":
        _require_classes(target, [train for train, _ in pairs])
    found = run_all(replicate, [(b, train, test) for b, (train, test) in enumerate(pairs)], n_jobs)
    whole = fit_rows(estimator, X, target, np.arange(target.shape[0]), root.child(2))
    predicted = np.asarray(whole.predict(X))
    training = float(losses(target, predicted).mean())
    return _summarise(kind, target, predicted, training, pairs, found, alpha)


def _summarise(
    kind: str,
    target: np.ndarray,
    predicted: np.ndarray,
    training: float,
    pairs: list[tuple[np.ndarray, np.ndarray]],
    found: list[np.ndarray],
    alpha: float,
) -> BootstrapError:
    n = target.shape[0]
    total, times = np.zeros(n), np.zeros(n)
    for (_, test), values in zip(pairs, found):
        total[test] += values
        times[test] += 1
    seen = times > 0
    per_row = np.divide(total, times, out=np.full(n, np.nan), where=seen)
    oob = float(per_row[seen].mean())
    gamma = no_information_error(target, predicted, kind)
    e632 = 0.368 * training + 0.632 * oob
    bounded = min(oob, gamma)
    overfitting = (bounded - training) / (gamma - training) if bounded > training and gamma > training else 0.0
    weight = 0.632 / (1 - 0.368 * overfitting)
    e632_plus = (1 - weight) * training + weight * (bounded if bounded > training else oob)
    error = _delta_error(n, pairs, found, per_row, oob, times)
    scaled = error * e632_plus / oob if oob > 0 else 0.0
    from .distributions import normal_quantile

    half = normal_quantile(1 - alpha / 2) * scaled
    upper = 1.0 if kind == "zero_one" else np.inf
    interval = (max(0.0, e632_plus - half), min(upper, e632_plus + half))
    text = (
        f"The .632+ {_NAMES[kind]} is {number(e632_plus)} ({percent(1 - alpha)} interval {interval_words(interval)}), "
        f"from {number(training)} on the training rows and {number(oob)} out of bag over {len(pairs)} bootstrap "
        f"samples; relative overfitting is {number(overfitting)} (0 none, 1 no better than guessing)."
    )
    return BootstrapError(
        loss=kind,
        n_replicates=len(pairs),
        training=training,
        oob=oob,
        e632=e632,
        e632_plus=e632_plus,
        no_information=gamma,
        relative_overfitting=overfitting,
        weight=weight,
        standard_error=scaled,
        interval=interval,
        alpha=alpha,
        oob_errors=per_row,
        sentence=text,
    )


def no_information_error(y: Any, predicted: Any, loss: str = "zero_one") -> float:
    """The mean loss over all pairs of a target and a prediction: the error if rows told nothing about targets.

    >>> no_information_error([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    target, guess = np.asarray(y), np.asarray(predicted)
    if target.shape != guess.shape or target.ndim != 1 or target.size == 0:
        raise DataError(
            "no_information_error", "y and predicted", "must have the same number of rows", f"got {target.shape}"
        )
    if loss == "zero_one":
        labels, codes = np.unique(np.concatenate([target, guess]), return_inverse=True)
        shares = [np.bincount(part, minlength=labels.size) / target.size for part in np.split(codes, 2)]
        return float(1 - shares[0] @ shares[1])
    if loss == "squared":
        return float(target.var() + guess.var() + (target.mean() - guess.mean()) ** 2)
    if loss != "absolute":
        raise ParameterError("no_information_error", "parameter 'loss'", f"must be one of {', '.join(_LOSSES)}")
    # sum_j |t - g_j| for all t at once, from the sorted g and their running sums.
    ordered = np.sort(guess.astype(np.float64))
    below = np.searchsorted(ordered, target)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    return float(np.mean(target * (2 * below - guess.size) - 2 * sums[below] + sums[-1]) / guess.size)


def _delta_error(
    n: int,
    pairs: list[tuple[np.ndarray, np.ndarray]],
    found: list[np.ndarray],
    per_row: np.ndarray,
    oob: float,
    times: np.ndarray,
) -> float:
    """The standard error of the out-of-bag error by the delta method after the bootstrap (Efron and Tibshirani)."""
    drawn = np.array([np.bincount(train, minlength=n) for train, _ in pairs], dtype=np.float64)
    summed = np.array([values.sum() / n for values in found])
    influence = (drawn - drawn.mean(axis=0)).T @ summed
    gap = np.where(np.isnan(per_row), 0.0, per_row - oob)
    derivative = (2 + 1 / (n - 1)) * gap / n + influence / np.maximum(times, 1)
    # Finitely many replicates make the derivatives noisy, and their squares too large by the variance of the noise.
    noise = ((drawn - drawn.mean(axis=0)) ** 2).T @ (summed - summed.mean()) ** 2 / np.maximum(times, 1) ** 2
    floor = (gap / n) @ (gap / n)
    return float(np.sqrt(max((derivative**2).sum() - noise.sum(), floor)))


def _require_classes(target: np.ndarray, trains: list[np.ndarray]) -> None:
    labels, counts = np.unique(target, return_counts=True)
    if labels.size < 2:
        raise DataError("bootstrap_error", "y", "must hold at least 2 classes", f"got only '{plain(labels[0])}'")
    if any((target[train] == target[train][0]).all() for train in trains):
        raise DataError(
            "bootstrap_error",
            "y",
            "must hold enough rows of each class that a bootstrap sample has two of them",
            f"the smallest class has {counts.min()}",
        )


_LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "zero_one": lambda y, predicted: (y != predicted).astype(np.float64),
    "squared": lambda y, predicted: (y - predicted) ** 2,
    "absolute": lambda y, predicted: np.abs(y - predicted),
}
