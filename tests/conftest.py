"""One Hypothesis profile for `make test`: the same examples every time and no deadlines, so that nothing depends on
chance or on load. `make fuzz` explores with the profile "fuzz"."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
settings.register_profile("fuzz", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
