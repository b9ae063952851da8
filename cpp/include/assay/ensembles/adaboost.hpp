// AdaBoost around trees on binned columns, for two or more classes (SAMME).
//
// Rows begin with weights w_i that sum to 1. Round t grows a tree h_t for them, with the weighted error e_t = sum_i w_i [h_t(x_i) != y_i],
// gives it the vote
//   a_t = eta (log((1 - e_t) / e_t) + log(K - 1)),
// and multiplies the weights of the rows it misses by exp(a_t). The class with the most votes wins. With K = 2 and eta = 1 this is AdaBoost
// (Freund & Schapire, Journal of Computer and System Sciences 55, 1997); for more classes a tree must beat guessing, e_t < 1 - 1/K, not
// one half (Zhu, Zou, Rosset & Hastie, Statistics and Its Interface 2, 2009). A row that the votes miss was missed by at least half of
// them, so that for any votes the share of rows missed is at most
//   prod_t ((1 - e_t) exp(-a_t / 2) + e_t exp(a_t / 2)),     which is prod_t 2 sqrt(e_t (1 - e_t)) for K = 2, eta = 1.
//   Reweighting grows the tree on the weights, by the Gini index; resampling on as many rows as there are, drawn with these
// probabilities; errors are those of all rows in both. A tree no better than guessing ends the rounds (by resampling after ten draws),
// as does one without error, whose error counts as 1e-12.
//   Weights are kept as w_i = m_i u_i, with m_i whole (sample weights) and u_i equal for equal rows, and summed as whole numbers:
// weights equal repetition, and the order of the rows does not matter, bit for bit.
// Cost O(rounds n d levels).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/trees/bins.hpp"
#include "assay/trees/forest.hpp"

namespace assay::ensembles {

struct AdaBoostOptions {
    index_t rounds = 50, max_depth = 1;
    double learning_rate = 1;
    bool resample = false;
    std::uint64_t key = 0;
    int threads = 1;
};

struct AdaBoosted {
    trees::Forest forest;               // two classes: leaves hold -a_t or a_t; more: a_t for the class of the leaf and 0 for the others
    std::vector<double> errors, votes;  // e_t, a_t
};

// `weights` null: 1; `whole`: they are whole numbers, so that a row of weight w is w rows.
AdaBoosted grow_adaboost(const trees::Bins& bins, const std::int32_t* labels, index_t classes, const double* weights, bool whole,
                         const AdaBoostOptions& options);

}  // namespace assay::ensembles
