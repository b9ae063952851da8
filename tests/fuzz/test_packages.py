"""Changed and forged packages are refused with a sentence or hold a model that works; nothing of them is run.

The suite tries a few hundred, the same each time; `ASSAY_FUZZ=10000` so many (make fuzz).
"""

from __future__ import annotations

import os

import pytest

from .packages import METHODS, attempt, corpus, run_apart

COUNT = int(os.environ.get("ASSAY_FUZZ", "0") or 0) or 240


def test_every_package_of_the_corpus_is_loaded_while_it_is_whole():
    assert {name: attempt(data, refused=False) for name, data in corpus().items()} == dict.fromkeys(
        METHODS, "loaded and used"
    )


def test_no_changed_package_is_taken_and_no_forged_one_runs_anything(tmp_path):
    outcome = run_apart(0, COUNT, int(os.environ.get("ASSAY_FUZZ_SEED", "1")), tmp_path)
    assert not outcome["findings"], outcome["findings"][:5]
    assert outcome["counts"]["packages"] == COUNT


@pytest.mark.slow
def test_ten_thousand_packages(tmp_path):
    outcome = run_apart(0, 10_000, 2, tmp_path)
    assert not outcome["findings"], outcome["findings"][:5]
