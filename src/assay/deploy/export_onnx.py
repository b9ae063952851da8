"""A form as an ONNX graph in float64: matrices of numbers in, `prediction` or `probabilities` out.

A model of numbers alone takes one matrix, `rows`. One with labels, or with its preparation, takes a column of cells for
each of its columns by name: float64, where NaN is missing, or text, where "" is. What labels become is looked up in
tables by their place, place 0 being a label that is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .export_forms import (
    Among,
    Bayes,
    Form,
    Kernels,
    Label,
    Linear,
    Missing,
    Net,
    Normal,
    Number,
    Recipe,
    Source,
    Trees,
    outputs_of,
    refusal,
    trees_in,
)


class Graph:
    """Nodes and constants as they come; every method gives the name of what it computes."""

    def __init__(self, onnx: Any):
        self.onnx, self.helper = onnx, onnx.helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._raw: dict[str, str] = {}

    def node(self, kind: str, *inputs: str, out: str = "", **options: Any) -> str:
        """One operation."""
        name = out or f"t{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **options))
        return name

    def constant(self, value: Any) -> str:
        """An array."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def matrix(self, width: int) -> str:
        """The input of a model of numbers."""
        self.inputs.append(self.helper.make_tensor_value_info("rows", self.onnx.TensorProto.DOUBLE, [None, width]))
        return "rows"

    def raw(self, column: str, text: bool) -> str:
        """A column of cells as input."""
        if column not in self._raw:
            kind = self.onnx.TensorProto.STRING if text else self.onnx.TensorProto.DOUBLE
            self.inputs.append(self.helper.make_tensor_value_info(column, kind, [None, 1]))
            self._raw[column] = column
        return self._raw[column]

    def joined(self, columns: Sequence[str]) -> str:
        """Columns side by side."""
        return columns[0] if len(columns) == 1 else self.node("Concat", *columns, axis=1)

    def column(self, matrix: str, j: int) -> str:
        """One column of a matrix, kept two-dimensional."""
        return self.node("Gather", matrix, self.constant(np.array([j])), axis=1)

    def places(self, column: str, labels: Sequence[Any], text: bool) -> str:
        """Places of labels from 1 on, 0 for what is unknown: a vector of int64."""
        cells = self.raw(column, text)
        if text:
            found = self.node(
                "LabelEncoder",
                cells,
                domain="ai.onnx.ml",
                keys_strings=[str(label) for label in labels] or [""],
                values_int64s=list(range(1, len(labels) + 1)) or [0],
                default_int64=0,
            )
        else:
            values = np.array([[float(label) for label in labels]])
            same = self.node("Cast", self.node("Equal", cells, self.constant(values)), to=self.onnx.TensorProto.INT64)
            order = self.constant(np.arange(1, len(labels) + 1)[:, None])
            found = self.node("MatMul", same, order)
        return self.node("Reshape", found, self.constant(np.array([-1])))

    def looked_up(self, places: str, table: np.ndarray) -> str:
        """Rows of a table by place."""
        return self.node("Gather", self.constant(np.ascontiguousarray(table, dtype=np.float64)), places, axis=0)

    def product(self, units: str, weights: np.ndarray) -> str:
        """Rows times the transpose of a matrix of weights."""
        # A factor before a product of matrices would be moved into it by onnxruntime, in float32.
        kind = "Mul" if weights.shape[1] == 1 else "MatMul"
        return self.node(kind, units, self.constant(np.ascontiguousarray(weights.T)))

    def missing(self, cells: str) -> str:
        """1 where a number is missing, else 0."""
        return self.node("Cast", self.node("IsNaN", cells), to=self.onnx.TensorProto.DOUBLE)


class Seen:
    """The columns that a model sees: numbers as columns of float64, labels as places."""

    def __init__(self, graph: Graph, form: Form):
        self.graph, self.form = graph, form
        self._numbers: dict[int, str] = {}
        self._places: dict[int, str] = {}
        self._matrix: str | None = None

    @classmethod
    def bare(cls, graph: Graph, form: Form) -> Seen:
        """The columns as they come in."""
        seen = cls(graph, form)
        if not form.categories:
            seen._matrix = graph.matrix(len(form.names))
            return seen
        for j, name in enumerate(form.names):
            if j in form.categories:
                known = form.categories[j]
                seen._places[j] = graph.places(name, known, any(isinstance(label, str) for label in known))
            else:
                seen._numbers[j] = graph.raw(name, text=False)
        return seen

    @classmethod
    def prepared(cls, graph: Graph, form: Form, recipes: Sequence[Recipe], kinds: Mapping[str, str]) -> Seen:
        """The columns as the preparation makes them."""
        seen = cls(graph, form)
        for j, recipe in enumerate(recipes):
            if isinstance(recipe, Label):
                seen._places[j] = _label(graph, recipe, form.categories.get(j, []), kinds)
            else:
                seen._numbers[j] = _number(graph, recipe, kinds)
        return seen

    def number(self, j: int) -> str:
        """A column of numbers."""
        if j not in self._numbers:
            assert self._matrix is not None
            self._numbers[j] = self.graph.column(self._matrix, j)
        return self._numbers[j]

    def places(self, j: int) -> str:
        """The places of a column of labels."""
        return self._places[j]

    def matrix(self, columns: Sequence[int] | None = None) -> str:
        """Columns of numbers as a matrix."""
        if columns is None and self._matrix is not None:
            return self._matrix
        return self.graph.joined(
            [self.number(j) for j in (range(len(self.form.names)) if columns is None else columns)]
        )


def onnx_of(
    onnx: Any, title: str, form: Form, recipes: Sequence[Recipe] | None = None, kinds: Mapping[str, str] | None = None
) -> bytes:
    """The model as the bytes of an ONNX file."""
    graph = Graph(onnx)
    seen = Seen.bare(graph, form) if recipes is None else Seen.prepared(graph, form, recipes, kinds or {})
    ways = {Linear: _linear, Trees: _trees, Net: _net, Bayes: _bayes, Normal: _normal, Kernels: _kernels}
    if type(form) not in ways or (form.classes is not None and not form.probabilities):
        raise refusal(f"a {title}", "ONNX")
    scores = ways[type(form)](graph, seen, form)
    name = "prediction" if form.classes is None else "probabilities"
    _linked(graph, form, scores, name)
    double = onnx.TensorProto.DOUBLE
    out = graph.helper.make_tensor_value_info(name, double, [None, 1 if form.classes is None else len(form.classes)])
    made = graph.helper.make_graph(graph.nodes, title, graph.inputs, [out], graph.constants)
    opsets = [graph.helper.make_opsetid("", 21), graph.helper.make_opsetid("ai.onnx.ml", 5)]
    model = graph.helper.make_model(made, opset_imports=opsets, producer_name="assay", ir_version=10)
    if form.classes is not None:
        graph.helper.set_model_props(model, {"classes": ", ".join(map(str, form.classes))})
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _linked(graph: Graph, form: Form, scores: str, name: str) -> None:
    if isinstance(form, Net) and form.classes is None:
        raised = graph.node("Exp", scores) if form.link == "exp" else scores
        raised = graph.node("Mul", raised, graph.constant(np.array(form.scale)))
        graph.node("Add", raised, graph.constant(np.array(form.center)), out=name)
    elif form.link == "exp":
        graph.node("Exp", scores, out=name)
    elif form.link == "softmax":
        graph.node("Softmax", scores, out=name, axis=1)
    elif form.link == "rest":
        shares = graph.node("Sigmoid", scores)
        total = graph.node("ReduceSum", shares, graph.constant(np.array([1])), keepdims=1)
        graph.node("Div", shares, total, out=name)
    elif form.link == "logistic":
        # Of two classes the first has score 0.
        halves = graph.node("Mul", scores, graph.constant(np.array([[-0.5, 0.5]])))
        graph.node("Softmax", halves, out=name, axis=1)
    elif form.link == "shares" and form.classes is not None and len(form.classes) == 2:
        both = graph.node("Mul", scores, graph.constant(np.array([[-1.0, 1.0]])))
        graph.node("Add", both, graph.constant(np.array([[1.0, 0.0]])), out=name)
    else:
        graph.node("Identity", scores, out=name)


def _linear(graph: Graph, seen: Seen, form: Any) -> str:
    products = graph.product(seen.matrix(), form.weights)
    return graph.node("Add", products, graph.constant(np.array(form.intercept)))


def _net(graph: Graph, seen: Seen, form: Any) -> str:
    units = seen.matrix()
    kinds = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}
    for number, (weights, biases) in enumerate(form.layers):
        if number and form.activation in kinds:
            units = graph.node(kinds[form.activation], units)
        units = graph.product(units, weights)
        units = graph.node("Add", units, graph.constant(biases))
    return units


def _normal(graph: Graph, seen: Seen, form: Any) -> str:
    scores, along = [], graph.constant(np.array([1]))
    for constant, mean, factor in zip(form.constants, form.means, form.factors):
        gaps = graph.node("Sub", seen.matrix(), graph.constant(mean[None, :]))
        white = graph.product(gaps, factor.T if factor.ndim == 2 else np.diag(factor))
        half = graph.node("Mul", graph.node("Mul", white, white), graph.constant(np.array(0.5)))
        total = graph.node("ReduceSum", half, along, keepdims=1)
        scores.append(graph.node("Sub", graph.constant(np.array([[constant]])), total))
    return graph.joined(scores)


def _kernels(graph: Graph, seen: Seen, form: Any) -> str:
    rows = seen.matrix()
    if form.kernel in ("gaussian", "laplacian"):
        # Gaps to every vector: the square of a sum would lose digits where both are near each other.
        gaps = graph.node("Unsqueeze", rows, graph.constant(np.array([1])))
        gaps = graph.node("Sub", gaps, graph.constant(form.vectors[None, :, :]))
        sizes = graph.node("Abs", gaps) if form.kernel == "laplacian" else graph.node("Mul", gaps, gaps)
        total = graph.node("ReduceSum", sizes, graph.constant(np.array([2])), keepdims=0)
        values = graph.node("Exp", graph.node("Mul", total, graph.constant(np.array(-form.gamma))))
    else:
        products = graph.product(rows, form.gamma * form.vectors)
        products = graph.node("Add", products, graph.constant(np.array(form.constant)))
        if form.kernel == "sigmoid":
            values = graph.node("Tanh", products)
        else:
            values = graph.node("Pow", products, graph.constant(np.array(float(form.degree))))
    sums = graph.product(values, form.coefficients)
    return graph.node("Add", sums, graph.constant(np.array(form.intercept)[None, :]))


def _bayes(graph: Graph, seen: Seen, form: Any) -> str:
    terms = [graph.constant(form.priors[None, :])]
    zero = graph.constant(np.array(0.0))

    def known(cells: str, adds: str) -> str:
        return graph.node("Where", graph.node("IsNaN", cells), zero, adds)

    for j, mean, half, constant in form.gaussian:
        gap = graph.node("Sub", seen.number(j), graph.constant(mean[None, :]))
        loss = graph.node("Mul", graph.node("Mul", gap, gap), graph.constant(half[None, :]))
        terms.append(known(seen.number(j), graph.node("Sub", graph.constant(constant[None, :]), loss)))
    for j, slope in form.counted:
        terms.append(known(seen.number(j), graph.node("Mul", seen.number(j), graph.constant(slope[None, :]))))
    for j, table in form.marks:
        above = graph.node("Greater", seen.number(j), zero)
        low, high = (graph.constant(np.ascontiguousarray(side[None, :])) for side in table.T)
        terms.append(known(seen.number(j), graph.node("Where", above, high, low)))
    for j, table in form.tables:
        terms.append(graph.looked_up(seen.places(j), np.vstack([np.zeros(table.shape[0]), table.T])))
    total = terms[0]
    for term in terms[1:]:
        total = graph.node("Add", total, term)
    return total


def _trees(graph: Graph, seen: Seen, form: Any) -> str:
    """The trees as sums of the values of their leaves; a test on a set of labels is one on a column that says so."""
    trees = trees_in(form)
    sets = list(dict.fromkeys((n[0], n[1]) for tree in trees for n in tree if len(n) > 1 and isinstance(n[1], tuple)))
    numbers = [j for j in range(len(form.names)) if j not in form.categories]
    place = {j: k for k, j in enumerate(numbers)}
    columns = [seen.matrix(numbers)] if numbers else []
    test_of: dict[Any, int] = {}
    for j in dict.fromkeys(column for column, _ in sets):
        own = [kept for column, kept in sets if column == j]
        # 0 goes left, 1 right; an unknown label goes as a missing cell does.
        table = np.ones((len(form.categories[j]) + 1, len(own)))
        table[0] = np.nan
        for k, kept in enumerate(own):
            table[[c + 1 for c in kept], k] = 0.0
            test_of[(j, kept)] = len(numbers) + sum(1 for key in test_of)
        columns.append(graph.looked_up(seen.places(j), table))
    if not columns:  # a tree without a test still needs rows to say something of
        columns = [graph.node("Cast", graph.node("Reshape", seen.places(0), graph.constant(np.array([-1, 1]))), to=11)]
    cells = graph.joined(columns)
    node: dict[str, list[Any]] = {
        key: [] for key in ("feature", "split", "missing", "yes", "no", "yes_leaf", "no_leaf")
    }
    leaves: list[float] = []
    targets: list[int] = []
    roots: list[int] = []

    def side(nodes: list[Any], at: int, places: dict[int, int], value: int, output: int) -> tuple[int, int]:
        """Where a branch leads: the number of a node or of a new leaf, and whether it is a leaf."""
        if len(nodes[at]) > 1:
            return places[at], 0
        leaves.append(float(nodes[at][0][value]) * float(form.trees.scale))
        targets.append(output)
        return len(leaves) - 1, 1

    # A leaf has one target: with several outputs each tree stands there once for each of them.
    for number, nodes in enumerate(trees):
        inner = [at for at, one in enumerate(nodes) if len(one) > 1]
        for value, output in enumerate(outputs_of(form, number)):
            base = len(node["feature"])
            roots.append(base)
            places = {at: base + k for k, at in enumerate(inner)}
            for at in inner or [0]:
                column, test, missing, left, right = nodes[at] if inner else (0, 0.0, True, 0, 0)
                nominal = isinstance(test, tuple)
                at_column = test_of[(column, test)] if nominal else place.get(column, 0)
                yes, yes_leaf = side(nodes, left, places, value, output)
                no, no_leaf = side(nodes, right, places, value, output)
                parts = (at_column, 0.5 if nominal else float(test), int(missing), yes, no, yes_leaf, no_leaf)
                for key, part in zip(node, parts):
                    node[key].append(part)
    array = graph.onnx.numpy_helper.from_array
    sums = graph.node(
        "TreeEnsemble",
        cells,
        domain="ai.onnx.ml",
        n_targets=form.trees.outputs,
        aggregate_function=1,
        post_transform=0,
        tree_roots=roots,
        nodes_featureids=node["feature"],
        nodes_splits=array(np.array(node["split"], dtype=np.float64), "splits"),
        nodes_modes=array(np.zeros(len(node["split"]), dtype=np.uint8), "modes"),
        nodes_missing_value_tracks_true=node["missing"],
        nodes_truenodeids=node["yes"],
        nodes_trueleafs=node["yes_leaf"],
        nodes_falsenodeids=node["no"],
        nodes_falseleafs=node["no_leaf"],
        leaf_targetids=targets,
        leaf_weights=array(np.array(leaves), "values"),
    )
    return graph.node("Add", sums, graph.constant(np.asarray(form.trees.base, dtype=np.float64)[None, :]))


# -- preparation -----------------------------------------------------------------------------------------------------
def _source(graph: Graph, source: Source, kinds: Mapping[str, str]) -> str:
    text = kinds.get(source.column) != "number"
    if source.order is None and not text:
        return graph.raw(source.column, text=False)
    labels = ("false", "true") if source.order is None else source.order
    table = np.array([[np.nan], *([float(k)] for k in range(len(labels)))])
    return graph.looked_up(graph.places(source.column, labels, text), table)


def _number(graph: Graph, recipe: Recipe, kinds: Mapping[str, str]) -> str:
    if isinstance(recipe, Among):
        text = kinds.get(recipe.column) != "number"
        if recipe.missing:
            if not text:
                return graph.missing(graph.raw(recipe.column, text=False))
            table = np.array([[0.0], [1.0]])
            return graph.looked_up(graph.places(recipe.column, [""], text=True), table)
        table = np.ones((len(recipe.labels) + 1, 1))
        table[0] = 0.0
        return graph.looked_up(graph.places(recipe.column, recipe.labels, text), table)
    assert isinstance(recipe, (Number, Missing))
    cells = _source(graph, recipe.source, kinds)
    if isinstance(recipe, Missing):
        return graph.missing(cells)
    if recipe.fill is not None:
        cells = graph.node("Where", graph.node("IsNaN", cells), graph.constant(np.array(recipe.fill)), cells)
    if recipe.mean != 0.0 or recipe.factor != 1.0:
        centred = graph.node("Sub", cells, graph.constant(np.array(recipe.mean)))
        cells = graph.node("Mul", centred, graph.constant(np.array(recipe.factor)))
    return cells


def _label(graph: Graph, recipe: Label, known: Sequence[Any], kinds: Mapping[str, str]) -> str:
    text = kinds.get(recipe.column) != "number"
    labels = [str(label) for label in known]
    if not text:
        return graph.places(recipe.column, labels, text=False)
    # A missing cell stands where its label stands.
    return graph.places(recipe.column, ["" if label == recipe.fill else label for label in labels], text=True)
