"""Tests on several measures at once: Hotelling's T2 for two learners, MANOVA (Wilks' lambda) for more.

The measures are, for instance, the entries of the confusion matrix on each fold. Such entries are bound to each other
(the rows of a class are as many on every fold, whatever is predicted), so their covariance has no inverse. Both tests
therefore work in the directions in which the entries vary at all; the number of directions, `details["rank"]`, takes
the place of the number of entries in the degrees of freedom. A difference in a direction without any variation is
certain as far as the numbers go: p is 0 and an assumption is marked as not holding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base.errors import DataError, plain
from .distributions import f_p_value, noncentrality_interval
from .group_tests import anova
from .hypothesis_tests import A_AND_B, Names, paired_t
from .intervals import check_alpha
from .multiplicity import holm
from .result import Outcome, TestResult, number, percent

# Directions whose spread is below this share of the entries' size are bound by a sum that does not change.
_BOUND = 1e-10


def hotelling_t2(
    entries_a: Any, entries_b: Any, *, alpha: float = 0.05, names: Names = A_AND_B, entries: Sequence[str] | None = None
) -> TestResult:
    """Hotelling's paired T2: do the mean entries of two learners' confusion matrices differ over K folds?

    Entries are arrays (K, p) or (K, classes, classes). T2 = K m' S^-1 m, with m and S the mean and covariance of the
    paired differences; (K - r) / (r (K - 1)) T2 is an F variable with r and K - r degrees of freedom for entries that
    vary in r directions. With one entry it is the paired t test, squared. Effect is T2 / K, the squared Mahalanobis
    distance of the mean difference from zero. `details` has the direction w = S^-1 m that tells the learners apart
    best (Fisher's), and the paired t test of every entry, with p-values adjusted by Holm.

    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal([30.0, 5.0, 8.0], 1.5, (10, 3))
    >>> result = hotelling_t2(a, a + rng.normal([1.0, -1.0, 0.0], 1.0, (10, 3)), entries=["tp", "fp", "fn"])
    >>> result.df, result.reject
    ((3, 7), True)
    """
    check_alpha("hotelling_t2", alpha)
    a, b = _folds("hotelling_t2", "A", entries_a), _folds("hotelling_t2", "B", entries_b)
    if a.shape != b.shape:
        raise DataError(
            "hotelling_t2", "entries of the two learners", "must have one shape", f"{a.shape} and {b.shape}"
        )
    k, p = a.shape
    labels = _labels("hotelling_t2", entries, p)
    if k < 3:
        raise DataError("hotelling_t2", "entries", "must come from at least 3 folds", f"got {k}")
    differences = a - b
    size = np.maximum(np.abs(a).max(axis=0), np.abs(b).max(axis=0))
    size[size == 0] = 1.0
    middle = differences.mean(axis=0) / size
    spreads, directions, rank = _directions("hotelling_t2", (differences / size) - middle, p)
    along = directions @ middle
    beside = float(np.abs(middle - along @ directions).max())
    settled = beside <= _BOUND
    t2 = float(k * (k - 1) * ((along / spreads) ** 2).sum()) if settled else np.inf
    df = (max(rank, 1), k - max(rank, 1))
    f = df[1] / (df[0] * (k - 1)) * t2
    p_value = f_p_value(f, *df) if t2 > 0 else 1.0
    shifts = noncentrality_interval(f, *df, alpha) if t2 > 0 else (0.0, 0.0)
    weights = (k - 1) * ((along / spreads**2) @ directions) / size
    tests = [paired_t(a[:, j], b[:, j], alpha=alpha) for j in range(p)]
    adjusted = holm([test.p_value for test in tests])
    blamed = [label for label, q in zip(labels, adjusted) if q < alpha]
    told = f" Entries that differ on their own: {', '.join(blamed)}." if blamed else " No entry differs on its own."
    interval = (shifts[0] / k, shifts[1] / k)
    found = Outcome("Hotelling T2 test", t2, p_value, alpha, t2 / k, "squared Mahalanobis distance", interval, df)
    return found.result(
        details={
            "f": f,
            "rank": rank,
            "mean_difference": dict(zip(labels, differences.mean(axis=0).tolist())),
            "direction": dict(zip(labels, weights.tolist())),
            "entries": [
                {
                    "entry": label,
                    "difference": t.effect,
                    "interval": t.interval,
                    "p_value": t.p_value,
                    "p_holm": float(q),
                }
                for label, t, q in zip(labels, tests, adjusted)
            ],
        },
        assumptions=(
            ("the folds are independent of each other", None),
            ("the differences are roughly normal together", None),
            ("the entries vary in every direction in which they differ", settled),
        ),
        sentence=(
            f"That {names[0]} and {names[1]} differ in {p} entries over {k} folds is {found.decision} (T2 = "
            f"{number(t2)}, F = {number(f)}, df = {df[0]} and {df[1]}, {found.p_words}).{told}"
        ),
    )


def manova(*groups: Any, alpha: float = 0.05, entries: Sequence[str] | None = None) -> TestResult:
    """Multivariate analysis of variance by Wilks' lambda: do the mean entries of L learners differ?

    Each group is an array (folds, p) or (folds, classes, classes); one mapping from name to such arrays does as well.
    Lambda = |E| / |E + H|, with E the scatter within learners and H between them, lies between 0 and 1, and **small
    values reject**. Its p-value comes from Rao's F, exact if there are two or three learners or if the entries vary
    in one or two directions. Effect is 1 - lambda^(1 / t), the share of the variance that lies between learners
    (eta squared if there is one entry). `details["entries"]` has the analysis of variance of every entry, with
    p-values adjusted by Holm.

    >>> rng = np.random.default_rng(0)
    >>> result = manova(*(rng.normal(shift, 1.0, (10, 2)) for shift in (0.0, 0.2, 2.0)))
    >>> result.df, result.reject
    ((4.0, 52.0), True)
    """
    check_alpha("manova", alpha)
    named = _named_groups(groups)
    matrices = list(named.values())
    p, count = matrices[0].shape[1], len(matrices)
    labels = _labels("manova", entries, p)
    sizes = [matrix.shape[0] for matrix in matrices]
    n = sum(sizes)
    pooled = np.concatenate(matrices)
    size = np.abs(pooled).max(axis=0)
    size[size == 0] = 1.0
    total = pooled / size
    total = total - total.mean(axis=0)
    spreads, directions, rank = _directions("manova", total, min(p, n - count))
    if n - count < rank:
        raise DataError(
            "manova",
            "entries",
            f"vary in at least {rank} directions and so need more than {rank + count - 1} folds in all",
            f"got {n}",
            "bring more folds or fewer entries",
        )
    # In these coordinates the total scatter is the identity, so lambda is the determinant of the scatter within.
    scores = total @ directions.T / spreads
    within = [part - part.mean(axis=0) for part in np.split(scores, np.cumsum(sizes)[:-1])]
    shares = np.linalg.eigvalsh(sum(part.T @ part for part in within)) if rank else np.ones(1)
    shares = np.where(shares <= _BOUND**2, 0.0, np.minimum(shares, 1.0))
    wilks = float(np.prod(shares))
    f, df, root = _rao(wilks, max(rank, 1), count - 1, n - count)
    p_value = f_p_value(f, *df) if f > 0 else 1.0
    tests = [anova(*(matrix[:, j] for matrix in matrices), alpha=alpha) for j in range(p)]
    adjusted = holm([test.p_value for test in tests])
    effect = 1 - wilks ** (1 / root)
    found = Outcome(
        "multivariate analysis of variance", wilks, p_value, alpha, effect, "multivariate eta squared", df=df
    )
    return found.result(
        details={
            "f": f,
            "rank": rank,
            "means": {name: dict(zip(labels, m.mean(axis=0).tolist())) for name, m in named.items()},
            "entries": [
                {"entry": label, "f": test.statistic, "p_value": test.p_value, "p_holm": float(q)}
                for label, test, q in zip(labels, tests, adjusted)
            ],
        },
        assumptions=(
            ("the folds are independent of each other", None),
            ("the entries of each learner are roughly normal together with one covariance", None),
            ("the entries vary within learners in every direction in which they differ", wilks > 0),
        ),
        sentence=(
            f"Learners account for {percent(effect)} of the variance of {p} entries together; that the means of "
            f"{count} learners differ is {found.decision} (Wilks' lambda = {number(wilks)}, F = {number(f)}, df = "
            f"{number(df[0])} and {number(df[1])}, {found.p_words})."
        ),
    )


def _rao(wilks: float, p: int, q: int, v: int) -> tuple[float, tuple[float, float], float]:
    """Rao's F for Wilks' lambda of p entries, q degrees of freedom between and v within; and the root t."""
    below = p * p + q * q - 5
    root = float(np.sqrt((p * p * q * q - 4) / below)) if below > 0 and p * q > 2 else 1.0
    df = (float(p * q), (v - (p - q + 1) / 2) * root - (p * q - 2) / 2)
    share = wilks ** (1 / root)
    f = (1 - share) / share * df[1] / df[0] if share > 0 else np.inf
    return f, df, root


def _directions(who: str, centred: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Singular values, directions and rank of centred, scaled entries; refuses where the folds limit the rank."""
    _, spreads, directions = np.linalg.svd(centred, full_matrices=False)
    rank = int((spreads > _BOUND * np.sqrt(centred.shape[0])).sum())
    folds, p = centred.shape
    if who == "hotelling_t2" and rank == folds - 1 < p:
        raise DataError(
            who,
            "entries",
            "need more folds than directions in which they vary",
            f"got {folds} folds for {p} entries",
            "bring more folds or fewer entries, such as false positives and false negatives",
        )
    return spreads[:rank], directions[:rank], rank


def _folds(who: str, name: str, given: Any) -> np.ndarray:
    """Entries as a matrix with one row per fold."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(who, f"entries of '{plain(name)}'", "must be numbers, the same count on every fold") from None
    if values.ndim not in (1, 2, 3) or values.size == 0:
        raise DataError(
            who, f"entries of '{plain(name)}'", "must be (folds, entries) or (folds, classes, classes)",
            f"got shape {values.shape}",
        )  # fmt: skip
    if not np.isfinite(values).all():
        raise DataError(who, f"entries of '{plain(name)}'", "must be finite", "got NaN or infinity")
    return values.reshape(values.shape[0], -1)


def _named_groups(groups: tuple[Any, ...]) -> dict[str, np.ndarray]:
    given = groups[0] if len(groups) == 1 else groups
    if not isinstance(given, Mapping):
        alone = isinstance(given, np.ndarray) and given.ndim < 3
        if alone or not hasattr(given, "__iter__") or isinstance(given, str):
            raise DataError("manova", "entries", "must be of at least 2 learners", "got one argument")
        given = {f"learner {j + 1}": values for j, values in enumerate(given)}
    named = {str(name): _folds("manova", name, values) for name, values in given.items()}
    if len(named) < 2:
        raise DataError("manova", "entries", "must be of at least 2 learners", f"got {len(named)}")
    widths = {matrix.shape[1] for matrix in named.values()}
    if len(widths) > 1:
        raise DataError("manova", "entries", "must be as many for every learner", f"got {sorted(widths)}")
    total = sum(matrix.shape[0] for matrix in named.values())
    if total <= len(named):
        raise DataError("manova", "entries", "must come from more folds than learners", f"got {total} for {len(named)}")
    return named


def _labels(who: str, entries: Sequence[str] | None, p: int) -> list[str]:
    if entries is None:
        return [f"entry {j + 1}" for j in range(p)]
    if len(entries) != p:
        raise DataError(who, "entries", f"must have a name for each of {p}", f"got {len(entries)}")
    return [str(entry) for entry in entries]
