"""All importances in one table, and how far they agree."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from ..base.drawings import matrix_figure
from ..base.errors import AssayError, DataError
from ..base.folds import take_rows
from ..base.plotting import axes, paint_svg
from ..base.randomness import Stream
from ..base.record import Grid, TableRecord
from ..base.words import clean, number
from .explanation import Explanation
from .importance import (
    drop_column_importance,
    impurity_importance,
    permutation_importance,
    target_importance,
)
from .linear_terms import coefficient_importance
from .sampled_shap import shap_values

_SHAP_ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Agreement(TableRecord):
    """Several importances of the same columns: shares by method, ranks, and how far the ranks agree.

    `shares` (columns x methods) are importances divided by their sum, negative ones as 0. `tau` is Kendall's rank
    correlation of each pair of methods, `concordance` Kendall's W of all of them: 1 if all rank alike, 0 if none do.
    """

    names: list[str]
    methods: list[str]
    shares: np.ndarray
    ranks: np.ndarray
    tau: np.ndarray
    concordance: float
    left_out: list[str] = field(default_factory=list)
    explanations: dict[str, Explanation] = field(default_factory=dict, repr=False)

    schema: ClassVar[int] = 1

    @property
    def sentence(self) -> str:  # type: ignore[override]
        """How far the methods agree, in words."""
        word = "well" if self.concordance >= 0.8 else "in part" if self.concordance >= 0.5 else "little"
        first = self.names[int(self.ranks.mean(axis=1).argmin())]
        return (
            f"{len(self.methods)} importances agree {word} on the order of {len(self.names)} columns (Kendall's W "
            f"{number(self.concordance, 2)}); {clean(first, 60)} ranks first on average."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data without the single explanations."""
        found = super().to_dict()
        found.pop("explanations")
        return found

    def _order(self) -> list[int]:
        return np.argsort(self.ranks.mean(axis=1), kind="stable").tolist()

    def grid(self) -> Grid:
        """Share and rank of each column by each method, the first on average first."""
        lines = []
        for j in self._order():
            cells = [f"{100 * s:.0f}% ({r:g})" for s, r in zip(self.shares[j], self.ranks[j])]
            lines.append([clean(self.names[j], 60), *cells, number(float(self.ranks[j].mean()), 1)])
        heads = ["column", *self.methods, "mean rank"]
        return Grid(heads, lines, notes=[self.sentence, *self.left_out])

    def agreement_grid(self) -> Grid:
        """Kendall's tau of each pair of methods."""
        lines = [[name, *(number(float(v), 2) for v in row)] for name, row in zip(self.methods, self.tau)]
        return Grid(["Kendall's tau", *self.methods], lines)

    @property
    def how_to_read(self) -> str:
        """What the numbers are."""
        return (
            "Each column of the table is one importance in shares of its sum, with the rank behind it. Where methods "
            "disagree, columns say the same thing twice, act together, or count for the training rows only."
        )

    def to_svg(self, title: str = "") -> str:
        """The shares as a shaded grid."""
        order = self._order()[:20]
        return matrix_figure(
            self.shares[order].tolist(),
            [self.names[j] for j in order],
            self.methods,
            title=title or "Importances side by side",
            corner="column",
            shares=True,
            width=760,
        )

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes("Agreement.plot", ax))

    def to_html(self) -> str:
        """The drawing, how to read it, and the tables behind it."""
        tables = self.grid().to_html() + self.agreement_grid().to_html()
        return f"{self.to_svg()}<p>{escape(self.how_to_read)}</p><details><summary>Numbers</summary>{tables}</details>"


def agreement_of(explanations: dict[str, Explanation], left_out: list[str] | None = None) -> Agreement:
    """Put explanations of the same columns side by side.

    >>> import numpy as np
    >>> one, two = (
    ...     Explanation(method=m, scope="global", values=np.array([v]), base_values=np.empty(0), names=["a", "b"])
    ...     for m, v in (("p", [0.3, 0.1]), ("q", [2.0, 0.0]))
    ... )
    >>> found = agreement_of({"p": one, "q": two})
    >>> found.concordance, found.shares.round(2).tolist()
    (1.0, [[0.75, 1.0], [0.25, 0.0]])
    """
    if not explanations:
        raise DataError("agreement_of", "explanations", "must hold at least one importance")
    names = next(iter(explanations.values())).names
    if any(one.names != names for one in explanations.values()):
        raise DataError("agreement_of", "explanations", "must be of the same columns in the same order")
    values = np.column_stack([one.importance() for one in explanations.values()])
    positive = np.maximum(np.nan_to_num(values), 0.0)
    total = positive.sum(axis=0)
    shares = positive / np.where(total > 0, total, 1.0)
    ranks = np.column_stack([stats.rankdata(-column) for column in np.nan_to_num(values).T])
    count, width = ranks.shape
    tau = np.eye(width)
    for a in range(width):
        for b in range(a):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = stats.kendalltau(ranks[:, a], ranks[:, b]).statistic
            tau[a, b] = tau[b, a] = 0.0 if np.isnan(found) else float(found)
    totals = ranks.sum(axis=1)
    ties = sum(float((c**3 - c).sum()) for c in (np.unique(r, return_counts=True)[1] for r in ranks.T))
    below = width**2 * (count**3 - count) - width * ties
    concordance = 12 * float(((totals - totals.mean()) ** 2).sum()) / below if below > 0 else 1.0
    return Agreement(
        names=names,
        methods=list(explanations),
        shares=shares,
        ranks=ranks,
        tau=tau,
        concordance=min(concordance, 1.0),
        left_out=left_out or [],
        explanations=explanations,
    )


def importances(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: Any = None,
    drop_column: bool = False,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Agreement:
    """Every importance that the model allows, in one table with the agreement of their ranks.

    Permutation, conditional permutation, mean sizes of Shapley values, impurity or coefficients where the model has
    them, correlation and total variation of each column with the target; with `drop_column`, fits without each column.
    What does not apply is named in `left_out`.

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.trees import CartClassifier
    >>> iris = load_dataset("iris").frame
    >>> X, y = iris.drop("species"), iris["species"].to_list()
    >>> found = importances(CartClassifier(max_depth=3, random_state=0).fit(X, y), X, y)
    >>> found.methods
    ['permutation', 'conditional', 'Shapley', 'impurity', 'correlation', 'total variation']
    """
    ways: dict[str, Any] = {
        "permutation": lambda: permutation_importance(
            model, X, y, metric=metric, random_state=random_state, n_jobs=n_jobs
        ),
        "conditional": lambda: permutation_importance(
            model, X, y, metric=metric, conditional=True, random_state=random_state, n_jobs=n_jobs
        ),
        "Shapley": lambda: shap_values(model, _some_rows(X, random_state)),
        "impurity": lambda: impurity_importance(model),
        "coefficients": lambda: coefficient_importance(model, X),
        "correlation": lambda: target_importance(X, y),
        "total variation": lambda: target_importance(X, y, "total-variation"),
    }
    if drop_column:
        ways["dropped"] = lambda: drop_column_importance(
            model, X, y, metric=metric, random_state=random_state, n_jobs=n_jobs
        )
    found: dict[str, Explanation] = {}
    left_out: list[str] = []
    names: list[str] | None = None
    for name, way in ways.items():
        try:
            one = way()
        except (AssayError, TypeError, ValueError, AttributeError) as error:
            if name == "permutation":
                raise
            reason = str(error).partition(": ")[2] or str(error)
            if name not in ("impurity", "coefficients"):
                left_out.append(f"{name} left out: {clean(reason, 200)}")
            continue
        names = one.names if names is None else names
        if one.names != names and len(one.names) == len(names) and all(n == f"x{j}" for j, n in enumerate(one.names)):
            one = Explanation(**{**one.__dict__, "names": names})
        if one.names != names:
            left_out.append(f"{name} left out: the model has other columns than the table")
            continue
        found[name] = one
    return agreement_of(found, left_out)


def _some_rows(X: Any, random_state: Any) -> Any:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows <= _SHAP_ROWS:
        return X
    drawn = Stream.of(random_state).child(7).generator().choice(n_rows, _SHAP_ROWS, replace=False)
    return take_rows(X, np.sort(drawn))
