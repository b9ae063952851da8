// Linear tests in the nodes of a classification tree: a'x <= t beside the tests on one column (see cart.hpp).
//
// At a node with weights w_i, the p numeric columns that are not constant are centred and scaled to z (missing cells
// become 0, the mean), and the classes are put into two groups, s_i = -1 or 1: with more than two classes the class means
// are ordered along the principal direction of their scatter and cut in two where the spread within both parts is least.
// Candidate directions:
//   lda         b = (T + r I)^-1 c, T = sum w z z', c = sum w s z: Fisher's direction of the two groups.
//   logistic    b maximises sum w log sigma(s (b0 + b'z)) - r/2 |b|^2, by Newton steps.
//   coordinate  starting from the best column and from `restarts` random directions, one coefficient after the other is
//               set to the value of least Gini impurity of the groups, all else fixed (a sweep over the values at which
//               rows change sides, in 256 bins, from 512 rows on in 1024), then the threshold, until nothing improves.
//               In nodes of 8192 rows and more the starts compete on part of the rows; the best goes on with more, up
//               to 16,383 (see coordinate_search.hpp).
//   refined     each of these once more after steps towards the boundary: least squares of s on z over the rows with
//               s (b0 + b'z) < 1, repeated (Newton steps on the squared hinge). It separates groups that a hyperplane
//               separates, which the others may miss by a few rows.
// Each candidate is written in the units of the columns, a_j = b_j / deviation_j over the largest |b_j| (a_lead = 1), and
// the threshold found by the same exact scan and criterion as for a column. It is taken only if its decrease of impurity
// exceeds that of the best test on one column. Nodes with fewer than `rows_per_column` * p rows have no linear test.
//
// Cost per node O(n p^2) for each Newton step, O(n p) per pass of the coordinate search and O(n log n) per scan. The tree
// does not depend on the number of threads. References: Murthy, Kasif & Salzberg, A System for Induction of Oblique
// Decision Trees, JAIR 2, 1994; Loh & Vanichsetakul, JASA 83, 1988; Keerthi & DeCoste, JMLR 6, 2005.
#pragma once

#include <cstdint>

#include "assay/trees/cart.hpp"

namespace assay::trees {

enum class Direction : int { lda, logistic, coordinate };

struct ObliqueOptions {
    index_t n_columns = 0;          // p
    const std::int32_t* columns = nullptr;  // which column of the table each is
    Direction direction = Direction::lda;
    index_t restarts = 0;
    double rows_per_column = 1.5;
    std::uint64_t key = 0;
};

// The linear tests of a tree: node t has one if row[t] >= 0, with weights and fills in that row of (tests x p) matrices.
struct LinearTests {
    const std::int32_t* row = nullptr;
    Matrix<const double> weight, fill;
    Vector<const std::int32_t> columns;
};

// OUT leaf (n): as apply_tree; a linear test sends rows with sum over columns, from left to right, of weight * cell (fill
// where the cell is missing) <= threshold to the left.
void apply_oblique(const TreeView& tree, const LinearTests& tests, Matrix<const double> cells, Vector<std::int32_t> leaf,
                   int threads);

}  // namespace assay::trees
