import pickle

import pytest

from assay.base import AssayError, AssayWarning, CostError, DataError, DesignError, ParameterError, UsageError, plain


@pytest.mark.parametrize(
    ("kind", "code"), [(UsageError, 2), (ParameterError, 2), (DataError, 3), (CostError, 3), (DesignError, 2)]
)
def test_each_error_is_one_sentence_with_an_exit_code(kind, code):
    error = kind("Ridge", "column 'age'", "holds 3 words", "first: 'n/a' at row 17", "clean it")
    assert str(error) == "Ridge: column 'age' holds 3 words; first: 'n/a' at row 17; clean it."
    assert error.exit_code == code and isinstance(error, AssayError)


def test_errors_of_values_are_value_errors_too():
    assert issubclass(ParameterError, ValueError) and issubclass(DataError, ValueError)
    assert issubclass(CostError, MemoryError)


def test_errors_and_warnings_survive_transport_between_processes():
    error = pickle.loads(pickle.dumps(DataError("read", "file", "is empty")))
    assert str(error) == "read: file is empty."
    warning = pickle.loads(pickle.dumps(AssayWarning("W101", "Ridge: text.")))
    assert (warning.code, str(warning)) == ("W101", "[W101] Ridge: text.")


@pytest.mark.parametrize("nasty", ["a\x1b[2Jb", "a\u202eb", "a\x00b", "a\x9bb", "a\u2066b"])
def test_control_and_direction_characters_never_reach_a_terminal(nasty):
    clean = plain(nasty)
    assert clean.isprintable() and clean.startswith("a")


def test_plain_limits_length_and_keeps_one_line():
    assert len(plain("x" * 500)) == 80
    assert plain("two\nlines\tand tab") == "two lines and tab"
