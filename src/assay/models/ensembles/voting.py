"""Voting: different learners answer, and a rule of table 6 in 001 joins their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.cv import cv_param
from ...base.errors import ParameterError, plain
from ...base.folds import Fold, Transforms, copy_columns, fit_folds, open_seeds, through_folds
from ...base.parameters import ArrayLike, Choice, Nothing, param
from ...base.views import ColumnShares
from .combiner import ClassCombiner, NamedMembers, NumberCombiner, Training, out_of_fold
from .usual_members import usual_classifiers, usual_regressors
from .vote_rules import NUMBER_RULES, RULES


class Votes(NamedMembers):
    """Members with weights."""

    _learned = {"weights_": "array, the weights of the members, summing to 1"}
    weights: Any = param(
        None,
        ArrayLike() | Choice("validated") | Nothing(),
        "Weight of each member; None for equal ones; 'validated' for their quality on rows they did not see: accuracy, "
        "or one over the mean squared error.",
    )
    cv: Any = cv_param(None, "5")

    rule: str
    weights_: np.ndarray

    def _prototypes(self) -> list[Any]:
        stream = self._stream()
        return [self._prototype(member, stream.child(k)) for k, (_, member) in enumerate(self._members())]

    def _fit_members(self, training: Training) -> None:
        prototypes = self._prototypes()
        self.estimators_ = [clone(prototype).fit(**training.whole()) for prototype in prototypes]
        self.names_ = [name for name, _ in self._members()]
        self.weights_ = self._settle_weights(training, prototypes)

    def _settle_weights(self, training: Training | None, prototypes: list[Any]) -> np.ndarray:
        """Weights that sum to 1."""
        if self.weights is None:
            return np.full(len(prototypes), 1.0 / len(prototypes))
        if isinstance(self.weights, str):
            assert training is not None
            folds = self._validation_folds(training, self.cv)
            drawn = [open_seeds(member) for _, member in self._members()]
            both = zip(prototypes, drawn, strict=True)
            given = np.array([self._quality(prototype, training, folds, seeds) for prototype, seeds in both])
            given = given if given.any() else np.ones_like(given)
        else:
            given = self._read_weights(len(prototypes))
        return given / given.sum()

    def _read_weights(self, members: int) -> np.ndarray:
        who = type(self).__name__
        try:
            given = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(who, "parameter 'weights'", "must hold numbers", plain(error)) from None
        if given.shape != (members,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
            raise ParameterError(
                who,
                "parameter 'weights'",
                f"must hold one number >= 0 for each of {members} members, not all 0",
                f"got {plain(self.weights)}",
            )
        if self.rule in ("minimum", "maximum"):
            raise ParameterError(
                who, "parameter 'weights'", f"must be None with rule '{self.rule}'", way_out="use rule='mean'"
            )
        return given

    def _quality(self, prototype: Any, training: Training, folds: list[Fold], drawn: Sequence[str]) -> float:
        raise NotImplementedError  # pragma: no cover

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold; the folds of each member share their work where it can."""
        chosen = list(folds)
        if isinstance(self.weights, str):
            yield from super().fit_folds(X, y, chosen, sample_weight, transforms)
            return
        self._check_parameters()
        self._check_members()
        template: Any = clone(self)
        target = template._encode_target(y) if hasattr(template, "_encode_target") else template._target_numbers(y)
        template._begin_around(X, target, sample_weight)
        prototypes = self._prototypes()
        weights, given = self._settle_weights(None, prototypes), np.asarray(y)
        models = [fit_folds(prototype, X, given, chosen, sample_weight, transforms) for prototype in prototypes]
        for _, _, through in through_folds(chosen, transforms):
            model = clone(self)
            copy_columns(template, model, through)
            model.estimators_ = [next(fitted) for fitted in models]
            model.names_, model.weights_ = [name for name, _ in self._members()], weights.copy()
            if hasattr(model.estimators_[0], "classes_"):
                model.classes_ = model.estimators_[0].classes_
            yield model

    def view(self) -> ColumnShares:
        """The weights of the members."""
        check_is_fitted(self)
        return ColumnShares(
            title=f"Weights of the members, joined by the rule '{self.rule}'",
            names=list(self.names_),
            values=self.weights_.tolist(),
        )


class VotingClassifier(Votes, ClassCombiner):
    """Different classifiers answer, and one rule joins their probabilities or votes.

    The rules are those of table 6 in 001: 'mean' (the sum rule; with weights the weighted sum), 'median' (robust),
    'minimum' (pessimistic), 'maximum' (optimistic), 'product' (every member has a veto; weights are exponents) and
    'majority' (each member has one vote, and the class with most votes wins, be they more than half or not:
    `predict_with_reject` tells). What a rule gives is divided by its sum over classes. Ties go to the first class.

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.bayes import NaiveBayes
    >>> from assay.models.ensembles import VotingClassifier
    >>> from assay.models.trees import CartClassifier
    >>> frame = load_dataset("iris").frame
    >>> X, y = frame.drop("species"), frame["species"]
    >>> model = VotingClassifier(estimators=[("bayes", NaiveBayes()), ("tree", CartClassifier())], rule="product")
    >>> bool(model.fit(X, y).score(X, y) > 0.95), model.set_params(tree__max_depth=2).estimators[1][1].max_depth
    (True, 2)
    """

    rule: str = param("mean", Choice(*RULES), "How the members' answers are joined.")

    def _default_members(self) -> list[Any]:
        return usual_classifiers()

    def _check_members(self) -> None:
        super()._check_members()
        for name, member in self._members():
            if self.rule != "majority" and not hasattr(member, "predict_proba"):
                raise ParameterError(
                    type(self).__name__,
                    f"member '{plain(name)}'",
                    f"must have probabilities for rule '{self.rule}'",
                    f"{type(member).__name__} has none",
                    "use rule='majority'",
                )

    def _quality(self, prototype: Any, training: Training, folds: list[Fold], drawn: Sequence[str]) -> float:
        """Accuracy on rows that the member did not see."""
        found, asked = out_of_fold(prototype, training, folds, self._shares, drawn)
        known = asked > 0
        hits = self.classes_[found[known].argmax(axis=1)] == training.target[known]
        return float(np.average(hits, weights=None if training.weights is None else training.weights[known]))

    def predict_proba(self, X: Any) -> np.ndarray:
        """What the rule makes of the members' probabilities, divided by its sum; shares of votes for 'majority'."""
        return self._joined(self._check_rows(X), self.rule, self.weights_)

    def predict_with_reject(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """(labels as `predict`, mask of the rows on which no class has more than half of the members' votes)."""
        rows = self._check_rows(X)
        votes = self._joined(rows, "majority", self.weights_)
        return self.predict(rows), votes.max(axis=1) <= 0.5


class VotingRegressor(Votes, NumberCombiner):
    """Different regressors answer, and their mean, weighted mean, median, minimum or maximum is taken.

    The median is robust against one member that is far off. Validated weights are one over the mean squared error on
    rows that the member did not see.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import VotingRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = VotingRegressor(rule="median", random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    rule: str = param("mean", Choice(*NUMBER_RULES), "How the members' answers are joined.")

    def _default_members(self) -> list[Any]:
        return usual_regressors()

    def _quality(self, prototype: Any, training: Training, folds: list[Fold], drawn: Sequence[str]) -> float:
        """One over the mean squared error on rows that the member did not see."""
        found, asked = out_of_fold(prototype, training, folds, lambda model, rows: model.predict(rows)[:, None], drawn)
        known = asked > 0
        weights = None if training.weights is None else training.weights[known]
        error = float(np.average((found[known, 0] - training.target[known]) ** 2, weights=weights))
        centre = np.average(training.target[known], weights=weights)
        spread = float(np.average((training.target[known] - centre) ** 2, weights=weights))
        # A member without error would silence all others: it counts as one with a millionth of the spread.
        return 1.0 / max(error, 1e-6 * spread, 1e-300)

    def predict(self, X: Any) -> np.ndarray:
        """What the rule makes of the members' numbers."""
        return self._joined(self._check_rows(X), self.rule, self.weights_)
