"""A model as a list of nodes and pools of numbers, and back: plain data in a file, objects in memory.

A value is a JSON scalar or a reference `{"ref": k}` to the node of number k. A node refers only to nodes before it, so
that nothing can refer to itself and reading is one pass. Arrays lie in pools, one vector for each dtype, which become
the tensors of `arrays.safetensors`; a node says where its array starts and what shape it has. A record is the name of
a class in the registry and the values of its attributes: no constructor runs, no name is imported, nothing is called
but the record's own check `_loaded`.

>>> from assay.deploy.registry import Registry
>>> nodes, pools = encode({"a": (1, 2.5)}, Registry())
>>> decode(nodes, pools, Registry())
{'a': (1, 2.5)}
"""

from __future__ import annotations

import datetime
import functools
import keyword
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .. import catalogue
from ..base.errors import AssayError, AssayWarning, PackageError, plain
from ..base.guard import GUARDED, sound_sparse
from ..catalogue import Entry
from .registry import Registry

DTYPES = (
    *(
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
    ),
)
MOST_NODES = 5_000_000
MOST_DEPTH = 100
_UNITS = ("generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns")
_SPARSE = ("csr", "csc")
_GENERATORS = (np.random.Generator, np.random.RandomState)
_LARGEST_INT = 2**53


def encode(value: Any, registry: Registry) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The nodes and pools of a value; what cannot be plain data is refused by the name of its place."""
    writer = _Writer(registry)
    root = writer.value(value, "the model")
    return {"root": root, "nodes": writer.nodes}, writer.pools()


def decode(graph: Any, pools: Mapping[str, np.ndarray], registry: Registry) -> Any:
    """The value that `encode` was given; anything else that may stand in a file is refused."""
    if not isinstance(graph, dict) or set(graph) != {"root", "nodes"} or not isinstance(graph["nodes"], list):
        raise _refusal("the graph", "must be a list of nodes and a root")
    if len(graph["nodes"]) > MOST_NODES:
        raise _refusal("the graph", f"must have {MOST_NODES:,} nodes at most", f"got {len(graph['nodes']):,}")
    reader = _Reader(pools, registry)
    for number, node in enumerate(graph["nodes"]):
        try:
            reader.add(node)
        except AssayError as error:
            raise PackageError(str(error)) from None
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError) as error:
            raise _refusal(f"node {number} of the graph", "cannot be read", plain(error)) from None
    try:
        return reader.value(graph["root"])
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise _refusal("the root of the graph", "cannot be read", plain(error)) from None


def _refusal(subject: str, rule: str, came: str = "") -> PackageError:
    return PackageError(
        "load", f"{subject} of the package", rule, came, "get the package again or save the model again"
    )


class _Writer:
    """Nodes in the order in which their parts are complete."""

    def __init__(self, registry: Registry):
        self.registry = registry
        self.nodes: list[Any] = []
        self._parts: dict[str, list[np.ndarray]] = {}
        self._lengths: dict[str, int] = {}
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []
        self._open: list[int] = []
        self._names: dict[type, str | None] = {}

    def pools(self) -> dict[str, np.ndarray]:
        """One vector per dtype; numbers of the dtype bool are kept as uint8."""
        return {name: np.concatenate(parts) for name, parts in sorted(self._parts.items())}

    def value(self, value: Any, where: str) -> Any:
        """A scalar as it is, anything else as a reference to its node."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            _check_text(value, where)
            return value
        if kind is int and abs(value) < _LARGEST_INT:
            return value
        if kind is float and math.isfinite(value):
            return value
        if isinstance(value, _GENERATORS):
            warnings.warn(
                AssayWarning(
                    "W601", f"save: {where} is a generator of random numbers and becomes None in the package."
                ),
                stacklevel=2,
            )
            return None
        place = self._places.get(id(value))
        if place is None:
            if id(value) in self._open:
                raise PackageError("save", where, "refers to itself, which a package cannot hold")
            if len(self._open) >= MOST_DEPTH:
                raise PackageError("save", where, f"lies deeper than {MOST_DEPTH} levels, which a package cannot hold")
            self._open.append(id(value))
            node = self._node(value, where)
            self._open.pop()
            self.nodes.append(node)
            place = len(self.nodes) - 1
            # Kept, so that no later object gets the number of one that is gone.
            self._places[id(value)] = place
            self._kept.append(value)
        return {"ref": place}

    def _node(self, value: Any, where: str) -> dict[str, Any]:
        kind = type(value)
        if kind in _WRITERS:
            return _WRITERS[kind](self, value, where)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"t": "scalar", "array": self.value(np.asarray(value), where)}
        if isinstance(value, np.dtype) and value.name in DTYPES:
            return {"t": "dtype", "name": value.name, "type": False}
        if isinstance(value, type) and issubclass(value, np.generic) and np.dtype(value).name in DTYPES:
            return {"t": "dtype", "name": np.dtype(value).name, "type": True}
        if sparse.issparse(value) and value.format in _SPARSE:
            parts = {name: self.value(getattr(value, name), where) for name in ("data", "indices", "indptr")}
            array = isinstance(value, sparse.sparray)
            return {"t": "sparse", "format": value.format, "array": array, "shape": list(value.shape), **parts}
        if isinstance(value, Entry):
            if catalogue.of_class(value.load()) != value and not self.registry.trusted:
                raise self._foreign(value.load(), where)
            return {"t": "entry", "id": value.id}
        return self._record(value, where)

    def _record(self, value: Any, where: str) -> dict[str, Any]:
        cls: type = type(value)
        if cls not in self._names:
            self._names[cls] = self.registry.name(cls)
        name = self._names[cls]
        if name is None:
            raise self._foreign(cls, where)
        if name.startswith("trusted/"):
            warnings.warn(
                AssayWarning(
                    "W602",
                    f"save: {plain(cls.__qualname__)} is of another library; whoever loads the package must trust and "
                    "pass that class, and Assay vouches for nothing inside it.",
                ),
                stacklevel=2,
            )
        if isinstance(value, tuple):
            return {"t": "record", "class": name, "items": [self.value(part, where) for part in value]}
        held: dict[str, Any] = value._saved() if hasattr(value, "_saved") else vars(value)
        state = {key: self.value(held[key], f"{where}.{key}") for key in sorted(held) if not _is_cached(cls, key)}
        return {"t": "record", "class": name, "state": state}

    def _foreign(self, cls: type, where: str) -> PackageError:
        home = f"{cls.__module__}.{cls.__qualname__}"
        if callable(cls) and cls.__module__ == "builtins":
            return PackageError(
                "save",
                plain(where, 200),
                "is code, and a package holds none",
                f"got {plain(home)}",
                "name it by a text",
            )
        return PackageError(
            "save",
            plain(where, 200),
            "is of a class that packages do not hold",
            f"got {plain(home)}",
            "if its state is plain data and you trust it, pass trusted=[that class] here and again to load",
        )

    def _array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        node: dict[str, Any] = {"shape": list(value.shape)}
        if value.dtype.kind == "O":
            return {"t": "objects", **node, "items": [self.value(part, where) for part in value.ravel().tolist()]}
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            node["order"] = "F"
            value = value.T
        value = np.ascontiguousarray(value)
        if value.dtype.kind == "U":
            width = value.dtype.itemsize // 4
            flat = (
                value.astype(value.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
                if width
                else value[:0].view("u4")
            )
            return {"t": "text", **node, "width": width, "at": self._put("uint32", flat)}
        if value.dtype.kind in "Mm":
            unit, step = np.datetime_data(value.dtype)
            if unit not in _UNITS:
                raise PackageError("save", where, "has a unit of time that packages do not hold", f"got {unit}")
            flat = value.reshape(-1).view(np.int64)
            return {
                "t": "time",
                **node,
                "kind": value.dtype.kind,
                "unit": unit,
                "step": step,
                "at": self._put("int64", flat),
            }
        if value.dtype.name not in DTYPES:
            raise PackageError("save", where, "has a dtype that packages do not hold", f"got {plain(value.dtype)}")
        flat = value.astype(value.dtype.newbyteorder("="), copy=False).reshape(-1)
        pool = "uint8" if value.dtype.kind == "b" else value.dtype.name
        place = self._put(pool, flat.view(np.uint8) if value.dtype.kind == "b" else flat)
        return {"t": "array", "dtype": value.dtype.name, **node, "at": place}

    def _put(self, pool: str, flat: np.ndarray) -> int:
        place = self._lengths.get(pool, 0)
        self._parts.setdefault(pool, []).append(flat)
        self._lengths[pool] = place + flat.shape[0]
        return place

    def _items(self, value: Any, where: str) -> list[Any]:
        return [self.value(part, f"{where}[{k}]") for k, part in enumerate(value)]

    def _mapping(self, value: dict[Any, Any], where: str) -> dict[str, Any]:
        pairs = [[self.value(key, where), self.value(part, f"{where}[{key!r}]")] for key, part in value.items()]
        return {"t": "dict", "items": pairs}


def _sorted(items: Any) -> list[Any]:
    """The members of a set in an order that does not change from run to run."""
    return sorted(items, key=lambda item: (type(item).__name__, str(item)))


_WRITERS: dict[type, Callable[[_Writer, Any, str], dict[str, Any]]] = {
    int: lambda writer, value, where: {"t": "int", "digits": str(value)},
    float: lambda writer, value, where: {"t": "float", "text": repr(value)},
    list: lambda writer, value, where: {"t": "list", "items": writer._items(value, where)},
    tuple: lambda writer, value, where: {"t": "tuple", "items": writer._items(value, where)},
    set: lambda writer, value, where: {"t": "set", "items": writer._items(_sorted(value), where)},
    frozenset: lambda writer, value, where: {"t": "frozenset", "items": writer._items(_sorted(value), where)},
    dict: lambda writer, value, where: writer._mapping(value, where),
    bytes: lambda writer, value, where: {"t": "bytes", "array": writer.value(np.frombuffer(value, np.uint8), where)},
    slice: lambda writer, value, where: {
        "t": "slice", "items": writer._items((value.start, value.stop, value.step), where)
    },
    range: lambda writer, value, where: {
        "t": "range", "items": writer._items((value.start, value.stop, value.step), where)
    },
    datetime.datetime: lambda writer, value, where: {"t": "datetime", "text": value.isoformat()},
    datetime.date: lambda writer, value, where: {"t": "date", "text": value.isoformat()},
}  # fmt: skip


def _check_text(value: str, where: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise PackageError("save", plain(where, 200), "is text that UTF-8 cannot hold", f"got {value!a:.60}") from None


@functools.cache
def _is_cached(cls: Any, name: str) -> bool:
    """Whether an attribute holds what a property of the class has computed, which it can compute again."""
    return any(isinstance(vars(base).get(name), functools.cached_property) for base in cls.__mro__)


class _Reader:
    """Values of nodes, in their order; a node sees only those before it."""

    def __init__(self, pools: Mapping[str, np.ndarray], registry: Registry):
        self.pools, self.registry = pools, registry
        self.made: list[Any] = []
        self._depths: list[int] = []
        self._depth = 0

    def add(self, node: Any) -> None:
        if not isinstance(node, dict):
            raise ValueError("a node must be an object")
        self._depth = 0
        kind = node.get("t")
        made = _READERS[kind](self, {key: part for key, part in node.items() if key != "t"})
        if self._depth > MOST_DEPTH:
            raise ValueError(f"it lies deeper than {MOST_DEPTH} levels")
        self._depths.append(self._depth + 1)
        self.made.append(made)

    def value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise ValueError("a list must be a node")
            return value
        ((key, number),) = value.items()
        if key != "ref" or type(number) is not int or not 0 <= number < len(self.made):
            raise ValueError(f"a reference must name a node before it, got {plain(value)}")
        self._depth = max(self._depth, self._depths[number])
        return self.made[number]

    def items(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise ValueError("items must be a list")
        return [self.value(item) for item in items]

    # -- arrays --------------------------------------------------------------------------------------------------
    def flat(self, pool: str, at: Any, count: int) -> np.ndarray:
        """`count` numbers of a pool, as an array of their own."""
        numbers = self.pools.get(pool)
        if count == 0 and numbers is None:
            return np.empty(0, dtype=pool)
        if numbers is None or type(at) is not int or not 0 <= at <= numbers.shape[0] - count:
            raise ValueError(f"an array lies outside the numbers of type {plain(pool)}")
        return numbers[at : at + count].copy()

    def array(self, dtype: Any, shape: Any, at: Any, order: Any = "C") -> np.ndarray:
        if dtype not in DTYPES:
            raise ValueError(f"no array has the type {plain(dtype)}")
        flat = self.flat("uint8" if dtype == "bool" else dtype, at, _count(shape))
        if dtype == "bool":
            if flat.size and flat.max() > 1:
                raise ValueError("a truth value must be 0 or 1")
            flat = flat.view(np.bool_)
        return _shaped(flat, shape, order)

    def text(self, shape: Any, width: Any, at: Any, order: Any = "C") -> np.ndarray:
        if type(width) is not int or not 0 <= width <= 1_000_000:
            raise ValueError("the width of texts must be a number")
        if width == 0:
            return _shaped(np.zeros(_count(shape), dtype="U1"), shape, order).astype("U1")
        letters = self.flat("uint32", at, _count(shape) * width)
        if letters.size and (letters.max() > 0x10FFFF or ((letters >= 0xD800) & (letters < 0xE000)).any()):
            raise ValueError("a text holds what is no letter")
        return _shaped(letters.view(f"U{width}"), shape, order)

    def time(self, shape: Any, kind: Any, unit: Any, step: Any, at: Any, order: Any = "C") -> np.ndarray:
        if kind not in ("M", "m") or unit not in _UNITS or type(step) is not int or not 1 <= step < 2**31:
            raise ValueError("no time has this unit")
        code = f"{kind}8" if unit == "generic" else f"{kind}8[{step}{unit}]"
        return _shaped(self.flat("int64", at, _count(shape)).view(code), shape, order)

    def objects(self, shape: Any, items: Any) -> np.ndarray:
        parts = self.items(items)
        if len(parts) != _count(shape):
            raise ValueError("an array must have as many items as its shape says")
        made = np.empty(len(parts), dtype=object)
        for k, part in enumerate(parts):
            made[k] = part
        return made.reshape(shape)

    def scalar(self, array: Any) -> Any:
        found = self.value(array)
        if not isinstance(found, np.ndarray) or found.ndim != 0:
            raise ValueError("a scalar must come from an array of no dimensions")
        return found[()]

    def data(self, array: Any) -> bytes:
        found = self.value(array)
        if not isinstance(found, np.ndarray) or found.dtype != np.uint8:
            raise ValueError("bytes must come from an array of bytes")
        return found.tobytes()

    def sparse(self, format: Any, array: Any, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
        if format not in _SPARSE or type(array) is not bool or len(shape) != 2:
            raise ValueError("no sparse matrix is kept so")
        _count(shape)
        parts = tuple(self.value(part) for part in (data, indices, indptr))
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "biuf" for part in parts):
            raise ValueError("a sparse matrix is made of three vectors of numbers")
        if parts[0].shape != parts[1].shape or any(part.dtype.kind != "i" for part in parts[1:]):
            raise ValueError("a sparse matrix has one index for each value")
        made = getattr(sparse, f"{format}_array" if array else f"{format}_matrix")(tuple(shape))
        made.data, made.indices, made.indptr = parts
        return sound_sparse("load", made)

    # -- records -------------------------------------------------------------------------------------------------
    def entry(self, id: Any) -> Entry:
        if not isinstance(id, str):
            raise ValueError("a method must have a name")
        return catalogue.get(id)

    def record(self, state: Any = None, items: Any = None, **more: Any) -> Any:
        cls = self.registry.cls(more.pop("class"))
        if more or (state is None) == (items is None):
            raise ValueError("a record has a state or items")
        if items is not None:
            if not issubclass(cls, tuple) or len(items) != len(getattr(cls, "_fields", ())):
                raise ValueError(f"{cls.__name__} has other items")
            return tuple.__new__(cls, self.items(items))
        if not isinstance(state, dict) or issubclass(cls, tuple):
            raise ValueError(f"{cls.__name__} must have a state")
        fields = getattr(cls, "__dataclass_fields__", None)
        if fields is not None and set(state) != set(fields):
            odd = sorted(set(state) ^ set(fields))
            raise ValueError(f"{cls.__name__} has other attributes, such as {plain(odd[0])}")
        made: Any = object.__new__(cls)
        values = {}
        for name, part in state.items():
            if fields is None:
                _check_name(cls, name)
            values[name] = self.value(part)
        vars(made).update(values)
        if hasattr(made, "_loaded"):
            made._loaded()
        return made


def _check_name(cls: type, name: str) -> None:
    """Refuse attributes that would stand before what the class itself defines."""
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("__"):
        raise ValueError(f"{cls.__name__} cannot have an attribute {plain(name)}")
    if name in GUARDED:
        raise ValueError(f"{plain(name)} is what a method is called")
    defined = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if callable(defined) or isinstance(defined, (property, functools.cached_property, classmethod, staticmethod)):
        raise ValueError(f"{cls.__name__} defines {plain(name)} itself")


def _count(shape: Any) -> int:
    if not isinstance(shape, list) or len(shape) > 32 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise ValueError("a shape must be a list of counts")
    count = math.prod(shape)
    if count > 2**40:
        raise ValueError("an array must fit in memory")
    return count


def _shaped(flat: np.ndarray, shape: list[int], order: Any) -> np.ndarray:
    if order not in ("C", "F"):
        raise ValueError("an array is in C or in F order")
    return flat.reshape(shape) if order == "C" else flat.reshape(shape[::-1]).T


def _number(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError("no such number")
    return float(text)


def _integer(digits: Any) -> int:
    if not isinstance(digits, str) or len(digits) > 1000 or not digits.removeprefix("-").isdecimal():
        raise ValueError("no such whole number")
    return int(digits)


def _moment(text: Any) -> str:
    if not isinstance(text, str) or len(text) > 60:
        raise ValueError("no such date")
    return text


def _dtype(name: Any, type: Any) -> Any:
    if name not in DTYPES:
        raise ValueError("no such type of numbers")
    return np.dtype(name).type if type else np.dtype(name)


def _three(reader: _Reader, items: Any) -> list[Any]:
    parts = reader.items(items)
    if len(parts) != 3 or any(part is not None and type(part) is not int for part in parts):
        raise ValueError("a slice has three whole numbers")
    return parts


def _pairs(reader: _Reader, items: Any) -> dict[Any, Any]:
    made = {}
    for key, part in items:
        made[reader.value(key)] = reader.value(part)
    if len(made) != len(items):
        raise ValueError("a key occurs twice")
    return made


_READERS: dict[Any, Callable[[_Reader, dict[str, Any]], Any]] = {
    "int": lambda reader, node: _integer(**node),
    "float": lambda reader, node: _number(**node),
    "list": lambda reader, node: reader.items(**node),
    "tuple": lambda reader, node: tuple(reader.items(**node)),
    "set": lambda reader, node: set(reader.items(**node)),
    "frozenset": lambda reader, node: frozenset(reader.items(**node)),
    "dict": lambda reader, node: _pairs(reader, **node),
    "bytes": lambda reader, node: reader.data(**node),
    "slice": lambda reader, node: slice(*_three(reader, **node)),
    "range": lambda reader, node: range(*_three(reader, **node)),
    "datetime": lambda reader, node: datetime.datetime.fromisoformat(_moment(**node)),
    "date": lambda reader, node: datetime.date.fromisoformat(_moment(**node)),
    "array": lambda reader, node: reader.array(**node),
    "text": lambda reader, node: reader.text(**node),
    "time": lambda reader, node: reader.time(**node),
    "objects": lambda reader, node: reader.objects(**node),
    "scalar": lambda reader, node: reader.scalar(**node),
    "dtype": lambda reader, node: _dtype(**node),
    "sparse": lambda reader, node: reader.sparse(**node),
    "entry": lambda reader, node: reader.entry(**node),
    "record": lambda reader, node: reader.record(**node),
}
"""How each kind of node is read; a node of another kind is refused."""
