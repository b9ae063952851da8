"""The harness of the benchmarks: contenders in their own processes, a gate before the ratio, rows with provenance."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.versus.pages import exponent, ratio_text, strongest
from benchmarks.versus.problems import all_problems
from benchmarks.versus.worker import PeakMemory, descendants

PROBLEMS = all_problems()


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.id)
def test_sizes_grow(problem):
    counts = [size.n for size in problem.sizes]
    assert counts == sorted(set(counts))


def test_peak_memory_sees_what_was_freed_again():
    with PeakMemory() as memory:
        block = np.ones(8_000_000)
        block.sum()
        del block
    assert 50 < memory.megabytes < 200


def test_children_are_found():
    words = [sys.executable, "-c", "print('here', flush=True); input()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "here\n"
        assert child.pid in descendants(os.getpid())
        child.communicate("\n")
    assert child.pid not in descendants(os.getpid())


def test_the_strongest_peer_is_the_one_that_comes_nearest():
    rows = [
        {"problem": "a", "largest": True, "ratio": 3.0, "peer": "slow"},
        {"problem": "a", "largest": True, "ratio": 0.8, "peer": "fast"},
        {"problem": "a", "largest": False, "ratio": 0.1, "peer": "small"},
        {"problem": "b", "largest": True, "ratio": None, "peer": "worse"},
    ]
    assert [row["peer"] for row in strongest(rows)] == ["fast"]


def test_growth_is_the_slope_of_the_logarithms():
    assert exponent([(10, 3.0), (100, 300.0), (1000, 30_000.0)]) == pytest.approx(2.0)
    assert exponent([(10, 3.0)]) is None


def test_a_peer_that_was_given_up_gives_a_bound():
    row = {"error": "gave no answer within 60 s", "given_up": 60.0, "seconds": 0.5, "gate_passed": False}
    assert ratio_text(row) == "over 120x: given up after 60 s"
    assert ratio_text({**row, "given_up": None}).startswith("failed")
