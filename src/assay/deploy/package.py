"""Model packages: `save` writes a fitted model into one file, `load` makes it again and proves that it is the same.

A package is a zip of three members (`container`): `manifest.json` says what the model is and holds the SHA-256 of the
other two; `graph.json` is the model as plain data (`graph`) over a fixed list of classes (`registry`);
`arrays.safetensors` holds its numbers. Loading runs no code from the file. Rows for which the model's answers are known
travel with it and are predicted again when it is loaded: another answer, on another machine or version, is refused.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy
from safetensors import SafetensorError
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .. import __version__, catalogue
from ..base.errors import AssayError, AssayWarning, PackageError, plain
from ..base.record import jsonable
from . import checks, container
from .graph import DTYPES, decode, encode
from .registry import Registry

SCHEMA = 1
"""The version of the form described here; `MIGRATIONS` lead to it from earlier ones."""
FORMAT = "assay.package"
MOST_TEXT = 256 << 20
MIGRATIONS: dict[int, Callable[[dict[str, Any], dict[str, Any]], tuple[dict[str, Any], dict[str, Any]]]] = {}
"""By version, what makes a manifest and a graph of the next one out of those of this version."""
_KEYS = {"format", "schema", "members", "versions", "model", "checks", "facts"}
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars")


@dataclass(frozen=True, eq=False)
class Package:
    """What a file held: the model, the manifest, the facts that were kept with it (see `facts` of `save`), and the rows
    that it was tried with."""

    model: Any
    manifest: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    rows: Any = None
    path: str = ""

    @property
    def title(self) -> str:
        """The model in a few words."""
        return str(self.manifest["model"]["title"])


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    check: Any = None,
    facts: Mapping[str, Any] | None = None,
    trusted: Iterable[type] = (),
) -> Path:
    """Write a fitted model to a package and read it back before it takes its place.

    Parameters
    ----------
    model : a fitted method of the catalogue, a `PreparedModel`, or a pipeline of these and the scikit-learn parts that
        are listed in `assay.deploy.registry`
    path : the file, by custom `*.assay`
    check : some rows as `predict` takes them, whose answers are kept and tried when the package is loaded; None makes
        rows from what the model knows of its columns
    facts : plain data that travels along: metrics, provenance, and what a `PreparedModel` knows of its columns
    trusted : classes of other libraries that may be part of the model; whoever loads it must pass them too

    Returns
    -------
    The path.

    Examples
    --------
    >>> import tempfile
    >>> from assay import load
    >>> from assay.models.linear import Ridge
    >>> model = Ridge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = load(model.save(Path(folder) / "ridge.assay"))
    >>> bool(same.predict([[1.5]]) == model.predict([[1.5]]))
    True
    """
    registry = Registry(trusted)
    _require_fitted(model)
    rows, outputs = checks.answers(model, check)
    held = dict(getattr(model, "facts", {}) or {}) | dict(facts or {})
    graph, pools = encode({"model": model, "facts": held, "rows": rows, "outputs": outputs}, registry)
    members = [_json(graph), safetensors.numpy.save(pools)]
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "members": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in zip(container.MEMBERS[1:], members)
        },
        "versions": _versions(),
        "model": _describe(model),
        "checks": {"rows": checks.height(rows), "outputs": sorted(outputs)},
        "facts": {name: jsonable(held[name]) for name in ("target", "task", "metrics", "provenance") if name in held},
    }
    members = [_json(manifest), *members]
    _open(members, registry, "the package", quiet=True)
    return container.write(path, members)


def load(path: str | os.PathLike[str], *, trusted: Iterable[type] = (), most_bytes: int = container.MOST_BYTES) -> Any:
    """The model of a package, after every check; a file that is not exactly a package is refused with a sentence.

    No code from the file is run: classes come from a fixed list (and `trusted`), lengths, names, hashes and every
    index inside are checked before use, and the answers that travel with the model must come out again.

    Parameters
    ----------
    path : a file that `save` wrote
    trusted : classes of other libraries that the package may hold
    most_bytes : the largest file that is read

    Examples
    --------
    >>> load("no.assay")
    Traceback (most recent call last):
    assay.base.errors.PackageError: load: file 'no.assay' cannot be read (No such file or directory); check the path.
    """
    return open_package(path, trusted=trusted, most_bytes=most_bytes).model


def open_package(
    path: str | os.PathLike[str], *, trusted: Iterable[type] = (), most_bytes: int = container.MOST_BYTES
) -> Package:
    """What `load` gives, with the manifest and the facts that were kept beside the model."""
    members = container.read(path, most_bytes)
    return _open(members, Registry(trusted), f"file '{plain(path, 200)}'", path=str(path))


def from_bytes(data: bytes, *, trusted: Iterable[type] = ()) -> Package:
    """A package that is in memory, checked as `load` checks a file."""
    return _open(container.unpack(data), Registry(trusted), "the package")


def _open(members: list[bytes], registry: Registry, name: str, path: str = "", quiet: bool = False) -> Package:
    manifest = _text(members[0], name, container.MEMBERS[0])
    _check_manifest(manifest, members[1:], name)
    graph, pools = _text(members[1], name, container.MEMBERS[1]), _pools(members[2], name)
    for version in range(manifest["schema"], SCHEMA):
        if version not in MIGRATIONS:
            raise PackageError("load", name, f"is of version {version}, from which no way leads to version {SCHEMA}")
        manifest, graph = MIGRATIONS[version](manifest, graph)
    root = decode(graph, pools, registry)
    if not isinstance(root, dict) or set(root) != {"model", "facts", "rows", "outputs"}:
        raise PackageError("load", name, "holds no model", way_out="save the model again")
    if registry.trusted and not quiet:
        warnings.warn(
            AssayWarning(
                "W602", f"load: {name} was allowed classes of other libraries; Assay vouches for none of them."
            ),
            stacklevel=3,
        )
    _replay(root, manifest, name)
    facts = root["facts"] if isinstance(root["facts"], dict) else {}
    return Package(root["model"], manifest, facts, root["rows"], path)


def _replay(root: dict[str, Any], manifest: dict[str, Any], name: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            differing = checks.differing(root["model"], root["rows"], root["outputs"])
    except AssayError as error:
        raise PackageError("load", name, "cannot predict the rows it was saved with", plain(error, 300)) from None
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise PackageError(
            "load", name, "cannot predict the rows it was saved with", f"{type(error).__name__}: {plain(error, 200)}"
        ) from None
    if differing:
        made = manifest["versions"]
        raise PackageError(
            "load",
            name,
            f"gives other answers ({', '.join(map(plain, differing))}) than when it was saved",
            f"saved by Assay {plain(made.get('assay'))} with NumPy {plain(made.get('numpy'))}",
            "use those versions or fit the model again",
        )


def _check_manifest(manifest: Any, others: list[bytes], name: str) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise PackageError("load", name, "has a manifest that is none of Assay", way_out="save the model again")
    schema = manifest.get("schema")
    if type(schema) is not int or schema < 1:
        raise PackageError("load", name, "has no version", f"got {plain(schema)}")
    if schema > SCHEMA:
        raise PackageError(
            "load",
            name,
            f"is of version {schema}, and this Assay reads versions up to {SCHEMA}",
            way_out="update Assay",
        )
    if schema == SCHEMA and set(manifest) != _KEYS:
        raise PackageError("load", name, "has a manifest with other entries", plain(sorted(set(manifest) ^ _KEYS)[0]))
    listed = manifest.get("members")
    if not isinstance(listed, dict) or set(listed) != set(container.MEMBERS[1:]):
        raise PackageError("load", name, "does not list its members")
    for member, data in zip(container.MEMBERS[1:], others):
        said = listed[member]
        found = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if said != found:
            raise PackageError(
                "load", name, f"holds another '{member}' than its manifest says", way_out="get the package again"
            )
    versions, model = manifest.get("versions"), manifest.get("model")
    if not isinstance(versions, dict) or not isinstance(model, dict) or not isinstance(model.get("title"), str):
        raise PackageError("load", name, "does not say what it is or what made it")


def _pools(data: bytes, name: str) -> dict[str, np.ndarray]:
    if len(data) < 8 or int.from_bytes(data[:8], "little") > 1 << 16:
        raise PackageError("load", name, "has arrays without a short header")
    try:
        pools = safetensors.numpy.load(data)
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise PackageError("load", name, "has arrays that cannot be read", plain(error)) from None
    for kind, numbers in pools.items():
        if kind not in DTYPES or numbers.ndim != 1 or numbers.dtype != np.dtype(kind):
            raise PackageError("load", name, "has arrays of an unknown kind", plain(kind))
    return pools


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _text(data: bytes, name: str, member: str) -> Any:
    if len(data) > MOST_TEXT:
        raise PackageError("load", name, f"has a '{member}' of more than {MOST_TEXT:,} bytes")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise PackageError("load", name, f"has a '{member}' that is no JSON", plain(error)) from None


def _versions() -> dict[str, str]:
    found = {"assay": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        found[library] = importlib.metadata.version(library)
    return found


def _describe(model: Any) -> dict[str, Any]:
    """The model for people and programs that only look at the manifest."""
    inner = getattr(model, "estimator", model) if hasattr(model, "chain") else model
    entry = catalogue.of_class(type(inner))
    about: dict[str, Any] = {
        "class": type(model).__name__,
        "method": entry.id if entry is not None else None,
        "title": entry.title if entry is not None else type(model).__name__,
        "task": entry.task if entry is not None else getattr(inner, "_estimator_type", None),
    }
    names = getattr(model, "columns", None) if hasattr(model, "chain") else getattr(model, "feature_names_in_", None)
    about["columns"] = None if names is None else [str(name) for name in names]
    about["n_features"] = int(model.n_features_in_) if hasattr(model, "n_features_in_") else None
    classes = getattr(model, "classes_", None)
    about["classes"] = None if classes is None else jsonable(list(np.asarray(classes, dtype=object).ravel()))
    return about


def _require_fitted(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "__dict__"):
        raise PackageError("save", "the model", "must be a fitted model", f"got {plain(repr(model))}", "fit it first")
    if not isinstance(model, BaseEstimator):
        return
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise PackageError(
            "save", f"the {type(model).__name__}", "must be fitted before it is saved", way_out="call fit first"
        ) from None
