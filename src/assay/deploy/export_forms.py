"""What a fitted model computes, in a form that other programs can be given: scores, and what is made of them.

A model is linear, a sum of trees, a net, naive Bayes, normal classes, a sum of kernels, rows to be near to, rules, or
members that are joined; the preparation before it is a recipe for each column. Writers of SQL, Python and ONNX know
these few forms, and nothing of estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..base.columns import column_names, plain_label
from ..base.errors import AssayError, UsageError, plain
from ..data.columns import ColumnSchema
from ..explain.tree_models import TreeModel, tree_model
from ..models.bayes import QDA, RDA, NaiveBayes
from ..models.ensembles import Forest, VotingClassifier, VotingRegressor
from ..models.ensembles.bagging import Resampled
from ..models.kernel_machines import KernelRidge, SVMClassifier, SVMRegressor
from ..models.linear import OneVsOne, OneVsRest
from ..models.neighbours import KNNClassifier, KNNRegressor
from ..models.neural import MLPClassifier, MLPRegressor
from ..models.rule_sets.rule_set import RuleSet
from ..models.trees import C45Classifier, ID3Classifier
from ..numeric import kernels

MOST_NUMBERS = 200_000
"""Numbers of training rows that are written into source text."""

_UNITS = (
    ("probabilit", "shares"),
    ("log odds", "logistic"),
    ("scores of the classes", "softmax"),
    ("votes of the classes", "softmax"),
    ("logarithm of the mean", "exp"),
)


@dataclass(frozen=True, eq=False)
class Form:
    """Scores of a row and what they become.

    `link` is "identity" or "exp" for numbers; for classes "logistic" (one score, of the second class), "softmax",
    "rest" (a score for each class against the rest: the shares of their sigmoids), "duels" (a score for each pair,
    positive for the second) or "shares" (scores that are probabilities; one alone is that of the second class).
    `categories` are the labels of columns that hold labels; their cells are places in these lists, missing where
    unknown.
    """

    names: list[str]
    link: str
    classes: list[Any] | None = None
    categories: dict[int, list[Any]] = field(default_factory=dict)
    probabilities: bool = True


@dataclass(frozen=True, eq=False)
class Linear(Form):
    """intercept + weights x: weights (scores, columns)."""

    weights: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    intercept: np.ndarray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class Trees(Form):
    """base + scale x sums of leaves."""

    trees: TreeModel | None = None
    schema: Any = None


@dataclass(frozen=True, eq=False)
class Net(Form):
    """Layers (weights (units, inputs), biases) with one activation between them; then scale x score + center."""

    layers: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    activation: str = "relu"
    scale: float = 1.0
    center: float = 0.0
    tolerance: float = 1e-9


@dataclass(frozen=True, eq=False)
class Bayes(Form):
    """Log priors and what each column adds to the score of each class; a missing or unknown cell adds nothing.

    `gaussian` has (column, mean, half precision, constant), `counted` (column, slope) of counts, `marks` (column, log
    probabilities (classes, 2) of a cell not above 0 and above), `tables` (column, log probabilities (classes, labels)).
    """

    priors: np.ndarray = field(default_factory=lambda: np.empty(0))
    gaussian: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    counted: list[tuple[int, np.ndarray]] = field(default_factory=list)
    marks: list[tuple[int, np.ndarray]] = field(default_factory=list)
    tables: list[tuple[int, np.ndarray]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Normal(Form):
    """Of each class constant - |(x - mean) factor|^2 / 2; factors (classes, columns, columns) or (classes, columns)."""

    constants: np.ndarray = field(default_factory=lambda: np.empty(0))
    means: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    factors: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class Kernels(Form):
    """intercept + sums of coefficients (scores, vectors) times the kernel of the row with each vector.

    The kernel is (gamma <x, v> + constant) ** degree ("polynomial"), tanh of that base ("sigmoid"), exp(-gamma |x -
    v|^2) ("gaussian") or exp(-gamma sum |x - v|) ("laplacian").
    """

    vectors: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    coefficients: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    intercept: np.ndarray = field(default_factory=lambda: np.empty(0))
    kernel: str = "gaussian"
    gamma: float = 1.0
    constant: float = 0.0
    degree: int = 1


@dataclass(frozen=True, eq=False)
class Near(Form):
    """Votes of the `count` rows that are nearest by the Minkowski distance of `power`, each with its `said`."""

    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    said: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    count: int = 1
    power: float = 2.0
    weights: str = "uniform"


@dataclass(frozen=True, eq=False)
class Ruled(Form):
    """Rules in their order, or in votes."""

    rules: RuleSet | None = None


@dataclass(frozen=True, eq=False)
class Member:
    """One of several models: its form, the names of its columns outside, the places of its classes, its weight."""

    form: Form
    columns: list[str]
    places: list[int]
    weight: float


@dataclass(frozen=True, eq=False)
class Joined(Form):
    """Members whose probabilities or numbers a rule makes one of (`models.ensembles.vote_rules`)."""

    members: list[Member] = field(default_factory=list)
    rule: str = "mean"


def form_of(model: Any, what: str) -> Form:
    """The form of a fitted estimator; refused with a sentence if it has none (yet)."""
    if isinstance(model, NaiveBayes):
        return _bayes(model)
    if isinstance(model, (MLPClassifier, MLPRegressor)):
        return _net(model, what)
    if isinstance(model, (QDA, RDA)) and not model._is_linear():
        return _normal(model)
    if isinstance(model, (SVMClassifier, SVMRegressor, KernelRidge)):
        return _kernels(model, what)
    if isinstance(model, (KNNClassifier, KNNRegressor)):
        return _near(model, what)
    if isinstance(model, (Resampled, VotingClassifier, VotingRegressor)):
        return _joined(model, what)
    if isinstance(model, (OneVsRest, OneVsOne)):
        return _of_two(model, what)
    if isinstance(getattr(model, "rules_", None), RuleSet):
        return _ruled(model)
    try:
        trees = tree_model(model)
    except (AssayError, ValueError, TypeError, AttributeError):
        return _linear(model, what)
    return _trees(model, trees, what)


def check_whole_rows(model: Any, what: str) -> None:
    """Refuse trees that split a row with a missing cell into fractions, which no export knows."""
    if isinstance(model, (C45Classifier, ID3Classifier)):
        raise UsageError(
            "export",
            f"a {type(model).__name__}",
            f"splits rows with missing cells into fractions, which {what} has no form for",
            way_out="take cart-classifier; to_sql and to_python of the tree hold for rows without missing cells",
        )


def refusal(
    model: Any, what: str, why: str = "cannot be written as {} exactly yet", way_out: str | None = None
) -> UsageError:
    """What is said of a model without the form that is asked for."""
    title = model if isinstance(model, str) else f"a {type(model).__name__}"
    usual = "save a package" if what == "Python" else "try the ending .py, or save a package"
    return UsageError("export", title, why.format(what), way_out=way_out or usual)


def label_list(labels: Any) -> list[Any]:
    """Labels as plain Python values."""
    return [plain_label(label) for label in labels]


def names_of(model: Any) -> list[str]:
    """The names of a model's columns; x0, x1, ... where it was fitted without."""
    return column_names(model, int(getattr(model, "n_features_in_", 0)))


def _linear(model: Any, what: str) -> Linear:
    weights, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", 0.0)
    names = names_of(model)
    if not isinstance(weights, np.ndarray) or not names:
        raise refusal(model, what)
    weights = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    classes = getattr(model, "classes_", None)
    if weights.ndim != 2 or weights.shape[1] != len(names) or (classes is None and weights.shape[0] != 1):
        raise refusal(model, what)
    link = "exp" if getattr(model, "link_", "") == "log" else "identity"
    if classes is not None:
        link = "logistic" if weights.shape[0] == 1 else "softmax"
    start = np.broadcast_to(np.atleast_1d(np.asarray(intercept, dtype=float)), (weights.shape[0],))
    return Linear(
        names,
        link,
        None if classes is None else label_list(classes),
        probabilities=hasattr(model, "predict_proba"),
        weights=weights,
        intercept=start,
    )


def _trees(model: Any, trees: TreeModel, what: str) -> Trees:
    classes = getattr(model, "classes_", None)
    link = next((link for start, link in _UNITS if trees.unit.startswith(start)), "identity")
    if (classes is None) != (link in ("identity", "exp")) or (classes is None and trees.outputs != 1):
        raise refusal(model, what)
    schema = getattr(model, "schema_", None)
    listed = None if classes is None else label_list(classes)
    return Trees(trees.names, link, listed, dict(trees.categories), trees=trees, schema=schema)


def _net(model: Any, what: str) -> Net:
    classes = getattr(model, "classes_", None)
    layers = [(np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)) for w, b in model._layers()]
    outputs = layers[-1][1].shape[0]
    if classes is None and outputs != 1:
        raise refusal(model, what)
    link = "exp" if classes is None and model._loss.link == "log" else "identity"
    if classes is not None:
        link = "logistic" if outputs == 1 else "softmax"
    scale, center = (1.0, 0.0) if classes is not None else (np.ravel(model._scale)[0], np.ravel(model._center)[0])
    return Net(
        names_of(model),
        link,
        None if classes is None else label_list(classes),
        layers=layers,
        activation="logistic" if model.activation == "sigmoid" else model.activation,
        scale=float(scale),
        center=float(center),
        tolerance=1e-9 if model._theta.dtype == np.float64 else 1e-4,
    )


def _bayes(model: NaiveBayes) -> Bayes:
    kept = np.flatnonzero(~model.constant_.all(axis=0) if model.constant_.ndim == 2 else ~model.constant_)
    gaussian = []
    for place in kept.tolist():
        variance = model.var_[:, place]
        constant = -0.5 * np.log(2.0 * np.pi * variance)
        gaussian.append((int(model.gaussian_columns_[place]), model.theta_[:, place], 0.5 / variance, constant))
    marks = [
        (int(j), np.log(np.column_stack([1.0 - p, p])))
        for j, p in zip(model.bernoulli_columns_, model.bernoulli_prob_.T)
    ]
    tables = list(zip(map(int, model.categorical_columns_), model.category_log_prob_))
    with np.errstate(divide="ignore"):
        priors = np.maximum(np.log(model.class_prior_), -1e300)
    return Bayes(
        [str(name) for name in model.schema_.names],
        "softmax",
        label_list(model.classes_),
        {j: label_list(model.schema_.categories[j]) for j, _ in tables},
        priors=priors,
        gaussian=gaussian,
        counted=list(zip(map(int, model.multinomial_columns_), model.multinomial_log_prob_.T)),
        marks=marks,
        tables=tables,
    )


def _normal(model: Any) -> Normal:
    constants = np.maximum(model._log_priors() - 0.5 * model.log_determinants_, -1e300)
    return Normal(
        names_of(model),
        "softmax",
        label_list(model.classes_),
        constants=constants,
        means=np.asarray(model.means_, dtype=np.float64),
        factors=np.asarray(model.whitening_, dtype=np.float64),
    )


def _few_numbers(model: Any, what: str, *tables: np.ndarray) -> None:
    count = sum(table.size for table in tables)
    if count > MOST_NUMBERS:
        raise refusal(model, what, f"holds {count:,} numbers of training rows, too many for {{}}")


def _of_classes(model: Any) -> dict[str, Any]:
    """How the scores of machines, one for each pair or class, become classes."""
    classes = label_list(model.classes_)
    one_for_each = isinstance(model, OneVsRest) or getattr(model, "multi_class", "") == "ovr"
    link = "logistic" if len(classes) == 2 else "rest" if one_for_each else "duels"
    return {"link": link, "classes": classes, "probabilities": False}


def _kernels(model: Any, what: str) -> Form:
    said: dict[str, Any] = {"link": "identity"} if getattr(model, "classes_", None) is None else _of_classes(model)
    intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    if hasattr(model, "coef_"):
        weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
        return Linear(names_of(model), **said, weights=weights, intercept=intercept)
    kernel = model._kernel()
    kinds = {"Polynomial": "polynomial", "Linear": "polynomial", "Sigmoid": "sigmoid", "Gaussian": "gaussian"}
    kind = {**kinds, "Laplacian": "laplacian"}.get(type(kernel).__name__)
    vectors = model._rows_ if isinstance(model, KernelRidge) else model.support_vectors_
    coefficients = np.asarray(model.dual_coef_, dtype=np.float64)
    coefficients = coefficients.reshape(len(vectors), -1).T if coefficients.ndim == 1 else coefficients
    if isinstance(model, KernelRidge) and model.dual_coef_.ndim == 2:
        coefficients = coefficients.T
    exact = isinstance(kernel, (kernels.Linear, kernels.Polynomial, kernels.Sigmoid, kernels.Gaussian))
    if kind is None or not (exact or kind == "laplacian") or not len(vectors):
        raise refusal(model, what)
    if said["link"] == "identity" and coefficients.shape[0] != 1:
        raise refusal(model, what)
    _few_numbers(model, what, np.asarray(vectors))
    return Kernels(
        names_of(model),
        **said,
        vectors=np.asarray(vectors, dtype=np.float64),
        coefficients=coefficients,
        intercept=np.broadcast_to(intercept, (coefficients.shape[0],)),
        kernel=kind,
        gamma=float(getattr(kernel, "gamma", 1.0)),
        constant=float(getattr(kernel, "coef0", 0.0)),
        degree=int(getattr(kernel, "degree", 1)),
    )


def _near(model: Any, what: str) -> Near:
    powers = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf, "minkowski": float(model.p)}
    said = model._one_hot()
    classes = getattr(model, "classes_", None)
    if model.metric_ not in powers or (classes is None and said.shape[1] != 1):
        raise refusal(
            model, what, f"measures by '{plain(model.metric_)}', which has no form in {{}}; code labels as numbers"
        )
    _few_numbers(model, what, model.rows_)
    return Near(
        names_of(model),
        "identity" if classes is None else "shares",
        None if classes is None else label_list(classes),
        rows=np.asarray(model.rows_, dtype=np.float64),
        said=np.asarray(said, dtype=np.float64),
        count=int(model.n_neighbors_),
        power=powers[model.metric_],
        weights=model.weights,
    )


def _ruled(model: Any) -> Ruled:
    rules = model.rules_
    classes = None if rules.classes is None else label_list(rules.classes)
    return Ruled([str(name) for name in rules.schema.names], "shares", classes, probabilities=False, rules=rules)


def _joined(model: Any, what: str) -> Form:
    classes = getattr(model, "classes_", None)
    names, count = names_of(model), len(model.estimators_)
    weights = np.asarray(getattr(model, "weights_", np.ones(count)), dtype=np.float64)
    rule = getattr(model, "rule", "mean")
    members = []
    for k, member in enumerate(model.estimators_):
        check_whole_rows(member, what)
        form, seen = form_of(member, what), model._columns_of(k)
        columns = names if seen is None else [names[j] for j in seen.tolist()]
        places = [] if classes is None else model._class_columns(member).tolist()
        if (form.classes is None) != (classes is None) or len(form.names) != len(columns):
            raise refusal(model, what)
        members.append(Member(form, columns, places, float(weights[k] / weights.sum())))
    listed = None if classes is None else label_list(classes)
    alike = _as_one_forest(members, names, listed) if rule == "mean" and np.ptp(weights) == 0 else None
    if alike is not None:
        return alike
    return Joined(names, "identity" if classes is None else "shares", listed, members=members, rule=rule)


def _as_one_forest(members: list[Member], names: list[str], classes: list[Any] | None) -> Trees | None:
    """The mean of trees as one forest; None where a member is something else, or knows other labels."""
    forms = [member.form for member in members if isinstance(member.form, Trees)]
    parts = [form.trees for form in forms if form.trees is not None]
    known = [{member.columns[j]: labels for j, labels in member.form.categories.items()} for member in members]
    first = parts[0] if parts else None
    if any(one != known[0] for one in known):
        return None
    whole = list(range(len(classes))) if classes is not None else []
    if first is None or len(parts) < len(members) or any(member.places != whole for member in members):
        return None
    if any(form.link not in ("shares", "identity") for form in forms) or any(
        part.scale * part.forest.n_trees != 1.0 or np.any(part.base) or part.outputs != first.outputs for part in parts
    ):
        return None
    if any(part.forest.n_trees != first.forest.n_trees for part in parts):
        return None
    place = {name: j for j, name in enumerate(names)}
    features, offsets = [], [np.zeros(1, dtype=np.int64)]
    for member, part in zip(members, parts):
        to = np.array([place[name] for name in member.columns], dtype=np.int32)
        own = part.forest.feature
        features.append(np.where(own >= 0, to[np.maximum(own, 0)], own).astype(np.int32))
        offsets.append(part.forest.offsets[1:] + offsets[-1][-1])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(part.forest, name) for part in parts])

    words = np.cumsum([0, *(part.forest.category_words.shape[0] for part in parts)])
    sets = [
        np.where(part.forest.category_offset >= 0, part.forest.category_offset + before, -1)
        for part, before in zip(parts, words.tolist())
    ]
    arrays = ("children_left", "children_right", "threshold", "category_words", "missing_go_to_left")
    listed: list[Any] = [known[0].get(name) for name in names]
    forest = Forest(
        offsets=np.concatenate(offsets),
        feature=np.concatenate(features),
        **{name: joined(name) for name in (*arrays, "value", "n_node_samples", "weight", "gain")},
        category_offset=np.concatenate(sets),
        n_categories=np.array([0 if labels is None else len(labels) for labels in listed], dtype=np.int32),
    )
    merged = replace(
        first,
        forest=forest,
        cover=np.concatenate([part.cover for part in parts]),
        scale=1.0 / forest.n_trees,
        names=names,
        categories={j: labels for j, labels in enumerate(listed) if labels is not None},
    )
    nominal = np.array([labels is not None for labels in listed])
    schema = ColumnSchema(tuple(names), nominal, tuple(None if one is None else np.array(one) for one in listed))
    return Trees(names, forms[0].link, classes, dict(merged.categories), trees=merged, schema=schema)


def _of_two(model: Any, what: str) -> Form:
    """Linear learners of two classes side by side: a score for each class, or for each pair."""
    parts = [form_of(member, what) for member in model.estimators_]
    if not all(isinstance(part, Linear) and part.link == "logistic" for part in parts):
        raise refusal(model, what, "can be written as {} only where its binary learners are linear")
    said = _of_classes(model)
    # The probabilities of duels are those of a coupled system, which has no short form.
    known = said["link"] != "duels" and all(part.probabilities for part in parts)
    return Linear(
        names_of(model),
        **{**said, "probabilities": known},
        weights=np.vstack([part.weights for part in parts if isinstance(part, Linear)]),
        intercept=np.concatenate([part.intercept for part in parts if isinstance(part, Linear)]),
    )


# -- preparation -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Source:
    """A raw column as a number: its cells, the ranks of its labels in `order`, or a `part` of its dates.

    Elapsed days are counted from `origin`.
    """

    column: str
    order: tuple[str, ...] | None = None
    part: str = ""
    origin: str | None = None


@dataclass(frozen=True)
class Number:
    """(cell, or `fill` where it is missing, - `mean`) x `factor`."""

    name: str
    source: Source
    fill: float | None
    mean: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True)
class Missing:
    """1 where the cell is missing, else 0."""

    name: str
    source: Source


@dataclass(frozen=True)
class Among:
    """1 where the label is among some, or missing if `missing`; else 0."""

    name: str
    column: str
    labels: tuple[str, ...]
    missing: bool = False


@dataclass(frozen=True)
class Label:
    """The label as text, `fill` where it is missing."""

    name: str
    column: str
    fill: str | None
    known: tuple[str, ...] = ()


Recipe = Number | Missing | Among | Label


def recipes_of(model: Any, what: str) -> list[Recipe]:
    """How each column that the estimator of a prepared model sees is made from the raw ones."""
    links = model.chain.links
    prepared = links[-1]
    why = ""
    if len(links) > 1:
        why = f"the step {type(links[0]).__name__} before the learner"
    elif prepared.dates_ and what != "Python":
        why = f"the date in column '{plain(next(iter(prepared.dates_)))}'"
    elif prepared.words_:
        why = f"the free text in column '{plain(prepared.words_[0].name)}'"
    if why:
        raise refusal(
            "a model with its preparation",
            what,
            f"cannot be written as {{}} yet because of {why}",
            "save a package, export as .py, or give the parts of the date as columns" if "the date" in why else None,
        )
    block, numeric, schema = prepared.block_, list(prepared.numeric_), getattr(model.estimator, "schema_", None)
    names = names_of(model.estimator)
    if len(names) != len(prepared.get_feature_names_out()):
        raise refusal(model.estimator, what)
    sources = {name: Source(name, _ranked(role)) for name, role in prepared.roles_.items() if role.role == "ordinal"}
    for name, (origin, parts) in prepared.dates_.items():
        sources |= {f"{name} {part}": Source(name, None, part, origin) for part in parts}
    made: list[Recipe] = []
    for j, column in enumerate(numeric):
        fill = None if block.fillings is None else float(block.fillings[j])
        centred = block.mean is not None and block.inverse_deviation is not None
        mean, factor = (float(block.mean[j]), float(block.inverse_deviation[j])) if centred else (0.0, 1.0)
        made.append(Number(names[j], sources.get(column, Source(column)), fill, mean, factor))
    for j in block.indicated.tolist():
        made.append(Missing(names[len(made)], sources.get(numeric[j], Source(numeric[j]))))
    if prepared.as_frame_:
        fill_label = prepared.missing_label_ if prepared.missing == "impute" else None
        for column in prepared.labels_:
            found = None if schema is None else schema.categories[len(made)]
            known = () if found is None else tuple(map(str, found.tolist()))
            made.append(Label(names[len(made)], column, fill_label, known))
    for code in prepared.indicators_:
        for category in code.categories:
            made.append(Among(names[len(made)], code.name, (category,)))
        if code.others:
            made.append(Among(names[len(made)], code.name, tuple(sorted(code.others))))
        if code.missing:
            made.append(Among(names[len(made)], code.name, (), missing=True))
    return made


def _ranked(role: Any) -> tuple[str, ...]:
    return tuple(str(label) for label in role.order or ())


def kinds_of(model: Any) -> dict[str, str]:
    """What the raw columns of a prepared model hold: "number", "boolean" or "label"."""
    return {name: str(about["kind"]) for name, about in model.facts["profile"].items()}


def trees_in(form: Trees) -> list[list[tuple[Any, ...]]]:
    """Nodes of each tree: ((values by output),) for a leaf, else (column, test, missing goes left, left, right).

    The test is a threshold, or a tuple of the places of the categories that go left.
    """
    assert form.trees is not None
    forest, found = form.trees.forest, []
    for begin, end in pairwise(forest.offsets.tolist()):
        nodes: list[tuple[Any, ...]] = []
        for node in range(begin, end):
            if forest.feature[node] < 0:
                nodes.append((tuple(forest.value[node].tolist()),))
                continue
            nominal = forest.category_offset[node] >= 0
            test: Any = tuple(forest.categories_left(node)) if nominal else float(forest.threshold[node])
            sides = int(forest.children_left[node]), int(forest.children_right[node])
            nodes.append((int(forest.feature[node]), test, bool(forest.missing_go_to_left[node]), *sides))
        found.append(nodes)
    return found


def outputs_of(form: Trees, tree: int) -> Sequence[int]:
    """The scores that a tree adds to."""
    assert form.trees is not None
    width = int(form.trees.forest.value.shape[1])
    first = tree % (form.trees.outputs // width) * width
    return range(first, first + width)
