"""Broken and hostile packages: a case by its number, and what may come of it.

`python -m tests.fuzz.packages FIRST LAST SEED LOG` tries cases in one process and writes each before it starts, so that
the death of the process names its case. Half of the cases change bytes of a file: all of these must be refused. The
other half are made by someone who writes the checksums anew after changing the graph, the numbers or the manifest:
these must be refused, or be a model that predicts without dying.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import safetensors.numpy

from assay import catalogue
from assay.base import PackageError
from assay.deploy import checks, container, save
from assay.deploy.package import from_bytes
from assay.deploy.registry import RECORDS, SKLEARN, Registry

ROOT = Path(__file__).parents[2]
# Calls that a program makes when it runs what a file says; a load must make none of them.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "compile",
    "exec",
    "socket.connect",
    "shutil",
)
METHODS = (
    *("zero-r", "ridge", "logistic", "naive-bayes", "knn-classifier", "cart-classifier", "c45", "model-tree"),
    *("oblique-tree", "random-forest-classifier", "newton-boosting-regressor", "bagging-classifier", "ripper"),
    *("parzen-density", "k-means", "gaussian-mixture", "impute-multiple", "one-hot", "stacking-classifier", "hmm"),
)


@cache
def corpus() -> dict[str, bytes]:
    """Packages of models of many shapes, as bytes."""
    from tests.conformance.tables import numeric, quick, with_nominal
    from tests.conformance.test_sequence_claims import LENGTHS, sequences

    made = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for method in METHODS:
            entry = catalogue.get(method)
            if entry.task == "sequence":
                model = quick(entry).fit(sequences(entry), LENGTHS)
            else:
                rows, y = with_nominal(entry) if "nominal" in entry.native else numeric(entry, 40)
                few = {"n_estimators": 3} if "n_estimators" in entry.load().__parameters__ else {}
                model = quick(entry, **few).fit(pl.DataFrame(rows) if isinstance(rows, dict) else rows, y)
            made[method] = save(model, Path(folder) / "x.assay").read_bytes()
    return made


# -- cases -----------------------------------------------------------------------------------------------------------
def case(number: int, seed: int) -> tuple[str, bytes, bool]:
    """The name of a case, its bytes, and whether it must be refused."""
    rng = np.random.default_rng([seed, number])
    name = METHODS[number % len(METHODS)]
    data = corpus()[name]
    if rng.random() < 0.5:
        kind = str(rng.choice(list(BYTES)))
        return f"{name} {kind}", BYTES[kind](rng, data), True
    kind = str(rng.choice(list(FORGED)))
    return f"{name} {kind}", FORGED[kind](rng, data), kind in REFUSED


def _flip(rng: Any, data: bytes) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(0, len(data), size=int(rng.integers(1, 4))):
        changed[place] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed) if bytes(changed) != data else data[:-1]


def _cut(rng: Any, data: bytes) -> bytes:
    return data[: int(rng.integers(0, len(data)))]


def _longer(rng: Any, data: bytes) -> bytes:
    return data + rng.bytes(int(rng.integers(1, 200)))


def _overwrite(rng: Any, data: bytes) -> bytes:
    start, length = int(rng.integers(0, len(data) - 1)), int(rng.integers(1, 64))
    changed = data[:start] + rng.bytes(length) + data[start + length :]
    return changed if changed != data else data[:-1]


def _move(rng: Any, data: bytes) -> bytes:
    first, second, third = sorted(rng.integers(0, len(data), size=3).tolist())
    changed = data[:first] + data[second:third] + data[first:second] + data[third:]
    return changed if changed != data else data[:-1]


def _renamed(rng: Any, data: bytes) -> bytes:
    """A member under another name, such as one that leads out of the folder."""
    other = [b"../../../x.json", b"/etc/passwd.js", b"graph.jso\x00", b"graph.jsom"][int(rng.integers(0, 4))]
    return data.replace(b"graph.json", other[:10])


def _zip(rng: Any, data: bytes) -> bytes:
    """The same members by another program: with dates, compressed, one twice, or one more."""
    import io
    import zipfile

    out, way = io.BytesIO(), int(rng.integers(0, 4))
    members = container.unpack(data)
    packing = zipfile.ZIP_DEFLATED if way == 0 else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", packing) as archive:
        warnings.simplefilter("ignore")
        for name, part in zip(container.MEMBERS, members):
            archive.writestr(name, part)
        if way == 1:
            archive.writestr("../evil.py", "import os")
        if way == 2:
            archive.writestr("manifest.json", members[0])
        if way == 3:
            link = zipfile.ZipInfo("link")
            link.external_attr = 0xA1FF << 16
            archive.writestr(link, "/etc/passwd")
    return out.getvalue()


def _huge(rng: Any, data: bytes) -> bytes:
    """A member that says it is larger than the file."""
    changed = bytearray(data)
    struct.pack_into("<L", changed, 22, 0xFFFFFFF0)
    return bytes(changed)


BYTES = {
    "bits flipped": _flip,
    "cut short": _cut,
    "longer": _longer,
    "overwritten": _overwrite,
    "moved": _move,
    "renamed": _renamed,
    "another zip": _zip,
    "huge": _huge,
}


# -- forgeries: every checksum is right -------------------------------------------------------------------------------
def forge(manifest: Any, graph: Any, pools: Any) -> bytes:
    """A package with these contents and checksums that fit."""
    parts = [graph if isinstance(graph, bytes) else json.dumps(graph).encode()]
    parts.append(pools if isinstance(pools, bytes) else safetensors.numpy.save(pools))
    manifest = manifest | {
        "members": {
            name: {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}
            for name, part in zip(container.MEMBERS[1:], parts)
        }
    }
    parts = [json.dumps(manifest).encode(), *parts]
    heads, tail = container._around([(len(part), zlib.crc32(part)) for part in parts])
    return b"".join(piece for head, part in zip(heads, parts) for piece in (head, part)) + tail


def opened(data: bytes) -> tuple[Any, Any, dict[str, np.ndarray]]:
    """Manifest, graph and pools of a package, to be changed."""
    members = container.unpack(data)
    pools = {name: array.copy() for name, array in safetensors.numpy.load(members[2]).items()}
    return json.loads(members[0]), json.loads(members[1]), pools


def _other_class(rng: Any, data: bytes) -> bytes:
    """A class that is not on the list: of a dangerous module, misspelt, or no text at all."""
    manifest, graph, pools = opened(data)
    names = ["os.system", "subprocess.Popen", "builtins.eval", "Unknown", "trusted/os.system", "sklearn/os", 7, None]
    records = [node for node in graph["nodes"] if node["t"] == "record"]
    records[int(rng.integers(0, len(records)))]["class"] = names[int(rng.integers(0, len(names)))]
    return forge(manifest, graph, pools)


def _swapped_class(rng: Any, data: bytes) -> bytes:
    """A record under the name of another class that is on the list."""
    manifest, graph, pools = opened(data)
    records = [node for node in graph["nodes"] if node["t"] == "record"]
    names = [*METHODS, "Tree", "Forest", "ColumnSchema", "RuleSet", "Chain", "sklearn/Pipeline", "PreparedModel"]
    records[int(rng.integers(0, len(records)))]["class"] = str(rng.choice(names))
    return forge(manifest, graph, pools)


def _attribute(rng: Any, data: bytes) -> bytes:
    """An attribute that would stand before a method, or that no object may have."""
    manifest, graph, pools = opened(data)
    records = [node for node in graph["nodes"] if node["t"] == "record" and "state" in node]
    names = ["__class__", "__dict__", "predict", "_loaded", "__reduce__", "fit", "a b", "class", ""]
    records[int(rng.integers(0, len(records)))]["state"][str(rng.choice(names))] = 1
    return forge(manifest, graph, pools)


def _numbers(rng: Any, data: bytes) -> bytes:
    """Some numbers of the pools replaced by others of their type: children, columns, counts, thresholds."""
    manifest, graph, pools = opened(data)
    name = str(rng.choice(list(pools)))
    pool = pools[name]
    if pool.size:
        places = rng.integers(0, pool.size, size=int(rng.integers(1, 6)))
        if pool.dtype.kind == "f":
            pool[places] = rng.choice([np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320], size=places.size)
        else:
            limits = np.iinfo(pool.dtype)
            odd = np.array([limits.min, limits.max, limits.max - 1, 0, 1, 5, 1000 % (limits.max + 1)], dtype=pool.dtype)
            pool[places] = rng.choice(odd, size=places.size)
    return forge(manifest, graph, pools)


def _shorter(rng: Any, data: bytes) -> bytes:
    """An array with another shape, place or type."""
    manifest, graph, pools = opened(data)
    arrays = [node for node in graph["nodes"] if node["t"] in ("array", "text", "objects")]
    node = arrays[int(rng.integers(0, len(arrays)))]
    way = int(rng.integers(0, 5))
    if way == 0 and node["shape"]:
        node["shape"][-1] = int(rng.choice([0, 1, node["shape"][-1] - 1, node["shape"][-1] + 1, 2**39, -1]))
    elif way == 1 and "at" in node:
        node["at"] = int(rng.choice([0, 1, -1, 2**40, node["at"] + 1]))
    elif way == 2 and "dtype" in node:
        node["dtype"] = str(rng.choice(["int32", "int64", "float64", "float32", "bool", "uint8", "object", "O"]))
    elif way == 3:
        node["shape"] = [int(n) for n in rng.integers(0, 4, size=int(rng.integers(0, 4)))]
    else:
        node["order"] = str(rng.choice(["F", "K"]))
    return forge(manifest, graph, pools)


def _graph(rng: Any, data: bytes) -> bytes:
    """A value of the graph replaced: a reference forward or to itself, a deep or odd value, another kind of node."""
    manifest, graph, pools = opened(data)
    nodes = graph["nodes"]
    node = nodes[int(rng.integers(0, len(nodes)))]
    odd = [
        {"ref": len(nodes)},
        {"ref": -1},
        {"ref": True},
        {"ref": 0},
        [1, 2],
        {"a": 1},
        1e300,
        -1,
        "",
        "x" * 1000,
        None,
        True,
    ]
    value = odd[int(rng.integers(0, len(odd)))]
    key = str(rng.choice(list(node)))
    if key == "state":
        node["state"][str(rng.choice(list(node["state"]) or ["x"]))] = value
    elif isinstance(node[key], list) and node[key]:
        node[key][int(rng.integers(0, len(node[key])))] = value
    else:
        node[key] = value
    return forge(manifest, graph, pools)


def _dropped(rng: Any, data: bytes) -> bytes:
    """A fitted attribute that is gone."""
    manifest, graph, pools = opened(data)
    records = [node for node in graph["nodes"] if node["t"] == "record" and node.get("state")]
    state = records[int(rng.integers(0, len(records)))]["state"]
    del state[str(rng.choice(list(state)))]
    return forge(manifest, graph, pools)


def _manifest(rng: Any, data: bytes) -> bytes:
    """A manifest of another format, version or shape."""
    manifest, graph, pools = opened(data)
    changes: list[Any] = [
        {"format": "pickle"}, {"schema": 99}, {"schema": 0}, {"schema": "1"}, {"more": 1}, {"versions": []},
        {"model": 3},
    ]  # fmt: skip
    return forge(manifest | changes[int(rng.integers(0, len(changes)))], graph, pools)


def _no_json(rng: Any, data: bytes) -> bytes:
    """A graph that is no JSON, nested too deep, or no graph."""
    manifest, _, pools = opened(data)
    texts = [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"root": 1}',
        b'{"nodes": [], "root": {"ref": 0}}',
        b"\xff\xfe",
        b"NaN",
        b"cos\nsystem\n",
    ]
    return forge(manifest, texts[int(rng.integers(0, len(texts)))], pools)


def _no_tensors(rng: Any, data: bytes) -> bytes:
    """Arrays that are none, or of kinds that packages do not have."""
    manifest, graph, pools = opened(data)
    bad: list[Any] = [
        b"", b"\xff" * 40, struct.pack("<Q", 2**60) + b"{}", struct.pack("<Q", 2) + b"{}",
        {name: array[:-1] for name, array in pools.items()}, {"object": np.zeros(3)}, {"float64": np.zeros((2, 2))},
    ]  # fmt: skip
    return forge(manifest, graph, bad[int(rng.integers(0, len(bad)))])


FORGED = {
    "unknown class": _other_class,
    "swapped class": _swapped_class,
    "attribute": _attribute,
    "numbers": _numbers,
    "shape": _shorter,
    "graph": _graph,
    "dropped": _dropped,
    "manifest": _manifest,
    "no json": _no_json,
    "no tensors": _no_tensors,
}
REFUSED = {"unknown class", "attribute", "manifest", "no json"}


# -- what may come of it -----------------------------------------------------------------------------------------------
def attempt(data: bytes, refused: bool) -> str:
    """ "refused", "same model" or a finding."""
    try:
        package = from_bytes(data)
    except PackageError as error:
        return "refused" if "\n" not in str(error) else f"more than one sentence: {error}"
    except Exception as error:
        return f"finding: {type(error).__name__}: {error}"
    if refused:
        return "finding: was loaded"
    for rows in checks.candidates(package.model):
        with contextlib.suppress(Exception):
            checks.ask(package.model, rows)
    return "loaded and used"


def run(first: int, last: int, seed: int, log: Path) -> dict[str, Any]:
    """Try cases in this process, with little memory, watching for calls that no load makes."""
    corpus()
    limit = 6 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    seen: list[str] = []
    on = [False]

    def watch(event: str, _: Any) -> None:
        if on[0] and event.startswith(FORBIDDEN):
            seen.append(event)

    # Everything that is imported when first used.
    names = [*RECORDS.values(), *(f"sklearn/{name}" for names in SKLEARN.values() for name in names.split())]
    for name in [*" ".join(names).split(), *(entry.id for entry in catalogue.entries())]:
        Registry().cls(name)
    for number in range(first, min(last, first + 40)):
        attempt(case(number, seed)[1], False)
    sys.addaudithook(watch)
    counts: Counter[str] = Counter()
    findings: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, last):
            name, data, refused = case(number, seed)
            log.write_text(f"{number} {name}")
            on[0] = True
            outcome = attempt(data, refused)
            on[0] = False
            counts["packages"] += 1
            if outcome in ("refused", "loaded and used"):
                counts[outcome] += 1
            else:
                findings.append(f"{number} {name}: {outcome}")
            if seen:
                findings.append(f"{number} {name}: called {seen.pop()}")
                seen.clear()
    return {"counts": dict(counts), "findings": findings}


def run_apart(first: int, last: int, seed: int, folder: Path) -> dict[str, Any]:
    """As `run`, in a process of its own, whose death is a finding."""
    log = folder / "last.txt"
    words = [sys.executable, "-m", "tests.fuzz.packages", *map(str, (first, last, seed, log))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, env=dict(os.environ))
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    place = log.read_text() if log.exists() else "before the first case"
    return {"counts": {}, "findings": [f"{place}: the process ended with {done.returncode}: {done.stderr[-600:]}"]}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
