"""Broken files of every format give a table or one sentence: no signal, no other exception, no hang.

`ASSAY_FUZZ=10000` tries so many files (make fuzz); the suite tries a few hundred, the same each time.
"""

from __future__ import annotations

import os

import pytest

from .readers import attempt, corpus, try_all

COUNT = int(os.environ.get("ASSAY_FUZZ", "0") or 0) or 340


@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_file_is_read_while_it_is_whole(tmp_path):
    for name, data in corpus().items():
        (tmp_path / name).write_bytes(data)
        for how in (0, 1):
            assert attempt(tmp_path / name, how) == "table", name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_a_broken_file_is_a_table_or_one_sentence(part):
    tally = try_all(-(-COUNT // 4), seed=part)
    assert {outcome for _, outcome in tally} <= {"table", "refused"}, tally
    assert sum(tally.values()) >= COUNT // 4
