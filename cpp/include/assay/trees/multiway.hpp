// Classification trees with a branch per category and fractional rows: ID3 and C4.5.
//
// A node holds items (row, weight); W is their weight, W_k that of items whose cell in the tested column is known. With
// impurity I in bits (entropy) or gini, a test that sends the known items to branches of weight w_1..w_q has
//   gain        G = (W_k I(known) - sum_b w_b I(b)) / W            the gain among known items times their share
//   split info  S = - sum_b w_b/W log2 w_b/W - w_?/W log2 w_?/W    the missing items count as one more branch
//   gain ratio  R = G / S
// Candidates are one test per column. A nominal column has a branch for every category; at least two must weigh
// `min_leaf`. A numeric column is cut in two at the boundary of largest gain, midway between neighbouring values, both
// sides weighing `min_leaf`, and with `large_branches` also a tenth of W_k per class up to 25; with `threshold_cost` the
// gain is lowered by log2(boundaries admitted) / W, the price of naming one (C4.5 release 8).
//   `by_ratio`: of the candidates whose gain is at least the average gain of all candidates, less 0.001 bits, the one of
// largest ratio. A nominal column with a category for every three rows or so (>= 0.3 n) does not count in the average
// unless all are such. Otherwise the one of largest gain. Gains within 1e-9 of each other are equal, and the lower
// column and threshold win. With `positive_gain` a candidate needs a gain above that (a nominal column without still counts in
// the average); a split needs W/n G >= min_decrease.
//   An item whose tested cell is missing goes down every branch with the share w_b / W_k of its weight. Categories that
// did not reach the node get one leaf of weight 0 with the class shares of the node. A node is a leaf if it is pure, at
// `max_depth`, weighs less than `min_split` or 2 `min_leaf`, or has no candidate.
//
// Weights live on a grid of about 2^-51 of the total, so that their sums are exact in any order, and the sums behind the
// impurities are integers: the tree depends neither on the order of rows nor on the number of threads.
//
// Algorithm: columns are sorted once by counting; a node owns the sorted entries of its columns and hands them to its
// children in order, so nothing is sorted again. Large nodes run in parallel over columns, small ones as tasks. Cost
// O(n d depth) time and about 16 bytes per cell without missing cells. Where the tested cell is missing, rows multiply by
// the number of branches (that is the method); then one child at a time is built, so memory stays within the nodes of
// one path and a batch of tasks of n rows. References: Quinlan, C4.5: Programs for Machine Learning, 1993; Quinlan,
// Improved Use of Continuous Attributes in C4.5, JAIR 4, 1996; Ruggieri, Efficient C4.5, IEEE TKDE 14, 2002.
#pragma once

#include "assay/trees/cart.hpp"

namespace assay::trees {

struct MultiwayOptions {
    bool gini = false;  // else entropy in bits
    bool by_ratio = true;
    bool threshold_cost = true;
    bool large_branches = true;
    bool positive_gain = true;
    index_t max_depth = -1;  // -1: no limit
    double min_split = 2, min_leaf = 2, min_decrease = 0;
    bool trace = false;
    int threads = 1;
};

// In preorder. A multiway test has `branch` >= 0: the child of category c of K is branches[branch + c], and
// branches[branch + K] is the heaviest child, where a row that must go one way goes if its category is unknown.
// A numeric test is as in `Tree`, missing_left the heavier side; left and right are -1 at a multiway test.
struct MultiwayTree {
    std::vector<std::int32_t> feature, left, right;
    std::vector<double> threshold;
    std::vector<std::int64_t> branch;
    std::vector<std::int32_t> branches;
    std::vector<std::uint8_t> missing_left;
    std::vector<double> impurity, rows, weight;
    std::vector<double> value;  // n_nodes x n_classes: class shares
    std::vector<double> table;  // with trace: n_nodes x n_columns x 4: gain, split info, ratio, threshold; NaN if no test
};

// `target` needs labels and may have weights, in units of rows.
// IN   as for grow_cart; `order` is used up.
MultiwayTree grow_multiway(const tables::CodedColumns& columns, tables::Entry* order, Vector<const std::int32_t> rows,
                           const CartTarget& target, const MultiwayOptions& options);

// A fitted tree as views.
struct MultiwayView {
    Vector<const std::int32_t> feature;
    const std::int32_t *left = nullptr, *right = nullptr;
    const double* threshold = nullptr;
    const std::int64_t* branch = nullptr;
    Vector<const std::int32_t> branches;
    const std::uint8_t* missing_left = nullptr;
    const std::int32_t* n_categories = nullptr;
    const double *weight = nullptr, *value = nullptr;
    index_t n_classes = 0;
};

// OUT leaf (n): the leaf that each row reaches; where a tested cell is missing or unknown it takes the heaviest branch.
void apply_multiway(const MultiwayView& tree, Matrix<const double> cells, Vector<std::int32_t> leaf, int threads);

// OUT shares (n x n_classes): the class shares of the leaf; where a tested cell is missing or unknown, the mean over the
// branches by their weight.
void multiway_shares(const MultiwayView& tree, Matrix<const double> cells, Matrix<double> shares, int threads);

}  // namespace assay::trees
