"""A form as one expression of SQL over the columns of a table: what `predict` says of a row.

The expression stands in any SELECT: `SELECT *, (...) AS prediction FROM customers`. Preparation and scores of several
classes are subqueries without a table of their own, so that it stays one expression. Missing cells are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..models.ensembles.sql import double, sums_sql
from ..models.rule_sets.sql import identifier, literal
from . import export_forms as forms

MOST_TERMS = 10_000
"""Products of a net or of normal classes that are written into one expression."""
_ACTIVATIONS = {
    "identity": "{u}",
    "relu": "CASE WHEN {u} > 0e0 THEN {u} ELSE 0e0 END",
    # Beyond these ends nothing changes in a double, and EXP is not asked for more than it can hold.
    "tanh": "CASE WHEN {u} > 2e1 THEN 1e0 WHEN {u} < -2e1 THEN -1e0 ELSE 1e0 - 2e0 / (1e0 + EXP(2e0 * {u})) END",
    "logistic": "CASE WHEN {u} > 4e1 THEN 1e0 WHEN {u} < -7e2 THEN 0e0 ELSE 1e0 / (1e0 + EXP(-{u})) END",
}


def sql_of(form: forms.Form) -> str:
    """What the model says of a row."""
    if isinstance(form, forms.Net):
        return _net(form)
    return _answer(form, _scores(form))


def _answer(form: forms.Form, scores: list[str]) -> str:
    if form.link == "duels":
        raise forms.refusal("a model of duels between classes", "SQL")
    if form.classes is None:
        return f"EXP({scores[0]})" if form.link == "exp" else scores[0]
    labels = [literal(label) for label in form.classes]
    if len(labels) == 1:
        return labels[0]
    if len(scores) == 1:
        least = "0.5e0" if form.link == "shares" else "0e0"
        return f"CASE WHEN {scores[0]} > {least} THEN {labels[1]} ELSE {labels[0]} END"
    listed = ",\n  ".join(f"{text} AS s{k}" for k, text in enumerate(scores))
    # The first of several that are largest wins.
    tests = [
        f"WHEN {' AND '.join(f's{k} >= s{other}' for other in range(k + 1, len(scores)))} THEN {labels[k]}"
        for k in range(len(scores) - 1)
    ]
    return f"(SELECT CASE {' '.join(tests)} ELSE {labels[-1]} END FROM (SELECT\n  {listed}) AS scores)"


def prepared_sql(recipes: list[forms.Recipe], text: str, kinds: Mapping[str, str]) -> str:
    """The expression with the preparation before it."""
    columns = ",\n  ".join(f"{_recipe(recipe, kinds)} AS {identifier(recipe.name)}" for recipe in recipes)
    return f"(SELECT {text}\nFROM (SELECT\n  {columns}) AS prepared)"


def _scores(form: forms.Form) -> list[str]:
    names = [identifier(name) for name in form.names]
    if isinstance(form, forms.Linear):
        return [
            " + ".join([double(float(b)), *(f"{double(float(w))} * {name}" for w, name in zip(line, names) if w)])
            for line, b in zip(form.weights, form.intercept)
        ]
    if isinstance(form, forms.Trees) and form.trees is not None and form.schema is not None:
        return sums_sql("export", form.trees.forest, form.schema, form.trees.base, form.trees.scale)
    if isinstance(form, forms.Bayes):
        return [_bayes(form, names, k) for k in range(form.priors.shape[0])]
    if isinstance(form, forms.Normal):
        return _normal(form, names)
    raise forms.refusal("this model", "SQL")


def _few_terms(what: str, count: int) -> None:
    if count > MOST_TERMS:
        raise forms.refusal(
            what, "SQL", f"has {count:,} products, too many for one expression of {{}}", "export as .onnx"
        )


def _weighed(weights: Any, names: list[str]) -> list[str]:
    return [f"({double(float(w))}) * {name}" for w, name in zip(weights, names) if w]


def _normal(form: forms.Normal, names: list[str]) -> list[str]:
    """constant - half of the squares of the whitened gaps to the mean, each written twice."""
    _few_terms("a model of normal classes", 2 * form.factors.size)
    scores = []
    for constant, mean, factor in zip(form.constants, form.means, form.factors):
        gaps = [f"({name} - ({double(float(m))}))" for name, m in zip(names, mean)]
        lines = (
            factor.T
            if factor.ndim == 2
            else [[f if j == k else 0.0 for j in range(len(gaps))] for k, f in enumerate(factor)]
        )
        sums = [" + ".join(_weighed(line, gaps)) or "0e0" for line in lines]
        squares = " + ".join(f"({one}) * ({one})" for one in sums)
        scores.append(f"({double(float(constant))} - 5e-1 * ({squares}))")
    return scores


def _net(form: forms.Net) -> str:
    """Layers as subqueries inside each other: the sums of a layer, then what the activation makes of them."""
    _few_terms("a net", sum(weights.size for weights, _ in form.layers))
    units, table = [identifier(name) for name in form.names], ""
    for number, (weights, biases) in enumerate(form.layers):
        sums = [" + ".join([double(float(b)), *_weighed(line, units)]) for line, b in zip(weights, biases)]
        if number == len(form.layers) - 1:
            text = _answer(form, [f"({one})" for one in sums])
            if (form.scale, form.center) != (1.0, 0.0):
                text = f"({text}) * {double(form.scale)} + ({double(form.center)})"
            return f"(SELECT {text}\nFROM ({table}) AS units_{number})" if table else text
        listed = ",\n  ".join(f"{one} AS u{k}" for k, one in enumerate(sums))
        table = f"SELECT\n  {listed}" + (f"\nFROM ({table}) AS units_{number}" if table else "")
        active = _ACTIVATIONS[form.activation]
        made = ",\n  ".join(f"{active.format(u=f'u{k}')} AS h{k}" for k in range(len(sums)))
        units = [f"h{k}" for k in range(len(sums))]
        table = f"SELECT\n  {made}\nFROM ({table}) AS sums_{number}"
    raise AssertionError("a net has a layer")  # pragma: no cover


def _bayes(form: forms.Bayes, names: list[str], k: int) -> str:
    """log P(class k) and what each column adds, nothing where its cell is missing."""
    terms = [double(float(form.priors[k]))]
    for j, mean, half, constant in form.gaussian:
        gap = f"({names[j]} - ({double(float(mean[k]))}))"
        adds = f"{double(float(constant[k]))} - {double(float(half[k]))} * {gap} * {gap}"
        terms.append(f"CASE WHEN {names[j]} IS NULL THEN 0e0 ELSE {adds} END")
    for j, slope in form.counted:
        terms.append(f"COALESCE(({double(float(slope[k]))}) * {names[j]}, 0e0)")
    for j, table in form.marks:
        low, high = (double(float(v)) for v in table[k])
        terms.append(f"CASE WHEN {names[j]} > 0 THEN {high} WHEN {names[j]} <= 0 THEN {low} ELSE 0e0 END")
    for j, table in form.tables:
        tests = [f"WHEN {literal(label)} THEN {double(float(v))}" for label, v in zip(form.categories[j], table[k])]
        terms.append(f"CASE {names[j]} {' '.join(tests)} ELSE 0e0 END" if tests else "0e0")
    return "\n    + ".join(terms)


def _recipe(recipe: forms.Recipe, kinds: Mapping[str, str]) -> str:
    if isinstance(recipe, forms.Label):
        return _label(recipe, kinds)
    if isinstance(recipe, forms.Among):
        test = _among(recipe.column, recipe.labels, kinds) if recipe.labels else ""
        if recipe.missing:
            lost = f"{identifier(recipe.column)} IS NULL"
            test = f"{test} OR {lost}" if test else lost
        return f"CASE WHEN {test} THEN 1e0 ELSE 0e0 END"
    cell = _number(recipe.source, kinds)
    if isinstance(recipe, forms.Missing):
        return f"CASE WHEN {cell} IS NULL THEN 1e0 ELSE 0e0 END"
    assert isinstance(recipe, forms.Number)
    if recipe.fill is not None:
        cell = f"COALESCE({cell}, {double(recipe.fill)})"
    return (
        f"({cell} - ({double(recipe.mean)})) * {double(recipe.factor)}" if recipe.factor != 1 or recipe.mean else cell
    )


def _number(source: forms.Source, kinds: Mapping[str, str]) -> str:
    name = identifier(source.column)
    if source.order is not None:
        tests = [
            f"WHEN {_among(source.column, (label,), kinds)} THEN {double(float(k))}"
            for k, label in enumerate(source.order)
        ]
        return f"CASE {' '.join(tests)} END"
    return f"CASE WHEN {name} THEN 1e0 WHEN NOT {name} THEN 0e0 END" if kinds.get(source.column) == "boolean" else name


def _among(column: str, labels: tuple[str, ...], kinds: Mapping[str, str]) -> str:
    name = identifier(column)
    if kinds.get(column) == "boolean":
        return " OR ".join(name if label == "true" else f"NOT {name}" for label in labels)
    listed = [literal(_value(label, kinds.get(column))) for label in labels]
    return f"{name} = {listed[0]}" if len(listed) == 1 else f"{name} IN ({', '.join(listed)})"


def _value(label: str, kind: str | None) -> Any:
    """A label as the cells of its column are: numbers that stand for labels are numbers there."""
    if kind != "number":
        return label
    try:
        return int(label)
    except ValueError:
        return float(label)


def _label(recipe: forms.Label, kinds: Mapping[str, str]) -> str:
    kind, name = kinds.get(recipe.column), identifier(recipe.column)
    text = name
    if kind in ("boolean", "number"):
        known = recipe.known if kind == "number" else ("true", "false")
        tests = [
            f"WHEN {_among(recipe.column, (label,), kinds)} THEN {literal(label)}"
            for label in known
            if label != recipe.fill
        ]
        text = f"CASE {' '.join(tests)} END" if tests else "NULL"
        if recipe.fill is not None:
            return f"CASE WHEN {name} IS NULL THEN {literal(recipe.fill)} ELSE {text} END"
    return text if recipe.fill is None else f"COALESCE({text}, {literal(recipe.fill)})"
