"""A table whose only signal is in a column of free text is learned, from the words of training rows alone."""

from __future__ import annotations

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from assay.data import Table
from assay.experiment import Plan, run
from assay.experiment.inputs import Inputs

NOISE = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrt"]


def reviews(n: int = 160) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    liked = rng.random(n) < 0.5
    texts = []
    for good in liked:
        word = rng.choice(["excellent", "happy"] if good else ["awful", "refund"])
        texts.append(" ".join([*rng.choice(NOISE, 5), word, *rng.choice(NOISE, 3)]))
    return pl.DataFrame({"review": texts, "age": rng.normal(size=n), "liked": np.where(liked, "yes", "no")})


def test_the_signal_of_a_text_column_is_learned_by_every_learner_that_can():
    table = Table.from_frame(reviews())
    assert table.roles["review"].role == "text"
    picks = ColumnTransformer([("words", TfidfVectorizer(), "review")])
    learners = [
        "zero-r",
        "logistic",
        "naive-bayes",
        ("knn-classifier", {"n_neighbors": 9}),
        "cart-classifier",
        LogisticRegression(),
        ("own words", make_pipeline(picks, LogisticRegression())),
    ]
    results = run(Plan(table, "liked", learners=learners, design="5-fold"))
    assert results.failed == []
    score = {result.id: float(result.scores["accuracy"].mean()) for result in results.learners}
    assert all(score[name] > score["zero-r"] + 0.2 for name in score if name != "zero-r"), score
    words = " ".join(results.learners[1].preparation)
    assert "review: free text becomes a bag of words" in words and "awful" in words
    assert results.plan.features.set_aside == []


def test_no_word_of_test_rows_is_in_the_vocabulary():
    frame = reviews()
    plan = Plan(Table.from_frame(frame), "liked", learners=["logistic"], design="4-fold")
    test = plan.splits[0].test
    marked = [text + " planted" if row in set(test.tolist()) else text for row, text in enumerate(frame["review"])]
    spoiled = Plan(
        Table.from_frame(frame.with_columns(pl.Series("review", marked))),
        "liked",
        learners=["logistic"],
        design="4-fold",
    )
    assert (spoiled.splits[0].test == test).all()
    clean, other = (Inputs(one).fold(one.learners[0], 0) for one in (plan, spoiled))
    assert (clean[0] == other[0]).all() and (clean[2] == other[2]).all()
    seen = Inputs(spoiled).fold(spoiled.learners[0], 1)
    assert seen[0].shape[1] >= Inputs(plan).fold(plan.learners[0], 1)[0].shape[1]
