// A tree for the mixed metric (metrics.hpp): numbers, category codes and missing cells together, with the same neighbours
// as brute force, bit for bit.
//
// Build: a node splits the rows by one column into {x <= t} and {x > t} (t near the median; a category code is a number
// here), or into rows that know the column and rows that miss it, or, where all rows are equal, by row number. The column
// is the one in which two rows of a sample differ most on average (mean difference of numbers, 1 - sum p^2 of codes),
// plus p (1 - p) for a missing share p. Leaves hold at most `mixed_leaf_rows` rows, a quarter of that up to
// 12 columns, in panels of their own.
//
// Bound: a node keeps for each column the range [low, high] of its rows, infinite where some row misses it, and the number
// of columns that some row knows. No row of the node is nearer to a query than
//     sum over columns of max(low - q, q - high, 0) (numbers) or [q outside the range] (codes)  /  columns known to both.
// Terms are added in the order in which the metric adds them, and rounding is monotone, so the computed bound never
// exceeds a computed distance: no slack is needed. A node is visited if its bound is below the k-th distance so far, or
// equal to it while the node holds an earlier row than the k-th: ties go to the smaller row number, and thousands of
// equal rows are not searched for it.
//
// Leaf: the cells of a leaf are kept a second time as bytes, floor((x - base) / unit) with one unit for all numbers of the
// leaf and code - base for categories, 255 for missing. With q' the query moved to the nearest point of the leaf's box,
//     distance * columns >= gap + unit * (sum of |byte(q') - byte(x)| - numbers compared) + codes that differ,
// where gap is the sum of the bound: one pass over bytes rejects almost every row, and the panels of the others are
// measured in float64. A missing cell adds the k-th distance so far (sum / known <= r is sum + missing r <= columns r).
// Rounding is covered by a relative and absolute slack of 1e-12; a sum that overflows 16 bits is small, which only costs
// time.
//
// Queries are answered in the order of the leaves they fall into, so that the nodes they need are in the cache. Cost:
// build O(d n log n); a query O(d log n) where few columns tell rows apart, up to O(d n) where many do.
#pragma once

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t mixed_leaf_rows = 512, byte_lanes = 64;

// Rows are placed: numbers lie in [0, 1], codes are whole numbers, NaN is missing.
struct MixedTree {
    std::vector<std::int32_t> order;      // panels x 16: row at each lane, -1 after the last row of a leaf
    std::vector<std::int32_t> right;      // per node: the right child (the left one is the next node), -1 for a leaf
    std::vector<std::int32_t> panel;      // per node and one more: the first panel of its rows; they end where the next
                                          // node's begin if it is a leaf
    std::vector<std::int64_t> first_row;  // per node: the smallest row number
    std::vector<double> low, high;        // nodes x d
    std::vector<std::uint8_t> known;      // nodes x d: 0 no row knows the column, 1 some do, 2 all do
    std::vector<double> panels;           // panels x d x 16
    std::vector<double> base;             // nodes x d: what byte 0 stands for (leaves)
    std::vector<double> unit;             // per node: the difference of numbers that one byte stands for (leaves)
    std::vector<std::uint8_t> bytes;      // per leaf d x lanes, lanes a multiple of 64
    std::vector<std::int64_t> byte_block;  // per node: where a leaf's bytes begin, in units of 64
};
MixedTree build_mixed_tree(Matrix<const double> rows, const std::uint8_t* nominal, int threads);

struct MixedTreeView {
    const std::int32_t* order;
    const std::int32_t* right;
    const std::int32_t* panel;
    const std::int64_t* first_row;
    const double* low;
    const double* high;
    const std::uint8_t* known;
    const double* panels;
    const double* base;
    const double* unit;
    const std::uint8_t* bytes;
    const std::int64_t* byte_block;
    const std::uint8_t* nominal;
    index_t nodes, panel_total, byte_total, d, n;
};
// Whether every link leads to a node and every leaf to panels and rows: a tree read from outside is checked before use.
bool well_formed(const MixedTreeView& tree);
void nearest_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, index_t k, std::int64_t* nearest,
                           double* distances, int threads);
void count_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, double radius, std::int64_t* counts,
                         int threads);
RadiusLists within_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, double radius, int threads);

}  // namespace assay::neighbours
