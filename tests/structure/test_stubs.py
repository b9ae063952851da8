"""The stub file of the kernels says what the compiled module has, no more and no less."""

from __future__ import annotations

import ast
from pathlib import Path

from assay import _kernels

STUB = Path(__file__).parents[2] / "src" / "assay" / "_kernels.pyi"


def test_stub_names_equal_module_names():
    tree = ast.parse(STUB.read_text())
    stubbed = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    compiled = {name for name in dir(_kernels) if not name.startswith("_")}
    assert stubbed == compiled, "run `make stubs`"


def test_stub_arguments_equal_the_signatures_of_the_module():
    for node in ast.parse(STUB.read_text()).body:
        if not isinstance(node, ast.FunctionDef) or any(
            isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list
        ):
            continue
        signature = getattr(_kernels, node.name).__nb_signature__[0][0]
        documented = ast.parse(f"{signature.replace(chr(92), 'NB')}: ...").body[0] if "\\" not in signature else None
        if isinstance(documented, ast.FunctionDef):
            assert [a.arg for a in documented.args.args] == [a.arg for a in node.args.args], node.name
        assert f"def {node.name}(" in signature


def test_every_kernel_has_a_docstring():
    for name in dir(_kernels):
        if not name.startswith("_"):
            assert getattr(_kernels, name).__doc__, name
