"""Bias, variance and noise: where the error of a learner comes from, as identities that hold to rounding.

The learner is fitted to many training sets; f is one of its predictions at a test row, t the target there.

Squared loss. With the mean prediction m = E f and noise variance s^2 of t around E t,
E (t - f)^2 = (E t - m)^2 + E (f - m)^2 + s^2: squared bias + variance + noise.

0-1 loss (Domingos, ICML 2000). The main prediction m is the most frequent label, y* the best possible label at the row;
bias B = 1 if m differs from y* (the row is biased), variance V = P(f != m), noise N = P(t != y*). The terms do not
simply add: P(f != t) = c1 N + B + c2 V, where

- c2 = 1 at unbiased rows: variance hurts;
- c2 = -P(f = y* | f != m) at biased rows: variance helps, since deviating from a wrong main prediction may hit the
  right label (always, for two classes: c2 = -1);
- c1 = P(f = y*) - P(f = t | t != y*), which is 2 P(f = y*) - 1 for two classes.

So error = noise term + bias + net variance, net variance being variance at unbiased rows minus the part of the
variance at biased rows that helps. Adding bias and plain variance does not give the error.
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
from .fits import read_target, run_all, seeded
from .records import Record
from .result import number, percent

LOSSES = ("squared", "zero_one")
Generator = Callable[[np.random.Generator], tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class BiasVariance(Record):
    """The parts of the expected loss; each is the mean over test rows of the array of the same name in `rows`.

    For squared loss `bias` is the squared bias, `net_variance` equals `variance`, `noise_term` equals `noise`, and
    total = bias + variance + noise. For 0-1 loss total = noise_term + bias + net_variance, with
    net_variance = unbiased_variance - biased_variance (see the module for their factors); `variance` is the plain
    probability of leaving the main prediction. `rows["main"]` is the main prediction at each test row.
    """

    loss: str
    total: float
    bias: float
    variance: float
    noise: float
    noise_term: float
    net_variance: float
    unbiased_variance: float
    biased_variance: float
    n_replicates: int
    n_test: int
    rows: dict[str, np.ndarray]
    sentence: str

    @property
    def identity(self) -> tuple[float, float]:
        """The two sides that are equal: the total loss, and noise term + bias + net variance."""
        return self.total, self.noise_term + self.bias + self.net_variance

    def _facts(self) -> list[tuple[str, str]]:
        squared = self.loss == "squared"
        facts = [("expected loss", self.total), ("squared bias" if squared else "bias", self.bias)]
        facts += [("variance", self.variance)]
        if not squared:
            facts += [
                ("variance at unbiased rows (hurts)", self.unbiased_variance),
                ("variance at biased rows (helps)", self.biased_variance),
                ("net variance", self.net_variance),
                ("noise term", self.noise_term),
            ]
        return [(name, number(value)) for name, value in [*facts, ("noise", self.noise)]]


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    loss: str | None = None,
    noise: Any = None,
    noisy_test: bool = True,
    n_replicates: int = 200,
    method: str = "bootstrap",
    generator: Generator | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    """Decompose the expected loss of an estimator on test rows into bias, variance and noise.

    `method` "bootstrap" fits it to bootstrap samples of X and y; "simulate" to fresh training sets from `generator`, a
    function of a NumPy generator that returns (X, y) (X and y may then be None). `loss` is "squared" or "zero_one"
    (by default as the estimator is a regressor or a classifier).

    `noise`, if known, is for squared loss the variance of the target around its mean at each row (a number or one per
    test row). With `noisy_test` (y_test holds observed targets) it is taken out of the squared bias, which otherwise
    contains it; `noisy_test=False` says that y_test holds the true means, and noise is added to the expected loss. For
    0-1 loss it is the matrix P(t | x) (test rows x sorted labels of y_test), which also settles the best labels; or
    the probability that t is not the best label, the others being equally likely, with `noisy_test=False` as y_test
    then has to hold the best labels.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 1)); y = np.sin(6 * X[:, 0]) + rng.normal(scale=0.3, size=80)
    >>> X_test = np.linspace(0, 1, 50)[:, None]; truth = np.sin(6 * X_test[:, 0])
    >>> deep, shallow = (bias_variance(DecisionTreeRegressor(max_depth=depth), X, y, X_test, truth, noise=0.09,
    ...                                noisy_test=False, n_replicates=50, random_state=0) for depth in (None, 1))
    >>> deep.bias < shallow.bias, deep.variance > shallow.variance
    (True, True)
    >>> abs(deep.total - (deep.bias + deep.variance + deep.noise)) < 1e-12
    True
    """
    who = "bias_variance"
    if not hasattr(estimator, "fit"):
        raise UsageError(who, "estimator", "must have a fit method", f"got a {type(estimator).__name__}")
    kind = loss or ("zero_one" if is_classifier(estimator) else "squared")
    _check_loss(who, kind)
    if isinstance(n_replicates, bool) or not isinstance(n_replicates, (int, np.integer)) or n_replicates < 2:
        raise ParameterError(who, "parameter 'n_replicates'", "must be an integer >= 2", f"got {n_replicates!r}")
    if method not in ("bootstrap", "simulate"):
        raise ParameterError(
            who, "parameter 'method'", "must be 'bootstrap' or 'simulate'", f"got {plain(repr(method))}"
        )
    if (method == "simulate") != (generator is not None):
        raise ParameterError(who, "parameter 'generator'", "goes together with method='simulate'")
    target = None if method == "simulate" else read_target(who, X, y, kind == "zero_one")
    truth = read_target(who, X_test, y_test, kind == "zero_one")
    root = Stream.of(random_state)

    def replicate(b: int) -> np.ndarray:
        draw = root.child(0).child(b).generator()
        model = seeded(estimator, root.child(1).child(b))
        if generator is not None:
            model.fit(*generator(draw))
        else:
            assert target is not None
            rows = np.sort(draw.integers(0, target.shape[0], target.shape[0]))
            model.fit(take_rows(X, rows), target[rows])
        return np.asarray(model.predict(X_test))

    predictions = np.array(run_all(replicate, [(b,) for b in range(int(n_replicates))], n_jobs))
    return decompose_predictions(predictions, truth, loss=kind, noise=noise, noisy_test=noisy_test)


def decompose_predictions(
    predictions: Any, y_test: Any, *, loss: str, noise: Any = None, noisy_test: bool = True
) -> BiasVariance:
    """The same decomposition from predictions that are already there (training sets x test rows).

    >>> votes = [["a", "a"], ["a", "b"], ["b", "b"]]
    >>> parts = decompose_predictions(votes, ["a", "a"], loss="zero_one")
    >>> parts.bias, round(parts.total, 3), round(parts.variance, 3), round(parts.net_variance, 3)
    (0.5, 0.5, 0.333, 0.0)
    """
    who = "decompose_predictions"
    _check_loss(who, loss)
    given, truth = np.asarray(predictions), np.asarray(y_test)
    if given.ndim != 2 or truth.ndim != 1 or given.shape[1] != truth.shape[0]:
        raise DataError(
            who,
            "predictions",
            f"must have shape (training sets, {truth.shape[0] if truth.ndim else 0})",
            f"got {given.shape}",
        )
    if given.size == 0:
        raise DataError(who, "predictions", "must hold at least one training set and one test row")
    parts = (
        _squared(given, truth, noise, noisy_test) if loss == "squared" else _zero_one(given, truth, noise, noisy_test)
    )
    means = {name: float(parts[name].mean()) for name in _PARTS}
    _assert_identity(parts)
    return BiasVariance(
        loss=loss,
        **means,
        n_replicates=given.shape[0],
        n_test=given.shape[1],
        rows=parts,
        sentence=_words(loss, means, noise is not None, noisy_test),
    )


_PARTS = (
    "total",
    "bias",
    "variance",
    "noise",
    "noise_term",
    "net_variance",
    "unbiased_variance",
    "biased_variance",
)


# -- squared loss -------------------------------------------------------------------------------------------------
def _squared(predictions: np.ndarray, truth: np.ndarray, noise: Any, noisy_test: bool) -> dict[str, np.ndarray]:
    try:
        f, t = predictions.astype(np.float64), truth.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "bias_variance", "y_test", "must be numeric for squared loss", way_out="use loss='zero_one' for labels"
        ) from None
    if not (np.isfinite(f).all() and np.isfinite(t).all()):
        raise DataError("bias_variance", "predictions and y_test", "must be finite")
    spread = _noise_rates(noise, t.shape[0], np.inf)
    main = f.mean(axis=0)
    variance = ((f - main) ** 2).mean(axis=0)
    loss = ((f - t) ** 2).mean(axis=0)
    distance = (main - t) ** 2
    if noisy_test:
        # E (m - t)^2 = bias^2 + noise: known noise is taken out, so that single rows may fall below zero.
        bias, total = distance - spread, loss
    else:
        bias, total = distance, loss + spread
    nothing = np.zeros_like(t)
    return {
        "total": total,
        "bias": bias,
        "variance": variance,
        "noise": spread,
        "noise_term": spread,
        "net_variance": variance,
        "unbiased_variance": variance,
        "biased_variance": nothing,
        "main": main,
    }


# -- 0-1 loss -----------------------------------------------------------------------------------------------------
def _zero_one(predictions: np.ndarray, truth: np.ndarray, noise: Any, noisy_test: bool) -> dict[str, np.ndarray]:
    if (predictions.dtype.kind in "US") != (truth.dtype.kind in "US"):
        raise DataError("bias_variance", "predictions and y_test", "must be labels of one kind", "got text and numbers")
    labels, codes = np.unique(np.concatenate([predictions.ravel(), truth]), return_inverse=True)
    n_rows = truth.shape[0]
    votes, targets = codes[:-n_rows].reshape(predictions.shape), codes[-n_rows:]
    cells = votes + labels.size * np.arange(n_rows)
    shares = np.bincount(cells.ravel(), minlength=labels.size * n_rows).reshape(n_rows, labels.size)
    shares = shares / predictions.shape[0]
    rows = np.arange(n_rows)
    target_shares, best = _target_shares(noise, noisy_test, truth, targets, labels)
    main = shares.argmax(axis=1)
    hit_best = shares[rows, best]
    biased = main != best
    variance = 1 - shares[rows, main]
    # At a biased row P(f = y* | f != m) V is P(f = y*), which avoids dividing by a variance of zero.
    unbiased_part, helping = np.where(biased, 0.0, variance), np.where(biased, hit_best, 0.0)
    noise_rate = 1 - target_shares[rows, best]
    # c1 N = P(f = y*) N - P(f = t, t != y*).
    hit_noise = (target_shares * shares).sum(axis=1) - target_shares[rows, best] * hit_best
    noise_term = hit_best * noise_rate - hit_noise
    total = (target_shares * (1 - shares)).sum(axis=1)
    return {
        "total": total,
        "bias": biased.astype(np.float64),
        "variance": variance,
        "noise": noise_rate,
        "noise_term": noise_term,
        "net_variance": unbiased_part - helping,
        "unbiased_variance": unbiased_part,
        "biased_variance": helping,
        "main": labels[main],
    }


def _target_shares(
    noise: Any, noisy_test: bool, truth: np.ndarray, targets: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """P(t | x) over all labels, and the best label of each test row."""
    n_rows, n_labels = truth.shape[0], labels.size
    rows = np.arange(n_rows)
    if np.ndim(noise) == 2:
        given = np.asarray(noise, dtype=np.float64)
        known = np.unique(truth)
        wide = labels if given.shape[1] == n_labels else known
        if given.shape != (n_rows, wide.size):
            raise DataError(
                "bias_variance", "noise", f"must have shape ({n_rows}, {known.size}) or be a rate", f"got {given.shape}"
            )
        if (given < 0).any() or not np.allclose(given.sum(axis=1), 1, atol=1e-8):
            raise DataError("bias_variance", "noise", "must hold probabilities that sum to 1 in each row")
        shares = np.zeros((n_rows, n_labels))
        shares[:, np.searchsorted(labels, wide)] = given / given.sum(axis=1, keepdims=True)
        return shares, shares.argmax(axis=1)
    rates = _noise_rates(noise, n_rows, 1.0)
    if noise is not None and noisy_test:
        raise ParameterError(
            "bias_variance",
            "parameter 'noise'",
            "as a rate needs y_test to hold the best labels",
            way_out="pass noisy_test=False, or the matrix of P(t | x)",
        )
    if (rates > 0).any() and n_labels < 2:
        raise DataError("bias_variance", "noise", "needs at least 2 labels")
    if (rates > 1 - 1 / n_labels + 1e-12).any():
        raise DataError(
            "bias_variance", "noise", f"must be at most {1 - 1 / n_labels:.3g}, or y_test would not be the best label"
        )
    shares = np.repeat(rates[:, None] / max(1, n_labels - 1), n_labels, axis=1)
    shares[rows, targets] = 1 - rates
    return shares, targets


def _noise_rates(noise: Any, n_rows: int, most: float) -> np.ndarray:
    if noise is None:
        return np.zeros(n_rows)
    try:
        rates = np.asarray(noise, dtype=np.float64)
        rates = np.broadcast_to(rates, (n_rows,)).copy()
    except (TypeError, ValueError):
        raise DataError("bias_variance", "noise", f"must be a number or one for each of {n_rows} test rows") from None
    if not np.isfinite(rates).all() or (rates < 0).any() or (rates > most).any():
        bounds = "not negative" if np.isinf(most) else "between 0 and 1"
        raise DataError("bias_variance", "noise", f"must be finite and {bounds}")
    return rates


def _assert_identity(parts: dict[str, np.ndarray]) -> None:
    right = parts["noise_term"] + parts["bias"] + parts["net_variance"]
    scale = np.abs(parts["total"]) + np.abs(parts["bias"]) + np.abs(parts["variance"]) + np.abs(parts["noise"])
    # Means of squares around distant centres lose digits in proportion to the square of the distance.
    size = np.maximum(scale, 1e-300)
    if parts["main"].dtype.kind == "f":
        size = size + parts["main"] ** 2 * 1e-6
    worst = float(np.max(np.abs(parts["total"] - right) / size))
    if not worst <= 1e-9:
        raise ArithmeticError(f"bias_variance: the parts miss the total loss by a share of {worst:.3g}.")


def _check_loss(who: str, loss: str) -> None:
    if loss not in LOSSES:
        raise ParameterError(who, "parameter 'loss'", f"must be one of {', '.join(LOSSES)}", f"got {plain(repr(loss))}")


def _words(loss: str, means: dict[str, float], known: bool, noisy_test: bool) -> str:
    if loss == "squared":
        text = (
            f"The expected squared loss {number(means['total'])} is squared bias {number(means['bias'])} + variance "
            f"{number(means['variance'])}"
        )
        if known:
            text += f" + noise {number(means['noise'])}"
        elif noisy_test:
            text += " (noise is not known: the bias contains that of the test targets)"
    else:
        text = (
            f"The expected error rate {number(means['total'])} is bias {number(means['bias'])} (rows whose main "
            f"prediction is wrong) + variance {number(means['unbiased_variance'])} at unbiased rows - "
            f"{number(means['biased_variance'])} at biased rows, where leaving the main prediction helps"
        )
        if known:
            text += f" + noise term {number(means['noise_term'])} (noise {number(means['noise'])})"
    parts = means["bias"] + means["net_variance"]
    if parts > 0 and means["bias"] >= 0:
        lead = "bias" if means["bias"] >= means["net_variance"] else "variance"
        share = max(means["bias"], means["net_variance"]) / parts if means["net_variance"] >= 0 else 1.0
        text += f"; {lead} makes up {percent(round(min(share, 1.0), 3))} of what the learner could improve"
    return text + "."
