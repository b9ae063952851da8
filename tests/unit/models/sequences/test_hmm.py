"""Hidden Markov models: every path enumerated, hmmlearn, likelihoods that rise, missing rows, weights."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, poisson

from assay import _kernels
from assay.base import AssayWarning, DataError, ParameterError
from assay.models.sequences import HiddenMarkovModel
from assay.models.sequences.emissions import Observed

FORMS = ("full", "tied", "diag", "spherical")


def chain(k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)


def two_levels(n: int = 300, seed: int = 0, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two states that last about ten rows, and the states."""
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(n) < 0.1) % 2
    return 3.0 * states[:, None] + rng.normal(size=(n, d)), states


def paths_of(start, transitions, logs):
    """Every path of states with its log probability together with the rows."""
    k = len(start)
    with np.errstate(divide="ignore"):
        p, a = np.log(start), np.log(transitions)
    paths = list(itertools.product(range(k), repeat=len(logs)))
    values = [
        p[z[0]] + sum(a[i, j] for i, j in itertools.pairwise(z)) + sum(logs[t, s] for t, s in enumerate(z))
        for z in paths
    ]
    return np.array(paths), np.array(values)


def passed(logs, start, transitions, lag=-1):
    offsets = np.array([0, len(logs)])
    return _kernels.hmm_pass(logs, offsets, start, transitions, None, True, True, lag < 0, lag, None, None, 1)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_filter_smooth_and_path_equal_those_of_every_path_enumerated(k):
    start, transitions = chain(k, k)
    logs = 3.0 * np.random.default_rng(9).normal(size=(5, k))
    paths, values = paths_of(start, transitions, logs)
    total, filtered, smoothed, starts, moves, _ = passed(logs, start, transitions)
    assert total[0] == pytest.approx(logsumexp(values), rel=1e-12)
    share = np.exp(values - logsumexp(values))
    exact = np.array([[share[paths[:, t] == s].sum() for s in range(k)] for t in range(5)])
    np.testing.assert_allclose(smoothed, exact, atol=1e-12)
    np.testing.assert_allclose(starts, exact[0], atol=1e-12)
    pairs = [
        [sum(share[(paths[:, t] == i) & (paths[:, t + 1] == j)].sum() for t in range(4)) for j in range(k)]
        for i in range(k)
    ]
    np.testing.assert_allclose(moves, pairs, atol=1e-12)
    best, path = _kernels.hmm_decode(logs, np.array([0, 5]), start, transitions, 1)
    assert best[0] == pytest.approx(values.max(), rel=1e-12)
    np.testing.assert_array_equal(path, paths[values.argmax()])
    for t in range(5):
        np.testing.assert_allclose(filtered[t], passed(logs[: t + 1], start, transitions)[2][-1], atol=1e-12)


@pytest.mark.parametrize("lag", [0, 1, 3, 100])
def test_a_lag_sees_so_many_rows_and_no_more(lag):
    start, transitions = chain(3, 1)
    logs = 2.0 * np.random.default_rng(2).normal(size=(12, 3))
    lagged = passed(logs, start, transitions, lag)[2]
    for t in range(12):
        np.testing.assert_allclose(lagged[t], passed(logs[: t + lag + 1], start, transitions)[2][t], atol=1e-12)


@pytest.mark.parametrize("k", [7, 13, 21])
def test_many_states_agree_with_the_recursion_in_logarithms(k):
    start, transitions = chain(k, 4)
    logs = 40.0 * np.random.default_rng(5).normal(size=(60, k))
    step = np.log(start) + logs[0]
    for row in logs[1:]:
        step = logsumexp(step[:, None] + np.log(transitions), axis=0) + row
    total, filtered, smoothed, _, moves, _ = passed(logs, start, transitions)
    assert total[0] == pytest.approx(logsumexp(step), rel=1e-12)
    np.testing.assert_allclose(filtered[-1], np.exp(step - logsumexp(step)), atol=1e-12)
    assert moves.sum() == pytest.approx(59)
    np.testing.assert_allclose(smoothed.sum(axis=1), 1.0)


def test_a_likely_row_of_a_state_that_cannot_be_reached_leaves_the_others_their_say():
    logs = np.array([[0.0, 0.0], [-2000.0, 0.0], [-3000.0, 0.0]])
    found = passed(logs, np.array([1.0, 0.0]), np.eye(2))
    assert found[0][0] == pytest.approx(-5000.0)
    np.testing.assert_allclose(found[2], [[1, 0]] * 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_components", [1, 2])
def test_the_likelihood_never_falls_at_any_step(form, n_components):
    X, _ = two_levels()
    X[10:14] = np.nan
    X[20, 0] = np.nan
    for table in (X, np.nan_to_num(X)):
        model = HiddenMarkovModel(
            3, covariance_type=form, n_components=n_components, tol=0, max_iter=25, random_state=1, trace=True
        ).fit(table, [100, 200])
        values = np.array([r["values"]["log_likelihood"] for r in model.trace_])
        assert (np.diff(values) >= -1e-9 * abs(values[-1])).all() and values[-1] > values[0]
        assert model.score(table, [100, 200]) == pytest.approx(values[-1], rel=1e-10)


def test_log_densities_are_those_of_scipy():
    X, _ = two_levels(50, d=3)
    for form in FORMS:
        model = HiddenMarkovModel(2, covariance_type=form, random_state=0).fit(X)
        full = model._emissions().parts.matrices()
        exact = np.stack([multivariate_normal(model.means_[s], full[s]).logpdf(X) for s in range(2)], axis=1)
        np.testing.assert_allclose(model._logs(X, None)[0], exact, rtol=1e-9)
    counts = np.random.default_rng(0).poisson(3.0, size=(40, 2)).astype(float)
    model = HiddenMarkovModel(2, emission="poisson", random_state=0).fit(counts)
    exact = poisson(model.rates_[None]).logpmf(counts[:, None, :]).sum(axis=2)
    np.testing.assert_allclose(model._logs(counts, None)[0], exact, rtol=1e-9)


def test_gaussian_fit_agrees_with_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    X, states = two_levels(400)
    means = np.array([[0.5, 0.5], [2.0, 2.0]])
    start, transitions = np.array([0.6, 0.4]), np.array([[0.8, 0.2], [0.3, 0.7]])
    theirs = hmm.GaussianHMM(
        2, "full", init_params="c", n_iter=200, tol=1e-9, min_covar=0, covars_prior=0, covars_weight=0, means_weight=0
    )
    theirs.startprob_, theirs.transmat_, theirs.means_ = start, transitions, means
    theirs.fit(X, [150, 250])
    ours = HiddenMarkovModel(2, start=start, transitions=transitions, emissions=means, max_iter=500, tol=1e-12).fit(
        X, [150, 250]
    )
    assert ours.score(X, [150, 250]) == pytest.approx(theirs.score(X, [150, 250]), abs=2e-3)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=2e-3)
    np.testing.assert_allclose(ours.transitions_, theirs.transmat_, atol=2e-3)
    theirs.startprob_, theirs.transmat_, theirs.means_ = ours.start_, ours.transitions_, ours.means_
    theirs.covars_ = ours.covariances_
    assert ours.score(X, [150, 250]) == pytest.approx(theirs.score(X, [150, 250]), rel=1e-10)
    np.testing.assert_allclose(ours.smooth(X, [150, 250]), theirs.predict_proba(X, [150, 250]), atol=1e-9)
    best, path = theirs.decode(X, [150, 250])
    assert ours.decode(X, [150, 250])[0] == pytest.approx(best, rel=1e-10)
    np.testing.assert_array_equal(ours.decode(X, [150, 250])[1], path)
    assert (path == states).mean() > 0.95


def test_categorical_fit_takes_the_steps_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, size=300)
    start, transitions = chain(3, 8)
    table = rng.dirichlet(np.ones(4), size=3)
    theirs = hmm.CategoricalHMM(3, init_params="", n_iter=15, tol=-np.inf, implementation="scaling")
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_, theirs.n_features = start, transitions, table, 4
    theirs.fit(codes[:, None], [120, 180])
    ours = HiddenMarkovModel(
        3, emission="categorical", start=start, transitions=transitions, emissions=table, max_iter=15, tol=0
    ).fit(codes[:, None], [120, 180])
    assert ours.n_iter_ == 15
    np.testing.assert_allclose(ours.transitions_, theirs.transmat_, atol=1e-8)
    np.testing.assert_allclose(ours.emission_probabilities_, theirs.emissionprob_, atol=1e-8)


@pytest.mark.parametrize("emission", ["gaussian", "categorical", "poisson"])
def test_parameters_of_drawn_sequences_are_found_again(emission):
    transitions = np.array([[0.9, 0.1], [0.2, 0.8]])
    emissions = {
        "gaussian": [[0.0], [4.0]],
        "categorical": [[0.8, 0.15, 0.05], [0.05, 0.15, 0.8]],
        "poisson": [[1.0], [8.0]],
    }[emission]
    shape = {"gaussian": [[0.0], [4.0], [2.0]], "categorical": [[0], [1], [2]], "poisson": [[1.0], [8.0], [3.0]]}
    truth = HiddenMarkovModel(
        2, emission=emission, start=[0.5, 0.5], transitions=transitions, emissions=emissions, max_iter=0
    ).fit(shape[emission])
    parts = [truth.sample(2000, random_state=seed)[0] for seed in range(4)]
    model = HiddenMarkovModel(2, emission=emission, n_init=3, max_iter=300, random_state=0).fit(parts)
    found = {"gaussian": "means_", "categorical": "emission_probabilities_", "poisson": "rates_"}[emission]
    learned = getattr(model, found)
    order = np.argsort(learned[:, -1])
    np.testing.assert_allclose(model.transitions_[np.ix_(order, order)], transitions, atol=0.03)
    np.testing.assert_allclose(learned[order], emissions, rtol=0.1, atol=0.15 if emission == "gaussian" else 0.03)


@pytest.mark.parametrize("emission", ["gaussian", "categorical"])
def test_weights_equal_repetition(emission):
    X, states = two_levels(60, d=1)
    table = X if emission == "gaussian" else (states + (X[:, 0] > 1.5))[:, None]
    first, second = table[:25], table[25:]
    given = {"emission": emission, "max_iter": 10, "tol": 0, "random_state": 0}
    if emission == "gaussian":
        given["emissions"] = [[0.0], [3.0]]
    else:
        given["emissions"] = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    given |= {"start": [0.5, 0.5], "transitions": [[0.8, 0.2], [0.2, 0.8]]}
    weighted = HiddenMarkovModel(2, **given).fit([first, second], None, [2.0, 1.0])
    repeated = HiddenMarkovModel(2, **given).fit([first, first, second])
    np.testing.assert_allclose(weighted.transitions_, repeated.transitions_, rtol=1e-8)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-10)


def test_a_missing_row_is_the_sum_over_every_symbol():
    model = HiddenMarkovModel(2, emission="categorical", random_state=0).fit([list("abcabcaabbcc"), list("ccab")])
    parts = [model.score([["a", symbol, "b"]]) for symbol in "abc"]
    assert model.score([["a", None, "b"]]) == pytest.approx(logsumexp(parts), rel=1e-12)
    np.testing.assert_allclose(model.filter([["a", None]])[1], model.predict([["a"]], steps=1)[0], atol=1e-12)


def test_one_observation_at_a_time_gives_what_filter_gives():
    X, _ = two_levels(40)
    X[7] = np.nan
    X[9, 1] = np.nan
    model = HiddenMarkovModel(2, random_state=0).fit(X)
    online = model.online()
    np.testing.assert_allclose([online.update(row) for row in X], model.filter(X), atol=1e-10)
    assert online.log_likelihood == pytest.approx(model.score(X), rel=1e-10)
    np.testing.assert_allclose(online.predict(3), model.predict(X, steps=3)[0], atol=1e-10)


def test_filtered_states_do_not_change_when_later_rows_do():
    X, _ = two_levels(50)
    model = HiddenMarkovModel(2, random_state=0).fit(X)
    other = X.copy()
    other[30:] = 9.0
    np.testing.assert_array_equal(model.filter(X)[:30], model.filter(other)[:30])
    np.testing.assert_array_equal(model.smooth(X, lag=5)[:25], model.smooth(other, lag=5)[:25])
    assert np.abs(model.smooth(X)[:30] - model.smooth(other)[:30]).max() > 0


def test_a_million_rows_do_not_underflow():
    X, states = two_levels(1_000_000, d=1)
    model = HiddenMarkovModel(
        2,
        start=[1, 0],
        transitions=[[0.9, 0.1], [0.1, 0.9]],
        emissions=[[0.0], [3.0]],
        max_iter=1,
        covariance_type="diag",
    ).fit(X)
    smoothed = model.smooth(X)
    assert np.isfinite(model.score(X)) and np.isfinite(smoothed).all()
    assert (smoothed.argmax(axis=1) == states).mean() > 0.9


def test_zeros_stay_zeros_and_fixed_parts_stay():
    X, _ = two_levels(120)
    left_right = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    model = HiddenMarkovModel(3, start=[1, 0, 0], transitions=left_right, transition_prior=1.0, random_state=0).fit(X)
    assert (model.transitions_[left_right == 0] == 0).all() and (np.diff(model.decode(X)[1]) >= 0).all()
    held = HiddenMarkovModel(3, transitions=left_right, fixed=["transitions"], random_state=0).fit(X)
    np.testing.assert_array_equal(held.transitions_, left_right)


def test_priors_raise_what_is_climbed_and_smooth_what_is_found():
    codes = [[0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]]
    model = HiddenMarkovModel(
        2,
        emission="categorical",
        start_prior=1.0,
        transition_prior=2.0,
        emission_prior=1.0,
        tol=0,
        random_state=0,
        trace=True,
    ).fit(codes)
    values = np.array([r["values"]["log_likelihood"] for r in model.trace_])
    assert (np.diff(values) >= -1e-9).all()
    assert model.transitions_.min() > 0.1 and model.emission_probabilities_.min() > 0.05


def test_counted_states_are_shares():
    words = [["the", "dog", "runs"], ["the", "cat", "the", "dog"]]
    tags = [0, 1, 2, 0, 1, 0, 1]
    model = HiddenMarkovModel(3, emission="categorical", max_iter=0).fit(words, states=tags)
    np.testing.assert_allclose(model.start_, [1, 0, 0])
    np.testing.assert_allclose(model.transitions_[:2], [[0, 1, 0], [0.5, 0, 0.5]])
    assert list(model.categories_) == ["cat", "dog", "runs", "the"]
    np.testing.assert_allclose(model.emission_probabilities_[1], [1 / 3, 2 / 3, 0, 0])
    assert model.decode([["the", "cat", "runs"]])[1].tolist() == [0, 1, 2]


def test_bic_finds_the_number_of_states():
    X, _ = two_levels(600, d=1)
    found = {k: HiddenMarkovModel(k, n_init=2, random_state=0).fit(X).bic(X) for k in (1, 2, 3)}
    assert min(found, key=found.get) == 2


def test_expected_rows_after_the_end():
    X, _ = two_levels(100, d=1)
    model = HiddenMarkovModel(2, random_state=0).fit(X)
    expected = model.filter(X)[-1] @ model.transitions_ @ model.transitions_ @ model.means_
    np.testing.assert_allclose(model.predict_rows(X, steps=2)[0], expected)


def test_the_path_is_drawn_over_the_sequence():
    X, _ = two_levels(80, d=1)
    view = HiddenMarkovModel(2, random_state=0).fit(X).state_path(X)
    assert view.to_svg().startswith("<svg") and sum(length for _, _, length in view.stays()) == 80
    assert "changes" in view.how_to_read and len(view.grid().rows) == 2


@pytest.mark.parametrize(
    ("parameters", "X", "lengths", "words"),
    [
        ({}, [[1.0], [2.0]], [3], "lengths must add up to the 2 rows"),
        ({}, [[1.0], [2.0]], [0, 2], "lengths must hold whole numbers >= 1"),
        ({"emission": "poisson"}, [[1.5]], None, "whole numbers >= 0"),
        ({"start": [0.5, 0.6]}, [[1.0], [2.0]], None, "add up to 1"),
        ({"transitions": [[1.0]]}, [[1.0], [2.0]], None, "shape (2, 2)"),
        ({"fixed": ["means"]}, [[1.0], [2.0]], None, "names among start, transitions, emissions"),
        ({"emission": "categorical", "emissions": [[1, 0], [1, 0]]}, [[0], [1]], None, "must be possible"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(parameters, X, lengths, words):
    with pytest.raises((DataError, ParameterError)) as caught:
        HiddenMarkovModel(2, random_state=0, **parameters).fit(X, lengths)
    assert words in str(caught.value)


def test_a_symbol_never_seen_is_refused_with_a_way_out():
    model = HiddenMarkovModel(2, emission="categorical", random_state=0).fit([list("abab")])
    with pytest.raises(DataError, match="categories"):
        model.score([["a", "z"]])
    wider = HiddenMarkovModel(
        2, emission="categorical", categories=["a", "b", "z"], emission_prior=0.5, random_state=0
    ).fit([list("abab")])
    assert np.isfinite(wider.score([["a", "z"]]))


def _pass(logs, lengths, chain, weights=None, codes=None, threads=1):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return _kernels.hmm_pass(logs, offsets, *chain, weights, True, True, True, -1, codes, None, threads)


@pytest.mark.parametrize("k", [1, 3, 4, 7, 8, 11])
@pytest.mark.parametrize("symbols", [False, True])
def test_sequences_side_by_side_give_what_each_gives_alone(k, symbols):
    rng = np.random.default_rng(k)
    lengths = np.append(rng.integers(1, 40, size=16), [127, 128, 300])
    n, weights = int(lengths.sum()), rng.uniform(0.5, 2.0, size=19)
    chain = (rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k))
    codes = rng.integers(0, 6, size=n) if symbols else None
    logs = np.log(rng.dirichlet(np.ones(6), size=k).T) if symbols else rng.normal(scale=20.0, size=(n, k)) - 500.0
    logs = np.ascontiguousarray(logs)
    together = _pass(logs, lengths, chain, weights, codes)
    starts, moves, counts = np.zeros(k), np.zeros((k, k)), np.zeros((6, k))
    ends = np.cumsum(lengths)
    for s, (end, length) in enumerate(zip(ends, lengths)):
        part = slice(end - length, end)
        alone = _pass(
            logs if symbols else np.ascontiguousarray(logs[part]),
            [length],
            chain,
            weights[s : s + 1],
            codes[part] if symbols else None,
        )
        assert together[0][s] == pytest.approx(alone[0][0], rel=1e-12)
        np.testing.assert_allclose(together[1][part], alone[1], atol=1e-12)
        np.testing.assert_allclose(together[2][part], alone[2], atol=1e-12)
        starts, moves = starts + alone[3], moves + alone[4]
        counts = counts + (alone[5] if symbols else 0.0)
    np.testing.assert_allclose(together[3], starts, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(together[4], moves, rtol=1e-10, atol=1e-12)
    if symbols:
        np.testing.assert_allclose(together[5], counts, rtol=1e-10, atol=1e-12)
    for threads in (2, 5):
        for one, other in zip(together, _pass(logs, lengths, chain, weights, codes, threads)):
            np.testing.assert_array_equal(one, other)


def test_a_sequence_that_must_be_taken_again_is_right_beside_others():
    # The likeliest emission by far belongs to a state that cannot be reached: its scale would wipe out the others.
    chain = (np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    plain, odd = np.zeros((3, 2)), np.array([[0.0, 0.0], [-2000.0, 0.0], [0.0, 0.0]])
    found = _pass(np.concatenate([plain, odd, plain]), [3, 3, 3], chain)
    assert found[0].tolist() == [0.0, -2000.0, 0.0]
    np.testing.assert_array_equal(found[2][:, 0], np.ones(9))
    broken = np.where(np.arange(2) == 0, -np.inf, 0.0) + np.zeros((3, 2))
    assert _pass(np.concatenate([plain, broken]), [3, 3], chain)[0].tolist() == [0.0, -np.inf]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, 2.0, 3.0], [1.0, 2.0]], "rows of 3 and of 2 cells"),
        ([[[1.0], [2.0, 3.0]], [[1.0]]], "sequence 0 must have rows of one length"),
        ([[[1.0], [2.0]], [[1.0, 5.0]]], "same number of columns"),
        ([[[1.0], [2.0]], [1.0]], "must be one table"),
    ],
)
def test_ragged_input_is_refused_in_one_sentence(X, words):
    with pytest.raises(DataError) as caught:
        HiddenMarkovModel(2, random_state=0).fit(X)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([["a", "b"], [1.0]], "must hold symbols of one kind; got texts and 1.0"),
        ([["a"], []], "sequence 1 must have some row"),
    ],
)
def test_symbols_of_two_kinds_and_empty_sequences_are_refused(X, words):
    with pytest.raises(DataError, match=words):
        HiddenMarkovModel(2, emission="categorical", random_state=0).fit(X)


def test_tables_among_plain_lists_are_refused_in_one_sentence():
    with pytest.raises(DataError, match="got parts of 1 and 2 dimensions"):
        HiddenMarkovModel(2).fit([np.array([[1.0], [2.0]]), np.array([2.0])])
    with pytest.raises(DataError, match="got rows of 2 and of 1 cells"):
        HiddenMarkovModel(2).fit([["a", "b"], [1.0]])


def test_states_may_be_given_sequence_by_sequence():
    words, model = [["a", "b"], ["b"]], HiddenMarkovModel(2, emission="categorical", max_iter=0)
    flat = model.fit(words, states=[0, 1, 1]).emission_probabilities_
    np.testing.assert_array_equal(model.fit(words, states=[[0, 1], [1]]).emission_probabilities_, flat)
    with pytest.raises(DataError, match="number the labels of the states from 0"):
        model.fit(words, states=["N", "V", "V"])


def test_the_online_filter_answers_for_what_it_is_given():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 5.0 * (np.arange(40) // 10 % 2)[:, None]
    online = HiddenMarkovModel(2, random_state=0).fit(X).online()
    for wrong in ("a", 1.0, [1.0, 2.0, 3.0]):
        with pytest.raises(DataError, match="the observation must be a row of 2 numbers"):
            online.update(wrong)
    with pytest.raises(ParameterError, match="'steps' must be an integer >= 0"):
        online.predict(-1)
    np.testing.assert_allclose(online.update(None), online.model.start_)


@pytest.mark.parametrize("emission", ["categorical", "poisson"])
def test_the_likelihood_of_symbols_and_counts_never_falls_either(emission):
    rng = np.random.default_rng(2)
    level = np.cumsum(rng.random(300) < 0.1) % 3
    if emission == "categorical":
        table = np.array([f"s{k}" for k in level * 2 + rng.integers(0, 3, 300)], dtype=object)
        table[40:45] = None
        priors = {"emission_prior": 0.3, "transition_prior": 0.2, "start_prior": 0.1}
    else:
        table = rng.poisson(2.0 + 4 * level[:, None], size=(300, 2)).astype(float)
        table[40:45, 0] = np.nan
        priors = {}
    model = HiddenMarkovModel(3, emission=emission, tol=0, max_iter=25, random_state=0, trace=True, **priors)
    model.fit(table, [100, 50, 150], sample_weight=[1.0, 2.5, 0.5])
    values = np.array([r["values"]["log_likelihood"] for r in model.trace_])
    assert (np.diff(values) >= -1e-9 * abs(values[-1])).all() and values[-1] > values[0]


def test_the_likeliest_of_the_restarts_is_kept():
    X, _ = two_levels(200)
    found = [HiddenMarkovModel(4, n_init=n, random_state=3, max_iter=40).fit(X).log_likelihood_ for n in (1, 2, 6)]
    assert found[0] <= found[1] <= found[2] and found[2] > found[0]
    model = HiddenMarkovModel(4, n_init=6, random_state=3, max_iter=40, trace=True).fit(X)
    ends = {}
    for record in model.trace_:
        ends[record["values"]["restart"]] = record["values"]["log_likelihood"]
    assert len(ends) == 6 and model.log_likelihood_ == max(ends.values())


def test_states_after_the_end_are_those_of_every_path_enumerated():
    start, moves = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    table = np.array([[0.9, 0.1], [0.25, 0.75]])
    model = HiddenMarkovModel(
        2, emission="categorical", start=start, transitions=moves, emissions=table, max_iter=0
    ).fit([[0, 1]])
    seen = [1, 0, 0]
    for steps in (0, 1, 2, 3):
        belief = np.zeros(2)
        for path in itertools.product(range(2), repeat=3 + steps):
            chance = start[path[0]] * np.prod([moves[a, b] for a, b in itertools.pairwise(path)])
            belief[path[-1]] += chance * np.prod([table[state, symbol] for state, symbol in zip(path, seen)])
        np.testing.assert_allclose(model.predict([seen], steps=steps)[0], belief / belief.sum())


def test_lists_of_one_symbol_are_sequences_too():
    model = HiddenMarkovModel(
        2, emission="categorical", start=[0.9, 0.1], transitions=[[0.2, 0.8], [0.7, 0.3]],
        emissions=[[0.9, 0.1], [0.3, 0.7]], categories=["a", "b"], max_iter=0,
    ).fit([["a", "b"], ["b"]])  # fmt: skip
    assert model.score([["a"], ["b"]]) == pytest.approx(model.score([["a"]]) + model.score([["b"]]))


def test_steps_that_run_out_are_told_with_the_way_out():
    X, _ = two_levels()
    with pytest.warns(
        AssayWarning, match=r"W201.*HiddenMarkovModel: not converged after 2 steps .*raise max_iter or tol"
    ):
        model = HiddenMarkovModel(2, max_iter=2, tol=0.0, random_state=0).fit(X)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HiddenMarkovModel(2, max_iter=0, random_state=0).fit(X)  # no steps were asked for


@pytest.mark.parametrize("form", ["full", "tied", "diag", "spherical"])
def test_a_pass_that_finds_densities_where_it_uses_them_gives_what_one_over_all_densities_gives(form):
    rng = np.random.default_rng(0)
    lengths = np.append(rng.integers(1, 60, size=11), [400, 129])
    rows, weights = rng.normal(size=(int(lengths.sum()), 3)), rng.uniform(0.5, 2.0, size=13)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    model = HiddenMarkovModel(3, covariance_type=form, max_iter=2, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        emissions = model.fit(rows, lengths)._emissions()
    seen, chain = Observed.of(rows), (model.start_, model.transitions_)
    values, starts, moves, moments = emissions.passed(seen, offsets, *chain, weights)
    logs = emissions.logs(seen)[0]
    expected = _kernels.hmm_pass(logs, offsets, *chain, weights, False, True, True, -1, None, logs, 1)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(starts, expected[3])
    np.testing.assert_array_equal(moves, expected[4])
    shares = logs * np.repeat(weights, lengths)[:, None]
    by_rows = emissions.maximised(seen, shares, None)
    found = emissions.from_moments(moments)
    np.testing.assert_allclose(found.parts.means, by_rows.parts.means, rtol=1e-10)
    np.testing.assert_allclose(found.parts.covariances, by_rows.parts.covariances, rtol=1e-9)
