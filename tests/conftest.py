"""One Hypothesis profile for `make test`: the same examples every time and no deadlines, so that nothing depends on
chance or on load. `make fuzz` explores with the profile "fuzz"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import PROFILE, examples

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
settings.register_profile(
    "fuzz", deadline=None, max_examples=examples(100), print_blob=True, suppress_health_check=QUIET
)
settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[Any]:
    """A Dask cluster of two workers, each a process with one thread; workers that die are started anew."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    ) as found:
        yield found
