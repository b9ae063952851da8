"""New columns from old ones: formulas by name, monomials, and basis functions."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Mapped
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base.cost import Cost
from ..base.errors import DataError, ParameterError, plain
from ..base.parameters import ArrayLike, Boolean, Instance, Integer, Mapping, Nothing, param
from ..base.threads import thread_count
from ..data.roles import nearest
from ..numeric.monomials import count_monomials, monomial_cells, monomial_names, monomial_powers
from .expression import Node, evaluate, parse
from .step import TableStep, columns_param, is_number, matrix_of

_FORMULA = "Formula"


class Formula(TableStep):
    """New columns by formulas, such as `roi = (gain - cost) / cost`.

    A formula is read by a small language of its own (arithmetic, comparisons, `and`, `or`, `not`, and functions such as
    log, exp, sqrt, sin, cos, abs, min, max, clip, where, is_missing, coalesce); it cannot run anything. A column whose
    name is not a plain word stands between backquotes. Later formulas may use the columns of earlier ones. What does
    not exist (division by zero, the logarithm of a negative number) is missing.

    Attributes
    ----------
    made_ : list of the names of the new columns

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import Formula
    >>> deals = pl.DataFrame({"gain": [120.0, 90.0], "cost": [100.0, 0.0], "kind": ["a", "b"]})
    >>> step = Formula(formulas=["roi = (gain - cost) / cost", "good = roi > 0.1 and kind == 'a'"])
    >>> step.fit_transform(deals).select("roi", "good").rows()
    [(0.2, 1.0), (None, None)]
    """

    formulas: Any = param(
        None,
        Mapping() | ArrayLike() | Instance(str) | Nothing(),
        "Formulas as {'name': 'expression'}, as texts 'name = expression' or one such text; None for none.",
    )
    keep: bool = param(True, Boolean(), "Keep the old columns beside the new ones.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        known = list(frame.columns)
        for name, source in self._pairs():
            for column in parse(_FORMULA, source).columns():
                if column not in known:
                    raise DataError(
                        _FORMULA,
                        f"formula '{plain(name, 40)}'",
                        f"uses column '{plain(column, 40)}', which is not there",
                        way_out=nearest(column, known),
                    )
            known.append(name)
        self.made_ = [name for name, _ in self._pairs()]
        kept = [name for name in frame.columns if name not in self.made_] if self.keep else []
        self.names_out_ = kept + list(dict.fromkeys(self.made_))
        if not self.names_out_:
            self.names_out_ = list(frame.columns)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        cells: dict[str, np.ndarray] = {}
        for name, source in self._pairs():
            node = parse(_FORMULA, source)
            for column in node.columns():
                if column not in cells:
                    cells[column] = _cells(frame[column], node, name)
            cells[name] = evaluate(node, cells, frame.height)
        made = [pl.Series(name, cells[name], nan_to_null=True) for name in dict.fromkeys(self.made_)]
        return frame.with_columns(made).select(self.names_out_)

    def _pairs(self) -> list[tuple[str, str]]:
        if self.formulas is None:
            return []
        if isinstance(self.formulas, Mapped):
            pairs = [(str(name), source) for name, source in self.formulas.items()]
        else:
            texts = [self.formulas] if isinstance(self.formulas, str) else list(self.formulas)
            pairs = [_named(text) for text in texts]
        for name, source in pairs:
            if not isinstance(source, str):
                raise ParameterError(
                    _FORMULA, f"formula '{plain(name, 40)}'", "must be text", f"got {type(source).__name__}"
                )
        return pairs

    def explain(self) -> list[str]:
        """The formulas, in words."""
        check_is_fitted(self)
        return [f"{plain(name)} is computed as {plain(source, 200)}." for name, source in self._pairs()]


def _named(text: Any) -> tuple[str, str]:
    """A formula with its name: 'roi = gain / cost' (a name in backquotes may hold any characters)."""
    if not isinstance(text, str):
        raise ParameterError(_FORMULA, "a formula", "must be text", f"got {type(text).__name__}")
    name, equals, source = text.partition("=")
    name = name.strip()
    if name.startswith("`") and name.endswith("`") and len(name) > 2:
        name = name[1:-1]
    if not equals or not name or source.startswith("=") or name.endswith(("<", ">", "!")):
        raise ParameterError(
            _FORMULA,
            f"formula '{plain(text, 80)}'",
            "must have a name and an equals sign",
            way_out="write it like 'roi = (gain - cost) / cost'",
        )
    return name, source.strip()


def _cells(series: pl.Series, node: Node, formula: str) -> np.ndarray:
    """A column as the expression takes it: numbers, or text that is only compared."""
    if is_number(series):
        return series.cast(pl.Float64).to_numpy().astype(np.float64)
    if series.dtype == pl.String and _only_compared(node, series.name):
        return np.array(series.to_list(), dtype=object)
    raise DataError(
        _FORMULA,
        f"column '{plain(series.name)}'",
        f"must hold numbers for formula '{plain(formula, 40)}'",
        f"its type is {plain(series.dtype)}",
        "compare it with a text by ==, or convert it first",
    )


def _only_compared(node: Node, column: str) -> bool:
    """Whether a column stands only beside == and !=, or in is_missing."""
    for part in node.parts:
        if part.kind == "column" and part.value == column:
            if node.kind not in ("==", "!=") and (node.kind, node.value) != ("call", "is_missing"):
                return False
        elif not _only_compared(part, column):
            return False
    return not (node.kind == "column" and node.value == column)


BASIS = {
    "sin": "sin",
    "cos": "cos",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "square": "square",
    "reciprocal": "1 /",
}
PAIRS = ("product", "ratio", "sum_of_squares", "difference_of_squares", "sum", "difference")


class Polynomial(TableStep):
    """Monomials of the columns of numbers up to a degree, and basis functions of them.

    With `degree=2` the columns a, b give a, b, a^2, a b, b^2, in scikit-learn's order and names. `functions` adds
    functions of each column, `pairs` combinations of each two columns. Columns that are not numbers pass through in
    front. What does not exist (the logarithm of a negative number, a ratio to zero) is missing.

    Attributes
    ----------
    powers_ : array (monomials, columns), the exponents of each monomial
    used_ : list of the columns that are multiplied

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import Polynomial
    >>> step = Polynomial(degree=2).fit(np.array([[2.0, 3.0]]))
    >>> step.transform(np.array([[2.0, 3.0]]))
    array([[2., 3., 4., 6., 9.]])
    >>> step.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    """

    _way_out = "take a lower degree or fewer columns"

    _floats_stay = True

    degree: int = param(2, Integer(1), "Highest degree of a monomial.")
    interaction_only: bool = param(False, Boolean(), "Products of different columns only, no powers.")
    include_bias: bool = param(False, Boolean(), "A column of ones in front.")
    functions: Any = param((), ArrayLike(), "Functions of each column: sin, cos, exp, log, sqrt, square, reciprocal.")
    pairs: Any = param(
        (), ArrayLike(), "Of each two columns: product, ratio, sum_of_squares, difference_of_squares, sum, difference."
    )
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self._plan(frame.columns, self._chosen(frame, is_number, "numbers"))

    def _by_cells(self) -> bool:
        return self.columns is None

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self._plan(self.names_in_, list(self.names_in_), given=hasattr(self, "feature_names_in_"))

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        return self._made(cells)

    def _plan(self, names: list[str], used: list[str], *, given: bool = True) -> None:
        """The monomials of the columns in use, and the names of all that comes out, unless no name was `given`."""
        self.used_ = used
        powers = monomial_powers(len(used), int(self.degree), bool(self.interaction_only))
        self.powers_ = np.vstack([np.zeros((1, len(used)), dtype=np.int64), powers]) if self.include_bias else powers
        # x0, x1, ... make no name twice, and the names take longer than the rest of a fit on few rows.
        self._names = self._all_names() if given or self._extra_names() else None
        names = self._names or []
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(
                type(self).__name__, f"column '{plain(twice)}'", "would come out twice", way_out="rename a column"
            )

    def _all_names(self) -> list[str]:
        used = set(self.used_)
        passed = [name for name in self.names_in_ if name not in used]
        return passed + monomial_names(self.used_, self.powers_) + self._extra_names()

    @property  # type: ignore[misc]
    def names_out_(self) -> list[str]:  # type: ignore[override]
        """Names of the columns that come out."""
        names = getattr(self, "_names", None)  # a package of an earlier version has none
        return self._all_names() if names is None else names

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, dict.fromkeys(self.used_, "number"))
        passed = frame.drop(self.used_)
        names = self.names_out_[passed.width :]
        made = self._made(matrix_of(frame.select(self.used_), frame.height))
        return passed.with_columns(
            [
                pl.Series(name, cells, nan_to_null=True)
                for name, cells in zip(names, np.ascontiguousarray(made.T), strict=True)
            ]
        )

    def _made(self, cells: np.ndarray) -> np.ndarray:
        """All that comes out; what does not exist is NaN."""
        ones = not self.powers_[:1].any() and self.powers_.shape[0] > 0
        made = monomial_cells(cells, self.powers_[int(ones) :], ones=ones, finite=True, threads=thread_count(None))
        with np.errstate(all="ignore"):
            extras = self._extras(list(np.ascontiguousarray(cells.T)))
        if not extras:
            return made
        more = np.column_stack(extras)
        more[np.isinf(more)] = np.nan
        return np.hstack([made, more])

    def _extra_names(self) -> list[str]:
        names = [f"{BASIS[name]} {column}" for name in self._listed("functions", BASIS) for column in self.used_]
        marks = {"product": "*", "ratio": "/", "sum": "+", "difference": "-"}
        for kind in self._listed("pairs", PAIRS):
            for a, b in combinations(self.used_, 2):
                if kind in marks:
                    names.append(f"{a} {marks[kind]} {b}")
                else:
                    names.append(f"{a}^2 {'+' if kind == 'sum_of_squares' else '-'} {b}^2")
        return names

    def _extras(self, columns: list[np.ndarray]) -> list[np.ndarray]:
        functions = {"square": np.square, "reciprocal": np.reciprocal}
        combined: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
            "product": np.multiply,
            "ratio": np.divide,
            "sum_of_squares": lambda a, b: a * a + b * b,
            "difference_of_squares": lambda a, b: a * a - b * b,
            "sum": np.add,
            "difference": np.subtract,
        }
        made = []
        for name in self._listed("functions", BASIS):
            function = functions.get(name) or getattr(np, name)
            made += [function(cells) for cells in columns]
        for kind in self._listed("pairs", PAIRS):
            made += [combined[kind](a, b) for a, b in combinations(columns, 2)]
        return made

    def _listed(self, parameter: str, allowed: Any) -> list[str]:
        given = getattr(self, parameter)
        names = [given] if isinstance(given, str) else [str(item) for item in given]
        for name in names:
            if name not in allowed:
                raise ParameterError(
                    type(self).__name__,
                    f"parameter '{parameter}'",
                    f"must be a list of {', '.join(allowed)}",
                    f"got {plain(repr(name))}",
                )
        return list(dict.fromkeys(names))

    def explain(self) -> list[str]:
        """What columns come out, in words."""
        check_is_fitted(self)
        if not self.used_:
            return []
        names = ", ".join(plain(name) for name in self.used_)
        kind = "products of different columns" if self.interaction_only else "monomials"
        words = [f"{names}: all {kind} up to degree {self.degree} ({self.powers_.shape[0]} columns)."]
        extra = self._listed("functions", BASIS) + self._listed("pairs", PAIRS)
        return words + ([f"{names}: also {', '.join(extra).replace('_', ' ')}."] if extra else [])

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One product per cell that comes out."""
        monomials = count_monomials(n_features, int(self.degree), bool(self.interaction_only)) + 1.0
        extra = n_features * len(list(self.functions)) + n_features**2 / 2 * len(list(self.pairs))
        cells = n_rows * (monomials + extra)
        return Cost(seconds=4e-9 * cells + 6e-6 * monomials + 1e-5, bytes=24.0 * cells + 400.0 * monomials)
