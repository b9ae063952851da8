"""Every method of the catalogue is saved, loaded in another process, and gives the same answers, bit for bit."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay import catalogue
from assay.base import Estimator
from assay.deploy import checks, save
from assay.deploy.graph import _is_cached, encode
from assay.deploy.package import from_bytes
from assay.deploy.registry import Registry

from .tables import named, numeric, quick, with_nominal
from .test_control_claims import Corridor
from .test_rank_claims import graded
from .test_sequence_claims import LENGTHS, sequences

ENTRIES = catalogue.entries()
ROOT = Path(__file__).parents[2]
BASKETS = [["a", "b"], ["a", "c"], ["a", "b", "c"], ["b"]] * 5


def fitted(entry: Any) -> tuple[Any, Any]:
    """A fitted instance and rows to ask it about (None: nothing to ask); labels too where the method takes them."""
    if entry.task == "control":
        return quick(entry).fit(Corridor()), np.arange(4)
    if entry.task == "rules":
        return quick(entry).fit(BASKETS), None
    if entry.task == "sequence":
        return quick(entry).fit(sequences(entry), LENGTHS), None
    if entry.task == "rank":
        X, y, groups = graded()
        return quick(entry).fit(X, y, groups=groups), X
    if "image" in entry.native:
        y = np.array(["a", "b"])[np.arange(40) % 2]
        images = np.random.default_rng(0).normal(size=(40, 8, 8)) + (y == "b")[:, None, None]
        return quick(entry).fit(images, y), images
    if "nominal" in entry.native:
        columns, y = with_nominal(entry)
        return quick(entry).fit(pl.DataFrame(columns), y), columns
    X, y = numeric(entry)
    return quick(entry).fit(X, y), X


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, tuple[Any, Any, Path]]:
    """By id the fitted model, the rows, and its package; loaded and asked again by one other process."""
    folder = tmp_path_factory.mktemp("packages")
    kept = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in ENTRIES:
            model, rows = fitted(entry)
            path = save(model, folder / f"{entry.id}.assay", check=rows if _answers(model) else None)
            kept[entry.id] = (model, rows, path)
    return kept


def _answers(model: Any) -> bool:
    return any(hasattr(model, name) for name in checks.METHODS)


def digest(answers: dict[str, Any]) -> str:
    """One number for all bits of some answers."""
    graph, pools = encode(answers, Registry())
    parts = [json.dumps(graph).encode(), *(pools[name].tobytes() for name in sorted(pools))]
    return hashlib.sha256(b"".join(parts)).hexdigest()


PROGRAM = """
import json, sys, warnings
from pathlib import Path
from assay.deploy import checks, open_package
from tests.conformance.test_packages import digest
warnings.simplefilter("ignore")
found = {}
for path in sorted(Path(sys.argv[1]).glob("*.assay")):
    package = open_package(path)
    if package.rows is not None:
        found[path.stem] = digest(checks.ask(package.model, package.rows))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def elsewhere(saved) -> dict[str, str]:
    """What the models say in a fresh process, as digests."""
    folder = next(iter(saved.values()))[2].parent
    words = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(**named(ENTRIES))
def test_a_saved_model_is_the_same_model(entry, saved):
    model, _, path = saved[entry.id]
    again = from_bytes(path.read_bytes()).model
    assert differences(model, again, entry.id) == []


@pytest.mark.parametrize(**named(ENTRIES))
def test_another_process_gets_the_same_answers_bit_for_bit(entry, saved, elsewhere):
    model, rows, _ = saved[entry.id]
    if rows is None or not _answers(model):
        pytest.skip("says nothing of new rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert digest(checks.ask(model, checks.as_plain(rows))) == elsewhere[entry.id]


@pytest.mark.parametrize(**named(ENTRIES))
def test_the_same_model_gives_the_same_bytes(entry, saved, tmp_path):
    model, rows, path = saved[entry.id]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = save(model, tmp_path / "again.assay", check=rows if _answers(model) else None)
    assert other.read_bytes() == path.read_bytes()


def differences(one: Any, other: Any, where: str) -> list[str]:
    """Where two values are not equal: bits of arrays, attributes of objects."""
    if type(one) is not type(other):
        return [f"{where}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, np.ndarray) and one.dtype.kind != "O":
        alike = one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        return [] if alike and one.tobytes() == other.tobytes() else [where]
    if isinstance(one, (list, tuple, np.ndarray)):
        if len(one) != len(other):
            return [where]
        return [d for k, pair in enumerate(zip(one, other)) for d in differences(*pair, f"{where}[{k}]")]
    if isinstance(one, dict):
        if list(one) != list(other):
            return [where]
        return [d for key in one for d in differences(one[key], other[key], f"{where}[{key}]")]
    if isinstance(one, Estimator) or hasattr(one, "__dataclass_fields__"):
        mine = {name: value for name, value in vars(one).items() if not _is_cached(type(one), name)}
        if set(mine) != set(vars(other)):
            return [f"{where}: {set(mine) ^ set(vars(other))}"]
        return [d for name in mine for d in differences(mine[name], vars(other)[name], f"{where}.{name}")]
    if hasattr(one, "toarray"):
        return differences(one.toarray(), other.toarray(), where)
    return [] if one == other or (one != one and other != other) else [where]
