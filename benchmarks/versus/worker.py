"""One contender in its own process: told a size, it makes the data (the first time after one small call); told to go,
it runs.

It answers with one JSON line per word on standard input; what contenders print goes to standard error.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from .memory import PeakMemory, megabytes_of
from .problems import all_problems


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with contextlib.suppress(OSError):  # if memory runs out, let it be this process that ends
        Path("/proc/self/oom_score_adj").write_text("1000")

    def say(**told: Any) -> None:
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    problem = all_problems()[sys.argv[1]]
    contender = next(c for c in (problem.ours, *problem.peers) if c.name == sys.argv[2])
    version, data, output = None, None, None
    for line in sys.stdin:
        try:
            if line.strip() != "go":
                data = output = None
                gc.collect()
                if version is None:
                    version = contender.installed
                    contender.run(problem.make(**problem.sizes[0].arguments))
                data = problem.make(**problem.sizes[int(line)].arguments)
                say(version=version, table_megabytes=megabytes_of(data))
                continue
            output = None
            gc.collect()
            with PeakMemory() as memory:
                begin = time.perf_counter()
                output = contender.run(data)
                elapsed = time.perf_counter() - begin
            say(seconds=elapsed, megabytes=memory.megabytes, quality=float(problem.quality(data, output)))
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}"[:300])
            return


if __name__ == "__main__":
    main()
