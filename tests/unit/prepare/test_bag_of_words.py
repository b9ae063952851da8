"""Bags of words agree with scikit-learn's counts, keep a plain vocabulary, and can be sparse."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse
from sklearn.feature_extraction.text import CountVectorizer

from assay import config
from assay.base import AssayError, CostError
from assay.prepare import BagOfWords

TEXTS = ["The cat is in the tree", "A mouse! The mouse sees the cat.", "no animals here", "Tree upon tree upon TREE"]
TABLE = pl.DataFrame({"text": TEXTS, "age": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"binary": False},
        {"max_features": 3, "binary": False},
        {"min_df": 2},
        {"min_df": 0.5},
        {"lowercase": False},
        {"stop_words": "english"},
        {"stop_words": ["the"]},
        {"token_pattern": r"\b\w\b"},
        {"vocabulary": ["tree", "cat"], "binary": False},
    ],
)
def test_agrees_with_scikit_learn(options):
    peer = CountVectorizer(**{"binary": True, **options}).fit(TEXTS)
    step = BagOfWords(**options).fit(TABLE)
    assert step.vocabulary_ == {"text": peer.get_feature_names_out().tolist()}
    np.testing.assert_array_equal(step.transform(TABLE).drop("age").to_numpy(), peer.transform(TEXTS).toarray())


@pytest.mark.parametrize("options", [{}, {"binary": False, "max_features": 3}, {"sparse": True}])
def test_texts_alone_become_the_same_matrix_in_arrays_and_frames(options):
    rows = np.array([*TEXTS, None], dtype=object)[:, None]
    framed = pd.DataFrame({"text": rows[:, 0]}, index=list("abcde"))
    step = BagOfWords(**options).fit(framed)
    expected = BagOfWords(**{**options, "sparse": False}).fit(pl.DataFrame({"text": [*TEXTS, None]}))
    cells = expected.transform(pl.DataFrame({"text": [*TEXTS, None]})).to_numpy()
    found = step.transform(framed)
    if "sparse" in options:
        np.testing.assert_array_equal(found.toarray(), cells)
        return
    assert found.columns.tolist() == step.get_feature_names_out().tolist() and found.index.tolist() == list("abcde")
    np.testing.assert_array_equal(found.to_numpy(), cells)
    np.testing.assert_array_equal(BagOfWords(**options).fit(rows).transform(rows), cells)


def test_names_other_columns_and_words():
    step = BagOfWords(vocabulary=["cat", "tree", "mouse"]).fit(TABLE)
    assert step.get_feature_names_out().tolist() == ["text:cat", "text:tree", "text:mouse", "age"]
    assert step.explain() == ["text: 3 columns, 1 if the text holds the word: cat, tree, mouse."]
    assert (
        BagOfWords(columns=["text"])
        .fit(TABLE.with_columns(pl.lit("x").alias("t")))
        .transform(TABLE.with_columns(pl.lit("x").alias("t")))["t"]
        .to_list()
        == ["x"] * 4
    )
    assert isinstance(step.transform(TABLE.to_pandas()), pd.DataFrame)


def test_unknown_words_and_missing_texts_count_for_nothing():
    step = BagOfWords(vocabulary=["cat"]).fit(TABLE)
    assert step.transform(pl.DataFrame({"text": [None, "dog"], "age": [1, 2]}))["text:cat"].to_list() == [0.0, 0.0]


def test_sparse_output_is_the_same_matrix():
    dense, sparse = BagOfWords().fit_transform(TABLE), BagOfWords(sparse=True).fit_transform(TABLE)
    assert issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), dense.to_numpy())
    with pytest.raises(AssayError, match="'sparse' must be False where set_output"):
        BagOfWords(sparse=True).set_output(transform="pandas").fit(TABLE).transform(TABLE)
    mixed = TABLE.with_columns(pl.lit("x").alias("plan"))
    with pytest.raises(AssayError, match="column 'plan' must hold numbers to stand in a sparse matrix"):
        BagOfWords(sparse=True, columns=["text"]).fit(mixed).transform(mixed)


def test_a_dense_matrix_that_is_too_large_is_refused_beforehand():
    texts = pl.DataFrame({"t": [f"word{i} other{i}" for i in range(500)]})
    with config.use(max_bytes=2e6), pytest.raises(CostError, match="sparse=True"):
        BagOfWords().fit(texts)
    with config.use(max_bytes=2e6):
        assert BagOfWords(sparse=True).fit(texts).transform(texts).shape == (500, 1000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"token_pattern": "("}, "'token_pattern' must be a regular expression"),
        ({"token_pattern": "(a)(b)"}, "'token_pattern' must be a regular expression of one group at most"),
        ({"vocabulary": ["a", "a"]}, "'vocabulary' must be a list of different words"),
        ({"stop_words": np.zeros((2, 2))}, "'stop_words' must be a list of words"),
        ({"min_df": 10}, "column 'text' holds no word that counts"),
        ({"columns": ["age"]}, "column 'age' must hold text"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(AssayError, match=words):
        BagOfWords(**options).fit(TABLE)
