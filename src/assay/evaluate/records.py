"""What the results of evaluation have in common: a sentence, plain data, and a table for notebooks."""

from __future__ import annotations

import html
from dataclasses import fields
from typing import Any

from .result import jsonable


class Record:
    """Base of results that are dataclasses with a `sentence`; `_facts` are the rows of the table."""

    sentence: str

    def _facts(self) -> list[tuple[str, str]]:
        return []

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, ready for JSON; infinite and undefined numbers become None."""
        shown = [f.name for f in fields(self) if not f.name.startswith("_")]  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in shown}

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        body = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in self._facts())
        return f"<table>{body}</table><p>{html.escape(self.sentence)}</p>"


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return jsonable(value)


def axes(who: str, ax: Any) -> Any:
    """The axes to draw on: those given, or those of a new figure; matplotlib is loaded only here."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        from ..base.errors import UsageError

        raise UsageError(who, "matplotlib", "is needed to draw", way_out="pip install assay[plots]") from None
    return plt.subplots()[1]
