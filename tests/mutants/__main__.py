"""`make mutants`: change one operator or number at a time in the chosen files, run their tests, name the survivors.

Python files are changed through their syntax tree, kernels by their text. A mutant lives in a copy of the tree below
`build/mutants`, never in the sources. It is killed when a test fails, an import fails, a kernel does not compile or the
tests hang. Which mutants are tried is settled by `--seed`, so that a run can be repeated and spread over days.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"

TESTS: dict[str, tuple[str, ...]] = {
    "src/assay/evaluate/auc.py": ("tests/unit/evaluate/test_auc.py", "tests/worked_examples/test_intervals.py"),
    "src/assay/evaluate/bootstrap.py": ("tests/unit/evaluate/test_bootstrap.py",),
    "src/assay/evaluate/clustering_metrics.py": ("tests/unit/evaluate/test_clustering_metrics.py",),
    "src/assay/evaluate/distributions.py": ("tests/unit/evaluate/test_distributions.py",),
    "src/assay/evaluate/group_tests.py": ("tests/unit/evaluate/test_group_tests.py",),
    "src/assay/evaluate/hypothesis_tests.py": ("tests/unit/evaluate/test_hypothesis_tests.py",),
    "src/assay/evaluate/metrics.py": ("tests/unit/evaluate/test_metrics.py",),
    "src/assay/evaluate/multiplicity.py": ("tests/unit/evaluate/test_multiplicity.py",),
    "src/assay/evaluate/rank_tests.py": ("tests/unit/evaluate/test_rank_tests.py",),
    "src/assay/evaluate/rates.py": ("tests/unit/evaluate/test_rates.py",),
    "src/assay/evaluate/reliability.py": ("tests/unit/evaluate/test_reliability.py",),
    "src/assay/evaluate/resampling.py": ("tests/unit/evaluate/test_resampling.py",),
    "cpp/src/prepare/chained_equations.cpp": ("tests/unit/prepare/test_impute_multiple.py",),
    "cpp/src/rules/ripper.cpp": ("tests/unit/models/rules", "tests/reference/weka"),
    "cpp/src/statistics/gram.cpp": ("tests/unit/numeric", "tests/unit/models/linear/test_ridge.py"),
    "cpp/src/statistics/class_moments.cpp": ("tests/unit/models/bayes",),
}

COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
SWAPS = (
    (r"(?<![<>=!+\-*/&|])<(?![<=])(?= )", "<="),
    (r"<=(?= )", "<"),
    (r"(?<![->])>(?![>=])(?= )", ">="),
    (r">=(?= )", ">"),
    (r"==(?= )", "!="),
    (r"(?<= )\+(?= )", "-"),
    (r"(?<= )-(?= )", "+"),
    (r"(?<= )\*(?= )", "/"),
    (r"(?<= )/(?= )", "*"),
    (r"\+=", "-="),
    (r"(?<![\w.])1(?![\w.])", "2"),
    (r"(?<![\w.])2(?![\w.])", "3"),
    (r"(?<![\w.])0\.5(?![\w.])", "0.6"),
)


@dataclass(frozen=True)
class Mutant:
    """One changed file."""

    path: str
    line: int
    what: str
    text: str


# -- making mutants --------------------------------------------------------------------------------------------------
def python_mutants(path: str, text: str) -> Iterator[Mutant]:
    """One mutant for each comparison, arithmetic operator, number and condition outside docstrings and messages."""
    tree = ast.parse(text)
    words = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.arguments)) or _says(node)
        for part in ast.walk(node)
    }
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in words:
            continue
        for what, change in _changes(node):
            twin = copy.deepcopy(tree)
            change(next(other for k, other in enumerate(ast.walk(twin)) if k == index))
            yield Mutant(path, node.lineno, what, ast.unparse(twin))  # type: ignore[attr-defined]


def _says(node: ast.AST) -> bool:
    """Whether a call only makes a sentence."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name.endswith(("Error", "Warning", "_words", "plain", "number", "percent")) or name == "warn"


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        new = COMPARE[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {new.__name__}", lambda n: n.ops.__setitem__(0, new())
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        other = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} -> {other.__name__}", lambda n: setattr(n, "op", other())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and hasattr(node, "lineno"):
        if abs(node.value) < 1e-6 and node.value != 0:
            return  # a tolerance
        value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 0.1
        yield f"{node.value!r} -> {value!r}", lambda n: setattr(n, "value", value)
    elif isinstance(node, ast.BoolOp):
        joined = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {joined.__name__}", lambda n: setattr(n, "op", joined())


def kernel_mutants(path: str, text: str) -> Iterator[Mutant]:
    """One mutant for each operator and small number outside comments, preprocessor lines and template brackets."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        code = line.split("//")[0]
        if code.lstrip().startswith(("#", "template", "using", "namespace")) or "static_cast<" in code:
            continue
        for pattern, new in SWAPS:
            for match in re.finditer(pattern, code):
                changed = line[: match.start()] + new + line[match.end() :]
                what = f"{match.group()} -> {new}: {code.strip()[:60]}"
                yield Mutant(path, number + 1, what, "".join([*lines[:number], changed, *lines[number + 1 :]]))


def mutants_of(path: str) -> list[Mutant]:
    """Every mutant of a file."""
    text = (ROOT / path).read_text()
    return list((python_mutants if path.endswith(".py") else kernel_mutants)(path, text))


# -- running them ----------------------------------------------------------------------------------------------------
def prepare() -> None:
    """A copy of the sources with a built extension of its own."""
    WORK.mkdir(parents=True, exist_ok=True)
    for part in ("src", "cpp", "bindings"):
        shutil.copytree(ROOT / part, WORK / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "CMakeLists.txt", WORK)
    build(configure=True)


def build(*, configure: bool = False) -> bool:
    """Build the extension of the copy; False if it does not compile."""
    tools = Path(sys.executable).parent
    if configure:
        command = [tools / "cmake", "-S", WORK, "-B", WORK / "build", "-G", "Ninja", "-DASSAY_INPLACE=ON"]
        command += [f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
    done = subprocess.run([str(tools / "cmake"), "--build", str(WORK / "build")], capture_output=True)
    return done.returncode == 0


def run_tests(path: str, limit: float) -> bool:
    """Whether the tests of a file pass on the copy within a limit of seconds."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *TESTS[path]]
    environment = {**os.environ, "PYTHONPATH": str(WORK / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survives(mutant: Mutant, limit: float) -> bool:
    """Whether no test notices the mutant."""
    target = WORK / mutant.path
    original = target.read_text()
    kernel = not mutant.path.endswith(".py")
    target.write_text(mutant.text)
    try:
        if kernel and not build():
            return False
        return run_tests(mutant.path, limit)
    finally:
        target.write_text(original)
        if kernel:
            build()


def main() -> int:
    """Try a sample of the mutants of each file; exit 1 if fewer are killed than asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="files to change (default: all of the list)")
    parser.add_argument("--each", type=int, default=12, help="mutants per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed")
    options = parser.parse_args()
    prepare()
    tried = killed = 0
    for path in options.files or TESTS:
        begin = time.monotonic()
        if not run_tests(path, 900):
            raise SystemExit(f"mutants: the tests of {path} fail without any mutant.")
        limit = 20 + 5 * (time.monotonic() - begin)
        found = mutants_of(path)
        chosen = random.Random(f"{options.seed}:{path}").sample(found, min(options.each, len(found)))
        for mutant in sorted(chosen, key=lambda m: m.line):
            tried += 1
            if survives(mutant, limit):
                print(f"survived  {mutant.path}:{mutant.line}  {mutant.what}", flush=True)
            else:
                killed += 1
        print(f"{path}: {killed} of {tried} killed so far", flush=True)
    print(f"{killed} of {tried} mutants killed ({killed / max(tried, 1):.0%}).")
    return 0 if killed >= options.least * tried else 1


if __name__ == "__main__":
    sys.exit(main())
