"""A form as Python source: `predict(row)`, and `probabilities(row)` for classes; it needs nothing but Python."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..models.rule_sets.linear import LinearCondition, LinearSum
from .export_forms import (
    Among,
    Bayes,
    Form,
    Joined,
    Kernels,
    Label,
    Linear,
    Missing,
    Near,
    Net,
    Normal,
    Number,
    Recipe,
    Ruled,
    Trees,
    outputs_of,
    trees_in,
)

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
_NORMAL = """
def _scores(row):
    cells = [row[name] for name in NAMES]
    scores = []
    for constant, means, factor in CLASSES_AS_NORMAL:
        gaps = [cell - mean for cell, mean in zip(cells, means)]
        white = [sum(gap * f for gap, f in zip(gaps, line)) for line in factor]
        scores.append(constant - 0.5 * sum(w * w for w in white))
    return scores
"""
_KERNELS = """
def _scores(row):
    cells = [row[name] for name in NAMES]
    values = [KERNEL for vector in VECTORS]
    return [sum(c * v for c, v in zip(line, values)) + b for line, b in zip(COEFFICIENTS, INTERCEPT)]
"""
_PRODUCT = "GAMMA * sum(a * b for a, b in zip(cells, vector)) + CONSTANT"
_KERNEL = {
    "polynomial": f"({_PRODUCT}) ** DEGREE",
    "sigmoid": f"math.tanh({_PRODUCT})",
    "gaussian": "math.exp(-GAMMA * sum((a - b) ** 2 for a, b in zip(cells, vector)))",
    "laplacian": "math.exp(-GAMMA * sum(abs(a - b) for a, b in zip(cells, vector)))",
}
_NEAR = """
def _scores(row):
    cells = [_cell(row, name) for name in NAMES]
    known = sum(cell is not None for cell in cells)
    # Where cells are missing, the others are scaled up to all columns.
    scale = len(cells) / known if known else 0.0
    found = sorted((DISTANCE, number) for number, other in enumerate(ROWS))[:COUNT]
    first, last = found[0][0], found[-1][0]
    votes = [VOTE for distance, _ in found]
    total = sum(votes)
    return [
        sum(vote * SAID[number][output] for vote, (_, number) in zip(votes, found)) / total
        for output in range(len(SAID[0]))
    ]
"""
_DISTANCES = {
    2.0: "math.sqrt(sum((a - b) ** 2 for a, b in zip(cells, other) if a is not None) * scale)",
    1.0: "sum(abs(a - b) for a, b in zip(cells, other))",
    np.inf: "max(abs(a - b) for a, b in zip(cells, other))",
}
_VOTES = {
    "uniform": "1.0",
    "distance": "1.0 / (distance + 1e-10)",
    "rank": "(last - distance) / (last - first) if last > first else 1.0",
    "gaussian": "math.exp(-0.5 * (distance / last) ** 2) if last > 0.0 else 1.0",
}
_JOINED = """
def _given(row):
    given = []
    for ask, names, places in MEMBERS:
        said = ask({own: row[name] for own, name in names})
        shares = [0.0] * OUTPUTS
        for place, share in zip(places, said):
            shares[place] = share
        given.append(shares)
    return given


def _rule(said):
    \"\"\"What the members say of one output, as one number.\"\"\"
RULE


def _scores(row):
    given = _given(row)
CHOSEN
    scores = [_rule([one[k] for one in given]) for k in range(OUTPUTS)]
SETTLED
"""
_RULES = {
    "mean": "    return sum(weight * one for weight, one in zip(WEIGHTS, said))",
    "majority": "    return sum(weight * one for weight, one in zip(WEIGHTS, said))",
    "minimum": "    return min(one for weight, one in zip(WEIGHTS, said) if weight > 0.0)",
    "maximum": "    return max(one for weight, one in zip(WEIGHTS, said) if weight > 0.0)",
    "product": """    if any(one <= 0.0 for weight, one in zip(WEIGHTS, said) if weight > 0.0):
        return -math.inf
    return sum(weight * len(said) * math.log(one) for weight, one in zip(WEIGHTS, said) if weight > 0.0)""",
    "median": """    below, ends = 0.0, []
    for one, weight in sorted(zip(said, WEIGHTS), key=lambda pair: pair[0]):
        below += weight
        if below >= 0.5 - 1e-12 and not ends:
            ends = [one]
        if below > 0.5 + 1e-12:
            return 0.5 * ends[0] + 0.5 * one
    return 0.5 * ends[0] + 0.5 * max(said)""",
}
_MAJORITY = """    for shares in given:
        best = shares.index(max(shares))
        shares[:] = [float(k == best) for k in range(OUTPUTS)]"""
_BY_SUM = """    total = sum(scores)
    if total <= 0.0:
        given = _given(row)
        scores = [sum(one[k] for one in given) / len(given) for k in range(OUTPUTS)]
        total = sum(scores)
    return [score / total for score in scores]"""
_BY_POWERS = """    top = max(scores)
    scores = [math.exp(score - (top if top > -math.inf else 0.0)) for score in scores]
"""
_RULED = """
def predict(row):
    \"\"\"What the rules say of a row, a mapping of columns.\"\"\"
    cells = {name: _cell(row, name) for name in NAMES}
"""
_DUELS = """
def _duels(scores):
    \"\"\"Duels won plus the sums of the scores, squeezed so that they never outweigh a duel.\"\"\"
    won, total = [0.0] * len(CLASSES), [0.0] * len(CLASSES)
    pairs = [(a, b) for a in range(len(CLASSES)) for b in range(a + 1, len(CLASSES))]
    for (first, second), score in zip(pairs, scores):
        won[second if score > 0.0 else first] += 1.0
        total[second] += score
        total[first] -= score
    return [w + t / (3.0 * (abs(t) + 1.0)) for w, t in zip(won, total)]
"""
_TELLING = '''
def _telling(function):
    """The same function; where a row cannot be used, it says which cell that is."""

    def wrong(cell, kind):
        if cell is None or cell != cell or kind == "label":
            return False
        if kind == "number":
            return not isinstance(cell, (int, float)) and not hasattr(cell, "dtype")
        try:
            return not hasattr(cell, "year") and not datetime.datetime.fromisoformat(str(cell))
        except ValueError:
            return True

    def told(row):
        try:
            return function(row)
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            who = function.__name__
            if not hasattr(row, "keys"):
                words = f"a row must be a mapping from column names to cells; got {type(row).__name__}."
                raise ValueError(f"{who}: {words}") from None
            if isinstance(error, KeyError) and error.args[0] in _KINDS and error.args[0] not in row:
                words = "must be in the row; None stands for a cell that is not known."
                raise ValueError(f"{who}: column {error.args[0]!r} {words}") from None
            found = [name for name, kind in _KINDS.items() if wrong(row.get(name), kind)]
            gaps = [name for name, kind in _KINDS.items() if kind == "number" and row.get(name) is None]
            if not found and not gaps:
                raise
            name = (found or gaps)[0]
            raise ValueError(f"{who}: column {name!r} must hold a {_KINDS[name]}; got {row.get(name)!r:.60}.") from None

    told.__doc__, told.__name__ = function.__doc__, function.__name__
    return told
'''
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
    "rest": """
    shares = [1.0 / (1.0 + math.exp(-s)) if s >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(s)) for s in _scores(row)]
    return {label: share / sum(shares) for label, share in zip(CLASSES, shares)}
""",
    "shares": """
    scores = _scores(row)
    return dict(zip(CLASSES, scores if len(scores) > 1 else (1.0 - scores[0], scores[0])))
""",
}


def python_of(form: Form) -> str:
    """The source of `predict` (and `probabilities`) for rows of the columns that the form names."""
    if isinstance(form, Ruled):
        return _CELL.lstrip("\n") + "\n" + _ruled(form)
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
    elif len(form.classes or ()) == 1:
        body += "    return CLASSES[0]\n"
    elif form.link == "duels":
        body = body.replace("\n\ndef predict(row):", f"\n{_DUELS}\n\ndef predict(row):")
        body += "    scores = _duels(scores)\n    return CLASSES[scores.index(max(scores))]\n"
    elif form.link in ("softmax", "rest") or _many(form):
        body += "    return CLASSES[scores.index(max(scores))]\n"
    else:
        body += f"    return CLASSES[1] if scores[0] > {0.5 if form.link == 'shares' else 0.0} else CLASSES[0]\n"
    # A member brings what it needs itself, but what joins the members may need it too.
    head = "import math\n" if "math." in body else ""
    head += _CELL.lstrip("\n") if "_cell(" in body and not head else _CELL if "_cell(" in body else ""
    return head + ("\n" if head else "") + body.lstrip("\n")


def prepared_python(recipes: list[Recipe], text: str, target: str) -> str:
    """The source with the preparation before it."""
    lines = []
    for recipe in recipes:
        lines.append(f"        {recipe.name!r}: {_recipe(recipe)},")
    # Members of a model have functions of the same names inside their own.
    helpers = ("" if re.search(r"^def _cell\(", text, re.MULTILINE) else _CELL + "\n") + _TEXT
    if any("_part(row" in line for line in lines):
        helpers, text = (
            helpers + "\n" + _DATE,
            "import datetime\n" + ("" if text.startswith("import") else "\n\n") + text,
        )
    renamed = re.sub(r"^def (predict|probabilities)\(row\):", r"def _\1(row):", text, flags=re.MULTILINE)
    parts = [renamed.rstrip("\n"), "\n", helpers.rstrip("\n"), "\n\ndef prepare(row):"]
    parts += ['    """The columns that the model sees."""', "    return {", *lines, "    }", "\n\ndef predict(row):"]
    parts += [f'    """{_plain_words(target)} of a row, a mapping of raw columns; None is missing."""']
    parts += ["    return _predict(prepare(row))"]
    if "\ndef _probabilities(row):" in renamed:
        parts += ["\n\ndef probabilities(row):", '    """The probability of each class."""']
        parts += ["    return _probabilities(prepare(row))"]
    return "\n".join(parts) + "\n"


def telling_python(text: str, kinds: Mapping[str, str]) -> str:
    """The source, whose functions name the column and the cell of a row that they cannot use; `kinds` are those of
    the columns: "number", "date" or "label"."""
    public = re.compile(r"^def (predict|probabilities)\(row\):", re.MULTILINE)
    first = public.search(text)
    if first is None:
        return text
    head, rest = text[: first.start()].rstrip("\n"), public.sub(r"@_telling\ndef \1(row):", text[first.start() :])
    if "date" in kinds.values() and "import datetime\n" not in head:
        head = f"import datetime\n{head}"
    helper = _TELLING.strip("\n") if "date" in kinds.values() else _without_dates(_TELLING.strip("\n"))
    return "\n\n\n".join([*([head] if head else []), f"_KINDS = {dict(kinds)!r}", helper, rest])


def _without_dates(text: str) -> str:
    begin, end = text.index('        if kind == "number":'), text.index("    def told")
    number = '        return not isinstance(cell, (int, float)) and not hasattr(cell, "dtype")'
    return f"{text[:begin]}{number}\n\n{text[end:]}"


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
    if isinstance(form, (Joined, Near)):
        return True
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
    if isinstance(form, Normal):
        factors = [f.T if f.ndim == 2 else np.diag(f) for f in form.factors]
        classes = [(c, m.tolist(), f.tolist()) for c, m, f in zip(form.constants.tolist(), form.means, factors)]
        return f"NAMES = {form.names!r}\nCLASSES_AS_NORMAL = {classes!r}\n\n{_NORMAL}"
    if isinstance(form, Kernels):
        return _kernels(form)
    if isinstance(form, Near):
        distance = _DISTANCES.get(form.power, f"sum(abs(a - b) ** {form.power!r} for a, b in zip(cells, other))")
        distance = distance if form.power in _DISTANCES else f"{distance} ** (1.0 / {form.power!r})"
        text = (
            _NEAR.replace("DISTANCE", distance).replace("VOTE", _VOTES[form.weights]).replace("COUNT", str(form.count))
        )
        return f"NAMES = {form.names!r}\nROWS = {form.rows.tolist()!r}\nSAID = {form.said.tolist()!r}\n\n{text}"
    if isinstance(form, Joined):
        return _joined(form)
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


def _kernels(form: Kernels) -> str:
    text = _KERNEL[form.kernel].replace("GAMMA", repr(form.gamma)).replace("CONSTANT", repr(form.constant))
    text = _KERNELS.replace("KERNEL", text.replace("DEGREE", repr(form.degree)), 1)
    head = f"NAMES = {form.names!r}\nVECTORS = {form.vectors.tolist()!r}\n"
    head += f"COEFFICIENTS = {form.coefficients.tolist()!r}\nINTERCEPT = {form.intercept.tolist()!r}\n"
    return f"{head}\n{text}"


def _joined(form: Joined) -> str:
    """Each member is a function that holds what it needs, so that names of members do not meet."""
    outputs = 1 if form.classes is None else len(form.classes)
    text, listed = "", []
    for k, member in enumerate(form.members):
        own = python_of(member.form)
        if form.classes is None:
            ask, places = "lambda row: [predict(row)]", [0]
        elif "\ndef probabilities(row):" in own:
            ask, places = "lambda row: probabilities(row).values()", member.places
        else:
            ask = f"lambda row: [float(label == predict(row)) for label in {_written(member.form.classes)}]"
            places = member.places
        body = textwrap.indent(own.rstrip("\n"), "    ")
        text += f"def _member_{k}():\n{body}\n\n    return {ask}\n\n\n"
        listed.append(f"    (_member_{k}(), {list(zip(member.form.names, member.columns))!r}, {places!r}),")
    chosen = _MAJORITY if form.rule == "majority" else ""
    settled = "    return scores" if form.classes is None else _BY_SUM
    settled = (_BY_POWERS if form.rule == "product" else "") + settled
    rule = _JOINED.replace("RULE", _RULES[form.rule]).replace("CHOSEN\n", chosen and f"{chosen}\n")
    rule = rule.replace("SETTLED", settled).replace("OUTPUTS", str(outputs))
    weights = [member.weight for member in form.members]
    return f"{text}MEMBERS = [\n" + "\n".join(listed) + f"\n]\nWEIGHTS = {weights!r}\n\n{rule}"


def _ruled(form: Ruled) -> str:
    rules = form.rules
    assert rules is not None
    head = f"NAMES = {form.names!r}\n\n{_RULED}"
    if rules.semantics == "ordered":
        lines = [f"    if {_premise(rule)}:\n        return {_conclusion(rule.conclusion)}" for rule in rules.rules]
        return head + "\n".join([*lines, f"    return {_conclusion(rules.default)}"]) + "\n"
    assert rules.classes is not None
    ballots = [f"        ({_premise(rule)}, {rules._ballot(rule).tolist()!r})," for rule in rules.rules]
    said = [f"    votes = [0.0] * {len(rules.classes)}", "    for held, ballot in [", *ballots, "    ]:"]
    said += ["        if held:", "            votes = [v + b for v, b in zip(votes, ballot)]"]
    said += [f"    classes = {_written(rules.classes)}"]
    said += [f"    return classes[votes.index(max(votes))] if any(votes) else {_conclusion(rules.default)}"]
    return head + "\n".join(said) + "\n"


def _conclusion(said: Any) -> str:
    if isinstance(said, LinearSum):
        return said.to_python(lambda name, fill: f"({fill!r} if cells[{name!r}] is None else cells[{name!r}])")
    return repr(said)


def _premise(rule: Any) -> str:
    return " and ".join(map(_condition, rule.conditions)) or "True"


def _condition(condition: Any) -> str:
    """The test of a condition; it never holds for a missing cell unless missing cells pass."""
    if isinstance(condition, LinearCondition):
        text = _conclusion(condition.sum)
        low = f"{condition.low!r} < " if np.isfinite(condition.low) else ""
        high = f" <= {condition.high!r}" if np.isfinite(condition.high) else ""
        return f"({low}({text}){high})" if low or high else "True"
    cell = f"cells[{condition.column!r}]"
    if condition.on_presence:
        if condition.excluded:
            return "True" if condition.missing else f"{cell} is not None"
        return f"{cell} is None" if condition.missing else "False"
    if condition.categories is None:
        low = f"{condition.low!r} < " if np.isfinite(condition.low) else ""
        high = f" <= {condition.high!r}" if np.isfinite(condition.high) else ""
        test = f"{low}{cell}{high}"
    else:
        test = f"{cell} {'not in' if condition.excluded else 'in'} {tuple(condition.categories)!r}"
    return f"({cell} is None or {test})" if condition.missing else f"({cell} is not None and {test})"


def _written(values: Any) -> str:
    return repr(list(values))


def _sum(weights: np.ndarray, intercept: float, cells: list[str]) -> str:
    terms = [f"({float(w)!r}) * {cell}" for w, cell in zip(weights, cells) if w]
    return " + ".join([repr(float(intercept)), *terms])
