"""Docs are code: every example runs, every generated page is current, every claim table has its file."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[2]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(assay.__path__, "assay.")
    if not module.name.endswith(("__main__", "_kernels"))
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_of_the_pages_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^[ ]*```python\n(.*?)^[ ]*```", path.read_text(), re.MULTILINE | re.DOTALL)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    page = types.ModuleType(f"page_{path.stem}")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    for number, block in enumerate(map(textwrap.dedent, blocks)):
        if block.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, vars(page), f"{path.name}[{number}]", str(path), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            vars(page).update(test.globs)
        else:
            exec(compile(block, f"{path.name}[{number}]", "exec"), vars(page))
    assert path.stat().st_size > 0


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_generated_pages_are_current():
    out = subprocess.run([sys.executable, "docs/build.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run(path, tmp_path):
    out = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=1800)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip()


def test_pages_about_speed_say_what_was_measured():
    command = [sys.executable, "-m", "benchmarks.versus.pages", "--check"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr
