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


def show(page: Path, width: int, folder: Path, *more: str) -> tuple[str, str]:
    """The document after loading, and what the browser logged."""
    done = subprocess.run(
        [
            str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", f"--user-data-dir={folder}", f"--window-size={width},900",
            *(more or ["--dump-dom"]), page.as_uri(),
        ],
        capture_output=True, text=True, timeout=900, check=False,
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


MEASURE = """
const root = document.documentElement, style = getComputedStyle(document.body);
document.body.dataset.over = root.scrollWidth - root.clientWidth;
document.body.dataset.ground = style.backgroundColor;
document.body.dataset.ink = style.color;
"""
DARK = "--blink-settings=preferredColorScheme=0"


def measured(text: str, page: Path, width: int, *more: str) -> dict[str, str]:
    """What a copy of a page without its policy finds out about itself; the original cannot run anything."""
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    page.write_text(free.replace("</body>", f"<script>{MEASURE}</script></body>"), encoding="utf-8")
    document, log = show(page, width, page.parent / f"profile{width}", *more, "--dump-dom")
    assert "CONSOLE" not in log, log[-2000:]
    return dict(re.findall(r'data-(over|ground|ink)="([^"]*)"', document))


def brightness(colour: str) -> float:
    """Of rgb(r, g, b), from 0 to 255."""
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


@pytest.fixture(scope="module")
def fixture_page() -> str:
    import fixture

    return render_report(fixture.classification() | {"explanation": fixture.explanation()})


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows_and_the_console_is_silent(fixture_page, tmp_path, width):
    assert int(measured(fixture_page, tmp_path / "report.html", width)["over"]) <= 0


def test_dark_and_light_follow_the_reader(fixture_page, tmp_path):
    light, dark = (measured(fixture_page, tmp_path / f"{k}.html", 1280, *words) for k, words in enumerate([[], [DARK]]))
    assert brightness(light["ground"]) > 200 > 100 > brightness(light["ink"])
    assert brightness(dark["ground"]) < 60 < 150 < brightness(dark["ink"])


def test_the_page_prints(fixture_page, tmp_path):
    page, pdf = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(fixture_page, encoding="utf-8")
    show(page, 1280, tmp_path / "profile", "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    pages = len(re.findall(rb"/Type\s*/Page[^s]", pdf.read_bytes()))
    assert 2 <= pages <= 60


@pytest.mark.slow
def test_the_report_of_the_demo_fits_a_phone_and_a_desk(tmp_path):
    words = [sys.executable, "-m", "assay", "demo", "--out", str(tmp_path / "demo"), "--quiet"]
    subprocess.run(words, check=True, capture_output=True, timeout=1800)
    (report,) = (tmp_path / "demo").rglob("report.html")
    text = report.read_text(encoding="utf-8")
    for width in (390, 1280):
        assert int(measured(text, tmp_path / "copy.html", width)["over"]) <= 0
        _, log = show(report, width, tmp_path / "own")
        assert "CONSOLE" not in log, log[-2000:]
