"""A form as Python source: `predict(row)`, and `probabilities(row)` for classes; it needs nothing but Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from .export_forms import Among, Bayes, Form, Label, Linear, Missing, Net, Number, Recipe, Trees, outputs_of, trees_in

_CELL = '''
def _cell(row, name):
    """A cell, None where it is missing."""
    cell = row[name]
    return None if cell is None or cell != cell else cell
'''
_TEXT = '''
def _text(row, name):
    """A cell as a label."""
    cell = _cell(row, name)
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(int(cell)) if cell == int(cell) else repr(float(cell))
'''
_DATE = '''
def _part(row, name, part, origin):
    """A part of a date, which is a date of Python or its ISO text."""
    cell = _cell(row, name)
    if cell is None:
        return None
    if not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.fromisoformat(str(cell))
    if part == "elapsed days":
        return (cell - datetime.datetime.fromisoformat(origin)) / datetime.timedelta(days=1)
    return float({"month": cell.month, "day of week": cell.isoweekday(), "hour": cell.hour}[part])
'''
_WALK = """
def _scores(row):
    cells = [_cell(row, name) for name in NAMES]
    places = {j: known.get(cells[j]) for j, known in PLACES.items()}
    sums = [0.0] * len(BASE)
    for outputs, nodes in TREES:
        node = nodes[0]
        while len(node) > 1:
            column, test, missing_left, left, right = node
            if isinstance(test, tuple):
                place = places[column]
                goes_left = missing_left if place is None else place in test
            else:
                cell = cells[column]
                goes_left = missing_left if cell is None else cell <= test
            node = nodes[left if goes_left else right]
        for output, value in zip(outputs, node[0]):
            sums[output] += value
    return [total * SCALE + base for total, base in zip(sums, BASE)]
"""
_NET = """
def _scores(row):
    units = [row[name] for name in NAMES]
    for number, (weights, biases) in enumerate(LAYERS):
        if number:
            units = [ACTIVATION for u in units]
        units = [sum(w * u for w, u in zip(line, units)) + bias for line, bias in zip(weights, biases)]
    return units
"""
_ACTIVATIONS = {
    "identity": "u",
    "relu": "u if u > 0.0 else 0.0",
    "tanh": "math.tanh(u)",
    "logistic": "1.0 / (1.0 + math.exp(-u)) if u >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(u))",
}
_BAYES = """
def _scores(row):
    scores = list(PRIORS)
    for name, means, halves, constants in GAUSSIAN:
        cell = _cell(row, name)
        if cell is not None:
            scores = [s + c - h * (cell - m) ** 2 for s, m, h, c in zip(scores, means, halves, constants)]
    for name, slopes in COUNTED:
        cell = _cell(row, name)
        if cell is not None:
            scores = [s + slope * cell for s, slope in zip(scores, slopes)]
    for name, tables in MARKS:
        cell = _cell(row, name)
        if cell is not None:
            scores = [s + table[cell > 0] for s, table in zip(scores, tables)]
    for name, places, tables in TABLES:
        place = places.get(_cell(row, name))
        if place is not None:
            scores = [s + table[place] for s, table in zip(scores, tables)]
    return scores
"""
_PROBABILITIES = {
    "logistic": """
    score = _scores(row)[0]
    second = 1.0 / (1.0 + math.exp(-score)) if score >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(min(score, 700.0)))
    return dict(zip(CLASSES, (1.0 - second, second)))
""",
    "softmax": """
    scores = _scores(row)
    powers = [math.exp(score - max(scores)) for score in scores]
    return {label: power / sum(powers) for label, power in zip(CLASSES, powers)}
""",
    "shares": """
    scores = _scores(row)
    return dict(zip(CLASSES, scores if len(scores) > 1 else (1.0 - scores[0], scores[0])))
""",
}


def python_of(form: Form) -> str:
    """The source of `predict` (and `probabilities`) for rows of the columns that the form names."""
    body = _scores(form)
    classed = form.classes is not None
    if classed:
        body += f"\nCLASSES = {_written(form.classes)}\n"
        if form.probabilities:
            said = '    """The probability of each class."""'
            body += f"\n\ndef probabilities(row):\n{said}{_PROBABILITIES[form.link]}"
    body += f'\n\ndef predict(row):\n    """The {"class" if classed else "number"} of a row, a mapping of columns."""\n'
    body += "    scores = _scores(row)\n"
    if not classed:
        scaled = "scores[0]" if form.link == "identity" else "math.exp(min(scores[0], 700.0))"
        if isinstance(form, Net) and (form.scale, form.center) != (1.0, 0.0):
            scaled = f"{scaled} * {form.scale!r} + {form.center!r}"
        body += f"    return {scaled}\n"
    elif form.link == "softmax" or _many(form):
        body += "    return CLASSES[scores.index(max(scores))]\n"
    else:
        body += f"    return CLASSES[1] if scores[0] > {0.5 if form.link == 'shares' else 0.0} else CLASSES[0]\n"
    head = "import math\n" if "math." in body else ""
    head += _CELL.lstrip("\n") if "_cell(" in body and not head else _CELL if "_cell(" in body else ""
    return head + ("\n" if head else "") + body.lstrip("\n")


def prepared_python(recipes: list[Recipe], text: str, target: str) -> str:
    """The source with the preparation before it."""
    lines = []
    for recipe in recipes:
        lines.append(f"        {recipe.name!r}: {_recipe(recipe)},")
    helpers = ("" if "def _cell(" in text else _CELL + "\n") + _TEXT
    if any("_part(row" in line for line in lines):
        helpers, text = (
            helpers + "\n" + _DATE,
            "import datetime\n" + ("" if text.startswith("import") else "\n\n") + text,
        )
    renamed = text.replace("def predict(row):", "def _predict(row):").replace(
        "def probabilities(row):", "def _probabilities(row):"
    )
    parts = [renamed.rstrip("\n"), "\n", helpers.rstrip("\n"), "\n\ndef prepare(row):"]
    parts += ['    """The columns that the model sees."""', "    return {", *lines, "    }", "\n\ndef predict(row):"]
    parts += [f'    """{_plain_words(target)} of a row, a mapping of raw columns; None is missing."""']
    parts += ["    return _predict(prepare(row))"]
    if "def _probabilities(row):" in renamed:
        parts += ["\n\ndef probabilities(row):", '    """The probability of each class."""']
        parts += ["    return _probabilities(prepare(row))"]
    return "\n".join(parts) + "\n"


def _plain_words(target: str) -> str:
    return "".join(letter for letter in target if letter.isalnum() or letter in " _-")[:60] or "The target"


def _recipe(recipe: Recipe) -> str:
    if isinstance(recipe, Label):
        text = f"_text(row, {recipe.column!r})"
        return text if recipe.fill is None else f"{recipe.fill!r} if {text} is None else {text}"
    if isinstance(recipe, Among):
        labels = (*recipe.labels, *([None] if recipe.missing else []))
        return f"float(_text(row, {recipe.column!r}) in {labels!r})"
    source = recipe.source
    cell = f"_cell(row, {source.column!r})"
    if source.order is not None:
        cell = f"{ {label: float(k) for k, label in enumerate(source.order)}!r}.get(_text(row, {source.column!r}))"
    if source.part:
        cell = f"_part(row, {source.column!r}, {source.part!r}, {source.origin or '1970-01-01'!r})"
    if isinstance(recipe, Missing):
        return f"float({cell} is None)"
    assert isinstance(recipe, Number)
    moved = (recipe.mean, recipe.factor) != (0.0, 1.0)
    if recipe.fill is not None:
        cell = f"({recipe.fill!r} if {cell} is None else {cell})"
        return f"({cell} - {recipe.mean!r}) * {recipe.factor!r}" if moved else cell
    return f"None if {cell} is None else ({cell} - {recipe.mean!r}) * {recipe.factor!r}" if moved else cell


def _many(form: Form) -> bool:
    return isinstance(form, Trees) and form.trees is not None and form.trees.outputs > 1


def _scores(form: Form) -> str:
    if isinstance(form, Linear):
        sums = [_sum(w, b, [f"row[{name!r}]" for name in form.names]) for w, b in zip(form.weights, form.intercept)]
        return f"def _scores(row):\n    return [{', '.join(sums)}]\n"
    if isinstance(form, Trees):
        assert form.trees is not None
        places = {j: {label: k for k, label in enumerate(known)} for j, known in form.categories.items()}
        trees = [(tuple(outputs_of(form, t)), nodes) for t, nodes in enumerate(trees_in(form))]
        base = np.asarray(form.trees.base, dtype=np.float64).tolist()
        head = f"NAMES = {form.names!r}\nPLACES = {places!r}\nBASE = {base!r}\nSCALE = {float(form.trees.scale)!r}\n"
        return head + f"TREES = {trees!r}\n\n{_WALK}"
    if isinstance(form, Net):
        layers = [(w.tolist(), b.tolist()) for w, b in form.layers]
        text = _NET.replace("ACTIVATION", _ACTIVATIONS[form.activation])
        return f"NAMES = {form.names!r}\nLAYERS = {layers!r}\n\n{text}"
    assert isinstance(form, Bayes)
    names = form.names
    gaussian = [(names[j], *(part.tolist() for part in parts)) for j, *parts in form.gaussian]
    tables = [
        (names[j], {label: k for k, label in enumerate(form.categories[j])}, table.tolist()) for j, table in form.tables
    ]
    return (
        f"PRIORS = {form.priors.tolist()!r}\nGAUSSIAN = {gaussian!r}\n"
        f"COUNTED = {[(names[j], slope.tolist()) for j, slope in form.counted]!r}\n"
        f"MARKS = {[(names[j], table.tolist()) for j, table in form.marks]!r}\nTABLES = {tables!r}\n\n{_BAYES}"
    )


def _written(values: Any) -> str:
    return repr(list(values))


def _sum(weights: np.ndarray, intercept: float, cells: list[str]) -> str:
    terms = [f"({float(w)!r}) * {cell}" for w, cell in zip(weights, cells) if w]
    return " + ".join([repr(float(intercept)), *terms])
