"""The harness of the benchmarks: contenders in their own processes, a gate before the ratio, rows with provenance."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.versus.__main__ import pooled
from benchmarks.versus.before import joined, side_by_side
from benchmarks.versus.harness import Worker
from benchmarks.versus.memory import PeakMemory, descendants, is_running, megabytes_of
from benchmarks.versus.pages import against_before, behind, exponent, over_memory, quality_text, ratio_text, strongest
from benchmarks.versus.problems import all_problems

import assay

PROBLEMS = all_problems()


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.id)
def test_sizes_grow(problem):
    counts = [size.n for size in problem.sizes]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=lambda problem: problem.id)
def test_every_problem_says_what_was_tried(problem):
    assert len(problem.tried) > 20


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


def contender(program: str) -> Worker:
    return Worker([sys.executable, "-c", "import json, os, sys, time\n" + program])


def test_a_contender_that_hangs_is_ended_with_its_children():
    worker = contender(
        "child = os.fork()\nif child: print(json.dumps({'version': str(child)}), flush=True)\ntime.sleep(600)"
    )
    worker.wait_until_ready()
    child = int(worker.measured.version)
    worker.go(limit=0.2)
    assert worker.measured.error == "gave no answer within 0.2 s" and worker.measured.given_up == 0.2
    assert not is_running(child)
    worker.close()


def measured_row(commit: str, ours: list[float], theirs: list[float]) -> dict[str, object]:
    return {
        "problem": "p", "n": 1, "peer": "q", "commit": commit, "machine": "m", "version": "1", "peer_version": "2",
        "error": None, "times": ours, "peer_times": theirs, "seconds": min(ours), "peer_seconds": min(theirs),
        "gate_passed": True, "ratio": min(theirs) / min(ours), "rounds": len(ours),
        "megabytes": 3.0, "peer_megabytes": 4.0,
    }  # fmt: skip


def test_losses_and_memory_over_the_rule_are_named():
    """The rule: no more than the fastest peer, or than half the table."""
    named = {"title": "work", "size": "10 rows", "peer_worse": False, "table_megabytes": 20.0}
    slower = measured_row("a", [2.0], [1.0]) | named | {"megabytes": 12.0}
    faster = measured_row("a", [2.0], [3.0]) | named | {"peer": "slow", "peer_megabytes": 50.0, "megabytes": 12.0}
    assert [(row["peer"], most) for row, most in over_memory([slower, faster])] == [("q", 10.0)]
    assert not over_memory([slower | {"megabytes": 10.5}])
    lines = behind([slower, faster])
    assert "- work, 10 rows: 0.50x q" in lines and "- work, 10 rows: 12 MB, q 4 MB" in lines
    assert not any("slow" in line for line in lines[1:])


def test_rounds_of_a_second_measurement_are_added_at_the_same_commit_alone():
    first, second = measured_row("a", [2.0, 3.0], [4.0, 2.5]), measured_row("a", [1.0], [5.0])
    both = pooled(second, first)
    assert both["times"] == [2.0, 3.0, 1.0] and both["peer_times"] == [4.0, 2.5, 5.0]
    assert (both["seconds"], both["peer_seconds"], both["ratio"], both["rounds"]) == (1.0, 2.5, 2.5, 3)
    assert pooled(second, measured_row("b", [0.1], [0.1])) == second
    assert pooled(second, {**first, "gate_passed": False})["ratio"] is None


def test_a_peer_outside_the_gate_says_so():
    row = {"quality_name": "error", "quality": 0.5, "peer_quality": 0.9}
    assert quality_text(row) == "error 0.5 / 0.9"
    assert quality_text({**row, "peer_worse": True}) == "error 0.5 / 0.9 (outside the gate)"


def test_a_contender_that_dies_or_cannot_begin_says_so():
    worker = contender("sys.stdin.readline(); os._exit(3)")
    worker.prepare(0)
    worker.wait_until_ready()
    assert worker.failed and worker.measured.error == "its process ended with 3"
    worker.go(1.0)
    assert worker.measured.times == []
    worker.close()
    late = contender("time.sleep(600)")
    late.prepare(0)
    late.wait_until_ready(limit=0.1)
    assert late.failed and late.measured.given_up is None
    late.close()


def test_a_contender_lives_from_size_to_size():
    program = (
        "for line in sys.stdin:\n"
        "    told = {'seconds': 2.0, 'megabytes': 1.0, 'quality': 0.5} if line == 'go\\n' else {'version': line}\n"
        "    print(json.dumps(told), flush=True)"
    )
    worker = contender(program)
    for size in (0, 2):
        worker.prepare(size)
        worker.wait_until_ready()
        worker.go(limit=20.0)
        assert worker.measured.version == f"{size}\n" and worker.measured.times == [2.0]
    worker.close()


def test_what_data_take_is_summed_over_their_parts():
    X = np.zeros((1000, 100))
    assert megabytes_of((X, {"y": np.zeros(1000)}, "words", 3)) == pytest.approx(0.808)
    assert megabytes_of("words") is None


def test_code_written_by_hand_is_told_apart_from_peers():
    row = {"title": "t", "size": "s", "problem": "a", "n": 1, "largest": True, "peer": "lib", "ratio": 2.0}
    row |= {"peer_seconds": 1.0, "megabytes": 0.0, "peer_megabytes": 0.0, "table_megabytes": None}
    rows = [row, row | {"peer": "lines", "ratio": 0.5, "by_hand": True}]
    assert [one["peer"] for one in strongest(rows)] == ["lib"]
    text = "\n".join(behind(rows))
    assert "faster in 0 of 1 rows" in text and "are faster in 1 of 1" in text and "0.50x lines" in text


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


def test_our_own_times_with_another_package_stand_side_by_side():
    problem = PROBLEMS["naive-bayes"]
    here = Path(assay.__file__).parents[1]
    row = side_by_side(problem, 0, (here, here), rounds=1, further=0)
    assert not isinstance(row, str), row
    assert row["quality"] == row["earlier_quality"] and row["seconds"] > 0 and row["rounds"] == 1
    kept = {"earlier": "aaa", "commit": "bbb", "date": "2026-01-01", "load": 0.5, "left_out": [], "rows": [row]}
    lines = against_before(kept)
    assert "aaa" in lines[0] and lines[-1].startswith("| naive-bayes | 1,500 x 30 |")


def test_single_problems_join_the_rows_that_are_there():
    row = {"size": "10 x 2", "seconds": 1.0, "earlier_seconds": 2.0, "commit": "bbb"}
    kept = {
        "earlier": "aaa",
        "commit": "bbb",
        "date": "2026-01-01",
        "load": 0.5,
        "rows": [{**row, "problem": "a"}, {**row, "problem": "b"}],
        "left_out": [{"problem": "c", "why": "not there"}, {"problem": "d", "why": "not there"}],
    }
    again = [{**row, "problem": name, "seconds": 0.5, "commit": "ccc"} for name in ("b", "c")]
    found = joined(kept, {"earlier": "aaa", "commit": "ccc", "rows": again, "left_out": []})
    assert [(one["problem"], one["commit"]) for one in found["rows"]] == [("a", "bbb"), ("b", "ccc"), ("c", "ccc")]
    assert [one["problem"] for one in found["left_out"]] == ["d"] and found["commit"] == "bbb"
    assert "of commit bbb or ccc in turns" in against_before(found)[0]
    lost = joined(kept, {"rows": [], "left_out": [{"problem": "a", "why": "fails"}]})
    assert [one["problem"] for one in lost["rows"]] == ["b"] and lost["left_out"][-1]["problem"] == "a"
