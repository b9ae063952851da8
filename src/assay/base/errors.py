"""The error sentence: who, which parameter or column, the rule, what came, the way out.

Every error that a user can cause is an `AssayError` whose text is one sentence. The command line turns
each kind into an exit code (`exit_code`) and prints the sentence alone.

>>> raise_example = ParameterError("KNNClassifier", "parameter 'n_neighbors'", "must be an integer >= 1",
...                                "got 0", "choose a positive number of neighbours")
>>> print(raise_example)
KNNClassifier: parameter 'n_neighbors' must be an integer >= 1; got 0; choose a positive number of neighbours.
"""

from __future__ import annotations

import re
from typing import Any

from .redaction import redact

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def plain(text: object, limit: int = 80) -> str:
    """Text from data, made safe for a terminal: control characters out, length limited.

    >>> plain("age\\x1b[31m")
    'age[31m'
    """
    clean = _CONTROL.sub("", str(text)).replace("\n", " ").replace("\t", " ")
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def quoted(value: Any, limit: int = 80) -> str:
    """A label or a cell as Python writes it, without NumPy's name for its type.

    >>> import numpy as np
    >>> quoted(np.str_("a b")), quoted(np.int64(9))
    ("'a b'", '9')
    """
    return plain(repr(value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value), limit)


def sentence(who: str, subject: str, rule: str, came: str = "", way_out: str = "") -> str:
    """Join the parts of an error into the one sentence shape.

    >>> sentence("read_table", "file 'a.csv'", "is empty", way_out="check the path")
    "read_table: file 'a.csv' is empty; check the path."
    """
    parts = [f"{who}: {subject} {rule}".strip()]
    parts += [part for part in (came, way_out) if part]
    text = "; ".join(parts)
    return text if text.endswith((".", "!", "?")) else text + "."


class AssayError(Exception):
    """Base of all errors that Assay raises on purpose; `str(error)` is one sentence."""

    exit_code = 1

    def __init__(self, who: str, subject: str = "", rule: str = "", came: str = "", way_out: str = ""):
        super().__init__(redact(sentence(who, subject, rule, came, way_out) if rule else who))

    def __reduce__(self):
        return (type(self), (str(self),))


class UsageError(AssayError):
    """A command or function was called in a way that cannot work."""

    exit_code = 2


class ParameterError(UsageError, ValueError):
    """A parameter of an estimator or function is outside its declared range."""


class DataError(AssayError, ValueError):
    """A file, table, column or array cannot be used as it is."""

    exit_code = 3


class KindError(DataError, TypeError):
    """An object of a kind that cannot be used here was given."""


class CostError(AssayError, MemoryError):
    """A fit would take more memory or time than the limit in `assay.config` allows."""

    exit_code = 3


class DesignError(AssayError, ValueError):
    """No valid statistical procedure exists for this design."""

    exit_code = 2


class PackageError(AssayError, ValueError):
    """A model package was refused, or a model cannot be put into one."""

    exit_code = 4


class AssayWarning(UserWarning):
    """A coded warning: the result stands, but something was changed or left out on the way.

    >>> w = AssayWarning("W101", "LeastSquares: column 'b' is a copy of 'a' and was given coefficient 0.")
    >>> w.code
    'W101'
    """

    def __init__(self, code: str, text: str = ""):
        self.code = code
        self.text = text = redact(text)
        super().__init__(f"[{code}] {text}" if text else code)

    def __reduce__(self):
        return (type(self), (self.code, self.text))
