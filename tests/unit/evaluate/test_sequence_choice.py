"""Sequences that were not fitted: the two routes to a score, no look ahead, the number of states by two criteria."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from assay.base import AssayError, DataError, ParameterError
from assay.evaluate import TimeSplitter, choose_states, cross_validate_sequences
from assay.models.sequences import HiddenMarkovModel


def walks(n: int = 6, length: int = 80, levels: int = 2, seed: int = 0) -> list[np.ndarray]:
    """Sequences of unequal lengths that go round between levels."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(n):
        level = np.cumsum(rng.random(length + 5 * k) < 0.1) % levels
        made.append((4.0 * level + rng.normal(size=level.size))[:, None])
    return made


@pytest.fixture(scope="module")
def choice():
    return choose_states(walks(levels=3), range(1, 6), random_state=0)


def test_both_criteria_find_the_three_states(choice):
    assert choice.best == {"bic": 3, "held-out": 3} and choice.chosen == 3
    assert choice.sentence == "3 states have most votes: bic says 3; held-out says 3."
    assert 3 in choice.within_one_error and 1 not in choice.within_one_error
    alone = HiddenMarkovModel(1).fit(walks(levels=3)).bic(walks(levels=3))
    assert choice.values["bic"][0] == pytest.approx(alone)


def test_it_is_a_table_and_a_picture(choice):
    assert str(choice).count("*") == 3 and len(choice.charts()) == 2
    svg = choice.to_svg()
    assert svg.count("<svg") == 3 and "held-out: k = 3" in svg and svg in choice.to_html()
    assert choice.charts()[1].lines[0].low[0] < choice.values["held-out"][0]
    assert choice.to_dict()["best"]["held-out"] == 3


def test_a_single_sequence_is_tested_on_its_later_rows():
    X = walks(1, 500, levels=2, seed=3)[0]
    found = choose_states(X, (1, 2, 3), design=TimeSplitter(4), random_state=0)
    assert found.chosen == 2
    assert choose_states(X, (1, 2), criteria=["held-out"], random_state=0).best == {"held-out": 2}


def test_whole_sequences_are_scored_by_models_of_the_others():
    sequences, model = walks(), HiddenMarkovModel(2, random_state=0)
    found = cross_validate_sequences(model, sequences, design=KFold(3))
    assert found.by == "sequence" and sum(found.rows) == sum(map(len, sequences))
    for (train, test), score in zip(KFold(3).split(range(6)), found.per_row):
        fitted = HiddenMarkovModel(2, random_state=0).fit([sequences[k] for k in train])
        held_out = [sequences[k] for k in test]
        assert score == pytest.approx(fitted.score(held_out) / sum(map(len, held_out)))
    table, lengths = np.concatenate(sequences), [len(one) for one in sequences]
    assert cross_validate_sequences(model, table, lengths, design=KFold(3)).per_row == found.per_row
    error = np.std(found.per_row, ddof=1) * np.sqrt(1 / 3 + np.mean([r / (sum(lengths) - r) for r in found.rows]))
    assert found.standard_error == pytest.approx(error) and "3 splits" in found.sentence


def test_two_splits_have_an_error_and_one_has_none():
    sequences, model = walks(), HiddenMarkovModel(2, random_state=0)
    found = cross_validate_sequences(model, sequences, design=KFold(2))
    total = sum(map(len, sequences))
    ratio = np.mean([rows / (total - rows) for rows in found.rows])
    assert found.standard_error == pytest.approx(np.std(found.per_row, ddof=1) * np.sqrt(1 / 2 + ratio))
    one = cross_validate_sequences(model, sequences[0], design=TimeSplitter(1))
    assert np.isnan(one.standard_error) and "standard error" not in one.sentence


def test_symbols_that_the_model_knows_are_kept():
    sequences = [list("aababbaab"), list("abbbaab"), list("babaabb"), list("abaabab")]
    model = HiddenMarkovModel(1, emission="categorical", categories=list("abcd"), emission_prior=2.0, random_state=0)
    found = cross_validate_sequences(model, sequences, design=KFold(2))
    for (train, test), score in zip(KFold(2).split(range(4)), found.per_row):
        held_out = [sequences[k] for k in test]
        fitted = model.fit([sequences[k] for k in train])
        assert score == pytest.approx(fitted.score(held_out) / sum(map(len, held_out)))


def test_later_rows_are_scored_given_the_past_and_no_later_row_matters():
    X, model = walks(1, 300, seed=5)[0], HiddenMarkovModel(2, random_state=0)
    design = TimeSplitter(3, gap=5)
    found = cross_validate_sequences(model, X, design=design)
    assert found.by == "time"
    for (train, test), score in zip(design.split(X), found.per_row):
        fitted = HiddenMarkovModel(2, random_state=0).fit(X[train])
        told = fitted.score(X[: test[-1] + 1]) - fitted.score(X[: test[0]])
        assert score == pytest.approx(told / len(test))
    changed = X.copy()
    changed[list(design.split(X))[-1][1]] += 50.0
    again = cross_validate_sequences(model, changed, design=design)
    assert again.per_row[:-1] == found.per_row[:-1] and again.per_row[-1] < found.per_row[-1] - 10


def test_several_sequences_are_cut_at_one_time():
    sequences, model = [np.arange(40.0)[:, None] % 7, np.arange(20.0)[:, None] % 5], HiddenMarkovModel(1)
    times = np.r_[np.arange(40), np.arange(20) + 15]
    found = cross_validate_sequences(model, sequences, design=TimeSplitter(1, test_size=10), times=times)
    # Times 30 to 39 are tested: ten rows of the first sequence, and the five of the second from 30 on.
    fitted = HiddenMarkovModel(1).fit([sequences[0][:30], sequences[1][:15]])
    told = [fitted.score(s) - fitted.score(s[:cut]) for s, cut in zip(sequences, (30, 15))]
    assert found.rows == (15,) and found.per_row[0] == pytest.approx(sum(told) / 15)
    places = cross_validate_sequences(model, sequences, design=TimeSplitter(1, test_size=10))
    assert places.rows == (10,)  # by place: the second sequence has ended


def test_a_symbol_that_training_rows_never_have_costs_the_likelihood_and_a_prior_mends_it():
    words = [["a", "b", "a", "b"], ["a", "a", "b"], ["b", "a"], ["a", "c", "b"]]
    plain = HiddenMarkovModel(1, emission="categorical", random_state=0)
    found = cross_validate_sequences(plain, words, design=KFold(4))
    assert found.per_row[3] == -np.inf and np.isfinite(found.per_row[:3]).all() and np.isnan(found.standard_error)
    with pytest.raises(DataError, match="give the model emission_prior"):
        choose_states(words, (1, 2), model=plain, criteria=["held-out"], design=KFold(4), random_state=0)
    smoothed = HiddenMarkovModel(1, emission="categorical", emission_prior=0.5)
    assert np.isfinite(cross_validate_sequences(smoothed, words, design=KFold(4), random_state=0).mean)


def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_threads():
    given = [
        cross_validate_sequences(HiddenMarkovModel(3), walks(), design="3-fold", random_state=7, n_jobs=jobs).per_row
        for jobs in (1, 2)
    ]
    assert given[0] == given[1]


def test_lists_of_sequences_go_through_scikit_learns_searches():
    sequences = walks(6, 60)
    scores = cross_val_score(HiddenMarkovModel(2, random_state=0), sequences, cv=3)
    fitted = HiddenMarkovModel(2, random_state=0).fit(sequences[2:])
    assert scores[0] == pytest.approx(fitted.score(sequences[:2]))
    search = GridSearchCV(HiddenMarkovModel(random_state=0), {"n_states": [1, 2]}, cv=3).fit(sequences)
    assert search.best_params_ == {"n_states": 2}


def test_times_may_be_equal_and_the_row_of_the_first_earlier_one_is_named():
    X, model = walks(1, 60)[0], HiddenMarkovModel(1)
    times = np.repeat(np.arange(30), 2)
    found = cross_validate_sequences(model, X, design=TimeSplitter(2, test_size=5), times=times)
    assert found.rows == (10, 10)
    times[41] = 3
    with pytest.raises(DataError, match=r"got an earlier one at row 41\.$"):
        cross_validate_sequences(model, X, design=TimeSplitter(2, test_size=5), times=times)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cross_validate_sequences(object(), [[1.0]]), "model must be a HiddenMarkovModel"),
        (
            lambda: cross_validate_sequences(HiddenMarkovModel(), walks(1)[0], design="3-fold"),
            "sequences must be at least 2",
        ),
        (
            lambda: cross_validate_sequences(
                HiddenMarkovModel(), walks(1)[0], design=TimeSplitter(3, scheme="blocked")
            ),
            "must not look ahead",
        ),
        (
            lambda: cross_validate_sequences(
                HiddenMarkovModel(), walks(1)[0], design=TimeSplitter(3), times=np.arange(80)[::-1]
            ),
            "must not fall within a sequence",
        ),
        (
            lambda: cross_validate_sequences(HiddenMarkovModel(), walks(1)[0], design=TimeSplitter(3), times=[1]),
            "must hold one time for each",
        ),
        (lambda: choose_states(walks(), criteria=["luck"]), "must name some of"),
        (lambda: choose_states(walks(), [0, 1]), "must hold whole numbers >= 1"),
        (lambda: choose_states(walks(), "ab"), "must hold whole numbers >= 1"),
        (lambda: choose_states(walks(), [1.5]), "must hold whole numbers >= 1"),
        (lambda: choose_states(None), "X must be a table, or a list of sequences"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(call, words):
    with pytest.raises((AssayError, DataError, ParameterError), match=words):
        call()
