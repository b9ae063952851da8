"""The stub file of the kernels says what the compiled module has, no more and no less."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from assay import _kernels

STUB = Path(__file__).parents[2] / "src" / "assay" / "_kernels.pyi"


def test_stub_names_equal_module_names():
    tree = ast.parse(STUB.read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    compiled = {name for name in dir(_kernels) if not name.startswith("_")}
    assert stubbed == compiled, "run `make stubs`"


def _argument_names(signature: str) -> list[str]:
    """Names before a colon at the top level of the parentheses; array types in nanobind's text are not Python."""
    inside, depth, names = signature[signature.index("(") + 1 :], 0, []
    for position, letter in enumerate(inside):
        if letter == ":" and depth == 0:
            names.append(re.findall(r"\w+$", inside[:position])[0])
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            break
    return names


def test_stub_arguments_equal_the_signatures_of_the_module():
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            signature = getattr(_kernels, node.name).__nb_signature__[0][0]
            assert signature.startswith(f"def {node.name}(")
            assert _argument_names(signature) == [argument.arg for argument in node.args.args], "run `make stubs`"


def test_every_kernel_has_a_docstring():
    for name in dir(_kernels):
        if not name.startswith("_"):
            assert getattr(_kernels, name).__doc__, name
