"""Parameter declarations: each parameter is declared once, on its class, and everything else follows.

A declaration gives default, meaning and the kind of value allowed. From it come the constructor, validation,
the table in the docstring, the bad values that the conformance tests try, and the form of the studio.

>>> from assay.base import Estimator, Integer, param
>>> class Shrinker(Estimator):
...     '''Shrinks.'''
...     steps: int = param(3, Integer(1), "How many steps to take.")
>>> Shrinker(steps=5).get_params()
{'steps': 5}
>>> Shrinker(step=5)
Traceback (most recent call last):
    ...
TypeError: Shrinker: has no parameter 'step'; did you mean 'steps'?
>>> Shrinker(steps=0)._check_parameters()
Traceback (most recent call last):
    ...
assay.base.errors.ParameterError: Shrinker: parameter 'steps' must be an integer >= 1; got 0.
"""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ParameterError, plain


class Kind:
    """What values a parameter may take: a test, a description, and some values it must refuse."""

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError  # pragma: no cover

    def describe(self) -> str:
        raise NotImplementedError  # pragma: no cover

    def bad_values(self) -> list[Any]:
        """Values outside the range, one per rule; the conformance tests feed each of them to `fit`."""
        return [object()]

    def schema(self) -> dict[str, Any]:
        """A JSON-ready description, for forms and machine readers."""
        return {"kind": type(self).__name__.lower(), "rule": self.describe()}

    def __or__(self, other: Kind) -> Kind:
        return AnyOf(self, other)


@dataclass(frozen=True)
class _Range(Kind):
    low: float | None = None
    high: float | None = None
    closed: str = "both"

    def _inside(self, value: float) -> bool:
        if self.low is not None and (value < self.low or (value == self.low and self.closed in ("right", "neither"))):
            return False
        return not (
            self.high is not None and (value > self.high or (value == self.high and self.closed in ("left", "neither")))
        )

    def _bounds(self) -> str:
        parts = []
        if self.low is not None:
            parts.append(f"{'>' if self.closed in ('right', 'neither') else '>='} {self.low:g}")
        if self.high is not None:
            parts.append(f"{'<' if self.closed in ('left', 'neither') else '<='} {self.high:g}")
        return " and ".join(parts)

    def _outside(self) -> list[Any]:
        bad: list[Any] = ["not a number", object()]
        if self.low is not None:
            bad.append(self.low - 1)
            if self.closed in ("right", "neither"):
                bad.append(self.low)
        if self.high is not None:
            bad.append(self.high + 1)
            if self.closed in ("left", "neither"):
                bad.append(self.high)
        return bad


# Kernels count in 32 bits.
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Integer(_Range):
    """A whole number in a range, at most 2**31 - 1; booleans are refused."""

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, numbers.Integral)
            and not isinstance(value, (bool, np.bool_))
            and abs(int(value)) <= LARGEST
            and self._inside(int(value))
        )

    def describe(self) -> str:
        return f"an integer {self._bounds()}".rstrip()

    def bad_values(self) -> list[Any]:
        bad = [int(v) if isinstance(v, float) and v.is_integer() else v for v in self._outside()]
        return [*bad, 1.5, True, 2**31, -(10**30)]


@dataclass(frozen=True)
class Real(_Range):
    """A finite number in a range (`inf` only if `infinite=True`); booleans and NaN are refused."""

    infinite: bool = False

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            return False
        return self._inside(number)

    def describe(self) -> str:
        return f"a number {self._bounds()}".rstrip()

    def bad_values(self) -> list[Any]:
        return [*self._outside(), float("nan"), True, 10**400]


@dataclass(frozen=True)
class Boolean(Kind):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))

    def describe(self) -> str:
        return "True or False"

    def bad_values(self) -> list[Any]:
        return ["yes", 2, object()]


class Choice(Kind):
    """One of a closed list of names."""

    def __init__(self, *options: str | None):
        self.options = options

    def accepts(self, value: Any) -> bool:
        return (isinstance(value, str) or value is None) and value in self.options

    def describe(self) -> str:
        return "one of " + ", ".join(repr(o) for o in self.options)

    def bad_values(self) -> list[Any]:
        return ["no such option", 3.7, object()]

    def schema(self) -> dict[str, Any]:
        return {**super().schema(), "options": list(self.options)}


class Nothing(Kind):
    """None, for parameters that may be left open."""

    def accepts(self, value: Any) -> bool:
        return value is None

    def describe(self) -> str:
        return "None"


class Instance(Kind):
    """An instance of one of the given types."""

    def __init__(self, *types: type):
        self.types = types

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def describe(self) -> str:
        return " or ".join(f"a {t.__name__}" for t in self.types)


class Function(Kind):
    """Anything that can be called."""

    def accepts(self, value: Any) -> bool:
        return callable(value)

    def describe(self) -> str:
        return "a callable"


class ArrayLike(Kind):
    """A list, tuple, mapping-free sequence or array; its contents are checked in `fit`."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and getattr(value, "ndim", 1) > 0)

    def describe(self) -> str:
        return "an array or list"


class Mapping(Kind):
    """A dictionary; its contents are checked in `fit`."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)

    def describe(self) -> str:
        return "a dict"


class Seed(Kind):
    """None, a non-negative integer, or a NumPy generator."""

    def accepts(self, value: Any) -> bool:
        return (
            value is None
            or (isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= 0)
            or isinstance(value, (np.random.Generator, np.random.RandomState))
        )

    def describe(self) -> str:
        return "None, an integer >= 0 or a NumPy random generator"

    def bad_values(self) -> list[Any]:
        return [-1, "seed", 1.5, object()]


class AnyOf(Kind):
    """Any of several kinds; written `Integer(1) | Nothing()`."""

    def __init__(self, *kinds: Kind):
        self.kinds: list[Kind] = [k for kind in kinds for k in (kind.kinds if isinstance(kind, AnyOf) else [kind])]

    def accepts(self, value: Any) -> bool:
        return any(kind.accepts(value) for kind in self.kinds)

    def describe(self) -> str:
        return " or ".join(kind.describe() for kind in self.kinds)

    def bad_values(self) -> list[Any]:
        candidates = [bad for kind in self.kinds for bad in kind.bad_values()]
        return [bad for bad in candidates if not self.accepts(bad)]

    def schema(self) -> dict[str, Any]:
        return {"kind": "anyof", "rule": self.describe(), "of": [k.schema() for k in self.kinds]}


@dataclass(frozen=True)
class Parameter:
    """One declared parameter: its name, default, allowed values and meaning."""

    name: str
    default: Any
    kind: Kind
    meaning: str

    def check(self, owner: str, value: Any) -> None:
        """Raise the error sentence if `value` is not allowed."""
        if value is not self.default and not self.kind.accepts(value):
            large = isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST
            raise ParameterError(
                owner,
                f"parameter '{self.name}'",
                f"must be {self.kind.describe()}",
                f"got {plain(repr(value))}",
                f"the largest integer is {LARGEST}" if large else "",
            )


def param(default: Any, kind: Kind, meaning: str) -> Any:
    """Declare a parameter in a class body: `n_neighbors: int = param(5, Integer(1), "How many vote.")`."""
    return Parameter("", default, kind, meaning)


# Shared declarations, so that the same parameter means the same thing everywhere.
def collect(cls: type) -> dict[str, Parameter]:
    """The parameters of a class in order: those of its bases first, its own declarations after."""
    found: dict[str, Parameter] = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(base.__dict__.get("__parameters__", {}))
    for name, value in list(cls.__dict__.items()):
        if isinstance(value, Parameter):
            found[name] = Parameter(name, value.default, value.kind, value.meaning)
            delattr(cls, name)
    return found


def build_init(cls: type, parameters: dict[str, Parameter]) -> Callable[..., None]:
    """A constructor with a true signature that stores its arguments and does nothing else.

    Parameters go by name; a class with `_first` takes that one also by position, as scikit-learn's class does.
    """
    first = getattr(cls, "_first", None)
    first = first if first in parameters else None

    def __init__(self: Any, *positional: Any, **given: Any) -> None:
        if positional:
            if first is None or len(positional) > 1 or first in given:
                way = f"only '{first}' goes without its name, once" if first else "give parameters by name"
                raise TypeError(f"{cls.__name__}: takes no {len(positional)} parameters by position; {way}.")
            given[first] = positional[0]
        for name in given:
            if name not in parameters:
                near = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
                hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(parameters) or 'none'}."
                raise TypeError(f"{cls.__name__}: has no parameter '{plain(name)}'; {hint}")
        for name, declared in parameters.items():
            setattr(self, name, given.get(name, declared.default))

    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    by_position, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    signature += [
        inspect.Parameter(name, by_position if name == first else by_name, default=declared.default)
        for name, declared in sorted(parameters.items(), key=lambda item: item[0] != first)
    ]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    return __init__


def doc_table(parameters: dict[str, Parameter]) -> str:
    """The parameter table in NumPy docstring form, made from the declarations."""
    lines = ["Parameters", "----------"]
    for declared in parameters.values():
        lines.append(f"{declared.name} : {declared.kind.describe()}, default={declared.default!r}")
        lines.append(f"    {declared.meaning}")
    return "\n".join(lines)


def attribute_table(cls: type) -> str:
    """What a fit leaves behind, in NumPy docstring form: each class says its own in `_learned`, base classes first.

    A class that says something else of a name that a base class has says it in the same place.
    """
    learned: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        learned.update(vars(base).get("_learned", {}))
    lines = [f"{name} : {meaning}" for name, meaning in learned.items()]
    return "\n".join(["Attributes", "----------", *lines]) if lines else ""


_SECTION = re.compile(r"^(Attributes|Examples)\n---", re.MULTILINE)


def document(cls: type, parameters: dict[str, Parameter]) -> None:
    """Put the tables of parameters and attributes into the class docstring, before its first section or at the end.

    A docstring with a section of attributes of its own keeps it; one with `{parameters}` gets the tables there.
    """
    if not cls.__dict__.get("__doc__"):
        return
    text = inspect.cleandoc(cls.__doc__ or "")
    tables = [doc_table(parameters) if parameters else "", "" if "Attributes\n---" in text else attribute_table(cls)]
    made = "\n\n".join(table for table in tables if table)
    if "{parameters}" in text:
        cls.__doc__ = text.replace("{parameters}", made) if made else text.replace("{parameters}\n\n", "")
        return
    section = _SECTION.search(text)
    at = section.start() if section else len(text)
    cls.__doc__ = "\n\n".join(part for part in (text[:at].rstrip(), made, text[at:]) if part)
