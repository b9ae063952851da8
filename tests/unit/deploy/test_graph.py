"""The graph: every kind of plain value comes back as it was; nothing else goes in or comes out."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest
from scipy import sparse

from assay.base import AssayWarning, PackageError
from assay.deploy.graph import decode, encode
from assay.deploy.registry import Registry


def through(value):
    """A value after the way into a package and back."""
    return decode(*encode(value, Registry()), Registry())


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -7, 2**200, -(2**64), 1.5, -0.0, 1e-320, "", "ä\u2028", math.inf, -math.inf,
        [1, [2, []]], (1, (2,)), {1: "a", "b": None, (1, 2): 3}, {1, 2}, frozenset({"x"}), b"\x00\xff",
        slice(1, None, 2), range(3, 9, 2), datetime.datetime(2024, 1, 2, 3, 4, 5, 6), datetime.date(2024, 1, 2),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_come_back(value):
    found = through(value)
    assert found == value and type(found) is type(value)
    assert math.copysign(1, found) == math.copysign(1, value) if isinstance(value, float) else True


def test_nan_comes_back():
    assert math.isnan(through({"a": math.nan})["a"])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4), (2, 1, 3)])
def test_arrays_come_back_bit_for_bit_and_can_be_written(dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
    for form in (array, np.asfortranarray(array)):
        found = through(form)
        assert found.dtype == form.dtype and found.shape == form.shape and found.tobytes("A") == form.tobytes("A")
        assert found.flags.f_contiguous == form.flags.f_contiguous
        found[...] = 0


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a", "grün", ""]), np.array([["x"], ["yy"]]), np.array(["", ""]), np.array([], dtype="U5"),
        np.array(["2024-01-01", "NaT"], dtype="M8[D]"), np.array([3, 4], dtype="m8[ms]"),
        np.array(["a", None, 1.5], dtype=object), np.array([["a"], ["b"]], dtype=object),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_of_texts_times_and_objects_come_back(array):
    found = through(array)
    assert found.shape == array.shape and found.dtype.kind == array.dtype.kind and found.tolist() == array.tolist()


@pytest.mark.parametrize("value", [np.float64(1.5), np.int32(-3), np.str_("x"), np.bool_(True), np.float64("nan")])
def test_numpy_scalars_keep_their_type(value):
    found = through(value)
    assert type(found) is type(value) and (found == value or found != found)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array])
def test_sparse_matrices_come_back(make):
    matrix = make(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]]))
    found = through(matrix)
    assert type(found) is type(matrix) and (found.toarray() == matrix.toarray()).all()


def test_one_object_in_two_places_is_kept_once():
    array = np.arange(1000.0)
    graph, pools = encode({"a": array, "b": [array, array]}, Registry())
    assert pools["float64"].shape == (1000,)
    found = decode(graph, pools, Registry())
    assert found["a"] is found["b"][0] is found["b"][1]


ODD = {
    "builtin": max, "function": lambda x: x, "object": object(), "module": np.random, "class": type, "complex": 1j,
    "complex array": np.array([1j]),
}  # fmt: skip


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_what_is_no_plain_data_is_refused_by_its_place(value):
    with pytest.raises(PackageError, match=r"the model\['a'\]"):
        encode({"a": value}, Registry())


def test_what_refers_to_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(PackageError, match="refers to itself"):
        encode(loop, Registry())


def test_a_generator_of_random_numbers_becomes_none_with_a_warning():
    with pytest.warns(AssayWarning, match="W601"):
        assert through([np.random.default_rng(0)]) == [None]


@pytest.mark.parametrize(
    "node",
    [
        {"t": "list", "items": [{"ref": 0}]}, {"t": "list", "items": [{"ref": -1}]}, {"t": "list", "items": 3},
        {"t": "list", "items": [[1]]}, {"t": "record", "class": "os.system", "state": {}}, {"t": "exec"}, {}, [], 7,
        {"t": "record", "class": "ridge", "state": {"__class__": 1}},
        {"t": "record", "class": "ridge", "state": {"predict": 1}},
        {"t": "record", "class": "ridge", "state": {"alpha": -1}},
        {"t": "record", "class": "Role", "state": {"role": "numeric"}},
        {"t": "record", "class": "ridge"}, {"t": "record", "class": ["ridge"], "state": {}},
        {"t": "array", "dtype": "float64", "shape": [2], "at": 0},
        {"t": "array", "dtype": "object", "shape": [], "at": 0},
        {"t": "array", "dtype": "float64", "shape": [-1], "at": 0}, {"t": "float", "text": "1e999"},
        {"t": "int", "digits": "9" * 5000}, {"t": "entry", "id": "os"},
        {"t": "text", "shape": [1], "width": -1, "at": 0},
        {"t": "scalar", "array": 1}, {"t": "datetime", "text": "x"}, {"t": "dict", "items": [[1, 2], [1, 3]]},
        {"t": "bytes", "array": "x"}, {"t": "slice", "items": [1, 2]}, {"t": "sparse"},
        {"t": "list", "items": [], "x": 1},
    ],
    ids=str,
)  # fmt: skip
def test_nodes_that_are_none_are_refused_with_a_sentence(node):
    with pytest.raises(PackageError) as caught:
        decode({"root": 1, "nodes": [node]}, {}, Registry())
    assert "\n" not in str(caught.value)


def test_values_outside_their_type_are_refused():
    pools = {"uint8": np.array([2], dtype=np.uint8), "uint32": np.array([0xD800], dtype=np.uint32)}
    for node in (
        {"t": "array", "dtype": "bool", "shape": [1], "at": 0},
        {"t": "text", "shape": [1], "width": 1, "at": 0},
    ):
        with pytest.raises(PackageError):
            decode({"root": 1, "nodes": [node]}, pools, Registry())


def test_depth_is_limited_both_ways():
    deep: list = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(PackageError, match="deeper"):
        encode(deep, Registry())
    nodes = [{"t": "list", "items": [{"ref": k - 1}] if k else []} for k in range(300)]
    with pytest.raises(PackageError, match="deeper"):
        decode({"root": {"ref": 299}, "nodes": nodes}, {}, Registry())
