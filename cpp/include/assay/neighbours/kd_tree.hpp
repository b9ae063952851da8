// k-d tree for few columns: the same neighbours as brute force, bit for bit.
//
// Build: a node over the rows [begin, end) of `order` splits its widest column at the median, so that the left part is a
// whole number of panels (16 rows); parts of at most `leaf_rows` = 32 rows are leaves. Nodes lie in preorder (the left
// child of node v is v+1); `low` is the largest value on the left and `high` the smallest on the right, so the gap
// between the children prunes too. Rows are stored again in tree order as panels (metrics.hpp). Threads share subtrees.
//
// Search (Arya & Mount, "Algorithms for fast vector quantization", DCC 1993): descend to the nearer child first and visit
// the other only if the sum over columns of the distance to its slab does not exceed the k-th best so far. The bound is
// compared with a relative slack of 1e-12, far above its rounding error, and equal distances are visited: ties go to the
// smaller row number exactly as in brute force. Many queries are answered in the order of the tree, for the cache.
//
// Cost: build O(d n + n log n) time and d n extra memory; a query O(log n) for small d, growing as 2^d.
#pragma once

#include "assay/common/freed_memory.hpp"
#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t leaf_rows = 32;

// Where the right part of a node over the rows [begin, end) begins.
inline index_t middle_of(index_t begin, index_t end) {
    const index_t half = (end - begin) >> 1;
    return begin + ((half + panel_lanes - 1) & -panel_lanes);
}

struct KdTree {
    std::vector<std::int64_t> order;        // n: row at each position
    std::vector<std::int32_t> column;       // per node: column split, -1 for a leaf
    std::vector<std::int32_t> right;        // per node: the right child
    std::vector<double> low, high;          // per node
    std::vector<double, Unwritten<double>> panels;  // panel_count(n) x d x 16
};
KdTree build_kd_tree(Matrix<const double> rows, int threads);

struct KdTreeView {
    const std::int64_t* order;
    const std::int32_t* column;
    const std::int32_t* right;
    const double* low;
    const double* high;
    const double* panels;
    index_t n;
};
// Whether every link of the tree leads to a node and every leaf is small: a tree read from outside is checked before use.
bool well_formed(const KdTreeView& tree, index_t nodes, index_t d);
void nearest_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                     std::int64_t* nearest, double* distances, int threads);
void count_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                   std::int64_t* counts, int threads);
RadiusLists within_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius, int threads);

}  // namespace assay::neighbours
