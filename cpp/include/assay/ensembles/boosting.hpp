// Boosting of histogram trees.
//
// A model is a score f(x) = base + offset + sum_t eta v_t(x), one for each output. Round t fits a tree to the gradients g_i and Hessians
// h_i of the loss at the scores so far and adds eta times its values (Friedman, Annals of Statistics 29, 2001; Chen & Guestrin,
// XGBoost, KDD 2016). Second order: the tree is grown with (g, h), its values are Newton steps with penalties; without L1 and
// bounds the L2 penalty is on what a leaf differs from a constant of the tree, so that it does not draw the mean of rare classes
// (leaves of few Hessians) towards that of the others. First order: it is
// grown with (g, 1), and the values are Newton steps with the true h, or, where the loss has no curvature, the constant that
// minimises the loss in the leaf: the median or quantile of the residuals, or Huber's one-step mean.
//   Losses with no curvature (absolute error, quantile) are grown with h = 1 and take such values in both orders.
//   Softmax over K classes grows K trees a round: g_k = p_k - [y = k], h_k = K / (K - 1) p_k (1 - p_k), which bounds the curvature.
//   If the training loss rose after a round (Newton steps may overshoot), the round's values are halved until it does not; a
// round that cannot lower it is dropped and ends the fit; where rows are drawn, its trees stay with the value 0 and others follow.
//   Rows 0..n_train-1 are fitted, the others are validation rows: with `patience` > 0 the fit ends when their loss has not
// fallen for so many rounds, and rounds after the best are dropped.
//   Row sampling: row i takes part in round t if the draw of (key, t, i) is below `row_share`. Columns: `columns_per_tree` of them.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/trees/histogram_tree.hpp"

namespace assay::ensembles {

enum class Loss : int { squared, absolute, huber, quantile, poisson, gamma, tweedie, logistic, softmax, given };

struct BoostingOptions {
    trees::HistogramOptions tree;
    Loss loss = Loss::squared;
    double parameter = 0;  // Huber: delta; quantile: level; Tweedie: power
    double learning_rate = 0.1, row_share = 1;
    bool first_order = false;
    index_t outputs = 1;
    index_t columns_per_tree = 0;  // 0: all
    index_t patience = 0;
    std::uint64_t key = 0;
    std::vector<std::int8_t> monotone;
    std::vector<std::vector<std::int32_t>> interactions;
};

class Booster {
public:
    // `y`, `weights` (or empty), and `scores` (n x outputs: base and offset) by row of the bins.
    Booster(const trees::Bins& bins, std::vector<double> y, std::vector<double> weights, std::vector<double> scores,
            index_t n_train, const BoostingOptions& options);

    // Up to `rounds` more rounds by the loss of the options; false when the fit has ended (or was interrupted).
    bool run(index_t rounds);
    // One round by gradients and Hessians from outside (n x outputs); their validation loss is given by the caller.
    void step(const double* gradients, const double* hessians);
    // Drops the rounds from `rounds` on.
    void truncate(index_t rounds);

    trees::Forest forest;
    std::vector<double> scores, train_loss, valid_loss;  // losses: mean per unit of weight, before the first round and after each
    index_t best_round = 0;
    bool ended = false;

    index_t rounds() const { return forest.n_trees() / options_.outputs; }

private:
    struct Change {  // what one tree added: the leaves of its own rows, and leaf by leaf for the rest
        std::vector<trees::GrownLeaf> leaves;
        std::vector<std::int32_t> rows, leaf_of_other;
    };

    double measure(index_t begin, index_t end, bool with_gradients);
    void grow_round();
    void draw_rows();
    Change grow_tree(index_t output);
    int threads_for(const Change& change) const;
    void move(const Change& change, index_t tree, index_t output, double factor);
    double leaf_constant(const trees::GrownLeaf& leaf, const std::vector<std::int32_t>& rows, index_t output) const;
    bool settles_leaves() const;
    void free_constant(const Change& change, std::size_t first);
    void bound_leaves(Change& change, index_t tree, index_t output) const;

    const trees::Bins& bins_;
    BoostingOptions options_;
    index_t n_, n_train_;
    std::vector<double> y_, weights_, g_, h_;  // gradients: outputs x n
    std::vector<std::int32_t> drawn_, others_;  // rows that the trees of this round are grown on, and those they are not
    std::vector<Change> changes_;  // of the last round, by output
    double train_weight_ = 0, valid_weight_ = 0;
    bool whole_ = true;
    trees::HistogramGrower grower_;
};

// Up to `rounds` more rounds of each, side by side.
void run_together(const std::vector<Booster*>& boosters, index_t rounds, int threads);

}  // namespace assay::ensembles
