"""One Hypothesis profile for `make test`: the same examples every time and no deadlines, so that nothing depends on
chance or on load. `make fuzz` explores with the profile "fuzz"."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from assay.base import randomness
from tests.helpers import PROFILE, examples

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
settings.register_profile(
    "fuzz", deadline=None, max_examples=examples(100), print_blob=True, suppress_health_check=QUIET
)
settings.load_profile(PROFILE)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What draws without a seed draws the same numbers in every run of a test."""
    if PROFILE == "repeatable":
        seed = zlib.crc32(item.nodeid.encode())
        np.random.seed(seed)  # noqa: NPY002
        setattr(randomness, "secrets", SimpleNamespace(randbits=random.Random(seed).getrandbits))  # noqa: B010


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[Any]:
    """A Dask cluster of two workers, each a process with one thread; workers that die are started anew."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    ) as found:
        yield found
