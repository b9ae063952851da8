"""A form as one expression of SQL over the columns of a table: what `predict` says of a row.

The expression stands in any SELECT: `SELECT *, (...) AS prediction FROM customers`. Preparation and scores of several
classes are subqueries without a table of their own, so that it stays one expression. Missing cells are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..models.ensembles.sql import double, sums_sql
from ..models.rule_sets.sql import identifier, literal
from .export_forms import Among, Bayes, Form, Label, Linear, Missing, Net, Number, Recipe, Source, Trees, refusal


def sql_of(form: Form) -> str:
    """What the model says of a row."""
    scores = _scores(form)
    if form.classes is None:
        return f"EXP({scores[0]})" if form.link == "exp" else scores[0]
    labels = [literal(label) for label in form.classes]
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


def prepared_sql(recipes: list[Recipe], text: str, kinds: Mapping[str, str]) -> str:
    """The expression with the preparation before it."""
    columns = ",\n  ".join(f"{_recipe(recipe, kinds)} AS {identifier(recipe.name)}" for recipe in recipes)
    return f"(SELECT {text}\nFROM (SELECT\n  {columns}) AS prepared)"


def _scores(form: Form) -> list[str]:
    names = [identifier(name) for name in form.names]
    if isinstance(form, Linear):
        return [
            " + ".join([double(float(b)), *(f"{double(float(w))} * {name}" for w, name in zip(line, names) if w)])
            for line, b in zip(form.weights, form.intercept)
        ]
    if isinstance(form, Trees) and form.trees is not None and form.schema is not None:
        return sums_sql("export", form.trees.forest, form.schema, form.trees.base, form.trees.scale)
    if isinstance(form, Bayes):
        return [_bayes(form, names, k) for k in range(form.priors.shape[0])]
    raise refusal("a net" if isinstance(form, Net) else "this model", "SQL")


def _bayes(form: Bayes, names: list[str], k: int) -> str:
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


def _recipe(recipe: Recipe, kinds: Mapping[str, str]) -> str:
    if isinstance(recipe, Label):
        return _label(recipe, kinds)
    if isinstance(recipe, Among):
        test = _among(recipe.column, recipe.labels, kinds) if recipe.labels else ""
        if recipe.missing:
            lost = f"{identifier(recipe.column)} IS NULL"
            test = f"{test} OR {lost}" if test else lost
        return f"CASE WHEN {test} THEN 1e0 ELSE 0e0 END"
    cell = _number(recipe.source, kinds)
    if isinstance(recipe, Missing):
        return f"CASE WHEN {cell} IS NULL THEN 1e0 ELSE 0e0 END"
    assert isinstance(recipe, Number)
    if recipe.fill is not None:
        cell = f"COALESCE({cell}, {double(recipe.fill)})"
    return (
        f"({cell} - ({double(recipe.mean)})) * {double(recipe.factor)}" if recipe.factor != 1 or recipe.mean else cell
    )


def _number(source: Source, kinds: Mapping[str, str]) -> str:
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


def _label(recipe: Label, kinds: Mapping[str, str]) -> str:
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
