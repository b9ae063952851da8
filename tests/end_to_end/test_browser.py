"""The report in a browser: hostile text is inert, nothing overflows, the console stays silent."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.report import render_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))

PAYLOADS = (
    "<script>document.title='ran'</script>",
    "<img src=x onerror=\"document.title='ran'\">",
    "\"><svg onload=document.title='ran'>",
    "javascript:document.title='ran'",
    '=HYPERLINK("http://evil.example","x")',
    "=cmd|'/c calc'!A1",
    "{{7*7}}",
    "</style><script>document.title='ran'</script>",
)


def show(page: Path, width: int, folder: Path) -> tuple[str, str]:
    """The document after loading, and what the browser logged."""
    done = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", f"--user-data-dir={folder}", f"--window-size={width},900", "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


def hostile():
    """Results whose every text ends in something that wants to run."""
    import fixture

    turn = 0

    def spoil(value, key=""):
        nonlocal turn
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, key) for v in value]
        if isinstance(value, str) and key not in {"schema", "kind", "id", "a", "b", "best", "task", "role", "severity"}:
            turn += 1
            return PAYLOADS[turn % len(PAYLOADS)] + value
        return value

    return spoil(fixture.classification() | {"explanation": fixture.explanation()})


def test_hostile_names_and_cells_are_inert(tmp_path):
    from reading import Page

    page = tmp_path / "report.html"
    page.write_text(render_report(hostile()), encoding="utf-8")
    document, log = show(page, 1280, tmp_path / "profile")
    assert "Assay report" in document, "the page was shown"
    title = re.search(r"<title>(.*?)</title>", document, re.DOTALL)
    assert title is not None and title[1] != "ran"
    elements = Page(document).elements
    assert not {tag for tag, _ in elements} & {"script", "img", "iframe", "form", "object"}
    assert not [name for _, attributes in elements for name in attributes if name.startswith("on")]
    assert "CONSOLE" not in log, log[-2000:]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows_and_the_console_is_silent(tmp_path, width):
    import fixture

    text = render_report(fixture.classification() | {"explanation": fixture.explanation()})
    page = tmp_path / "report.html"
    # A copy without the policy measures itself; the original cannot run anything.
    measured = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    script = "document.body.dataset.over = document.documentElement.scrollWidth - document.documentElement.clientWidth"
    page.write_text(measured.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    document, log = show(page, width, tmp_path / "profile")
    over = re.search(r'data-over="(-?\d+)"', document)
    assert over is not None and int(over[1]) <= 0
    assert "CONSOLE" not in log, log[-2000:]
