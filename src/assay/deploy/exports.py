"""Models for other programs: SQL, standalone Python, ONNX; each is tried on rows and refused where it says otherwise.

One call: `export(model, "model.onnx")`, and the ending says the form. SQL and Python come from the model's own
`to_sql` and `to_python` where it has them (trees, rules, ensembles), and from its coefficients where it is linear. ONNX
holds linear models, logistic regression, trees and forests on numbers, in float64 throughout. What was written is
computed again from its text on rows made from what the model knows of its columns, and must give the model's answers.
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

_TOLERANCE = 1e-9


def export(model: Any, path: str | os.PathLike[str], *, check: Any = None) -> Path:
    """Write a fitted model as `*.sql`, `*.py` or `*.onnx`.

    Parameters
    ----------
    model : a fitted method; of a `PreparedModel` the method behind the preparation cannot be taken alone
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
    ways: dict[str, Callable[[Any, Any], bytes]] = {".sql": to_sql, ".py": to_python, ".onnx": to_onnx}
    if ending not in ways:
        raise UsageError("export", f"file '{plain(path, 200)}'", "must end in .sql, .py or .onnx")
    if hasattr(model, "chain"):
        raise UsageError(
            "export",
            "a model with its preparation",
            "cannot be exported yet",
            way_out="save it as a package, or export an estimator fitted on the columns themselves",
        )
    return write_parts("export", path, [ways[ending](model, check)])


def to_sql(model: Any, check: Any = None) -> bytes:
    """The model as an expression of SQL; see the model's own `to_sql`."""
    if hasattr(model, "to_sql"):
        return model.to_sql().encode()
    weights, intercept, names = _linear(model, "SQL")
    if hasattr(model, "classes_"):
        raise _not_yet(model, "SQL")
    return (_sum(weights[0], intercept[0], [_quoted(name) for name in names], " * ") + "\n").encode()


def to_python(model: Any, check: Any = None) -> bytes:
    """The model as a function `predict` of one row, a mapping from column names to cells, that needs Python alone."""
    if hasattr(model, "to_python"):
        return model.to_python().encode()
    weights, intercept, names = _linear(model, "Python")
    cells = [f"row[{name!r}]" for name in names]
    sums = [_sum(weights[k], intercept[k], cells, " * ") for k in range(weights.shape[0])]
    lines = ["def predict(row):"]
    if not hasattr(model, "classes_"):
        lines.append(f"    return {sums[0]}")
    else:
        labels = [label.item() if isinstance(label, np.generic) else label for label in model.classes_]
        if len(sums) == 1:
            lines.append(f"    return {labels[1]!r} if {sums[0]} > 0 else {labels[0]!r}")
        else:
            lines += [f"    scores = [{', '.join(sums)}]", f"    return {labels!r}[scores.index(max(scores))]"]
    text = "\n".join(lines) + "\n"
    _try_python(model, text, names, check)
    return text.encode()


def to_onnx(model: Any, check: Any = None) -> bytes:
    """The model as ONNX on a float64 matrix `rows`; `prediction`, or `probabilities` in the order of the classes.

    The labels stand in the metadata as `classes`. The file is tried with onnxruntime before it is written.
    """
    try:
        import onnx
        import onnxruntime
    except ModuleNotFoundError as error:
        raise UsageError(
            "export", "ONNX", f"needs '{plain(error.name)}'", way_out="install it with: pip install 'assay[onnx]'"
        ) from None
    width = int(getattr(model, "n_features_in_", 0))
    categories = getattr(getattr(model, "schema_", None), "categories", None)
    if not width or (categories is not None and any(part is not None for part in categories)):
        raise UsageError(
            "export", f"a {type(model).__name__} on labels", "cannot be ONNX yet", way_out="encode them first"
        )
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    name = "probabilities" if hasattr(model, "classes_") else "prediction"
    if hasattr(model, "tree_") or hasattr(model, "forest_"):
        nodes, constants = _tree_nodes(model, helper, onnx, name)
    else:
        nodes, constants = _linear_nodes(model, helper, onnx, name)
    rows = helper.make_tensor_value_info("rows", double, [None, width])
    shape = [None, len(model.classes_)] if hasattr(model, "classes_") else [None, 1]
    out = helper.make_tensor_value_info(name, double, shape)
    graph = helper.make_graph(nodes, type(model).__name__, [rows], [out], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    made = helper.make_model(graph, opset_imports=opsets, producer_name="assay", ir_version=10)
    if hasattr(model, "classes_"):
        helper.set_model_props(made, {"classes": ", ".join(map(str, model.classes_))})
    onnx.checker.check_model(made)
    data = made.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    for table in _matrices(model, check):
        wanted = model.predict_proba(table) if hasattr(model, "classes_") else np.asarray(model.predict(table))[:, None]
        _same("ONNX", model, session.run(None, {"rows": table})[0], wanted)
    return data


# -- parts -----------------------------------------------------------------------------------------------------------
def _linear(model: Any, form: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Weights (outputs, columns), intercepts and names of a linear model of numbers."""
    weights, intercept = getattr(model, "coef_", None), getattr(model, "intercept_", 0.0)
    width = int(getattr(model, "n_features_in_", 0))
    if not isinstance(weights, np.ndarray) or not width:
        raise _not_yet(model, form)
    weights = np.atleast_2d(weights)
    if weights.shape[1] != width or (not hasattr(model, "classes_") and weights.shape[0] != 1):
        raise _not_yet(model, form)
    names = getattr(model, "feature_names_in_", None)
    listed = [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
    return weights, np.broadcast_to(np.atleast_1d(np.asarray(intercept, dtype=float)), (weights.shape[0],)), listed


def _not_yet(model: Any, form: str) -> UsageError:
    return UsageError(
        "export", f"a {type(model).__name__}", f"cannot be written as {form} yet", way_out="save a package"
    )


def _sum(weights: np.ndarray, intercept: float, cells: list[str], times: str) -> str:
    terms = [f"({float(w)!r}){times}{cell}" for w, cell in zip(weights, cells) if w]
    return " + ".join([repr(float(intercept)), *terms])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _matrices(model: Any, check: Any) -> list[np.ndarray]:
    if check is not None:
        return [np.ascontiguousarray(check, dtype=np.float64)]
    found = []
    for rows in candidates(model):
        table = as_rows(rows)
        cells = table.to_numpy() if hasattr(table, "columns") else np.asarray(table)
        if cells.ndim == 2 and cells.dtype.kind in "fiu":
            found.append(np.ascontiguousarray(cells, dtype=np.float64))
    return found[:1]


def _same(form: str, model: Any, found: Any, wanted: Any) -> None:
    found, wanted = np.asarray(found, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=_TOLERANCE, atol=_TOLERANCE * scale):
        raise UsageError(
            "export", f"a {type(model).__name__}", f"cannot be written as {form} exactly yet", way_out="save a package"
        )


def _try_python(model: Any, text: str, names: list[str], check: Any) -> None:
    """Run what was written on some rows, with nothing but builtins, and compare."""
    scope: dict[str, Any] = {}
    exec(compile(text, "<export>", "exec"), scope)
    for table in _matrices(model, check):
        said = [scope["predict"](dict(zip(names, row))) for row in table.tolist()]
        wanted = np.asarray(model.predict(table))
        if wanted.dtype.kind == "f" and not hasattr(model, "classes_"):
            _same("Python", model, said, wanted)
        elif list(map(str, said)) != list(map(str, wanted.tolist())):
            raise _not_yet(model, "Python")


def _linear_nodes(model: Any, helper: Any, onnx: Any, name: str) -> tuple[list[Any], list[Any]]:
    weights, intercept, _ = _linear(model, "ONNX")
    constants = [
        onnx.numpy_helper.from_array(np.ascontiguousarray(weights.T, dtype=np.float64), "weights"),
        onnx.numpy_helper.from_array(np.ascontiguousarray(intercept, dtype=np.float64), "intercept"),
    ]
    classes = hasattr(model, "classes_")
    nodes = [
        helper.make_node("MatMul", ["rows", "weights"], ["products"]),
        helper.make_node("Add", ["products", "intercept"], ["scores" if classes else name]),
    ]
    if classes and not hasattr(model, "predict_proba"):
        raise _not_yet(model, "ONNX")
    if classes and weights.shape[0] == 1:
        # Of two classes the first has score 0.
        constants.append(onnx.numpy_helper.from_array(np.array([[-1.0, 1.0]]), "sides"))
        constants.append(onnx.numpy_helper.from_array(np.array(0.5), "half"))
        nodes.append(helper.make_node("MatMul", ["scores", "sides"], ["signed"]))
        nodes.append(helper.make_node("Mul", ["signed", "half"], ["halved"]))
        nodes.append(helper.make_node("Softmax", ["halved"], [name], axis=1))
    elif classes:
        nodes.append(helper.make_node("Softmax", ["scores"], [name], axis=1))
    return nodes, constants


def _tree_nodes(model: Any, helper: Any, onnx: Any, name: str) -> tuple[list[Any], list[Any]]:
    """The trees as sums of the values of their leaves, divided by what makes shares or means of them."""
    trees = getattr(model, "forest_", None)
    flat = model.tree_ if trees is None else trees
    if getattr(flat, "has_multiway", False) or getattr(flat, "has_linear", False) or (flat.category_offset >= 0).any():
        raise _not_yet(model, "ONNX")
    offsets = np.array([0, flat.feature.shape[0]]) if trees is None else trees.offsets
    values = np.asarray(flat.value, dtype=np.float64)
    if hasattr(model, "classes_") and trees is None:
        values = values / values.sum(axis=1, keepdims=True)
    width = values.shape[1]
    node: dict[str, list[Any]] = {
        key: [] for key in ("feature", "split", "missing", "yes", "no", "yes_leaf", "no_leaf")
    }
    leaf_values: list[float] = []
    leaf_targets: list[int] = []
    roots: list[int] = []

    def side(child: int, first: int, numbers: dict[int, int], target: int) -> tuple[int, int]:
        """Where a branch leads: the number of a node or of a new leaf, and whether it is a leaf."""
        at = first + child
        if flat.feature[at] >= 0:
            return numbers[at], 0
        leaf_values.append(float(values[at, target]))
        leaf_targets.append(target)
        return len(leaf_values) - 1, 1

    # A leaf has one target: with several classes each tree stands there once for each of them.
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        inner = [at for at in range(first, last) if flat.feature[at] >= 0]
        for target in range(width):
            base = len(node["feature"])
            roots.append(base)
            numbers = {at: base + k for k, at in enumerate(inner)}
            for at in inner or [first]:
                alone = not inner
                left, right = (0, 0) if alone else (int(flat.children_left[at]), int(flat.children_right[at]))
                yes, yes_leaf = side(left, first, numbers, target)
                no, no_leaf = side(right, first, numbers, target)
                node["feature"].append(0 if alone else int(flat.feature[at]))
                node["split"].append(0.0 if alone else float(flat.threshold[at]))
                node["missing"].append(1 if alone else int(flat.missing_go_to_left[at]))
                for key, value in (("yes", yes), ("yes_leaf", yes_leaf), ("no", no), ("no_leaf", no_leaf)):
                    node[key].append(value)
    made = helper.make_node(
        "TreeEnsemble",
        ["rows"],
        ["sums"],
        domain="ai.onnx.ml",
        n_targets=width,
        aggregate_function=1,
        post_transform=0,
        tree_roots=roots,
        nodes_featureids=node["feature"],
        nodes_splits=onnx.numpy_helper.from_array(np.array(node["split"], dtype=np.float64), "splits"),
        nodes_modes=onnx.numpy_helper.from_array(np.zeros(len(node["split"]), dtype=np.uint8), "modes"),
        nodes_missing_value_tracks_true=node["missing"],
        nodes_truenodeids=node["yes"],
        nodes_trueleafs=node["yes_leaf"],
        nodes_falsenodeids=node["no"],
        nodes_falseleafs=node["no_leaf"],
        leaf_targetids=leaf_targets,
        leaf_weights=onnx.numpy_helper.from_array(np.array(leaf_values), "values"),
    )
    count = float(max(1, offsets.shape[0] - 1))
    constants = [onnx.numpy_helper.from_array(np.array(count), "count")]
    return [made, helper.make_node("Div", ["sums", "count"], [name])], constants
