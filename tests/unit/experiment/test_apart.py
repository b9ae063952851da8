"""Claims about limits: a learner that hangs, explodes or crashes is stopped with a sentence, the others go on."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from assay.base.errors import ParameterError, UsageError
from assay.data import load_dataset
from assay.experiment import Plan, run
from assay.experiment.limits import Limits, bytes_of


class Hangs(DummyClassifier):
    """Never ends, and holds the interpreter."""

    def fit(self, X, y):
        while True:
            pass


class Explodes(DummyClassifier):
    """Fills the memory bit by bit."""

    def fit(self, X, y):
        held = []
        while True:
            held.append(np.ones(4_000_000))


class Huge(DummyClassifier):
    """Asks for far too much at once."""

    def fit(self, X, y):
        np.ones(10**13)
        return self


class Crashes(DummyClassifier):
    """Dies without a word."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGSEGV)


class Interrupts(DummyClassifier):
    """Raises what the keyboard raises."""

    def fit(self, X, y):
        raise KeyboardInterrupt


class Forks(DummyClassifier):
    """Comes back from its fit twice, in two processes."""

    def fit(self, X, y):
        super().fit(X, y)
        os.fork()
        print("fitted in", os.getpid())
        return self


class Fails(DummyClassifier):
    """Raises an error of its own."""

    def fit(self, X, y):
        raise ValueError("too bad")


def test_a_learner_over_the_limits_is_stopped_with_a_sentence_and_the_others_go_on_to_the_same_bits():
    iris, good = load_dataset("iris"), ["naive-bayes", "knn-classifier"]
    hanging = Plan(iris, "species", learners=[Hangs()], design="3-fold", time_limit=1)
    learners = [Explodes(), Huge(), Crashes(), Fails(), *good]
    plan = Plan(iris, "species", learners=learners, design="3-fold", time_limit=90, memory_limit="400 MB")
    found = {one.id: one for results in (run(hanging), run(plan, n_jobs=2)) for one in results.learners}
    told = {
        "hangs": "Hangs: a fit went over the time limit of 1.0 s and was stopped",
        "explodes": "Explodes: a fit went over the memory limit of 400 MB and was stopped",
        "huge": "Huge: a fit went over the memory limit of 400 MB and was stopped",
        "crashes": "Crashes: its process ended by itself (SIGSEGV)",
        "fails": "Fails: ValueError: too bad.",
    }
    for name, sentence in told.items():
        assert found[name].error.startswith(sentence), found[name].error
    for result in run(Plan(iris, "species", learners=good, design="3-fold")).learners:
        assert found[result.id].error is None and found[result.id].view == result.view
        for name, scores in result.scores.items():
            assert np.array_equal(scores, found[result.id].scores[name])


def test_a_learner_that_interrupts_or_forks_ends_neither_the_run_nor_the_others(capfd):
    iris = load_dataset("iris")
    learners = [Interrupts(), Forks(), "zero-r"]
    found = run(Plan(iris, "species", learners=learners, design="3-fold", time_limit=90)).learners
    assert found[0].error == "Interrupts: KeyboardInterrupt: no message."
    assert found[1].error is None and found[2].error is None
    assert np.array_equal(found[1].scores["accuracy"], found[2].scores["accuracy"])
    said = capfd.readouterr()
    assert "Traceback" not in said.err and "fitted in" in said.err and not said.out


def test_what_cannot_be_sent_is_told_in_one_sentence():
    class Stuck(DummyClassifier):
        def __reduce__(self):
            raise TypeError("not me")

    plan = Plan(load_dataset("iris"), "species", learners=[Stuck()], design="3-fold", time_limit=60)
    with pytest.raises(UsageError, match="cannot be sent to another process"):
        run(plan)


def test_limits_change_no_key_and_no_fingerprint():
    plans = [Plan(load_dataset("iris"), "species", learners=["zero-r"], time_limit=limit) for limit in (None, 60)]
    assert plans[0] == plans[1]
    assert plans[0].unit_key(plans[0].learners[0], 0, "c") == plans[1].unit_key(plans[1].learners[0], 0, "c")
    assert plans[0].limits is None and plans[1].limits == Limits(60, None)


@pytest.mark.parametrize("bad", ["lots", "-1 GB", 0, "2 QB", True, float("nan"), [1]])
def test_an_amount_of_memory_that_is_none_is_refused(bad):
    with pytest.raises(ParameterError, match="memory_limit"):
        bytes_of(bad)


@pytest.mark.parametrize("bad", [0, -1, "x", float("inf")])
@pytest.mark.parametrize("name", ["time_limit", "budget"])
def test_a_time_that_is_none_is_refused(name, bad):
    with pytest.raises(ParameterError, match=name):
        Plan(load_dataset("iris"), "species", learners=["zero-r"], **{name: bad})
