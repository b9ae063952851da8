"""One Hypothesis profile for `make test`: the same examples every time and no deadlines, so that nothing depends on
chance or on load. `make fuzz` explores with the profile "fuzz"."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.helpers import PROFILE, examples

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=QUIET)
settings.register_profile(
    "fuzz", deadline=None, max_examples=examples(100), print_blob=True, suppress_health_check=QUIET
)
settings.load_profile(PROFILE)
