"""The table: a Polars frame with column roles, a target to predict, and the features to predict it from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl

from ..base.errors import DataError, plain
from ..base.words import count
from ..catalogue import CLASSIFY, REGRESS, Task, check_task
from .map_columns import map_columns, without
from .parse import Coded, parse_columns
from .read_notes import Decision, is_pattern
from .roles import Role, check_overrides, infer_roles, nearest

_DAYS = (-719_162, 2_932_896)
"""The first day of the year 1 and the last of 9999, counted from 1970."""

MOST_CLASSES = 20
"""An integer target with at most this many values, each repeating, is a class; with more it is a number."""


@dataclass(frozen=True)
class Target:
    """The column to predict, on the rows where it is known.

    `values` holds labels (text, integers or booleans) where they are classes and float64 where they are numbers; `kept`
    marks the rows of the table with a known target; `reason` says why the task was chosen and what was left out.
    """

    name: str
    task: str
    values: np.ndarray
    classes: list[Any] | None
    kept: np.ndarray
    reason: str

    @cached_property
    def coded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The different values in ascending order, the position there of each value, and how often each occurs."""
        return np.unique(self.values, return_inverse=True, return_counts=True)

    @property
    def n_missing(self) -> int:
        """Rows of the table without a target."""
        return int((~self.kept).sum())


@dataclass(frozen=True)
class Features:
    """The columns to predict from, on the rows where the target is known, and what was set aside and why."""

    frame: pl.DataFrame
    roles: dict[str, Role]
    set_aside: list[dict[str, str]]


@dataclass(frozen=True)
class Table:
    """A table with a role for every column. Missing cells are null; text is stripped; dates are datetimes.

    Make one with `read_table`, `load_dataset` or `Table.from_frame`.

    >>> from assay.data import load_dataset
    >>> table = load_dataset("weather")
    >>> table.n_rows, table.columns
    (14, ['outlook', 'temperature', 'humidity', 'windy', 'play'])
    >>> table.roles["outlook"].role
    'nominal'
    """

    name: str
    source: str
    frame: pl.DataFrame
    roles: dict[str, Role]
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    reading: str = ""
    read_notes: tuple[Decision, ...] = ()
    coded: dict[str, Coded] = field(default_factory=dict, repr=False, compare=False)
    """Columns of labels whose codes reading has found on its way."""
    options: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """How the user told `read_table` to read, where it was told anything."""
    distinct: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    """How many different cells columns of text have, where telling their role took a count."""

    @classmethod
    def build(
        cls,
        frame: pl.DataFrame,
        *,
        name: str,
        source: str = "",
        roles: Mapping[str, Any] | None = None,
        notes: dict[str, dict[str, Any]] | None = None,
        reading: str = "",
        read_notes: Sequence[Decision] = (),
        known_roles: Mapping[str, Role] | None = None,
        coded: dict[str, Coded] | None = None,
    ) -> Table:
        """A table from a Polars frame: types made plain, roles inferred, overrides checked.

        `known_roles` are those that the file itself states.
        """
        notes = dict(notes or {})
        frame = plain_types(frame, notes)
        labels = {column: codes.labels for column, codes in (coded or {}).items()}
        distinct: dict[str, int] = {}
        inferred = infer_roles(frame, notes, labels=labels, distinct=distinct)
        found = {**inferred, **(known_roles or {}), **check_overrides(frame, roles or {})}
        return cls(name, source, frame, found, notes, reading, tuple(read_notes), coded or {}, distinct=distinct)

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "table", roles: Mapping[str, Any] | None = None) -> Table:
        """A table from a pandas, Polars, pyarrow or other narwhals-compatible frame.

        Columns keep their types: text that a file would give as numbers or dates stays text, and a note names it.

        >>> import polars as pl
        >>> table = Table.from_frame(pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]}), name="small")
        >>> table.roles["b"].role
        'binary'
        """
        native = to_polars(frame)
        if native.width == 0 or native.height == 0:
            raise DataError(
                "Table.from_frame", f"table '{plain(name)}'", f"has {native.height} rows and {native.width} columns"
            )
        kept = _kept_as_text(native)
        return cls.build(native, name=name, roles=roles, reading="a frame" if kept else "", read_notes=kept)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.frame.height

    @property
    def columns(self) -> list[str]:
        """Column names, in order."""
        return self.frame.columns

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over column names, types and cells, in order; the same contents give the same fingerprint.

        Where they come from does not matter: one file, several files or a query with the same rows in the same order
        are the same table. A query without ORDER BY may give its rows in another order each time.
        """
        digest = hashlib.sha256()
        for series in self.frame.get_columns():
            _digest(digest, series)
        return digest.hexdigest()

    @cached_property
    def row_keys(self) -> np.ndarray:
        """A number for each row that its cells and the names of their columns settle, wherever the row stands.

        >>> frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
        >>> one, other = Table.from_frame(frame), Table.from_frame(frame.select("b", "a").reverse())
        >>> bool((one.row_keys == other.row_keys[::-1]).all()), one.rows_fingerprint == other.rows_fingerprint
        (True, True)
        """
        keys = np.zeros(self.n_rows, dtype=np.uint64)
        for name in sorted(self.columns):
            keys = _mixed(keys + _cell_keys(self.frame[name]))
        return keys

    @cached_property
    def rows_fingerprint(self) -> str:
        """SHA-256 over the names of the columns and the rows, in whatever order they stand."""
        names = "".join(f"{len(name)}:{name}|" for name in sorted(self.columns))
        return hashlib.sha256(names.encode() + np.sort(self.row_keys).astype("<u8").tobytes()).hexdigest()

    def with_roles(self, roles: Mapping[str, Any]) -> Table:
        """A table with some roles declared: {"zip": "nominal", "size": ("ordinal", ["s", "m", "l"])}.

        >>> from assay.data import load_dataset
        >>> table = load_dataset("weather").with_roles({"temperature": ("ordinal", ["cool", "mild", "hot"])})
        >>> print(table.roles["temperature"])
        ordinal: declared: cool < mild < hot
        """
        return replace(self, roles={**self.roles, **check_overrides(self.frame, roles)})

    def target(self, column: str, task: str | None = None) -> Target:
        """The column to predict; `task` is the name of a task with a target, or None to infer it.

        Text, true/false and binary columns are classes; so are integers with at most 20 values that repeat 5 times
        in the mean; other numbers are regressed on.

        >>> from assay.data import load_dataset
        >>> target = load_dataset("weather").target("play")
        >>> target.task, target.classes
        ('classify', ['no', 'yes'])
        """
        who = "target"
        if column not in self.frame.columns:
            raise DataError(
                who, f"column '{plain(column)}'", "is not in the table", way_out=nearest(column, self.frame.columns)
            )
        wanted = check_task(who, task)
        series = self.frame[column]
        kept = series.is_not_null().to_numpy()
        if not kept.any():
            raise DataError(
                who, f"column '{plain(column)}'", "is missing in every row", way_out="choose another column"
            )
        present = series.drop_nulls()
        chosen, reason = _task_of(present, self.roles[column], column, wanted)
        lost = int((~kept).sum())
        if lost:
            reason += f"; {lost} of {kept.shape[0]} rows have no target and are left out"
        if chosen.numbers:
            values = present.cast(pl.Float64).to_numpy().astype(np.float64)
            if values.min() == values.max():
                raise DataError(
                    who,
                    f"column '{plain(column)}'",
                    f"has only the value {values[0]:g}",
                    way_out="choose a column that varies",
                )
            return Target(column, chosen.name, values, None, kept, reason)
        classes, codes, counts = _classes(present, self.coded.get(column))
        labels = classes[codes]
        if classes.shape[0] < 2:
            raise DataError(
                who,
                f"column '{plain(column)}'",
                f"has only one class ('{plain(classes[0], 30)}')",
                way_out="choose a column with two or more",
            )
        single = classes[counts < 2]
        if single.shape[0]:
            shown = ", ".join(f"'{plain(label, 30)}'" for label in single[:3])
            more = ", ..." if single.shape[0] > 3 else ""
            reason += f"; {single.shape[0]} of {classes.shape[0]} classes have one row only ({shown}{more})"
        target = Target(column, chosen.name, labels, classes.tolist(), kept, reason)
        target.__dict__["coded"] = (classes, codes, counts)
        return target

    def features(self, target: Target | str) -> Features:
        """The other columns on the rows with a known target, less those of no use: all missing, constant, id.

        >>> from assay.data import load_dataset
        >>> table = load_dataset("customers")
        >>> [item["column"] for item in table.features("churned").set_aside]
        ['customer_id']
        """
        if isinstance(target, str):
            target = self.target(target)
        frame = without(self.frame, [target.name])
        if not target.kept.all():
            frame = frame.filter(pl.Series(target.kept))
        set_aside = []
        for series in frame.get_columns():
            reason = no_use(series, self.roles[series.name])
            if reason:
                set_aside.append({"column": series.name, "reason": reason})
        frame = without(frame, [item["column"] for item in set_aside])
        if frame.width == 0:
            raise DataError(
                "features",
                f"table '{plain(self.name)}'",
                f"has no usable column beside the target '{plain(target.name)}'",
                "; ".join(f"{plain(item['column'], 30)} is set aside: {item['reason']}" for item in set_aside[:3]),
            )
        return Features(frame.rechunk(), {name: self.roles[name] for name in frame.columns}, set_aside)

    def __str__(self) -> str:
        lines = [f"{plain(self.name)}: {count(self.n_rows, 'row')}, {count(len(self.columns), 'column')}"]
        width = max(len(plain(name, 30)) for name in self.columns)
        lines += [f"  {plain(name, 30):<{width}}  {self.roles[name]}" for name in self.columns]
        if self.reading:
            lines += [f"read as {self.reading}", *(f"  {decision}" for decision in self.read_notes)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(plain(name))}</td><td>{escape(role.role)}</td><td>{role.confidence:.2f}</td>"
            f"<td>{escape(plain(role.reason, 300))}</td></tr>"
            for name, role in self.roles.items()
        )
        head = "<tr><th>column</th><th>role</th><th>confidence</th><th>reason</th></tr>"
        title = f"{escape(plain(self.name))}: {count(self.n_rows, 'row')}, {count(len(self.columns), 'column')}"
        told = "".join(f"<li>{escape(str(decision))}</li>" for decision in self.read_notes)
        told = f"<p>read as {escape(self.reading)}</p><ul>{told}</ul>" if self.reading else ""
        return f"<table><caption>{title}</caption><thead>{head}</thead><tbody>{rows}</tbody></table>{told}"


def _kept_as_text(frame: pl.DataFrame) -> list[Decision]:
    """Says which columns of text would be numbers, dates or truth values in a file, by their first rows."""
    texts = frame.select(pl.selectors.string()).head(1000)
    parsed = parse_columns(texts, decimal_comma=False)[0] if texts.width else texts
    names = [name for name in texts.columns if parsed[name].dtype != pl.String]
    if not names:
        return []
    shown = ", ".join(f"'{plain(name, 40)}'" for name in names[:4])
    shown += f" and {len(names) - 4} more" if names[4:] else ""
    reason = f"a file would give {shown} as numbers, dates or true and false; convert the frame's columns for that"
    return [Decision("text", "kept as text", 0.8, reason)]


def _task_of(present: pl.Series, role: Role, column: str, task: Task | None) -> tuple[Task, str]:
    number = present.dtype.is_numeric() or present.dtype == pl.Boolean
    if task is not None and task.numbers and not number:
        raise DataError(
            "target",
            f"column '{plain(column)}'",
            "cannot be regressed on: it holds " + ("dates" if present.dtype.is_temporal() else "text"),
            f"the first value is '{plain(present[0], 30)}'",
            f"use task='{CLASSIFY}' or another column",
        )
    if present.dtype.is_temporal():
        raise DataError("target", f"column '{plain(column)}'", "holds dates", way_out="choose another column")
    if task is not None and task.classes and present.dtype.is_float() and not bool((present == present.floor()).all()):
        raise DataError(
            "target",
            f"column '{plain(column)}'",
            "holds numbers with decimals, which are not classes",
            f"the first value is {present[0]:g}",
            f"use task='{REGRESS}' or cut it into classes first",
        )
    if task is not None:
        return task, "the task was given"
    distinct = present.n_unique()
    if not number:
        return CLASSIFY, f"{distinct} labels of text"
    if role.role in ("binary", "nominal", "ordinal"):
        return CLASSIFY, f"the column is {role.role} with {distinct} values"
    if present.dtype.is_integer() and distinct <= MOST_CLASSES and distinct * 5 <= present.len():
        return CLASSIFY, f"integers with only {distinct} different values"
    return REGRESS, f"numbers with {distinct} different values"


def _classes(present: pl.Series, coded: Coded | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The classes in ascending order, the position there of each cell, and how often each occurs."""
    if coded is not None:
        found = coded.labels.sort()
        place = np.empty(found.len(), dtype=np.int64)
        place[coded.labels.arg_sort().to_numpy()] = np.arange(found.len())
        codes = place[coded.codes.drop_nulls().to_numpy()]
        return np.array(found.to_list(), dtype=str), codes, np.bincount(codes, minlength=found.len())
    if present.dtype == pl.String:
        found = present.unique().sort()
        codes = present.cast(pl.Enum(found)).to_physical().to_numpy().astype(np.int64)
        # The order of Polars is that of UTF-8, which is the order of code points, as in NumPy.
        return np.array(found.to_list(), dtype=str), codes, np.bincount(codes, minlength=found.len())
    values = present.to_numpy().astype(bool) if present.dtype == pl.Boolean else present.cast(pl.Int64).to_numpy()
    return np.unique(values, return_inverse=True, return_counts=True)


def no_use(series: pl.Series, role: Role) -> str | None:
    """Why a column says nothing of its rows (all missing, an identifier, constant); None where it may."""
    if series.null_count() == series.len():
        return "every value is missing"
    if role.role == "id":
        return f"an identifier: {role.reason}"
    if series.null_count() == 0 and is_constant(series):
        return f"constant: every row holds '{plain(series[0], 30)}'"
    return None


def is_constant(series: pl.Series) -> bool:
    """Whether all cells are equal (a series without nulls); looks at two cells before it looks at all."""
    if series.len() > 1 and series[0] != series[-1]:
        return False
    return bool((series == series[0]).all())


def to_polars(frame: Any) -> pl.DataFrame:
    """A pandas, pyarrow or other narwhals-compatible frame as a Polars frame; pyarrow is not needed for pandas."""
    if isinstance(frame, pl.DataFrame):
        return with_names(frame)
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            "Table.from_frame",
            "the frame",
            "must be a pandas, Polars or pyarrow table",
            f"got {type(frame).__name__}",
            "for an array, make a frame with column names first",
        ) from None
    except nw.exceptions.DuplicateError:
        raise _twice([str(name) for name in frame.columns]) from None
    names = [str(name) for name in wrapped.columns]
    if len(set(names)) != len(names):
        raise _twice(names)
    dense = _dense(frame)
    wrapped = wrapped if dense is frame else nw.from_native(dense, eager_only=True)
    try:
        if names and wrapped.implementation.is_pandas():
            # All columns at once would wake the threads of Polars, for any table.
            converted = pl.DataFrame([pl.from_pandas(column) for _, column in dense.items()])
        else:
            converted = wrapped.to_polars()
        converted.columns = names
        return with_names(converted)
    except (ImportError, ModuleNotFoundError):
        # pandas without pyarrow: column by column, with None for missing.
        columns = []
        for name in wrapped.columns:
            series = wrapped[name]
            values = series.to_numpy()
            if values.dtype.kind in "OUT":
                missing = series.is_null().to_numpy()
                values = [None if gone else value for value, gone in zip(values.tolist(), missing)]
            columns.append(pl.Series(str(name), values, strict=False))
        return with_names(pl.DataFrame(columns))
    except Exception:
        # Cells that no type of Arrow holds together: column by column, to name the one that cannot be read.
        return with_names(pl.DataFrame([_object_column(str(name), wrapped[name]) for name in wrapped.columns]))


def _dense(frame: Any) -> Any:
    """A pandas frame whose sparse columns are full; any other frame as it is."""
    kinds: Any = getattr(frame, "dtypes", None)
    typed = zip(frame.columns, kinds.tolist()) if hasattr(kinds, "tolist") else ()
    sparse = [name for name, kind in typed if hasattr(kind, "fill_value")]
    return frame.assign(**{name: frame[name].sparse.to_dense() for name in sparse}) if sparse else frame


def _object_column(name: str, series: nw.Series[Any]) -> pl.Series:
    """A column of Python objects: numbers, truth values and text of one kind, or all of them as text."""
    try:
        return pl.Series(name, series.to_polars())
    except Exception:
        values = series.to_list()
    kinds = {type(value) for value in values if value is not None and value == value}
    if not all(issubclass(kind, str | int | float) for kind in kinds):
        strange = next(kind for kind in kinds if not issubclass(kind, str | int | float))
        raise DataError(
            "Table.from_frame",
            f"column '{plain(name)}'",
            "must hold numbers, text, dates or truth values",
            f"it holds {plain(strange.__name__)} too",
            "convert or drop it first",
        )
    return pl.Series(name, [None if v is None or v != v else str(v) for v in values], dtype=pl.String)


def with_names(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a name for every column: one without is called by its place, as in files.

    >>> import polars as pl
    >>> with_names(pl.DataFrame({"a": [1], "": [2]})).columns
    ['a', 'column_2']
    """
    pattern = next((name for name in frame.columns if is_pattern(name)), None)
    if pattern is not None:
        raise DataError("Table", f"column '{plain(pattern)}'", "has the name of a pattern (^...$)", way_out="rename it")
    if "" not in frame.columns:
        return frame
    fresh, place = f"column_{frame.columns.index('') + 1}", 2
    while fresh in frame.columns:
        fresh, place = f"column_{frame.columns.index('') + 1}_{place}", place + 1
    return frame.rename({"": fresh})


def as_frame(rows: np.ndarray, names: Sequence[str]) -> pl.DataFrame:
    """An array as a Polars frame with these column names, NaN where cells are missing.

    >>> as_frame(np.array([[1.0, 2.0]]), ["a", "b"]).columns
    ['a', 'b']
    """
    return pl.DataFrame(np.ascontiguousarray(rows), schema=list(names))


def to_pandas(frame: pl.DataFrame) -> Any:
    """The frame as pandas, which other libraries know best, where pandas is installed; else as it is."""
    try:
        import pandas
    except ImportError:
        return frame
    columns = {}
    for series in frame.get_columns():
        if series.dtype.is_numeric():
            columns[series.name] = series.to_numpy()
        else:
            columns[series.name] = np.array(series.to_list(), dtype=object)
    return pandas.DataFrame(columns)


def _twice(names: list[str]) -> DataError:
    double = next(name for name in names if names.count(name) > 1)
    return DataError("Table.from_frame", "the frame", f"has two columns named '{plain(double)}'")


def plain_types(frame: pl.DataFrame, notes: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Every column as Int64, Float64, Boolean, String or Datetime("us"), with null for missing."""
    columns = []
    for series, told in map_columns(_plain_type, frame.get_columns()):
        if told:
            notes[series.name] = {**notes.get(series.name, {}), **told}
        columns.append(series)
    return pl.DataFrame(columns)


def plain_rows(rows: Any, who: str) -> pl.DataFrame:
    """Rows that a fitted thing is given, by plain types; infinite cells are refused, as they are in arrays."""
    notes: dict[str, dict[str, Any]] = {}
    frame = plain_types(to_polars(rows), notes)
    for name, told in notes.items():
        if "infinite" in told:
            raise DataError(
                who,
                f"column '{plain(name)}'",
                "must be finite (Input X contains infinity)",
                f"first at row {told['infinite_rows'][0]}",
                "leave the cell empty if its value is not known",
            )
    return frame


def _plain_type(series: pl.Series) -> tuple[pl.Series, dict[str, Any]]:
    """The column as one of the plain types, and a note if cells had to go."""
    if series.dtype.is_decimal() and bool((series.abs() > 2**53).any()):
        # Whole numbers that floats do not hold are those of `_retyped`; others are rounded, as everywhere.
        whole = series.cast(pl.Int128, strict=False)
        if whole.null_count() == series.null_count() and bool((whole.cast(series.dtype, strict=False) == series).all()):
            return _retyped(whole), {}
    if series.dtype.is_float() or series.dtype.is_decimal():
        return _finite(series.cast(pl.Float64))
    if series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
        return _in_calendar(series)
    return _retyped(series), {}


def _in_calendar(series: pl.Series) -> tuple[pl.Series, dict[str, Any]]:
    """Dates as times; those beyond the years 1 to 9999, of which a cast makes a panic or nonsense, become missing."""
    per_day = 1
    if isinstance(series.dtype, pl.Datetime):
        per_day = 86_400 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[series.dtype.time_unit]
    physical = series.to_physical()
    low, high = (max(-(2**63), min(2**63 - 1, day * per_day)) for day in _DAYS)
    far = ~physical.is_between(low, high).fill_null(True)
    if not bool(far.any()):
        return _retyped(series), {}
    rows = far.arg_true().head(5).to_list()
    first = [(row, f"{physical[row] / per_day:.0f} days from 1970") for row in rows]
    return _retyped(series.set(far, None)), {"failed": int(far.sum()), "first": first}


def _finite(series: pl.Series) -> tuple[pl.Series, dict[str, Any]]:
    if bool(series.is_finite().all()):
        return series, {}
    told: dict[str, Any] = {}
    infinite = series.is_infinite().fill_null(False)
    if infinite.any():
        told = {"infinite": int(infinite.sum()), "infinite_rows": infinite.arg_true().head(5).to_list()}
    return series.set(~series.is_finite().fill_null(True), None), told


def _retyped(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)
        # Whole numbers over 64 bits stay text, as in `parse`: as floats they would lose digits.
        return whole if whole.null_count() == series.null_count() else series.cast(pl.String)
    if dtype in (pl.String, pl.Boolean):
        return series
    if dtype == pl.Null:
        return series.cast(pl.String)
    if dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    if dtype == pl.Date:
        return series.cast(pl.Datetime("us"))
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return series.cast(pl.Datetime("us"))
    if isinstance(dtype, pl.Duration):
        return series.dt.total_microseconds().cast(pl.Float64) / 1e6
    if dtype == pl.Time:
        return series.cast(pl.Int64).cast(pl.Float64) / 1e9
    raise DataError(
        "Table",
        f"column '{plain(series.name)}'",
        f"holds nested or binary values ({plain(dtype, 40)})",
        way_out="flatten it into plain columns or leave it out",
    )


def _digest(digest: Any, series: pl.Series) -> None:
    """Feed one column to the hash: name, type, which cells are missing, then the cells in a fixed byte order."""
    digest.update(f"{len(series.name)}:{series.name}|{series.dtype}|{series.len()}|".encode())
    if series.null_count():
        digest.update(np.packbits(series.is_null().to_numpy()).tobytes())
    if series.dtype == pl.String:
        present = series.drop_nulls()
        digest.update(present.str.len_bytes().to_numpy().astype("<u4").tobytes())
        joined = present.str.join("")[0] if present.len() else ""
        digest.update((joined or "").encode())
        return
    digest.update(_plain_cells(series).data)


def _plain_cells(series: pl.Series) -> np.ndarray:
    """The cells of a column that is not text as plain numbers in a fixed byte order, missing ones as 0."""
    if series.dtype == pl.Float64:
        # -0.0 and 0.0 are equal cells and must hash alike.
        values = (series.fill_null(0.0).to_numpy() + 0.0).astype("<f8")
    elif series.dtype == pl.Boolean:
        values = series.fill_null(False).to_numpy().astype("u1")
    else:
        values = series.to_physical().fill_null(0).to_numpy().astype("<i8")
    return np.ascontiguousarray(values)


def _cell_keys(series: pl.Series) -> np.ndarray:
    """A number for each cell of a column, from its value and the column's name."""
    if series.dtype == pl.String:
        labels = series.drop_nulls().unique()
        numbers = pl.Series([_text_key(label) for label in labels], dtype=pl.UInt64)
        values = series.replace_strict(labels, numbers, default=0, return_dtype=pl.UInt64).to_numpy()
    else:
        values = _plain_cells(series)
        values = values.view("<u8") if values.itemsize == 8 else values.astype("<u8")
    keys = _mixed(values + np.uint64(_text_key(series.name)))
    return np.where(series.is_null().to_numpy(), np.uint64(_text_key(f"{series.name} is missing")), keys)


def _text_key(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _mixed(keys: np.ndarray) -> np.ndarray:
    """The numbers with every bit spread over all others (the finaliser of SplitMix64; Steele, Lea & Flood 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))
