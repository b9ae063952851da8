// k-d tree for few columns: the same neighbours as brute force, bit for bit.
//
// Build: a node over the rows [begin, end) of `order` splits its widest column at the median, so that the left part is a
// whole number of panels (16 rows); parts of at most `leaf_rows` = 32 rows are leaves. Nodes lie in preorder (the left
// child of node v is v+1); `low` is the largest value on the left and `high` the smallest on the right, so the gap
// between the children prunes too. The rows stay where they are: a search turns those of the leaves that it visits into
// panels (metrics.hpp) and keeps the last of them. Threads share subtrees.
//
// Search (Arya & Mount, "Algorithms for fast vector quantization", DCC 1993): descend to the nearer child first and visit
// the other only if the sum over columns of the distance to its slab does not exceed the k-th best so far. The bound is
// compared with a relative slack of 1e-12, far above its rounding error, and equal distances are visited: ties go to the
// smaller row number exactly as in brute force. Many queries are answered in the order of the tree, for the cache.
//
// Cost: build O(d n + n log n) time; the tree holds a number for each row and 24 bytes for each node (n / 16 at most), the
// build up to 8 columns of the rows beside it; a query O(log n) for small d, growing as 2^d.
#pragma once

#include <memory>

#include "assay/common/freed_memory.hpp"
#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t leaf_rows = 32;

// Where the right part of a node over the rows [begin, end) begins.
inline index_t middle_of(index_t begin, index_t end) {
    const index_t half = (end - begin) >> 1;
    return begin + ((half + panel_lanes - 1) & -panel_lanes);
}

struct KdTreeView {
    const std::int32_t* order;
    const std::int32_t* column;
    const std::int32_t* right;
    const double* low;
    const double* high;
    index_t nodes;
    Matrix<const double> rows;
};

struct KdTree {
    std::vector<std::int32_t, Unwritten<std::int32_t>> order;  // n: row at each position
    std::vector<std::int32_t> column;                          // per node: column split, -1 for a leaf
    std::vector<std::int32_t> right;                           // per node: the right child
    std::vector<double> low, high;                             // per node

    // `rows` are those that the tree was built of.
    KdTreeView view(Matrix<const double> rows) const {
        return {order.data(), column.data(), right.data(), low.data(), high.data(), static_cast<index_t>(column.size()), rows};
    }
};
constexpr index_t most_tree_rows = index_t{1} << 31;
KdTree build_kd_tree(Matrix<const double> rows, int threads);

// The panels of a tree that a thread has visited last: panel p holds the rows at the positions from 16 p on.
class VisitedPanels {
public:
    explicit VisitedPanels(const KdTreeView& tree);
    const double* operator[](index_t p) {
        const index_t slot = p & last_slot_;
        double* const panel = cells_.get() + slot * panel_cells_;
        std::int32_t& held = held_[static_cast<std::size_t>(slot)];
        if (held != p) {
            turn(p, panel);
            held = static_cast<std::int32_t>(p);
        }
        return panel;
    }

private:
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    void turn(index_t p, double* panel) const;

    const KdTreeView& tree_;
    index_t panel_cells_, last_slot_;
    std::unique_ptr<double[], Free> cells_;
    std::vector<std::int32_t> held_;
};

// Those of each thread of a parallel loop.
class PanelsOfThreads {
public:
    PanelsOfThreads(const KdTreeView& tree, int threads) : tree_(tree), held_(static_cast<std::size_t>(std::max(threads, 1))) {}
    VisitedPanels& mine();

private:
    const KdTreeView& tree_;
    std::vector<std::unique_ptr<VisitedPanels>> held_;
};

// The numbers of the queries, those that fall into the same part of the tree side by side.
std::vector<std::int32_t> order_of_queries(const KdTreeView& tree, Matrix<const double> queries, int threads);

// Whether every link of the tree leads to a node, every position to a row, and every leaf is small: a tree read from outside
// is checked before use.
bool well_formed(const KdTreeView& tree);
void nearest_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                     std::int64_t* nearest, double* distances, int threads);
void count_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                   std::int64_t* counts, int threads);
RadiusLists within_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius, int threads);

}  // namespace assay::neighbours
