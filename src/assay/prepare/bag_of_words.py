"""Bag of words: a text as the words it holds, or how often it holds them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, hstack
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from ..base.cells import is_pandas
from ..base.cost import Cost, check_cost
from ..base.errors import DataError, ParameterError, plain
from ..base.parameters import ArrayLike, Boolean, Choice, Instance, Integer, Nothing, Real, param
from ..base.words import count
from .encode import MISSING_LABEL
from .step import CellCost, TableStep, columns_param, free_name, is_number, listed, matrix_of


class BagOfWords(TableStep):
    """Turns columns of text into one column per word, named 'comment:cat': 1 if the text holds it, or how often.

    The words are those of the training rows, in the order of the alphabet, or those of `vocabulary` in its order. A
    word that is not among them counts for nothing, and a missing text holds no word. Other columns pass through. The
    words are those that scikit-learn's `CountVectorizer` counts.

    Attributes
    ----------
    vocabulary_ : dict, the words of each column of text, in the order of their columns

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import BagOfWords
    >>> table = pl.DataFrame({"comment": ["The cat is in the tree", "A mouse! A mouse!"]})
    >>> BagOfWords(vocabulary=["cat", "tree", "mouse"]).fit_transform(table).rows()
    [(1.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    >>> BagOfWords(vocabulary=["cat", "tree", "mouse"], binary=False).fit_transform(table).row(1)
    (0.0, 0.0, 2.0)
    """

    _way_out = "use sparse=True, a smaller max_features or a larger min_df"

    vocabulary: Any = param(None, ArrayLike() | Nothing(), "Words to look for; None for those of the training rows.")
    binary: bool = param(True, Boolean(), "Whether a word is there (1 or 0), or how often.")
    max_features: int | None = param(
        None, Integer(1) | Nothing(), "Words per column at most: the most frequent; None for all."
    )
    min_df: Any = param(
        1, Integer(1) | Real(0, 1, closed="neither"), "Texts, or share of the texts, that a word must occur in."
    )
    lowercase: bool = param(True, Boolean(), "Whether upper and lower case are the same.")
    stop_words: Any = param(
        None, Choice("english", None) | ArrayLike(), "Words to leave out: a list, or scikit-learn's English ones."
    )
    token_pattern: str = param(
        r"(?u)\b\w\w+\b", Instance(str), "Regular expression of a word; the default takes two letters or more."
    )
    sparse: bool = param(False, Boolean(), "Give a SciPy sparse matrix, for large vocabularies.")
    columns: Any = columns_param("Columns of text, by name or position; None for all.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        try:
            groups = re.compile(self.token_pattern).groups
        except re.error as error:
            self._refuse("token_pattern", "a regular expression", f"{plain(self.token_pattern)}: {plain(error)}")
        if groups > 1:
            self._refuse("token_pattern", "a regular expression of one group at most", plain(self.token_pattern))
        if self.vocabulary is not None:
            words = list(self.vocabulary)
            if not words or not all(isinstance(w, str) for w in words) or len(set(words)) < len(words):
                self._refuse("vocabulary", "a list of different words", plain(repr(words)))
        stop = self._stop_words()
        if isinstance(stop, list) and not all(isinstance(word, str) for word in stop):
            self._refuse("stop_words", "a list of words", plain(repr(stop)))
        chosen = self._chosen(frame, lambda series: series.dtype == pl.String, "text")
        self.kinds_ = dict.fromkeys(chosen, "text")
        self.vocabulary_ = {name: self._words(frame[name]) for name in chosen}
        kept = [name for name in frame.columns if name not in chosen]
        self.names_out_ = []
        for name in frame.columns:
            if name not in chosen:
                self.names_out_.append(name)
            for word in self.vocabulary_.get(name, []):
                self.names_out_.append(free_name(f"{name}:{word}", kept))
        if len(set(self.names_out_)) < len(self.names_out_):
            raise DataError(
                type(self).__name__, "the table", "has columns whose words give one name twice", way_out="rename them"
            )
        if not self.sparse:
            size = 16.0 * frame.height * len(self.names_out_)
            check_cost(type(self).__name__, Cost(seconds=size * 1e-10, bytes=size), self._way_out)

    def _stop_words(self) -> Any:
        return self.stop_words if self.stop_words is None or isinstance(self.stop_words, str) else list(self.stop_words)

    def _refuse(self, name: str, rule: str, came: str) -> None:
        raise ParameterError(type(self).__name__, f"parameter '{name}'", f"must be {rule}", f"got {came}")

    def _tokens(self, series: pl.Series) -> list[list[str]]:
        """The words of each text that are no stop words, in their order; a missing text has none."""
        find = re.compile(self.token_pattern).findall
        texts = [text or "" for text in series.to_list()]
        words = [find(text.lower()) for text in texts] if self.lowercase else [find(text) for text in texts]
        stop = self._stop_words()
        if stop is None:
            return words
        if stop == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            stop = ENGLISH_STOP_WORDS
        left_out = frozenset(stop)
        return [[word for word in text if word not in left_out] for text in words]

    def _words(self, series: pl.Series) -> list[str]:
        if self.vocabulary is not None:
            return [str(word) for word in self.vocabulary]
        texts = self._tokens(series)
        found = Counter(word for text in texts for word in set(text))
        least = self.min_df if isinstance(self.min_df, (int, np.integer)) else self.min_df * len(texts)
        words = sorted(word for word, times in found.items() if times >= least)
        if self.max_features is not None and len(words) > self.max_features:
            often = found if self.binary else Counter(word for text in texts for word in text)
            # As in scikit-learn, also which of equally frequent words are kept.
            kept = (-np.array([often[word] for word in words])).argsort()[: self.max_features]
            words = [words[j] for j in np.sort(kept)]
        if not words:
            raise DataError(
                type(self).__name__,
                f"column '{plain(series.name)}'",
                "holds no word that counts",
                way_out="check token_pattern, stop_words and min_df, or leave the column out",
            )
        return words

    def _counts(self, series: pl.Series) -> csr_matrix:
        words = self.vocabulary_[series.name]
        place = dict(zip(words, range(len(words))))
        places: list[int] = []
        starts = [0]
        for text in self._tokens(series):
            places += [place[word] for word in text if word in place]
            starts.append(len(places))
        cells = np.ones(len(places)), np.array(places, dtype=np.int32), np.array(starts)
        counts = csr_matrix(cells, shape=(series.len(), len(words)))
        counts.sum_duplicates()
        if self.binary:
            counts.data[:] = 1.0
        return counts

    def transform(self, X: Any) -> Any:
        """One column per word; a sparse matrix if `sparse`."""
        check_is_fitted(self)
        default = _get_output_config("transform", self)["dense"] == "default"
        # A table of texts alone becomes one matrix; a frame of a column per word takes longer than the counting.
        matrix = default and len(self.vocabulary_) == len(self.names_in_) and (is_pandas(X) or type(X) is np.ndarray)
        if not self.sparse and not matrix:
            return super().transform(X)
        if not default:
            self._refuse("sparse", "False where set_output asks for a frame", "True")
        frame = self._like_fit(self._open(X, reset=False), self.kinds_)
        parts = []
        for series in frame.get_columns():
            if series.name in self.vocabulary_:
                parts.append(self._counts(series))
                continue
            if not is_number(series):
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name)}'",
                    "must hold numbers to stand in a sparse matrix",
                    f"its type is {plain(series.dtype)}",
                    "code it first or leave it out",
                )
            parts.append(csr_matrix(matrix_of(series.to_frame())))
        counts = parts[0] if len(parts) == 1 else hstack(parts, format="csr")
        return counts if self.sparse else self._matrix_out(counts.toarray(), X, "names_out_")

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        columns: list[pl.Series] = []
        for series in frame.get_columns():
            if series.name not in self.vocabulary_:
                columns.append(series)
                continue
            counts = self._counts(series).toarray(order="F")
            names = self.names_out_[len(columns) : len(columns) + counts.shape[1]]
            columns += pl.DataFrame(counts, schema=names).get_columns()
        return pl.DataFrame(columns)

    def explain(self) -> list[str]:
        """The words of each column, in words."""
        check_is_fitted(self)
        what = "1 if the text holds the word" if self.binary else "how often the text holds the word"
        return [
            f"{plain(name)}: {len(words)} columns, {what}: {listed(words)}." for name, words in self.vocabulary_.items()
        ]

    # About a dozen words per text.
    _cell_cost = CellCost(seconds=1e-5, start=1e-4, bytes=300.0)


def _bag(**parameters: Any) -> BagOfWords:
    made: Any = BagOfWords
    return made(**parameters)


@dataclass(frozen=True)
class Words:
    """The words of one column of free text: a column of 0/1 for each, and one for missing texts if there are any.

    >>> import polars as pl
    >>> words = Words.fit(pl.Series("note", ["a good day", "Good food!", "bad day", None]), most=500)
    >>> words.names
    ['note:day', 'note:good', 'note=(missing)']
    """

    name: str
    words: tuple[str, ...]
    missing: bool

    @classmethod
    def fit(cls, series: pl.Series, most: int) -> Words:
        """The most frequent words of those that occur in two texts or more: one text says nothing about others."""
        try:
            words = _bag(max_features=most, min_df=2)._words(series)
        except DataError:
            words = []
        return cls(series.name, tuple(words), series.null_count() > 0)

    @property
    def names(self) -> list[str]:
        """Names of the columns, such as 'note:good'."""
        return [f"{self.name}:{word}" for word in self.words] + ([f"{self.name}={MISSING_LABEL}"] * self.missing)

    def write(self, series: pl.Series, out: np.ndarray) -> None:
        """Set the ones in a block of zeros with one column per name."""
        if self.words:
            bag = _bag(vocabulary=list(self.words))
            bag.vocabulary_ = {series.name: list(self.words)}
            counts = bag._counts(series).tocoo()
            out[counts.row, counts.col] = 1.0
        if self.missing:
            out[series.is_null().to_numpy(), out.shape[1] - 1] = 1.0

    def explain(self) -> str:
        """What becomes of the column, in words."""
        if not self.words:
            return "free text, set aside: no word occurs in two training texts"
        return (
            f"free text becomes a bag of words: {count(len(self.words), 'column')} of 0 and 1 for the most frequent "
            f"words of the training rows ({listed(list(self.words))})"
        ) + (", missing has a column of its own" if self.missing else "")
