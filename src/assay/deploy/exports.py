"""Models for other programs: SQL, standalone Python, ONNX; each is tried on rows and refused where it says otherwise.

One call: `export(model, "model.onnx")`, and the ending says the form. What was written is computed again (by SQLite, by
Python, by onnxruntime) on rows made from what the model knows of its columns, and must give the model's answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import UsageError, plain
from ..base.files import write_parts
from .checks import as_rows, candidates
from .export_forms import Form, Net, check_whole_rows, form_of, kinds_of, names_of, recipes_of, refusal
from .export_onnx import onnx_of
from .export_python import prepared_python, python_of, telling_python
from .export_sql import prepared_sql, sql_of

_TOLERANCE = 1e-9
_MOST_HOLES = 50


def export(model: Any, path: str | os.PathLike[str], *, check: Any = None) -> Path:
    """Write a fitted model as `*.sql`, `*.py` or `*.onnx`.

    Parameters
    ----------
    model : a fitted method, or a model with its preparation (`results.best_model()`, a loaded package)
    path : the file; its ending says the form
    check : rows to try what was written with; None makes some

    Examples
    --------
    >>> import tempfile
    >>> from assay.models.linear import Ridge
    >>> model = Ridge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> text = export(model, Path(tempfile.mkdtemp()) / "ridge.py").read_text()
    >>> scope = {}
    >>> exec(text, scope)
    >>> bool(abs(scope["predict"]({"x0": 1.5}) - model.predict([[1.5]])[0]) < 1e-12)
    True
    """
    ending = Path(path).suffix.lower()
    check_whole_rows(_parted(model)[0], ending[1:])
    ways: dict[str, Callable[[Any, Any], bytes]] = {".sql": to_sql, ".py": to_python, ".onnx": to_onnx}
    if ending not in ways:
        raise UsageError("export", f"file '{plain(path, 200)}'", "must end in .sql, .py or .onnx")
    return write_parts("export", path, [ways[ending](model, check)])


def to_sql(model: Any, check: Any = None) -> bytes:
    """The model as one expression of SQL over the columns of a table: what `predict` says, NULL being missing."""
    inner, prepared = _parted(model)
    single = hasattr(inner, "to_sql") and not hasattr(inner, "forest_")
    text = inner.to_sql() if single else sql_of(form_of(inner, "SQL"))
    if prepared:
        text = prepared_sql(recipes_of(model, "SQL"), text, kinds_of(model))
    _try_sql(model, text, check)
    return (text + "\n").encode()


def to_python(model: Any, check: Any = None) -> bytes:
    """The model as functions of one row, a mapping from column names to cells: `predict`, and `probabilities`."""
    inner, prepared = _parted(model)
    single = hasattr(inner, "to_python")
    form = None if single else form_of(inner, "Python")
    text = inner.to_python() if form is None else python_of(form)
    if prepared:
        target = str(model.facts.get("target") or "prediction")
        text = prepared_python(recipes_of(model, "Python"), text, target)
    text = telling_python(text, _cells_of(model, form, prepared))
    _try_python(model, text, check, form)
    return text.encode()


def _cells_of(model: Any, form: Form | None, prepared: bool) -> dict[str, str]:
    """What each column of a row holds: "number", "date" or "label"."""
    if prepared:
        dates = {name for name, about in model.facts["profile"].items() if about.get("role") == "datetime"}
        kinds = {"number": "number"}
        return {name: "date" if name in dates else kinds.get(kind, "label") for name, kind in kinds_of(model).items()}
    if form is not None:
        return {name: "label" if j in form.categories else "number" for j, name in enumerate(form.names)}
    known = model.schema_.categories
    return {name: "number" if known[j] is None else "label" for j, name in enumerate(names_of(model))}


def to_onnx(model: Any, check: Any = None) -> bytes:
    """The model as ONNX in float64: `prediction`, or `probabilities` in the order of the classes.

    A model of numbers alone takes one matrix, `rows`; any other takes a column of cells by name, numbers (NaN is
    missing) or text ("" is). The labels of the classes stand in the metadata as `classes`.
    """
    try:
        import onnx
        import onnxruntime
    except ModuleNotFoundError as error:
        raise UsageError(
            "export", "ONNX", f"needs '{plain(error.name)}'", way_out="install it with: pip install 'assay[onnx]'"
        ) from None
    inner, prepared = _parted(model)
    form = form_of(inner, "ONNX")
    recipes = recipes_of(model, "ONNX") if prepared else None
    data = onnx_of(onnx, type(inner).__name__, form, recipes, kinds_of(model) if prepared else None)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    tried = False
    for table in _tables(model, check, missing=not isinstance(form, Net)):
        wanted = _said(model, table)
        if wanted is None:
            continue
        tried = True
        _same("ONNX", model, session.run(None, onnx_cells(session, table))[0], wanted, _tolerance(form))
    if not tried:
        raise refusal(model, "ONNX", "cannot be tried as {} on rows made up; give some as `check`")
    return data


def onnx_cells(session: Any, table: Any) -> dict[str, np.ndarray]:
    """A table as the inputs that an exported ONNX file asks for.

    >>> class Session:
    ...     def get_inputs(self): return [type("I", (), {"name": "rows", "type": "tensor(double)"})]
    >>> onnx_cells(Session(), [[1.0, 2.0]])["rows"].tolist()
    [[1.0, 2.0]]
    """
    asked = {one.name: one.type for one in session.get_inputs()}
    if list(asked) == ["rows"]:
        cells = table.to_numpy() if hasattr(table, "to_numpy") else np.asarray(table)
        return {"rows": np.ascontiguousarray(cells, dtype=np.float64)}
    found = {}
    for j, (name, kind) in enumerate(asked.items()):
        named = hasattr(table, "columns")
        cells = list(table[name]) if named else [row[_number_of(name, j)] for row in np.asarray(table, dtype=object)]
        if kind == "tensor(string)":
            found[name] = np.array([[_text(cell)] for cell in cells], dtype=object)
        else:
            found[name] = np.array([[np.nan if cell is None else float(cell)] for cell in cells])
    return found


# -- trying ----------------------------------------------------------------------------------------------------------
def _parted(model: Any) -> tuple[Any, bool]:
    """The estimator, and whether there is a preparation before it."""
    return (model.estimator, True) if hasattr(model, "chain") else (model, False)


def _number_of(name: str, otherwise: int) -> int:
    return int(name[1:]) if name[:1] == "x" and name[1:].isdecimal() else otherwise


def _text(cell: Any) -> str:
    if cell is None or cell != cell:
        return ""
    return ("true" if cell else "false") if isinstance(cell, (bool, np.bool_)) else str(cell)


def _tables(model: Any, check: Any, missing: bool = True) -> list[Any]:
    """Rows to try an export with: those that are given, or some made from what the model knows, and a few with gaps."""
    if check is not None:
        return [check]
    rows = candidates(model)[:1]
    found = [as_rows(one) for one in rows]
    if missing and rows and isinstance(rows[0], dict):
        # Each column missing in turn: a model may treat such rows in ways that an export does not know.
        for lost in list(rows[0])[:_MOST_HOLES]:
            found.append(as_rows({**rows[0], lost: [None] * len(rows[0][lost])}))
    return found


def _said(model: Any, table: Any) -> np.ndarray | None:
    """Probabilities or numbers; None where the model takes no such rows."""
    try:
        if hasattr(model, "predict_proba") and getattr(model, "classes_", None) is not None:
            return np.asarray(model.predict_proba(table), dtype=np.float64)
        return np.asarray(model.predict(table), dtype=np.float64)[:, None]
    except (TypeError, ValueError):
        return None


def _tolerance(form: Form | None) -> float:
    return form.tolerance if isinstance(form, Net) else _TOLERANCE


def _rows_of(model: Any, table: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns, and each row as a mapping."""
    if hasattr(table, "columns") and hasattr(table, "rows"):
        return list(table.columns), [dict(zip(table.columns, row)) for row in table.rows()]
    if hasattr(table, "to_dict"):
        return list(map(str, table.columns)), table.to_dict("records")
    names = names_of(model)
    return names, [dict(zip(names, row)) for row in np.asarray(table).tolist()]


def _same(form: str, model: Any, found: Any, wanted: Any, tolerance: float = _TOLERANCE) -> None:
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=tolerance, atol=tolerance * scale):
        raise refusal(model, form)


def _agree(what: str, model: Any, said: list[Any], wanted: np.ndarray, tolerance: float = _TOLERANCE) -> None:
    if wanted.dtype.kind == "f" and getattr(model, "classes_", None) is None:
        _same(what, model, [np.nan if one is None else one for one in said], wanted, tolerance)
    elif wanted.dtype.kind == "b":  # which SQLite knows as 0 and 1
        if [None if one is None else bool(one) for one in said] != wanted.tolist():
            raise refusal(model, what)
    elif [_text(one) for one in said] != [_text(one) for one in wanted.tolist()]:
        raise refusal(model, what)


def _answers(model: Any, check: Any) -> list[tuple[Any, np.ndarray]]:
    found = []
    for table in _tables(model, check):
        try:
            found.append((table, np.asarray(model.predict(table))))
        except (TypeError, ValueError):
            continue
    return found


def _try_python(model: Any, text: str, check: Any, form: Form | None) -> None:
    """Run what was written on some rows and compare."""
    scope: dict[str, Any] = {}
    try:
        exec(compile(text, "<export>", "exec"), scope)
        for table, wanted in _answers(model, check):
            said = [scope["predict"](row) for row in _rows_of(model, table)[1]]
            _agree("Python", model, said, wanted, _tolerance(form))
    except (ArithmeticError, LookupError, NameError, TypeError, ValueError, RecursionError, MemoryError, SyntaxError):
        raise refusal(model, "Python") from None


def _try_sql(model: Any, text: str, check: Any) -> None:
    """Run what was written by SQLite on some rows and compare."""
    import contextlib
    import math
    import sqlite3

    for table, wanted in _answers(model, check):
        names, rows = _rows_of(model, table)
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            base.create_function("EXP", 1, lambda x: None if x is None else math.exp(min(x, 700.0)))
            listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            try:
                base.execute(f"CREATE TABLE tried ({listed})")
                cells = [tuple(_plain_cell(row[name]) for name in names) for row in rows]
                base.executemany(f"INSERT INTO tried VALUES ({', '.join('?' * len(names))})", cells)
                said = [one[0] for one in base.execute(f"SELECT {text} FROM tried ORDER BY rowid")]
            except sqlite3.Error:
                # Longer or deeper than SQLite takes, or two columns whose names differ in case alone.
                continue
        _agree("SQL", model, said, wanted)


def _plain_cell(cell: Any) -> Any:
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and cell != cell:
        return None
    return cell
