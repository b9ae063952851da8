"""Numbers and texts as the report shows them: formatting only, nothing is computed here.

Text from data passes through `clean` (control and direction characters out, length limited) and is escaped by
the template or by the figure that shows it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

from .errors import plain

MINUS = "−"
NOTHING = "–"
_MARKS = re.compile("[\u061c\u200b\u200e\u200f\ufeff]")


class Shown(NamedTuple):
    """A number with the text that stands for it; the page carries both (`<data value=...>`)."""

    value: float | int | None
    text: str


class Label(NamedTuple):
    """A text from data: the short form that is shown, and the full form where the short one lost something."""

    short: str
    full: str


def clean(text: object, limit: int = 400) -> str:
    """Text without control, direction or zero-width characters and without lone surrogates, at most `limit` long.

    >>> clean("age\\u202egnp\\u200f")
    'agegnp'
    """
    whole = str("" if text is None else text).encode("utf-8", "replace").decode("utf-8")
    return plain(_MARKS.sub("", whole), limit)


def label(text: object, limit: int = 40) -> Label:
    """A name shortened to `limit` characters, with its fuller form for the tooltip.

    >>> label("income", 10)
    Label(short='income', full='')
    >>> label("a very long name", 10)
    Label(short='a very lo…', full='a very long name')
    """
    full = clean(text, 600)
    short = clean(full, limit)
    return Label(short, full if short != full else "")


def comparison_signs(text: object) -> str:
    """Typographic comparison signs in a condition.

    >>> comparison_signs("petal width <= 1.75")
    'petal width ≤ 1.75'
    """
    return str(text).replace("<=", "≤").replace(">=", "≥").replace("!=", "≠")


def is_number(value: object) -> TypeGuard[float]:
    """True for a finite number (not a truth value)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def decimals_for(values: Iterable[Any]) -> int:
    """How many decimals a column of numbers gets, from its largest size.

    >>> decimals_for([0.91, 0.5]), decimals_for([53.2]), decimals_for([0.0021])
    (3, 2, 5)
    """
    sizes = [abs(v) for v in values if is_number(v)]
    largest = max(sizes, default=0.0)
    if largest == 0 or 0.1 <= largest < 10:
        return 3
    if largest < 0.1:
        return min(8, 2 - math.floor(math.log10(largest)))
    return max(0, 3 - math.floor(math.log10(largest)))


def number(value: Any, decimals: int | None = None, signed: bool = False) -> str:
    """A number for reading; a dash where there is none.

    >>> number(0.91234), number(-3.2, 1), number(12345.6, 0), number(None), number(0.5, 2, signed=True)
    ('0.912', '−3.2', '12,346', '–', '+0.50')
    >>> number(-0.00001, 4), number(0.00001, 4, signed=True)
    ('0.0000', '0.0000')
    """
    if not is_number(value):
        return NOTHING
    places = decimals_for([value]) if decimals is None else decimals
    if abs(value) >= 1e7 or (value != 0 and abs(value) < 0.5 * 10**-8):
        text = f"{abs(value):.3g}"
    else:
        text = f"{abs(value):,.{places}f}"
    sign = MINUS if value < 0 else "+" if signed else ""
    return (sign if any(ch in "123456789" for ch in text) else "") + text


def show(value: Any, decimals: int | None = None, signed: bool = False) -> Shown:
    """The number and its text."""
    return Shown(value if is_number(value) else None, number(value, decimals, signed))


def compact(value: Any) -> str:
    """A number without trailing zeros, for axes, weights and parameters.

    >>> compact(150.0), compact(2.5), compact(0.30000000000000004), compact(-1e-9)
    ('150', '2.5', '0.3', '−1e-09')
    """
    if not is_number(value):
        return NOTHING
    if float(value).is_integer() and abs(value) < 1e15:
        text = f"{abs(int(value)):,}"
    else:
        text = f"{abs(value):.6g}"
    return (MINUS if value < 0 else "") + text


def rows(value: Any) -> str:
    """A (weighted) number of rows.

    >>> rows(1.0), rows(1500), rows(3.25)
    ('1 row', '1,500 rows', '3.25 rows')
    """
    return f"{compact(value)} {'row' if value == 1 else 'rows'}"


def count(how_many: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> count(1, "class", "classes"), count(3, "learner")
    ('1 class', '3 learners')
    """
    return f"{how_many:,} {one if how_many == 1 else many or one + 's'}"


def percent(share: Any, decimals: int = 0) -> str:
    """A share as per cent; a share that only rounds to 0 or 100 is not shown as such.

    >>> percent(0.4321), percent(0.999), percent(0.001), percent(1)
    ('43%', '>99%', '<1%', '100%')
    """
    if not is_number(share):
        return NOTHING
    text = f"{100 * share:.{decimals}f}"
    if share > 0 and float(text) == 0:
        return f"<{10**-decimals:.{decimals}f}%"
    if share < 1 and float(text) >= 100:
        return f">{100 - 10**-decimals:.{decimals}f}%"
    return f"{text}%"


def p_value(p: Any) -> str:
    """A probability of a test.

    >>> p_value(0.0321), p_value(1e-9), p_value(1.0)
    ('p = 0.032', 'p < 0.001', 'p = 1.000')
    """
    if not is_number(p):
        return "p " + NOTHING
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def confidence(alpha: Any) -> str:
    """The level of an interval.

    >>> confidence(0.05), confidence(0.001)
    ('95%', '99.9%')
    """
    return f"{100 * (1 - alpha):.10g}%" if is_number(alpha) else "95%"


def seconds(value: Any) -> str:
    """A duration.

    >>> seconds(0.00042), seconds(0.31), seconds(75)
    ('0.4 ms', '310 ms', '75.0 s')
    """
    if not is_number(value):
        return NOTHING
    if value < 1:
        return f"{1000 * value:.1f} ms" if value < 0.1 else f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 600 else f"{value / 60:.0f} min"


def duration(value: float) -> str:
    """A time that somebody waits for, in whole units.

    >>> duration(0.2), duration(75), duration(7500), duration(200_000)
    ('200 ms', '1 min 15 s', '2 h 05 min', '2 days')
    """
    whole = round(value)
    if 0 < value < 0.95:
        return f"{1000 * value:.3g} ms"
    if whole >= 48 * 3600:
        return f"{whole / 86400:,.0f} days"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"


def listing(items: Sequence[str], last: str = "and") -> str:
    """Names in a sentence.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def first_names(names: Sequence[object], most: int = 5) -> str:
    """The first of some names from data, in quotes, and how many more there are.

    >>> first_names(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{plain(name)}'" for name in names[:most]) + more


def parameters(values: Any) -> str:
    """Parameters of a learner as `name=value` pairs.

    >>> parameters({"alpha": 0.5, "class_weight": None})
    'alpha=0.5, class_weight=None'
    """
    if not isinstance(values, dict):
        return ""
    shown = (f"{clean(k, 40)}={compact(v) if is_number(v) else clean(str(v), 60)}" for k, v in values.items())
    return clean(", ".join(shown), 600)


def evidence(value: Any) -> str:
    """The evidence of a finding, which may be a text, a number, a list or a mapping."""
    if isinstance(value, dict):
        return clean("; ".join(f"{clean(k, 60).replace('_', ' ')}: {evidence(v)}" for k, v in value.items()), 400)
    if isinstance(value, list | tuple):
        return clean(", ".join(evidence(v) for v in value), 400)
    return compact(value) if is_number(value) else clean(value, 400)


def warning(value: Any) -> str:
    """A warning, given as a text or as a code with a text."""
    if isinstance(value, dict):
        parts = [clean(value.get("code"), 20), clean(value.get("text") or value.get("message"), 500)]
        return ": ".join(part for part in parts if part)
    return clean(value, 500)


def sentence(text: object, limit: int = 600, capital: bool = False) -> str:
    """A text that ends (and, if asked, begins) like a sentence, with per cent as it stands in tables and figures.

    >>> sentence("5 % are missing: leave it out", capital=True)
    '5% are missing: leave it out.'
    """
    whole = re.sub(r"(?<=\d) %", "%", clean(text, limit).strip())
    whole = whole[:1].upper() + whole[1:] if capital else whole
    return whole if not whole or whole.endswith((".", "!", "?", "…")) else whole + "."
