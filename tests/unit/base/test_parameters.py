import inspect

import numpy as np
import pytest
from sklearn.base import clone

from assay.base import (
    Boolean,
    Choice,
    Estimator,
    Integer,
    Nothing,
    ParameterError,
    Real,
    Seed,
    param,
)

KINDS = [
    Integer(1, 5),
    Integer(),
    Real(0, 1, "neither"),
    Real(0, None, "left"),
    Real(0, None, infinite=True),
    Boolean(),
    Choice("a", "b"),
    Choice("a", None),
    Nothing(),
    Seed(),
    Integer(1) | Nothing(),
    Real(0, 1) | Choice("auto") | Nothing(),
]


class Base(Estimator):
    """A base."""

    depth: int = param(3, Integer(1), "How deep.")


class Derived(Base):
    """A class with one more."""

    rate: float = param(0.5, Real(0, 1), "How fast.")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.describe())
def test_bad_values_are_refused_by_their_kind(kind):
    assert kind.bad_values()
    assert not any(kind.accepts(bad) for bad in kind.bad_values())


@pytest.mark.parametrize(
    ("kind", "good"),
    [(Integer(1, 5), [1, 5, np.int64(3)]), (Real(0, 1), [0, 1, 0.5, np.float32(0.25)]), (Choice("a"), ["a"]),
     (Boolean(), [True, np.False_]), (Seed(), [None, 0, np.random.default_rng(0)]), (Real(0, infinite=True), [np.inf])],
)  # fmt: skip
def test_good_values_are_accepted(kind, good):
    assert all(kind.accepts(value) for value in good)


def test_bounds_follow_closed():
    assert not Real(0, 1, "neither").accepts(0) and not Real(0, 1, "neither").accepts(1)
    assert Real(0, 1, "left").accepts(0) and not Real(0, 1, "left").accepts(1)
    assert not Real(0, 1, "right").accepts(0) and Real(0, 1, "right").accepts(1)


def test_parameters_are_inherited_base_first():
    assert list(inspect.signature(Derived).parameters) == ["depth", "rate"]
    assert Derived().get_params() == {"depth": 3, "rate": 0.5}


def test_constructor_stores_and_does_not_validate():
    model = Derived(depth=-4)
    assert model.depth == -4
    with pytest.raises(ParameterError, match="parameter 'depth' must be an integer >= 1; got -4"):
        model._check_parameters()


def test_clone_and_set_params_keep_values():
    assert clone(Derived(depth=9)).set_params(rate=0.25).get_params() == {"depth": 9, "rate": 0.25}


def test_unknown_parameter_names_the_near_one():
    with pytest.raises(TypeError, match="did you mean 'depth'"):
        Derived(dept=1)


def test_docstring_holds_the_table():
    assert "rate : a number >= 0 and <= 1, default=0.5\n    How fast." in Derived.__doc__


def test_attributes_are_described_once_and_said_anew_where_a_class_differs():
    class Model(Estimator):
        """A model."""

        _learned = {"mean_": "the mean", "spread_": "the spread"}

    class Robust(Model):
        """Another.

        {parameters}
        """

        _learned = {"mean_": "the median", "steps_": "how many"}

    assert Robust.__doc__.strip().endswith(
        "Attributes\n----------\nmean_ : the median\nspread_ : the spread\nsteps_ : how many"
    )


def test_tables_stand_before_the_first_section_of_the_docstring():
    class Shown(Estimator):
        """A model.

        Examples
        --------
        >>> 1
        1
        """

        _learned = {"mean_": "the mean"}
        rate: float = param(0.5, Real(0, 1), "How fast.")

    heads = (
        "A model.",
        "Parameters\n----",
        "rate : ",
        "Attributes\n----",
        "mean_ : the mean",
        "Examples\n----",
        ">>> 1",
    )
    places = [Shown.__doc__.index(head) for head in heads]
    assert places == sorted(places)
    assert "{parameters}" not in Shown.__doc__


def test_values_of_other_text_are_shortened_in_the_message():
    with pytest.raises(ParameterError) as caught:
        Derived(depth="x" * 10_000)._check_parameters()
    assert len(str(caught.value)) < 200
