"""A run that is killed at any moment leaves a sound store, and the run that goes on ends with the same numbers.

`python -m tests.fuzz.tally kills 500` counts further.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.helpers import examples


def test_a_killed_run_goes_on_to_the_same_numbers(tmp_path):
    # In a process of its own: children must be forked from one that has done nothing yet.
    words = [sys.executable, "-m", "tests.fuzz.kills", "0", str(examples(4)), "20260101", str(tmp_path)]
    run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout.splitlines()[-1])
    assert not told["findings"], told
    assert told["counts"]["kills"] > 0 and told["counts"]["same numbers"] == examples(4), told
