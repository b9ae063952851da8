"""The house: where files lie, how long they are, and that each has its twin."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from assay import catalogue

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "assay").rglob("*.py"))
KERNELS = sorted((ROOT / "cpp" / "src").rglob("*.cpp"))


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "pyproject.toml",
        "CMakeLists.txt",
        ".ci/run",
        "constraints.txt",
        "constraints-lowest.txt",
        "docs/design/architecture.md",
        "docs/design/decisions.md",
        "docs/design/errata.md",
    ],
)
def test_the_house_has_its_rooms(name):
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench", "docs"])
def test_make_has_its_targets(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_lowest_constraints_are_the_lower_bounds_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    bounds = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    bounds += [one for extra in ("plots", "balance", "excel", "sql", "test") for one in extras[extra]]
    pins = (ROOT / "constraints-lowest.txt").read_text().split()
    assert set(pins) == {bound.replace(">=", "==") for bound in bounds}
    assert len(pins) == len({pin.partition("==")[0] for pin in pins}), "one bound for one package"


def test_ci_calls_the_test_command_of_the_readme():
    assert "make test" in (ROOT / ".ci/run").read_text() and "make test" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "path", [*SOURCES, *KERNELS, *sorted((ROOT / "cpp/include").rglob("*.hpp"))], ids=lambda p: p.name
)
def test_no_file_is_longer_than_800_lines(path):
    assert len(path.read_text().splitlines()) <= 800


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src/assay")))
def test_fit_reads_in_one_sitting_and_public_things_are_documented(path):
    tree = ast.parse(path.read_text())
    assert path.name == "__init__.py" or ast.get_docstring(tree), "module docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("fit", "fit_folds", "predict", "partial_fit"):
            assert (node.end_lineno or 0) - node.lineno < 80, node.name
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.name)
def test_each_kernel_family_has_headers_and_a_cpp_test(path):
    family = path.parent.name
    assert (ROOT / "cpp/include/assay" / family).is_dir()
    tests = " ".join(p.read_text() for p in (ROOT / "cpp/tests").glob("*.cpp"))
    assert f'"assay/{family}/' in tests, f"no C++ test includes the {family} family"


@pytest.mark.parametrize("path", sorted((ROOT / "cpp/include").rglob("*.hpp")), ids=lambda p: p.name)
def test_each_kernel_header_opens_with_its_mathematics(path):
    assert path.read_text().lstrip().startswith("//")


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda e: e.id)
def test_one_stem_names_class_file_test_and_page(entry):
    module = entry.load().__module__
    file = ROOT / "src" / (module.replace(".", "/") + ".py")
    assert file.is_file()
    tests = ROOT / "tests/unit" / Path(*module.split(".")[1:-1]) / f"test_{file.stem}.py"
    assert tests.is_file(), f"{tests} is missing"
    assert (ROOT / f"docs/methods/{entry.id}.md").is_file(), "run `make docs`"


def test_unit_tests_mirror_the_sources():
    for path in sorted((ROOT / "tests/unit").rglob("test_*.py")):
        folder = ROOT / "src/assay" / path.parent.relative_to(ROOT / "tests/unit")
        assert folder.is_dir(), f"{path} stands where no package is"


def test_project_text_speaks_of_assay_alone():
    words = re.compile(r"\b(subagent|claude|anthropic|chatgpt|openai|copilot)\b|/work/", re.IGNORECASE)
    skip = {".venv", "build", ".git", "__pycache__"}
    kinds = (".py", ".md", ".toml", ".cpp", ".hpp", ".j2")
    for path in ROOT.rglob("*"):
        if path.suffix in kinds and not skip & set(path.parts) and path != Path(__file__):
            assert not words.search(path.read_text()), path


def test_every_claim_of_every_task_has_its_file_of_checks():
    named = {claim for task in catalogue.TASKS.values() for claim in task.claims}
    files = {
        path.stem[len("test_") : -len("_claims")] for path in (ROOT / "tests/conformance").glob("test_*_claims.py")
    }
    assert named == files
    assert all(task.claims for task in catalogue.TASKS.values())


def test_every_folder_is_named_in_the_architecture():
    text = (ROOT / "docs/design/architecture.md").read_text()
    skip = {"__pycache__", "build", "entries"}
    roots = ["src/assay", "cpp", "tests", "docs", "benchmarks"]
    folders = [
        path
        for root in roots
        for path in sorted((ROOT / root).iterdir())
        if path.is_dir() and not path.name.startswith((".", "__")) and path.name not in skip
    ]
    folders += [path for path in sorted((ROOT / "src/assay/models").iterdir()) if path.is_dir() and path.name[0] != "_"]
    missing = [
        str(path.relative_to(ROOT)) for path in folders if not re.search(rf"[`/]{re.escape(path.name)}[`/]", text)
    ]
    assert not missing, f"docs/design/architecture.md does not name {', '.join(missing)}"


@pytest.mark.parametrize("room", ["numeric", "explain", "experiment"])
def test_every_file_of_a_room_that_is_listed_by_file_is_named(room):
    text = (ROOT / "docs/design/architecture.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith(f"| `src/assay/{room}/`"))
    named = set(re.findall(r"`(\w+)`", line))
    files = {path.stem for path in (ROOT / "src/assay" / room).glob("*.py")} - {"__init__"}
    assert files <= named, files - named


def test_files_named_in_the_guide_for_contributors_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = text[text.index("## How to add a method") : text.index("## Habits")]
    for name in re.findall(r"`((?:src|cpp|bindings|tests|benchmarks|docs)/[^`]*)`", steps):
        folder = name.split("<")[0].rpartition("/")[0]
        assert (ROOT / folder).is_dir(), name


def test_tasks_are_asked_of_their_record_and_not_by_name():
    asked = re.compile(r"""\btask\s*(==|!=|not in|in)\s*\(?["'](classify|regress)""")
    found = [
        path.name
        for path in SOURCES
        if path.parent.name not in ("catalogue", "entries") and asked.search(path.read_text())
    ]
    assert found in ([], ["losses.py"]), f"{found} compare a task with a name; ask `catalogue.TASKS[name]`"


def test_make_fuzz_can_try_more_of_every_property():
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"max_examples=\d", line)
    ]
    assert not bare, f"write max_examples=examples(n), with examples of tests.helpers: {bare}"


@pytest.mark.parametrize(
    ("written", "home"),
    [
        (r"\bos\.(replace|rename)\(", "base/files.py"),
        (r"^def jsonable\(", "base/record.py"),
        (r'feature_names_in_", (None\)\n.*f"x\{j\}" for|\[f"x)', "base/columns.py"),
        (r"f.x\{\w+\}. if names is None", "base/columns.py"),
        (r"\.item\(\) if (isinstance\(\w+, np\.generic|hasattr\()", "base/columns.py"),
        (r"searchsorted\(self\.classes_, (labels|target|np\.asarray\(y\))\)", "base/columns.py"),
        (r"cumsum\(present", "base/columns.py"),
        (r"solve_triangular\(\w+, np\.eye\(", "numeric/solves.py"),
        (r"linalg\.solve\(.* \+ .*np\.(eye|diag)\(", "numeric/solves.py"),
        (r"100\.0 \* repair", "numeric/solves.py"),
        (r"1e-1\d \* np\.abs\(mean\)", "numeric/moments.py"),
    ],
)
def test_what_every_room_needs_is_written_once(written, home):
    """Files put in their place, cleaning for JSON, names of columns, numbers of classes, factors that
    whiten, ridge solves, whether a column varies."""
    found = [
        str(path.relative_to(ROOT / "src/assay")) for path in SOURCES if re.search(written, path.read_text(), re.M)
    ]
    assert set(found) <= {home}, found
