// Random forests and extra trees on binned columns.
//
// Tree t is grown on a bootstrap sample: W units are drawn with replacement from W = sum of whole weights (a row of weight w is w
// units; rows stand in an order of their contents, so that weights equal repetition), or every row counts once without bootstrap. Weights
// that are not whole multiply the counts of rows drawn alike.
//   At each node columns are drawn without replacement until `columns_per_node` of them vary and some split is valid. The split maximises
//   sum_k G_Lk^2 / H_L + sum_k G_Rk^2 / H_R,
// with G_k the weight of class k (which is the decrease of Gini impurity), or the sum of output k (the decrease of squared error), and H the weight.
// Random forests try every boundary of bins; extra trees one per column, drawn uniformly between the extreme values of the node. Missing cells
// are tried on both sides.
//   Labels stand in the order of u.G_c / H_c, their means in the node: u is 1 for two classes or one output (where the best of all sets is a
// prefix), for more the first principal component of the means of the tree's labels. Extra trees draw the means of the node by 3 rows
// towards those of the tree and cut once between the extremes. Sorted, even noise makes a score: with v the variance of u.y in the node,
// (2 / pi) v (k - 2), k = (sum_c sqrt(H_c))^2 / H, is expected of it and taken off (histogram_tree.hpp derives it). A label that the node lacks
// goes where it stands in the tree, its mean over all rows of the tree plus what the node's labels have beyond theirs.
//   Sums are whole numbers (targets are rounded to 31 - log2 W bits in the search), so that the trees do not depend on row order; leaves are
// shares of classes or means at full precision.
//   Trees run in parallel, each on its own stream. Out-of-bag: a row is predicted by the trees that did not draw it.
// Reference: Breiman, Machine Learning 45, 2001; Geurts, Ernst & Wehenkel, Machine Learning 63, 2006.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/trees/bins.hpp"
#include "assay/trees/forest.hpp"

namespace assay::ensembles {

struct ForestTarget {
    const std::int32_t* labels = nullptr;  // classification
    const double* y = nullptr;             // regression: n x outputs
    index_t width = 1;                     // classes or outputs
    const double* weights = nullptr;
    bool whole = true;
};

struct ForestOptions {
    index_t trees = 100, first_tree = 0;
    index_t columns_per_node = 1, max_depth = -1;
    double min_split = 2, min_leaf = 1;
    bool bootstrap = true, extra = false, out_of_bag = false, permute = false;
    std::uint64_t key = 0;
    int threads = 1;
    const LargeVector<std::uint8_t>* columns = nullptr;  // `codes_by_column` of the bins, where many forests are grown on them
};

// Other rows in the bins of the table, whose predictions are all that is wanted: no forest is kept. What they are told is the sum over trees of
// the values of their leaves, each plus `level` (by output; null: 0), the bits that `add_predictions` finds with the forest.
struct AskedRows {
    const trees::Bins* rows = nullptr;
    const double* level = nullptr;
};

struct GrownForest {
    trees::Forest forest;
    std::vector<double> oob_sum;        // n x width: sums of the values of the trees that did not draw the row
    std::vector<std::int32_t> oob_trees;  // how many those are
    std::vector<double> oob_loss;       // by tree: mean loss (errors, squared error) out of bag, NaN if every row was drawn
    std::vector<double> permuted_loss;  // by tree and column: the same with the column permuted among those rows
    std::vector<double> asked_sum;      // asked rows x width
};

GrownForest grow_forest(const trees::Bins& bins, const ForestTarget& target, const ForestOptions& options, const AskedRows& asked = {});

// OUT d x n: the codes of each column side by side.
LargeVector<std::uint8_t> codes_by_column(const trees::Bins& bins, int threads);

// How often each row was drawn for a tree.
std::vector<std::int32_t> bootstrap_counts(index_t n, const double* whole_weights, std::uint64_t key, index_t tree);

}  // namespace assay::ensembles
