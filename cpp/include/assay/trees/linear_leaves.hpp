// Linear models in the nodes of a grown regression tree: M5 with the pruning of M5'.
//
// A node holds rows of weight n. On the columns x_1..x_q that it may use (those tested below it, or all), its model
// minimises sum w (y - a - b'x)^2; a missing cell counts as the mean of the column in the node. With v parameters
// (intercept included) and residual sum of squares R, the error expected on new rows is
//   E = sqrt(R / n) (n + v) / (n - v),   infinite for n <= v.
// Dropping: while E does not rise, the column whose absence raises R least leaves the model.
// Pruning, from the leaves up: a subtree of residual sum R_s (over its leaves) and v_s = v_left + v_right + 1
// parameters goes if E of the node is at most E of the subtree, or at most 1e-6 of the deviation of y in the root.
//
// Algorithm: means and centred cross-products C of the columns and y, per leaf; those of a parent are
//   C_left + C_right + n_left n_right / n d d',   d = difference of the means,
// unless cells are missing, where the parent's fill differs from its children's and C is made anew. C is scaled to unit
// diagonal and swept by the largest remaining pivot while that exceeds 1e-10 (columns below it are linear in the others
// and get coefficient 0). After sweeping S: inverse in A[S, S], coefficients in A[S, y], R in A[y, y]; leaving out k
// adds A[k, y]^2 / A[k, k] to R, and a second sweep of k takes it out. Subtrees of at most n/8 rows run in parallel; the
// result is the same for every number of threads. Cost O(n q^2 + nodes q^3), with missing cells O(n q^2 depth).
// References: Quinlan, Learning with Continuous Classes, AI'92; Wang & Witten, Inducing Model Trees for Continuous
// Classes, ECML 1997; Goodnight, A Tutorial on the SWEEP Operator, American Statistician 33, 1979.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::trees {

// A tree in preorder whose training rows are sorted by leaf, leaves in preorder: node t holds rows begin[t]..end[t]-1.
struct NodeRows {
    Vector<const std::int32_t> left, right;  // -1 at leaves
    const std::int64_t *begin = nullptr, *end = nullptr;
    const std::int32_t* tested = nullptr;  // which of the q columns the node tests, -1: none of these
    const std::uint8_t* stop = nullptr;    // 1: a leaf of the result whatever is below
};

// The training rows where they stand: row i in the order of NodeRows is row order[i] of the table, whose column columns[j] is
// column j of the models. `weights` may be null.
struct LeafRows {
    Matrix<const double> cells;
    Vector<const std::int32_t> columns, order;
    const double *y = nullptr, *weights = nullptr;
};

struct LinearNodeOptions {
    bool all_columns = false, drop = true, prune = true;
    bool keep_all = false;  // also the models of nodes that pruning takes away
};

struct LinearNodes {
    std::vector<double> intercept, residual, parameters;  // per node
    std::vector<std::uint8_t> leaf;                       // leaves of the result, per node
    std::vector<std::int32_t> kept;                       // nodes of the result, or all
    std::vector<double> coefficient, mean, deviation;     // kept x q; mean of a column without cells: the parent's or 0
};

LinearNodes fit_linear_nodes(const NodeRows& tree, const LeafRows& rows, const LinearNodeOptions& options, int threads);

// OUT value (n): intercept + sum over columns, from left to right, of coefficient * cell for the leaf of each row; a
// missing cell counts as `fill`. Models: nodes x q. `columns` says where a model's columns stand in `cells`.
void linear_leaf_values(Vector<const std::int32_t> leaf, const double* intercept, Matrix<const double> coefficient,
                        Matrix<const double> fill, Vector<const std::int32_t> columns, Matrix<const double> cells,
                        Vector<double> value, int threads);

}  // namespace assay::trees
