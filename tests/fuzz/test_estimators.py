"""Whatever a method of the catalogue is given, it answers with finite numbers or with one sentence.

`make test` runs the same bounded portion every time; `make fuzz` runs more (`ASSAY_FUZZ_CASES` for each batch) with a
new seed (`ASSAY_FUZZ_SEED`), which a failure prints.
"""

from __future__ import annotations

import os

import pytest

from .estimators import ENTRIES, run_batch

BATCHES = 4
CASES = int(os.environ.get("ASSAY_FUZZ_CASES", "4")) * len(ENTRIES)
SEED = int(os.environ.get("ASSAY_FUZZ_SEED", "20260101"))
# The address sanitizer maps terabytes.
MEMORY = None if "ASAN_OPTIONS" in os.environ else 6 << 30


@pytest.mark.parametrize("batch", range(BATCHES))
def test_odd_input_gives_finite_numbers_or_one_sentence(batch, tmp_path):
    outcome = run_batch(batch * CASES, (batch + 1) * CASES, SEED, tmp_path, MEMORY)
    told = f"{outcome.cases} cases, {outcome.calls} calls, {outcome.refused} refused, {outcome.stopped} stopped"
    print(f"seed {SEED}: {told}")
    assert not outcome.findings, f"seed {SEED}: {told}\n" + "\n".join(outcome.findings)
    assert outcome.cases == CASES
    assert 0 < outcome.refused < outcome.calls
