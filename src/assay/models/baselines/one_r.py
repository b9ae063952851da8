"""OneR: the best rule that looks at one column."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.errors import plain
from ...base.estimator import Classifier
from ...base.parameters import Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, trace_param
from ...base.views import Rules
from ...data.columns import MixedInput
from ..rule_sets.conditions import Condition
from ..rule_sets.rule_set import Rule, RuleSet


class OneRClassifier(MixedInput, Classifier):
    """Makes one rule per column, whose branches predict their majority class, and keeps the one with fewest errors.

    A nominal column has a branch per category. A numeric column is cut into intervals as Holte (1993) does: values join
    a bucket in order until one class holds `min_bucket_size` rows of it, then while they belong to that class alone;
    equal values stay together, and neighbouring buckets that predict the same class are joined. Buckets are filled by
    values, not by rows as in WEKA's OneR, so that the rule does not depend on the order of rows. Missing cells are a
    branch of their own; categories (and missing cells) that training rows did not show get the most frequent class.
    Ties go to the first column, and to the first class in `classes_`.

    Attributes
    ----------
    classes_ : array of the class labels
    column_ : int, index of the chosen column
    column_name_ : str, its name
    column_errors_ : array (n_features,), share of the training weight that each column's rule gets wrong
    cuts_ : array, upper ends of the intervals but the last (empty for a nominal column)
    counts_ : array (n_branches, n_classes), weight of each class per branch; the last branch holds missing cells
    class_prior_ : array, share of each class, used where a branch has no rows
    rules_ : RuleSet, the branches as rules
    branches_ : list of {"if", "then", "rows", "correct"}, the branches in words
    trace_ : with `trace`, the error and number of branches of each column

    Examples
    --------
    >>> from assay.models.baselines import OneRClassifier
    >>> X = [["sunny"], ["sunny"], ["rain"], ["rain"], ["rain"]]
    >>> model = OneRClassifier().fit(X, ["stay", "stay", "go", "go", "stay"])
    >>> print(model.to_text())
    x0 = rain: go (2 of 3)
    x0 = sunny: stay (2 of 2)
    otherwise: stay
    4 of 5 right
    >>> model.predict([["sunny"], ["rain"]])
    array(['stay', 'go'], dtype='<U4')
    """

    _open_state = ("rules_",)  # the first and the last interval of a column have no end

    min_bucket_size: float = param(
        6, Real(0, closed="neither"), "Weight that a class must reach in a bucket of a numeric column."
    )
    alpha: float = param(0.0, Real(0), "Laplace smoothing: added to each class count of a branch for probabilities.")
    categorical_features: Any = categorical_features_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneRClassifier:
        """Make the rule of every column and keep the best."""
        values, codes, weights = self._begin(X, y, sample_weight)
        rules = _kernels.one_rules(
            np.ascontiguousarray(values),
            self.schema_.n_categories,
            codes,
            np.empty(0) if weights is None else weights,
            self.classes_.shape[0],
            float(self.min_bucket_size),
            thread_count(self.n_jobs),
        )
        total = np.bincount(codes, weights, minlength=self.classes_.shape[0])
        self.class_prior_ = total / total.sum()
        self.column_errors_ = np.array([error for *_, error in rules]) / total.sum()
        self.column_ = int(np.argmin(self.column_errors_))
        self.column_name_ = self.schema_.names[self.column_]
        self.cuts_, self.counts_, _, _ = rules[self.column_]
        self.branches_, self.rules_ = self._branches_in_words(), self._rules()
        trace = self._new_trace()
        for name, error, (_, _, prediction, _) in zip(self.schema_.names, self.column_errors_.tolist(), rules):
            trace.record("column", column=name, error=error, branches=int((prediction >= 0).sum()))
        self._keep_trace(trace)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class shares of the branch that each row falls into (smoothed by `alpha`)."""
        check_is_fitted(self)
        counts = np.vstack([self.counts_, np.zeros_like(self.class_prior_)])
        weight = counts.sum(axis=1, keepdims=True)
        # By a power of two, so that the largest smoothing has a sum.
        smoothed = np.ldexp(counts + self.alpha, -16)
        with np.errstate(invalid="ignore"):
            shares = np.where(weight > 0, smoothed / smoothed.sum(axis=1, keepdims=True), self.class_prior_)
        return shares[self._branches(self._read(X, reset=False)[:, self.column_])]

    def _branches(self, column: np.ndarray) -> np.ndarray:
        """Branch of each cell: interval or category, the last one for missing, -1 for an unseen category."""
        if self.schema_.nominal[self.column_]:
            branch = np.where(np.isnan(column), 0, column).astype(np.intp)
        else:
            branch = np.searchsorted(self.cuts_, column, side="left")
        branch[np.isnan(column)] = self.counts_.shape[0] - 1
        return branch

    def _branches_in_words(self) -> list[dict[str, Any]]:
        name, categories = plain(self.column_name_), self.schema_.categories[self.column_]
        if categories is not None:
            conditions = [f"{name} = {plain(category)}" for category in categories.tolist()]
        elif self.cuts_.shape[0] == 0:
            conditions = [f"{name} is known"] if self.counts_.shape[0] > 1 else []
        else:
            ends = [f"{cut:.6g}" for cut in self.cuts_.tolist()]
            conditions = [f"{name} <= {ends[0]}"]
            conditions += [f"{low} < {name} <= {high}" for low, high in pairwise(ends)]
            conditions.append(f"{name} > {ends[-1]}")
        conditions.append(f"{name} is missing")
        labels = self.classes_.tolist()
        return [
            {
                "if": condition,
                "then": labels[int(np.argmax(counts))],
                "rows": float(counts.sum()),
                "correct": float(counts.max()),
            }
            for condition, counts in zip(conditions, self.counts_)
            if counts.any()
        ]

    def to_text(self) -> str:
        """The rule, one branch per line, with how many training rows it gets right."""
        check_is_fitted(self)
        lines = [f"{r['if']}: {plain(r['then'])} ({r['correct']:g} of {r['rows']:g})" for r in self.branches_]
        lines.append(f"otherwise: {plain(self._default())}")
        right, rows = sum(r["correct"] for r in self.branches_), sum(r["rows"] for r in self.branches_)
        return "\n".join([*lines, f"{right:g} of {rows:g} right"])

    def to_rules(self) -> RuleSet:
        """The branches as a rule set that predicts what the model predicts."""
        check_is_fitted(self)
        return self.rules_

    def _rules(self) -> RuleSet:
        name, categories = self.column_name_, self.schema_.categories[self.column_]
        if categories is not None:
            conditions = [Condition.one_of(name, [category]) for category in categories.tolist()]
        else:
            ends = [-np.inf, *self.cuts_.tolist(), np.inf]
            conditions = [Condition.between(name, low, high) for low, high in pairwise(ends)]
        conditions.append(Condition.is_missing(name))
        labels = self.classes_.tolist()
        rules = tuple(
            Rule((condition,), labels[int(np.argmax(counts))], tuple(counts.tolist()))
            for condition, counts in zip(conditions, self.counts_, strict=True)
            if counts.any()
        )
        total = tuple(self.counts_.sum(axis=0).tolist())
        return RuleSet(rules, self._default(), self.schema_, tuple(labels), total=total, smoothing=float(self.alpha))

    def to_sql(self, table: str | None = None) -> str:
        """The rule as SQL (see `RuleSet.to_sql`)."""
        return self.to_rules().to_sql(table)

    def _default(self) -> Any:
        return self.classes_.tolist()[int(np.argmax(self.class_prior_))]

    def view(self) -> Rules:
        """The branches of the rule; the first hundred of a long one."""
        check_is_fitted(self)
        title, cut = f"One rule on {plain(self.column_name_)}", True if len(self.branches_) > 100 else None
        return Rules(title=title, rules=self.branches_[:100], default=self._default(), cut=cut)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A sort per column."""
        cells = float(n_rows) * n_features
        return Cost(seconds=5e-9 * cells * np.log2(n_rows + 2.0), bytes=8.0 * cells + 16.0 * n_rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes that no single column tells apart
        return tags
