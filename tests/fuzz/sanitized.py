"""The catalogue given odd input with the extension under the address and undefined-behaviour sanitizers.

`python -m tests.fuzz.sanitized BUILD` (see `make fuzz-sanitize`) puts the extension of that build into a copy of the
package made of links, loads the sanitizer before Python, and runs cases as `tests.fuzz.estimators` does. An error that
a sanitizer finds ends its process, which is a finding that names the case. Leaks are not looked for: Python keeps
what it keeps.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def linked_package(build: Path) -> Path:
    """A folder with the package in which only the extension is another."""
    site = build / "site"
    package = site / "assay"
    package.mkdir(parents=True, exist_ok=True)
    (extension,) = build.glob("_kernels.*.so")
    for old in package.iterdir():
        old.unlink()
    for part in (ROOT / "src" / "assay").iterdir():
        if not part.name.startswith(("_kernels.cpython", "__pycache__")):
            (package / part.name).symlink_to(part)
    (package / extension.name).symlink_to(extension.resolve())
    return site.resolve()


def environment(site: Path) -> dict[str, str]:
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return {
        **os.environ,
        "PYTHONPATH": str(site),
        "LD_PRELOAD": str(Path(found.stdout.strip()).resolve()),
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1:detect_odr_violation=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }


def inside(cases: int, seed: int) -> int:
    """In the environment above: the cases."""
    import assay._kernels

    from .estimators import ENTRIES, Outcome, run_batch

    if Path(assay._kernels.__file__).resolve().is_relative_to(ROOT / "src"):
        raise RuntimeError("the extension is not the one of the sanitizers")
    total, wanted = Outcome(), cases * len(ENTRIES)
    for first in range(0, wanted, 500):
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_batch(first, min(first + 500, wanted), seed, Path(folder), memory=None)
        for finding in outcome.findings:
            print(finding, flush=True)
        total.add(outcome)
        print(f"{total.cases} cases, {total.calls} calls, {len(total.findings)} findings", flush=True)
    return 1 if total.findings else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m tests.fuzz.sanitized")
    options.add_argument("build", type=Path, nargs="?")
    options.add_argument("--cases", type=int, default=4, help="cases for each method of the catalogue")
    options.add_argument("--seed", type=int, default=20260101)
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.inside:
        sys.exit(inside(given.cases, given.seed))
    words = [sys.executable, "-m", "tests.fuzz.sanitized", "--inside", "--cases", str(given.cases)]
    words += ["--seed", str(given.seed)]
    sys.exit(subprocess.run(words, env=environment(linked_package(given.build.resolve())), cwd=ROOT).returncode)
