"""Many classes from two: one against the rest, one against one, with doubt where no class or several claim a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ...base.around import AroundLearners, in_threads
from ...base.cost import Cost
from ...base.errors import ParameterError, plain
from ...base.estimator import Fold, LabelClassifier, check_weights, take_rows
from ...base.folds import FoldTransforms, Transforms, copy_columns, fit_folds
from ...base.parameters import Instance, Nothing, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param
from ...base.views import Coefficients, coefficients_of
from .logistic import LogisticRegression

# Folds, weights of the rows, and what the folds' preparations do to the columns.
_OfFolds = tuple[list[Fold], np.ndarray | None, FoldTransforms | None]

# Rows whose couplings are solved together.
CHUNK = 4096
# Cells of a task from which it is worth a thread of its own: smaller ones are mostly Python's work.
_WORTH_A_THREAD = 2**15


def _inner_has(method: str) -> Callable[[Any], bool]:
    def check(model: Any) -> bool:
        if not hasattr(model._template(), method):
            raise AttributeError(f"{type(model._template()).__name__} has no {method}")
        return True

    return check


class _Reduction(AroundLearners, LabelClassifier):
    """A classifier made of binary ones."""

    estimator: Any = param(
        None, Instance(BaseEstimator) | Nothing(), "Binary classifier to repeat; None is LogisticRegression()."
    )
    n_jobs: int | None = n_jobs_param()

    def _template(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _templates(self) -> list[Any]:
        return [self._template()]

    def _begin_any(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """As `_begin`, but X stays as it came: which columns are fit to use is for the binary learner to say."""
        self._check_parameters()
        if not is_classifier(self._template()):
            raise ParameterError(
                type(self).__name__,
                "parameter 'estimator'",
                "must be a classifier",
                f"got {plain(type(self.estimator).__name__)}",
            )
        X, codes, weights = self._begin_around(X, self._encode_target(y), sample_weight)
        codes = self._only_present(codes)
        self._require_classes()
        self._check_cost(codes.shape[0], self.n_features_in_, int(self.classes_.shape[0]))
        return X, codes, weights

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold, through the binary learner's own fold sharing where it has it; a fold whose
        training rows lack a class is fitted apart."""
        chosen = list(folds)
        template = clone(self)
        if not hasattr(template._template(), "fit_folds"):
            yield from super().fit_folds(X, y, chosen, sample_weight, transforms)
            return
        template._begin_any(X, y, sample_weight)
        codes = clone(self)._encode_target(y)
        present = np.unique(codes)
        weights = check_weights(type(self).__name__, sample_weight, codes.shape[0])
        if weights is not None:
            present = np.unique(codes[weights > 0])
        whole = []
        for train, _ in chosen:
            used = train if weights is None else train[weights[train] > 0]
            whole.append(np.array_equal(np.unique(codes[used]), present))
        n_classes = present.shape[0]
        place = np.full(int(codes.max()) + 1, -1, dtype=np.int32)
        place[present] = np.arange(n_classes)
        places = np.flatnonzero(whole).tolist()
        some = None if transforms is None else transforms.only(*places)
        shared = template._share_parts(X, place[codes], ([chosen[k] for k in places], weights, some))
        for k, fold in enumerate(chosen):
            one = None if transforms is None else transforms.only(k)
            if not whole[k]:
                yield from super().fit_folds(X, y, [fold], sample_weight, one)
                continue
            model = clone(self)
            copy_columns(template, model, None if one is None else one.folds[0])
            model.classes_ = template.classes_
            model.estimators_ = next(shared)
            yield model

    def _share_parts(self, X: Any, codes: np.ndarray, of_folds: _OfFolds) -> Iterator[list[Any]]:
        """The binary learners of one fold after the other; a code of -1 is a class without weight."""
        raise NotImplementedError  # pragma: no cover

    def _shared_reader(self, X: Any) -> LogisticRegression | None:
        """A logistic learner that may read X once for all tasks, whose rows are then used in place; None for others."""
        template = self._template()
        if type(template) is not LogisticRegression:
            return None
        reader = clone(template)
        reader._check_parameters()
        return reader

    def _fit_parts(self, X: Any, tasks: list[tuple[np.ndarray | None, np.ndarray]], weights: np.ndarray | None) -> list:
        """One fitted binary learner per task (rows or None for all, 0/1 target), on as many threads as allowed."""
        reader = self._shared_reader(X)
        values = None if reader is None else reader._read(X, reset=True)
        n_jobs = self.n_jobs
        if values is not None:
            n_rows = sum(target.shape[0] for _, target in tasks)
            n_jobs = 1 if n_rows * values.shape[1] < _WORTH_A_THREAD * len(tasks) else n_jobs
        workers = min(thread_count(n_jobs), len(tasks))

        def fit_one(task: tuple[np.ndarray | None, np.ndarray]) -> Any:
            rows, target = task
            learner = clone(self._template())
            if workers > 1 and "n_jobs" in learner.get_params(deep=False) and learner.n_jobs is None:
                learner.set_params(n_jobs=1)
            if values is not None:
                copy_columns(reader, learner)
                learner.classes_ = np.array([0, 1])
                codes = np.zeros(values.shape[0], dtype=np.int32)
                codes[slice(None) if rows is None else rows] = target
                return learner._fit_rows(values, rows, codes, weights, None)
            part = X if rows is None else take_rows(X, rows)
            extra = {}
            if weights is not None:
                extra["sample_weight"] = weights if rows is None else weights[rows]
            return learner.fit(part, target.astype(np.int64, copy=False), **extra)

        return in_threads(fit_one, tasks, n_jobs)

    def _best(self, decision: np.ndarray) -> np.ndarray:
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def _inner_cost(self, n_rows: int, n_features: int, fits: float) -> Cost:
        one = self._learners_cost(n_rows, n_features)
        return Cost(seconds=fits * one.seconds, bytes=one.bytes + 16.0 * n_rows * fits)


class OneVsRest(_Reduction):
    """One binary learner per class, each against all the others; the class of highest score wins.

    A class fires where its learner says yes. `predict` always answers; `predict_with_reject` marks the rows on which no
    class or more than one fires. Probabilities, where the binary learner has them, are its probabilities divided by
    their sum. Two classes need one learner. Columns and cells are taken as the binary learner takes them.

    Attributes
    ----------
    classes_ : array of the class labels
    estimators_ : list of fitted binary learners, one per class (two classes: one, for `classes_[1]`)

    Examples
    --------
    >>> from assay.models.linear import OneVsRest
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
    >>> model = OneVsRest().fit(X, y)
    >>> labels, rejected = model.predict_with_reject([[0.0], [5.5]])
    >>> labels[0], rejected
    (np.str_('a'), array([False,  True]))
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneVsRest:
        """Fit one learner per class."""
        X, codes, weights = self._begin_any(X, y, sample_weight)
        n_classes = self.classes_.shape[0]
        asked = [1] if n_classes == 2 else range(n_classes)
        self.estimators_ = self._fit_parts(X, [(None, codes == k) for k in asked], weights)
        return self

    def _share_parts(self, X: Any, codes: np.ndarray, of_folds: _OfFolds) -> Iterator[list[Any]]:
        folds, weights, transforms = of_folds
        n_classes = self.classes_.shape[0]
        asked = [1] if n_classes == 2 else range(n_classes)
        generators = [
            fit_folds(clone(self._template()), X, (codes == k).astype(np.int64), folds, weights, transforms)
            for k in asked
        ]
        for _ in folds:
            yield [next(generator) for generator in generators]

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of each class (two classes: of `classes_[1]`): the learners' decision values, else log odds."""
        rows = self._check_rows(X)
        scores = np.column_stack([_score(learner, rows) for learner in self.estimators_])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of highest score of each row; the first in `classes_` wins a tie."""
        return self._best(self.decision_function(X))

    def predict_with_reject(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(labels as `predict`, mask of the rows that no class or more than one class claims)."""
        rows = self._check_rows(X)
        labels = self.predict(rows)
        if len(self.estimators_) == 1:
            return labels, np.zeros(labels.shape[0], dtype=bool)
        fires = np.column_stack([learner.predict(rows) == 1 for learner in self.estimators_])
        return labels, fires.sum(axis=1) != 1

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class: that of its learner, divided by the sum over classes."""
        rows = self._check_rows(X)
        shares = np.column_stack([learner.predict_proba(rows)[:, 1] for learner in self.estimators_])
        if shares.shape[1] == 1:
            return np.column_stack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        return np.divide(shares, total, out=np.full_like(shares, 1.0 / shares.shape[1]), where=total > 0)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One binary fit on all rows for each of n_outputs classes."""
        return self._inner_cost(n_rows, n_features, float(n_outputs if n_outputs > 2 else 1))

    def view(self) -> Coefficients | None:
        """The coefficients by class if the binary learner is linear, else nothing."""
        check_is_fitted(self)
        return _linear_view(self, self.estimators_)


class OneVsOne(_Reduction):
    """One binary learner per pair of classes, fitted on the rows of the two; the class that wins most duels wins.

    Ties in duels won are settled by the sum of decision values, squeezed so that it never outweighs a duel. A class
    fires where it wins all its duels; `predict_with_reject` marks the rows on which none does. Probabilities, where the
    binary learner has them, come by pairwise coupling (Wu, Lin & Weng's second method). Columns and cells are taken as
    the binary learner takes them.

    Attributes
    ----------
    classes_ : array of the class labels
    estimators_ : list of fitted binary learners, for (0, 1), (0, 2), ..., (1, 2), ...; 1 stands for the second

    Examples
    --------
    >>> from assay.models.linear import OneVsOne
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
    >>> model = OneVsOne().fit(X, y)
    >>> labels, rejected = model.predict_with_reject([[0.0], [5.5]])
    >>> labels.tolist(), rejected
    (['a', 'b'], array([False, False]))
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneVsOne:
        """Fit one learner per pair of classes."""
        X, codes, weights = self._begin_any(X, y, sample_weight)
        tasks: list[tuple[np.ndarray | None, np.ndarray]] = []
        for first, second in self._pairs():
            rows = np.flatnonzero((codes == first) | (codes == second))
            tasks.append((rows, (codes[rows] == second).astype(np.int64)))
        self.estimators_ = self._fit_parts(X, tasks, weights)
        return self

    def _share_parts(self, X: Any, codes: np.ndarray, of_folds: _OfFolds) -> Iterator[list[Any]]:
        folds, weights, transforms = of_folds
        by_pair = []
        for first, second in self._pairs():
            rows = np.flatnonzero((codes == first) | (codes == second))
            place = np.full(codes.shape[0], -1, dtype=np.int64)
            place[rows] = np.arange(rows.shape[0])
            parts = [(place[train], place[test]) for train, test in folds]
            parts = [(train[train >= 0], test[test >= 0]) for train, test in parts]
            of_pair = None if weights is None else weights[rows]
            learner = clone(self._template())
            target = (codes[rows] == second).astype(np.int64)
            # All folds of a pair at once, so that the rows of one pair at a time are in memory.
            by_pair.append(list(fit_folds(learner, take_rows(X, rows), target, parts, of_pair, transforms)))
        yield from (list(models) for models in zip(*by_pair, strict=True))

    def _pairs(self) -> list[tuple[int, int]]:
        return class_pairs(int(self.classes_.shape[0]))

    def votes(self, X: Any) -> np.ndarray:
        """Duels won by each class, (n_rows, n_classes)."""
        rows = self._check_rows(X)
        wins = np.column_stack([learner.predict(rows) == 1 for learner in self.estimators_])
        return duels_won(wins, int(self.classes_.shape[0]))

    def decision_function(self, X: Any) -> np.ndarray:
        """Duels won plus squeezed decision values of each class; two classes: the decision value of the one duel."""
        rows = self._check_rows(X)
        scores = np.column_stack([_score(learner, rows) for learner in self.estimators_])
        if scores.shape[1] == 1:
            return scores[:, 0]
        return duel_scores(scores, int(self.classes_.shape[0]))

    def predict(self, X: Any) -> np.ndarray:
        """The class that wins most duels of each row."""
        return self._best(self.decision_function(X))

    def predict_with_reject(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(labels as `predict`, mask of the rows on which no class wins all its duels)."""
        rows = self._check_rows(X)
        return self.predict(rows), self.votes(rows).max(axis=1) < self.classes_.shape[0] - 1

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class by pairwise coupling."""
        rows = self._check_rows(X)
        second = np.column_stack([learner.predict_proba(rows)[:, 1] for learner in self.estimators_])
        return couple(second, int(self.classes_.shape[0]))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A binary fit for each pair of n_outputs classes, each on its share of the rows."""
        n_classes = max(n_outputs, 2)
        pairs = n_classes * (n_classes - 1) / 2
        return self._inner_cost(max(1, round(2 * n_rows / n_classes)), n_features, pairs)


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """The pairs of classes, in the order of their machines.

    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def duels_won(wins: np.ndarray, n_classes: int) -> np.ndarray:
    """Duels won by each class; column (i, j) of `wins` says whether j won.

    >>> duels_won(np.array([[True, True, False]]), 3)
    array([[0., 2., 1.]])
    """
    votes = np.zeros((wins.shape[0], n_classes))
    for (first, second), won in zip(class_pairs(n_classes), wins.T, strict=True):
        votes[:, second] += won
        votes[:, first] += ~won
    return votes


def duel_scores(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Duels won plus the sum of decision values, squeezed so that it never outweighs a duel; column (i, j) is positive
    for j.

    >>> duel_scores(np.array([[1.0, 2.0, -1.0]]), 3).round(2)
    array([[-0.25,  2.22,  1.17]])
    """
    total = np.zeros((scores.shape[0], n_classes))
    for (first, second), score in zip(class_pairs(n_classes), scores.T, strict=True):
        total[:, second] += score
        total[:, first] -= score
    return duels_won(scores > 0, n_classes) + total / (3.0 * (np.abs(total) + 1.0))


def couple(second: np.ndarray, n_classes: int) -> np.ndarray:
    """Class probabilities from those of pairs: column (i, j), i < j, holds the probability of j against i.

    Minimises sum over i < j of (r_ji p_i - r_ij p_j)^2 with sum p = 1 (Wu, Lin & Weng, Journal of Machine Learning
    Research 5, 2004, second method), one small linear system per row.

    >>> couple(np.array([[0.5, 0.8, 0.8]]), 3).round(3)
    array([[0.167, 0.167, 0.667]])
    """
    if n_classes == 2:
        return np.column_stack([1.0 - second, second])
    found = np.empty((second.shape[0], n_classes))
    pairs = class_pairs(n_classes)
    for begin in range(0, second.shape[0], CHUNK):
        part = second[begin : begin + CHUNK]
        system = np.zeros((part.shape[0], n_classes + 1, n_classes + 1))
        for (i, j), share in zip(pairs, part.T, strict=True):
            system[:, i, i] += share**2
            system[:, j, j] += (1.0 - share) ** 2
            system[:, i, j] = system[:, j, i] = -share * (1.0 - share)
        # A trace of ridge: certain and contradicting duels (0 and 1) leave the system without a unique answer.
        system[:, range(n_classes), range(n_classes)] += 1e-12
        system[:, n_classes, :n_classes] = system[:, :n_classes, n_classes] = 1.0
        right = np.zeros((part.shape[0], n_classes + 1, 1))
        right[:, n_classes] = 1.0
        found[begin : begin + CHUNK] = np.linalg.solve(system, right)[:, :n_classes, 0]
    found = np.clip(found, 0.0, 1.0)
    return found / found.sum(axis=1, keepdims=True)


def _score(learner: Any, X: Any) -> np.ndarray:
    if hasattr(learner, "decision_function"):
        return np.asarray(learner.decision_function(X), dtype=np.float64).reshape(-1)
    if hasattr(learner, "predict_proba"):
        share = np.clip(learner.predict_proba(X)[:, 1], 1e-300, 1.0)
        return np.log(share) - np.log(np.clip(1.0 - share, 1e-300, 1.0))
    return np.where(learner.predict(X) == 1, 1.0, -1.0)


def _linear_view(model: Any, learners: list[Any]) -> Coefficients | None:
    if not all(np.shape(getattr(learner, "coef_", 0.0)) == (1, model.n_features_in_) for learner in learners):
        return None
    values = np.array([learner.coef_[0] for learner in learners])
    intercept = np.array([float(np.ravel(learner.intercept_)[0]) for learner in learners])
    return coefficients_of(model, values, intercept, model.classes_)
