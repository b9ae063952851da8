// Minimum spanning trees of points, without a distance matrix, and the hierarchy that a tree is.
//
// Distances are Euclidean, or mutual reachability max(|x - y|, core_x, core_y) where core distances are given (Campello,
// Moulavi & Sander, PAKDD 2013); `squared` quantities throughout the kernels.
//
// Few columns: Boruvka's rounds on the boxes of a k-d tree. Every component looks for its nearest foreign point. Each point
// begins with its four nearest ones: as long as one of them is foreign, the first such is the nearest. A point
// whose nearest foreign point of an earlier round is still foreign need not look again, one whose last answer is no nearer
// than its component's best so far neither, and nodes that lie in the component as a whole are passed over. Blocks of points
// are searched with the bounds known before the block, so the tree does not depend on the number of threads.
// Many columns, few points: Prim's algorithm, one sweep over float64 panels of the points outside of the tree for each point
// added, which are packed anew when a quarter of them has been reached; O(n) memory, 4/7 n^2 d terms.
//
// OUT edges: n - 1 of them, `first`, `second` (row numbers) and `distance` (not squared), in order. Fewer than 2^31 rows.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "assay/neighbours/metrics.hpp"

namespace assay::clustering {

struct Edge {
    double distance;
    std::int32_t first, second;  // the smaller number first

    auto operator<=>(const Edge&) const = default;
};
using Edges = std::vector<Edge>;

// `core` (n, not squared) may be null.
Edges boruvka_tree(Matrix<const double> rows, const double* core, int threads);
Edges prim_tree(Matrix<const double> rows, neighbours::Metric metric, double p, const double* core, int threads);

// The hierarchy of single linkage in SciPy's form: row t joins the clusters z[4t], z[4t+1] (rows are 0..n-1, the cluster made
// in row s is n+s; the smaller number first) at height z[4t+2] to one of z[4t+3] rows. Edges must be sorted.
void hierarchy_of_tree(const Edges& edges, double* z);

// The condensed tree of HDBSCAN (Campello et al. 2013; McInnes & Healy 2017): going down the hierarchy, a split into two parts
// of at least min_size rows each makes two clusters, any other lets rows fall out of the cluster. lambda = 1 / height. Merges of
// one height are one split into as many parts, so that the result does not depend on which of several minimum trees was found.
// Stability of a cluster: sum over rows of (lambda where the row leaves) - (lambda where the cluster is born). Chosen are the
// clusters with the largest total stability of which none contains another ("leaf": those without clusters below).
// OUT labels n (-1 noise), probabilities n (lambda of the row over the largest lambda in its cluster), stability per label.
std::vector<double> hdbscan_labels(const double* z, index_t n, index_t min_size, bool leaves, bool allow_single,
                                   std::int32_t* labels, double* probabilities);

}  // namespace assay::clustering
