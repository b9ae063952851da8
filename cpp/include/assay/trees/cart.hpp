// Classification and regression trees on rank codes.
//
// A node t holds rows of total weight w_t and has impurity I(t):
//   gini               1 - sum_k p_k^2                      squared_error   weighted mean of (y - mean)^2
//   entropy            - sum_k p_k log2 p_k                 absolute_error  weighted mean of |y - median|
//   misclassification  1 - max_k p_k                        worst_case      max |y - midrange|
// Growing takes, at each node, the split that minimises w_L I(L) + w_R I(R) over every column and every boundary
// between neighbouring distinct values of the node (worst_case: max(I(L), I(R)), then their sum). Ties go to the lower
// column, then the lower threshold, then missing to the right. The threshold is the midpoint of the two values.
//   Nominal columns are split into two sets of categories. For two classes, and for squared error, ordering the
// categories by mean makes the best of all 2^(q-1) - 1 sets one of q - 1 prefixes (Fisher 1958; Breiman et al. 1984,
// thm 4.5). For more classes all sets are tried up to `exhaustive_categories`, then prefixes of the orders by principal
// direction (Coppersmith, Hong & Hosking 1999) and by the share of each class. absolute_error and worst_case use prefixes
// of the orders by median and by midrange.
//   Missing cells are tried on both sides. A node that saw none sends them, and unknown categories, to the child with
// more rows; categories that did not reach the node follow the missing cells.
//   A node becomes a leaf if it is pure, at `max_depth`, holds fewer than `min_split` rows, has no split that leaves
// `min_leaf` rows and `min_weight_leaf` weight on both sides, or if w_t/w (I(t) - w_L/w_t I(L) - w_R/w_t I(R)) is
// less than `min_decrease`. With `max_leaf_nodes` > 0 the node with the largest such decrease is split next.
//
// Algorithm: each column is one array of entries in order of value (tables/coded_columns.hpp); a node is a segment of every
// such array, and a split partitions the segments stably, so nothing is sorted again. Large nodes run in parallel over
// columns; nodes of a few thousand rows become tasks with their own 16-bit entries, which stay in cache. Two
// leaves as children need no partition. Cost O(n d depth) time; the entries, 4 bytes per cell, are all that grows with the
// table. The tree does not depend on the number of threads. Reference: Breiman, Friedman, Olshen & Stone, Classification and Regression Trees, 1984.
//
// second_order serves boosting. Row i has a gradient g_i and a hessian h_i >= 0 of a loss; with G and H their sums over a
// part, adding v to the scores of its rows changes the loss, to second order, by G v + H v^2 / 2, and the penalty
// l2 v^2 / 2 + l1 |v| is added to it. The best v = -T(G) / (H + l2), T(G) = sign(G) max(|G| - l1, 0), changes it by
//   cost = -T(G)^2 / (2 (H + l2)),      gain of a split = cost(t) - cost(L) - cost(R)
// (Chen & Guestrin, XGBoost, 2016, eq. 6 and 7, whose gamma is `min_decrease` here). A split is made if its gain is
// positive and at least `min_decrease`; `min_weight_leaf` bounds H; a part with H + l2 = 0 is never made. Node weight is
// H, impurity is cost / H (0 where H = 0). With g = -y, h = 1 and no penalty this is squared_error, but for splits that
// gain nothing, which only that criterion makes.
//   Nominal columns: prefixes of the order of the categories by -G / H. T(G)^2 / (H + l2) is convex in (G, H), so the sum
// over both parts is convex in the (G, H) of one part and is largest at a vertex of the zonotope of the categories'
// vectors; its vertices are the sets {a G_c + b H_c > 0}. So if any set of categories has a positive gain, the best is a
// prefix, for every l2 and l1 (ordering by G / (H + l2) would not do). `min_leaf` and `min_weight_leaf` bound the
// prefixes as they bound thresholds.
//   The search sees g, h and l2 rounded to grids on which all sums are exact, and node values add what the grids left
// over on finer grids, so that the tree has the same bits for every order of the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/tables/coded_columns.hpp"

namespace assay::trees {

enum class Criterion : int { gini, entropy, misclassification, squared_error, absolute_error, worst_case, second_order };

constexpr index_t exhaustive_categories = 9;

// Targets of the training rows, in the order of `rows`.
struct CartTarget {
    const std::int32_t* labels = nullptr;  // classification: 0..n_classes-1
    index_t n_classes = 0;
    const double* y = nullptr;  // regression: n x outputs
    index_t outputs = 1;
    const double* weights = nullptr;  // null: every row weighs 1
    const double* repeats = nullptr;  // how many rows a row counts as in min_split and min_leaf; null: 1
    const double* gradients = nullptr;  // second_order, with hessians >= 0; labels, y and weights are null then
    const double* hessians = nullptr;
};

struct ObliqueOptions;

struct CartOptions {
    Criterion criterion = Criterion::gini;
    index_t max_depth = -1;  // -1: no limit
    double min_split = 2;
    double min_leaf = 1;
    double min_weight_leaf = 0;
    index_t max_leaf_nodes = 0;  // 0: no limit
    double min_decrease = 0;
    index_t max_features = 0;  // 0: all columns; else drawn anew at each node from the stream of `key` and the path
    std::uint64_t key = 0;
    bool trace = false;
    int threads = 1;
    const ObliqueOptions* oblique = nullptr;  // classification: linear tests too (oblique.hpp)
    double l2 = 0, l1 = 0;  // second_order
};

// The tree in preorder: the left child of node i is i + 1. Leaves have feature -1 and children -1.
struct Tree {
    std::vector<std::int32_t> feature, left, right;
    std::vector<double> threshold;          // numeric test: value <= threshold goes left
    std::vector<std::int64_t> categories;   // nominal test: first word of the set that goes left, else -1
    std::vector<std::uint64_t> words;       // bit c of a set: category c goes left
    std::vector<std::uint8_t> missing_left;
    std::vector<double> impurity, rows, weight;
    std::vector<double> value;  // n_nodes x (n_classes or outputs): class shares, or the prediction
    index_t width = 1;
    std::vector<double> gains;  // with trace: n_nodes x n_columns, best decrease of each column tried, NaN if not tried
    // With linear tests: the row of each node in the matrices below, or -1; weights, fills, and shares |b_j| / sum |b|.
    std::vector<std::int32_t> linear;
    std::vector<double> linear_weight, linear_fill, linear_share;
    std::vector<std::int32_t> tried_node;  // with trace: the node of each linear test that was tried
    std::vector<double> tried;             // its gain, threshold and weights
};

// IN   rows: the row of the cells behind each training row. `order` (d x rows) are their entries; they are used up.
Tree grow_cart(const tables::CodedColumns& columns, tables::Entry* order, Vector<const std::int32_t> rows,
               const CartTarget& target, const CartOptions& options);

// A fitted tree as views, to send rows through.
struct TreeView {
    Vector<const std::int32_t> feature, left, right;
    const double* threshold = nullptr;
    const std::int64_t* categories = nullptr;
    Vector<const std::uint64_t> words;
    const std::uint8_t* missing_left = nullptr;
    const std::int32_t* n_categories = nullptr;
};

// OUT leaf (n): the leaf that each row reaches. Cells as for sort_columns; rows in parallel.
void apply_tree(const TreeView& tree, Matrix<const double> cells, Vector<std::int32_t> leaf, int threads);

// Weakest-link pruning of a tree in preorder, given by the parent of each node (-1 for the root); nodes may have any
// number of children. With R(t) = risk of node t as a leaf (weight share times impurity) and R(T_t) that of the leaves
// below it, the next link to cut is the t with the smallest (R(t) - R(T_t)) / (leaves - 1), the lowest index at a tie;
// down to the root. Cost O(n_nodes (depth + log n_nodes)), as few nodes are looked at more than twice.
struct PruningPath {
    std::vector<double> alphas, impurities;  // first 0 and the risk of the whole tree, then one pair per cut
    std::vector<double> cut_at;  // the alpha from which a node is a leaf: 0 for leaves, infinity if it goes with an ancestor
};
PruningPath weakest_links(Vector<const std::int32_t> parent, const double* risk);

}  // namespace assay::trees
