"""`make mutants`: change one operator or number at a time in the chosen files, run their tests, name the survivors.

Python files are changed through their syntax tree, kernels by their text. A mutant lives in a copy of the tree below
`build/mutants`, never in the sources. It is killed when a test fails, an import fails, a kernel does not compile or the
tests hang. Which mutants are tried is settled by `--seed`, so that a run can be repeated and spread over days. Tests
run in forks of this process, which has imported the other libraries but nothing of the package.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"
BUILD = WORK / "build" / "dev"

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
    "cpp/src/rules/ripper.cpp": ("tests/unit/models/rules/test_ripper.py", "tests/reference/weka/test_weka_rules.py"),
    "cpp/src/statistics/gram.cpp": ("tests/unit/models/linear/test_gram.py",),
    "cpp/src/statistics/class_moments.cpp": ("tests/unit/numeric/test_moments.py", "tests/unit/models/bayes"),
}

COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
# Lines of a kernel whose numbers change no result: sizes of blocks and of shares of the work, requests ahead, how many
# threads work; and casts, whose brackets look like comparisons.
NO_EFFECT = (
    *("static_cast<", "constexpr index_t", "__builtin_prefetch", "vector_size", "threads = ", "1 : threads"),
    *("grain", "most_chunks", "second_level", "narrow_limit"),
)
BLOCKS = re.compile(r"\bfor \(.*; \w+ \+= \w")  # one more block has no rows, or is read beyond the end: for sanitizers
TOLERANCE = re.compile(r"\b1e-\d+ $")  # what scales a tolerance
# Changes of Python that leave the same program, by a part of the line and the change, with the reason.
SAME = {
    ("astype(np.int16) if", "0 -> 1"): "the least of no codes; narrower keys sort faster into the same order",
    ("np.where(variance > 0, variance, 1)", "1 -> 2"): "a divisor whose quotient is not taken",
    ("else np.zeros(1)", "1 -> 2"): "the sum of no values, of however many zeros",
    ("+ int(generator.integers(n_rows))) * held_out", "Add -> Sub"): "a random start, subtracted, is a random start",
}
SWAPS = (
    (r"(?<= )<(?= )", "<="),
    (r"<=(?= )", "<"),
    (r"(?<= )>(?= )", ">="),
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
    tree, lines = ast.parse(text), text.splitlines()
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
            if any(part in lines[node.lineno - 1] and what == other for part, other in SAME):  # type: ignore[attr-defined]
                continue
            twin = copy.deepcopy(tree)
            change(next(other for k, other in enumerate(ast.walk(twin)) if k == index))
            yield Mutant(path, node.lineno, what, ast.unparse(twin))  # type: ignore[attr-defined]


def _says(node: ast.AST) -> bool:
    """Whether a call only makes a sentence or lays out a table, or a product scales a tolerance."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(isinstance(side, ast.Name) and side.id.endswith("TOLERANCE") for side in (node.left, node.right))
    if not isinstance(node, ast.Call):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    return name.endswith(("Error", "Warning", "_words", "plain", "number", "percent", "Grid")) or name == "warn"


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
        if code.lstrip().startswith(("#", "template", "using", "namespace")) or any(word in code for word in NO_EFFECT):
            continue
        for pattern, new in SWAPS:
            for match in re.finditer(pattern, code):
                if TOLERANCE.search(code[: match.start()]) or (new == "<=" and BLOCKS.search(code)):
                    continue
                changed = line[: match.start()] + new + line[match.end() :]
                what = f"{match.group()} -> {new}: {code.strip()[:60]}"
                yield Mutant(path, number + 1, what, "".join([*lines[:number], changed, *lines[number + 1 :]]))


def mutants_of(path: str) -> list[Mutant]:
    """Every mutant of a file."""
    text = (ROOT / path).read_text()
    return list((python_mutants if path.endswith(".py") else kernel_mutants)(path, text))


# -- running them ----------------------------------------------------------------------------------------------------
def prepare(kernels: bool) -> None:
    """A copy of the sources; with a built extension of its own for mutants of kernels, or where there is none."""
    files = [ROOT / "CMakeLists.txt"]
    files += [file for part in ("src", "cpp", "bindings") for file in (ROOT / part).rglob("*") if file.is_file()]
    for file in files:
        target = WORK / file.relative_to(ROOT)
        extension = file.suffix in (".so", ".pyd")
        if file.parent.name == "__pycache__" or (extension and kernels):
            continue
        # Only what differs: the time of a file tells what must be built again.
        if not target.exists() or target.read_bytes() != file.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_bytes(file.read_bytes())
    if kernels or not list((WORK / "src/assay").glob("_kernels*.so")):
        tools = Path(sys.executable).parent
        command = [tools / "cmake", "-S", WORK, "-B", BUILD, "-G", "Ninja", "-DASSAY_INPLACE=ON"]
        command += [f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        if not build():
            raise SystemExit("mutants: the kernels do not compile without any mutant.")


def build() -> bool:
    """Build the extension of the copy; False if it does not compile."""
    tools = Path(sys.executable).parent
    return subprocess.run([str(tools / "cmake"), "--build", str(BUILD)], capture_output=True).returncode == 0


def _run(tests: tuple[str, ...], modules: Connection) -> None:
    """In a fork: run the tests against the copy, quietly, and tell which modules they brought in."""
    import pytest

    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(ROOT)
    sys.path[:0] = [str(WORK / "src"), str(ROOT)]
    os.environ["PYTHONPATH"] = str(WORK / "src")
    code = pytest.main(["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *tests])
    found = sys.modules.get("assay")
    if found is not None and not str(found.__file__).startswith(str(WORK)):
        code = 99
    modules.send([name for name in sys.modules if name.partition(".")[0] not in ("assay", "tests", "conftest")])
    os._exit(int(code))


def run_tests(path: str, limit: float) -> tuple[int | None, list[str]]:
    """How the tests of a file end on the copy within a limit of seconds (0: they pass), and the modules they use."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_run, args=(TESTS[path], there))
    child.start()
    there.close()
    names: list[str] = []
    with contextlib.suppress(EOFError):
        if here.poll(limit):
            names = here.recv()
    child.join(5)
    if child.exitcode is None:
        child.kill()
        child.join()
    return child.exitcode, names


def survives(mutant: Mutant, limit: float) -> bool:
    """Whether no test notices the mutant; leaves it in the copy."""
    target = WORK / mutant.path
    target.write_text(mutant.text)
    if target.suffix == ".py":
        for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            compiled.unlink()
    elif not build():
        return False
    return run_tests(mutant.path, limit)[0] == 0


def try_file(path: str, each: int, seed: int) -> tuple[int, int]:
    """How many mutants of a file were killed, and tried."""
    for name in run_tests(path, 900)[1]:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    begin = time.monotonic()
    code, _ = run_tests(path, 900)
    if code != 0:
        raise SystemExit(f"mutants: the tests of {path} end with {code} without any mutant.")
    limit = 20 + 5 * (time.monotonic() - begin)
    found = mutants_of(path)
    chosen = random.Random(f"{seed}:{path}").sample(found, min(each, len(found)))
    killed = 0
    try:
        for mutant in sorted(chosen, key=lambda m: m.line):
            if survives(mutant, limit):
                print(f"survived  {mutant.path}:{mutant.line}  {mutant.what}", flush=True)
            else:
                killed += 1
    finally:
        (WORK / path).write_bytes((ROOT / path).read_bytes())
        for compiled in (WORK / path).parent.glob(f"__pycache__/{Path(path).stem}.*"):
            compiled.unlink()
        if not path.endswith(".py"):
            build()
    if run_tests(path, 900)[0] != 0:
        raise SystemExit(f"mutants: the tests of {path} no longer pass without a mutant: something else has changed.")
    return killed, len(chosen)


def main() -> int:
    """Try a sample of the mutants of each file; exit 1 if fewer are killed than asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="files to change (default: all of the list)")
    parser.add_argument("--each", type=int, default=12, help="mutants per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.9, help="share that must be killed")
    options = parser.parse_args()
    paths = options.files or list(TESTS)
    prepare(any(not path.endswith(".py") for path in paths))
    found = []
    for path in paths:
        killed, tried = try_file(path, options.each, options.seed)
        found.append((killed, tried))
        print(f"{path}: {killed} of {tried} killed", flush=True)
    killed, tried = (sum(column) for column in zip(*found, strict=True))
    print(f"{killed} of {tried} mutants killed ({killed / max(tried, 1):.0%}).")
    return 0 if killed >= options.least * tried else 1


if __name__ == "__main__":
    sys.exit(main())
