"""Properties of intervals and clustering metrics that hold for any data."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.evaluate import (
    adjusted_mutual_information,
    adjusted_rand,
    bootstrap_interval,
    delong,
    pair_f1,
    purity,
    rand_index,
    wilson_interval,
)
from tests.helpers import examples


@st.composite
def two_labellings(draw):
    n = draw(st.integers(2, 30))
    one = hnp.arrays(np.int64, n, elements=st.integers(0, 5))
    return draw(one), draw(one)


@st.composite
def ranked(draw):
    n = draw(st.integers(4, 40))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 1)))
    y[:4] = 0, 0, 1, 1
    # Whole numbers, so that transforms keep ties exactly.
    return y, draw(hnp.arrays(np.int64, n, elements=st.integers(-20, 20))).astype(float)


@given(two_labellings())
def test_agreement_is_symmetric_and_bounded(pair):
    a, b = pair
    for metric in (rand_index, adjusted_rand, adjusted_mutual_information, pair_f1):
        assert abs(metric(a, b) - metric(b, a)) < 1e-9
        assert metric(a, b) <= 1 + 1e-9
        assert abs(metric(a, a) - 1) < 1e-9
    assert 0 < purity(a, b) <= 1


@given(ranked(), st.integers(0, 3))
@settings(max_examples=examples(50))
def test_areas_depend_on_the_order_of_scores_alone(data, seed):
    y, scores = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = bootstrap_interval(y, scores, n_replicates=50, random_state=seed)
        second = bootstrap_interval(y, np.exp(scores / 10) * 3, n_replicates=50, random_state=seed)
    assert np.array_equal(first.replicates, second.replicates) and first.interval == second.interval
    assert delong(y, scores).interval == delong(y, 2 * scores + 1).interval


@given(ranked())
def test_turning_scores_around_turns_the_interval_around(data):
    y, scores = data
    there, back = delong(y, scores), delong(y, -scores)
    assert np.allclose(there.interval, (1 - back.interval[1], 1 - back.interval[0]))
    assert 0 <= there.interval[0] <= there.effect <= there.interval[1] <= 1


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0.5, 0.999))
def test_wilson_holds_the_rate_and_grows_with_confidence(n, share, confidence):
    successes = round(share * n)
    low, high = wilson_interval(successes, n, confidence)
    assert 0 <= low <= successes / n <= high <= 1
    wide = wilson_interval(successes, n, (1 + confidence) / 2)
    assert wide[0] <= low and high <= wide[1]
    mirrored = wilson_interval(n - successes, n, confidence)
    assert np.allclose((1 - high, 1 - low), mirrored)
