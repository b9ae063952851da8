"""Plain English: invented words that `docs/design/words.md` replaces stay out of the sources and the guides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GONE = re.compile(
    r"\b(bends\b(?! most)|the say of|shares of blame|ready to draw|edge rows|range of doubt|left-over rows)",
    re.IGNORECASE,
)
TEXTS = [
    *sorted((ROOT / "src/assay").rglob("*.py")),
    *sorted((ROOT / "cpp").rglob("*.hpp")),
    *sorted((ROOT / "cpp/src").rglob("*.cpp")),
    *sorted((ROOT / "docs/guide").glob("*.md")),
    *sorted((ROOT / "docs/methods").glob("*.md")),
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_of_the_field_are_used(path):
    found = GONE.search(path.read_text())
    assert found is None, f"'{found and found[0]}' in {path.relative_to(ROOT)}; see docs/design/words.md"


def test_the_page_of_words_lists_what_is_said_instead():
    text = (ROOT / "docs/design/words.md").read_text()
    assert all(word in text for word in ("gradient", "Hessian", "sample weight", "out-of-fold", "`n_jobs`"))
