// Growing a model tree by the error of the linear models on both sides of a split.
//
// A part of weight n has the residual sum of squares R of its least-squares plane on k numeric columns (v = k + 1
// parameters). The squared error expected on new rows (linear_leaves.hpp), times n, is
//   cost = R ((n + v) / (n - v))^2,
// and a node takes the split with the smallest cost(left) + cost(right), if that is less than the cost of the node. Both
// sides hold at least 1.2 v rows. The planes have a ridge of 0.1 / n of each column's sum of squares, so that few rows do not
// fit themselves; k is the number of numeric columns, or the 24 that forward selection takes first in the node.
//   Numeric columns are cut halfway between neighbouring values, at the best of 16 places spread over the rows. In up to
// four columns whose best is within a tenth of the best of all, the search goes on between the places beside it until
// every cut there was tried. Large nodes take every so many rows, about 8192, for the first search, all for the second.
//   Nominal columns: the categories in order of their mean residual from the plane of the node, cut in the same way.
// Missing cells count as the mean of the node in a plane, and as a test are tried on both sides. A node that saw none
// sends them, and unknown categories, to the side with more rows; a category that did not reach the node follows them.
//
// Algorithm: the rows of a node are centred to z (columns, target, 1); sums of z z' over the rows up to a cut, less the
// products of means, are the cross-products of the left side, and those of all rows less these the right. R is the last
// pivot of a Cholesky factor. Columns run in parallel; the tree is the same for every number of threads.
// Cost O(n (d + k^2)) per level, and O(min(n, 8192) d k^2) per node.
// Reference: Karalic, Employing Linear Regression in Regression Tree Leaves, ECAI 1992 (RETIS).
#pragma once

#include "assay/trees/cart.hpp"

namespace assay::trees {

struct LinearSplitOptions {
    index_t max_depth = -1;  // -1: no limit
    double min_split = 2, min_leaf = 1;
    int threads = 1;
};

// Fewer rows than this are not split by planes of that many columns.
double least_rows_to_split(index_t columns);

// Rows, entries and target as for grow_cart with one output; the nodes say means and variances of the target, as there.
Tree grow_by_planes(const tables::CodedColumns& columns, tables::Entry* order, Vector<const std::int32_t> rows,
                    const CartTarget& target, const LinearSplitOptions& options);

}  // namespace assay::trees
