"""A model in the place of a model: a small tree or a few rules that say nearly what it says, and how nearly."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np

from ..base.errors import DataError, ParameterError, plain
from ..base.folds import take_rows
from ..base.plotting import axes, paint_svg
from ..base.randomness import Stream
from ..base.record import Grid, TableRecord
from ..base.words import clean, number, percent
from ..evaluate.bootstrap import bootstrap_interval
from ..evaluate.rates import wilson_interval
from ..models.rules import RulesFromTree
from ..models.trees import CartClassifier, CartRegressor
from .asked import answers_of, classes_of

KINDS = ("tree", "rules")
_SHOWN = 110
"""Letters of a line of the tree in a table; `to_html` shows the whole."""


@dataclass(frozen=True, kw_only=True)
class Surrogate(TableRecord):
    """A readable model that imitates another one; `fidelity` is measured on rows that it was not grown on.

    For classes it is the share of rows on which both say the same, for numbers R² of the imitation; `low` and `high`
    are limits of its interval. `baseline` is the fidelity of always saying the most frequent answer.
    """

    model: Any
    kind: str
    fidelity: float
    low: float
    high: float
    baseline: float
    measure: str
    rows: int
    size: str
    level: float = 0.95

    schema: ClassVar[int] = 1

    @property
    def sentence(self) -> str:  # type: ignore[override]
        """How far the imitation can be trusted."""
        if self.measure.startswith("share"):
            found, ends = percent(self.fidelity, 1), f"{percent(self.low, 1)} to {percent(self.high, 1)}"
            plain_guess = percent(self.baseline, 1)
        else:
            found, ends, plain_guess = number(self.fidelity), f"{number(self.low)} to {number(self.high)}", "0"
        return (
            f"The {self.kind} ({self.size}) imitates the model on {self.rows:,} rows it was not grown on with a "
            f"{self.measure} of {found} ({percent(self.level)} interval {ends}; the most frequent answer alone "
            f"{plain_guess})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the view of the imitation and its fidelity."""
        names = ("kind", "fidelity", "low", "high", "baseline", "measure", "rows", "size", "level")
        return {name: getattr(self, name) for name in names} | {"view": self.view().to_dict()}

    def view(self) -> Any:
        """What the imitation looks like."""
        return self.model.view() if self.kind == "tree" else self.model.rules_.view("Rules that imitate the model")

    def grid(self) -> Grid:
        """The rules, or the tree as text lines, long ones cut short."""
        if self.kind == "rules":
            found = self.view().grid()
            return Grid(found.heads, found.rows, notes=[self.sentence], left=found.left)
        lines = [
            line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…" for line in self.model.to_text().splitlines()
        ]
        return Grid(["tree"], [[line] for line in lines], notes=[self.sentence])

    def _labels_in_full(self) -> list[str]:
        """The labels of every test on labels, none cut short."""
        schema, found = self.model.schema_, []
        for rule in self.model.leaf_rules().rules:
            for one in rule.conditions:
                if not getattr(one, "categories", None):
                    continue
                known = schema.categories[schema.names.index(one.column)].tolist()
                labels = [label for label in known if (label in one.categories) != one.excluded]
                found.append(f"{clean(one.column)} in {{{', '.join(clean(label) for label in labels)}}}")
        return list(dict.fromkeys(found))

    @property
    def how_to_read(self) -> str:
        """What it is and how far to trust it."""
        return self.sentence

    def to_svg(self, title: str = "") -> str:
        """The drawing of the imitation."""
        return self.view().to_svg(title)

    def plot(self, ax: Any = None) -> Any:
        """The drawing on axes of matplotlib, which are given back."""
        return paint_svg(self.to_svg(), axes("Surrogate.plot", ax))

    def to_html(self) -> str:
        """The drawing, how far to trust it, and the tree or rules behind it, every label in full."""
        found = self.grid()
        if self.kind == "tree":
            lines = [*self.model.to_text().splitlines(), *self._labels_in_full()]
            found = Grid(found.heads, [[line] for line in lines], notes=found.notes)
        table = found.to_html()
        said = escape(clean(self.sentence, 600))
        return f"{self.to_svg()}<p>{said}</p><details><summary>Numbers</summary>{table}</details>"


def surrogate(
    model: Any,
    X: Any,
    *,
    kind: str = "tree",
    max_depth: int = 3,
    columns: Any = None,
    test_share: float = 0.3,
    alpha: float = 0.05,
    random_state: Any = 0,
) -> Surrogate:
    """A small tree or rule set grown on what a model says, with its fidelity on rows held out.

    Parameters
    ----------
    model : fitted model
    X : table of rows to ask the model about (of numbers, or with labels)
    kind : "tree", or "rules" (for classes)
    max_depth : depth of the tree
    columns : names of the columns that it may use, of a frame; all by default
    test_share : share of the rows on which fidelity is measured
    alpha : 1 - level of its interval
    random_state : seed of the split

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.ensembles import RandomForestClassifier
    >>> iris = load_dataset("iris").frame
    >>> X = iris.drop("species")
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, iris["species"].to_list())
    >>> found = surrogate(forest, X, max_depth=2)
    >>> found.fidelity > 0.9, found.size
    (True, '3 leaves')
    """
    who = "surrogate"
    if kind not in KINDS:
        raise ParameterError(who, "parameter 'kind'", "must be 'tree' or 'rules'", f"got {plain(kind)!r}")
    if not 0 < test_share < 1:
        raise ParameterError(who, "parameter 'test_share'", "must lie between 0 and 1", f"got {test_share}")
    classes = classes_of(model)
    if kind == "rules" and classes is None:
        raise ParameterError(who, "parameter 'kind'", "must be 'tree' for a model of numbers")
    answers_of(who, model, "auto")  # refuses what cannot be asked
    X = np.asarray(X, dtype=object) if isinstance(X, list) and _has_text(X) else X
    said = np.asarray(model.predict(X)) if hasattr(model, "predict") else np.asarray(model(X))
    n_rows = said.shape[0]
    order = Stream.of(random_state).generator().permutation(n_rows)
    n_test = round(test_share * n_rows)
    if n_rows - n_test < 2 or n_test < 2:
        raise DataError(who, "X", "must have at least 2 rows to grow on and 2 to test on", f"got {n_rows}")
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    if classes is not None:
        grown: Any = CartClassifier(max_depth=max_depth, min_samples_leaf=5, random_state=0)
        if kind == "rules":
            grown = RulesFromTree()
    else:
        grown = CartRegressor(max_depth=max_depth, min_samples_leaf=5, random_state=0)
    seen = X if columns is None else X[list(columns)]
    grown = grown.fit(take_rows(seen, train), said[train])
    own = np.asarray(grown.predict(take_rows(seen, test)))
    size = _size(grown, kind)
    common = {"model": grown, "kind": kind, "rows": int(test.shape[0]), "size": size, "level": 1 - alpha}
    if classes is not None:
        same = float((own == said[test]).sum())
        low, high = wilson_interval(same, float(n_test), 1 - alpha)
        values, counts = np.unique(said[train], return_counts=True)
        guess = float((said[test] == values[counts.argmax()]).mean())
        return Surrogate(
            fidelity=same / n_test, low=low, high=high, baseline=guess, measure="share of equal answers", **common
        )
    truth = said[test].astype(np.float64)
    total = float(((truth - truth.mean()) ** 2).sum())
    left = float(((truth - own) ** 2).sum())
    fidelity = 1 - left / total if total > 0 else float(left == 0)
    low = high = fidelity
    if total > 0 and left > 0:
        found = bootstrap_interval(
            truth, own, "r2", method="percentile", confidence=1 - alpha, n_replicates=500, random_state=0
        )
        low, high = (float(end) for end in found.interval)
    return Surrogate(fidelity=fidelity, low=low, high=high, baseline=0.0, measure="R²", **common)


def _has_text(rows: list[Any]) -> bool:
    return any(isinstance(cell, str) for row in rows for cell in row)


def _size(model: Any, kind: str) -> str:
    if kind == "rules":
        count = len(model.rules_.rules)
        return f"{count} {'rule' if count == 1 else 'rules'}"
    leaves = int((model.tree_.feature < 0).sum())
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}"
