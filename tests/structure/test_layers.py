"""The import contract: data flows one way, and imports follow it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "assay"
ORDER = ["data", "prepare", "models", "evaluate", "explain", "experiment", "report", "deploy", "cli", "studio"]
GROUND = {"base", "catalogue", "numeric", "_kernels", "_lazy"}
DATAFRAME_LIBRARIES = {"polars", "pandas", "pyarrow", "narwhals"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Absolute names of everything a module imports, relative imports resolved."""
    names: set[str] = set()
    parts = ["assay", *path.relative_to(PACKAGE).with_suffix("").parts]
    package = parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names} | {module}
    return names


def layer_of(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "assay" and len(parts) > 1 else None


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_stands_to_its_left(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        pytest.skip("the package itself names its parts lazily")
    layers = {layer_of(name) for name in imported(path)} - {None, own, "__version__"}
    if own in ORDER:
        allowed = GROUND | set(ORDER[: ORDER.index(own)])
    elif own == "catalogue":
        allowed = {"base", "_lazy"}
    elif own == "numeric":
        allowed = {"base", "_kernels", "_lazy"}
    else:
        allowed = {"_kernels", "_lazy"}
    assert layers <= allowed, f"{path.name} reaches {sorted(layers - allowed)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_data_and_prepare_touch_a_dataframe_library(path):
    own = path.relative_to(PACKAGE).parts[0]
    libraries = {name.split(".")[0] for name in imported(path)} & DATAFRAME_LIBRARIES
    assert not libraries or own in ("data", "prepare"), f"{own} imports {libraries}"


def test_kernels_know_no_python():
    root = PACKAGE.parents[1] / "cpp"
    for path in [*root.rglob("*.hpp"), *root.rglob("*.cpp")]:
        text = path.read_text()
        assert "nanobind" not in text and "Python.h" not in text, path


def test_import_of_the_package_is_lean():
    heavy = [
        "torch",
        "dask",
        "optuna",
        "matplotlib",
        "sklearn",
        "scipy",
        "numpy",
        "polars",
        "pandas",
        "rich",
        "click",
        "jinja2",
    ]
    code = f"import assay, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_catalogue_loads_no_learner():
    code = (
        "import assay, sys; assay.catalogue.entries(); "
        "print([m for m in ('numpy', 'sklearn', 'assay.models') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "package", ["assay", "assay.base", "assay.evaluate", "assay.data", "assay.prepare", "assay.explain"]
)
def test_every_lazy_name_exists_and_checkers_see_it(package):
    module = importlib.import_module(package)
    for name in dir(module):
        assert getattr(module, name) is not None
    text = Path(module.__file__).read_text()
    if "if TYPE_CHECKING:" in text:
        seen = set(re.findall(r"import \w+ as (\w+)$", text, re.MULTILINE))
        assert {name for name in dir(module) if not name.startswith("_")} <= seen


def families_of(path: Path) -> set[tuple[str, str]]:
    """The families of models that a module imports from, with what it takes."""
    own = path.relative_to(PACKAGE).parts[1]
    parts = [name.split(".") for name in imported(path) if name.startswith("assay.models.")]
    return {(name[2], ".".join(name[3:])) for name in parts if len(name) > 2 and name[2] != own}


FAMILY_MODULES = [
    path for path in MODULES if path.relative_to(PACKAGE).parts[0] == "models" and path.parent.name != "models"
]


def test_families_of_models_import_each_other_in_one_direction():
    graph: dict[str, set[str]] = {}
    for path in FAMILY_MODULES:
        graph.setdefault(path.parent.name, set()).update(family for family, _ in families_of(path))
    waiting = dict(graph)
    while waiting:
        free = [family for family, needs in waiting.items() if not needs & set(waiting)]
        assert free, f"a circle of families: {sorted(waiting)}"
        for family in free:
            del waiting[family]


@pytest.mark.parametrize("path", FAMILY_MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_family_imports_what_is_private_to_another(path):
    private = {
        f"{family}.{name}" for family, name in families_of(path) if any(p.startswith("_") for p in name.split("."))
    }
    assert not private, private


def owner_of(parts: list[str]) -> list[str]:
    """The room of a module, with the family where it is one of models."""
    return parts[1:3] if parts[1] == "models" else parts[1:2]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_room_imports_what_is_private_to_another(path):
    own = owner_of(["assay", *path.relative_to(PACKAGE).with_suffix("").parts])
    names = [name.split(".") for name in imported(path) if name.startswith("assay.")]
    private = {
        ".".join(name)
        for name in names
        if name[1] not in ("_kernels", "_lazy")
        and owner_of(name) != own
        and any(part.startswith("_") and not part.endswith("__") for part in name[1:])
    }
    assert not private, private
