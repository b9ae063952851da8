"""Scores of naive Bayes on sparse tables: what rows of zeros get, plus what each cell adds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array


def sparse_scores(model: Any, table: csr_array) -> np.ndarray:
    """log P(class) + log P(row | class) of each row of a sparse table, for a fitted `NaiveBayes`."""
    classes, width = model.classes_.shape[0], model.n_features_in_
    slope, of_squares = np.zeros((width, classes)), np.zeros((width, classes))
    with np.errstate(divide="ignore"):
        score = np.log(model.class_prior_)
    gaussian, precision = model.gaussian_columns_, np.where(model.constant_, 0.0, 0.5 / model.var_)
    level = np.where(model.constant_, 0.0, -0.5 * np.log(2.0 * np.pi * model.var_))
    score = score + (level - precision * model.theta_**2).sum(axis=1)
    slope[gaussian], of_squares[gaussian] = (2.0 * precision * model.theta_).T, -precision.T
    marks = model.bernoulli_columns_
    score = score + np.log1p(-model.bernoulli_prob_).sum(axis=1)
    slope[marks] = (np.log(model.bernoulli_prob_) - np.log1p(-model.bernoulli_prob_)).T
    slope[model.multinomial_columns_] = model.multinomial_log_prob_.T
    cells = table
    if marks.size:
        is_mark = np.zeros(width, dtype=bool)
        is_mark[marks] = True
        data = np.where(is_mark[table.indices], table.data > 0, table.data)
        cells = csr_array((data, table.indices, table.indptr), shape=table.shape)
    scores = cells @ slope + score
    if gaussian.size:
        scores += cells.multiply(cells).tocsr() @ of_squares
    return scores
