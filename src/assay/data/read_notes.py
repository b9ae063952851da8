"""What reading decided: delimiter, encoding, header and the like, each with a confidence and a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.errors import DataError, plain

WHO = "read_table"


@dataclass(frozen=True)
class Decision:
    """One thing that reading had to decide: what, the value, how sure (0 to 1), and why.

    >>> print(Decision("delimiter", "semicolon", 0.98, "cuts 50 of 50 records into 4 fields"))
    delimiter: semicolon (confidence 0.98: cuts 50 of 50 records into 4 fields)
    """

    what: str
    value: str
    confidence: float
    reason: str

    def __str__(self) -> str:
        return f"{self.what}: {plain(self.value)} (confidence {self.confidence:.2f}: {plain(self.reason, 300)})"

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain data."""
        return {"what": self.what, "value": self.value, "confidence": self.confidence, "reason": self.reason}


def refuse(shown: str, rule: str, came: str = "", way_out: str = "") -> DataError:
    """The one-sentence error of everything that reads."""
    return DataError(WHO, shown, rule, came, way_out)


def is_pattern(name: str) -> bool:
    """Whether Polars takes a column's name for a pattern of names, and so cannot keep such a column.

    >>> is_pattern("^a.*$"), is_pattern("a^b")
    (True, False)
    """
    return name.startswith("^") and name.endswith("$")


def succession(agreeing: int, seen: int) -> float:
    """Laplace's rule of succession, the confidence after `agreeing` of `seen` cases spoke for a decision.

    >>> succession(8, 8)
    0.9
    """
    return round((agreeing + 1) / (seen + 2), 3)
