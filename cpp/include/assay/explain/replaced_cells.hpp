// Outputs of a sum of trees for rows in which some cells are replaced, without walking every tree for every such row.
//
// The columns are put into groups, each column into one at most. For row i, group g and alternative k the cells of the columns of g are those of
// row s = donors[g, k, i] of `source`, all others are the row's own; what is asked is
//   out[g, k, i] = sum over trees of the leaf that this row reaches.
// A tree is gone through once for many rows: the rows part at every test, as in its growing. An alternative leaves the path of its row only at a
// test on a column of its group that it answers otherwise; what has left goes on as one item of row and group, and items divide only at tests on
// the group's own columns, where their alternatives disagree. Where the donors serve all rows (partial dependence, individual curves: the source
// is the grid), the alternatives that can be at a node are the same for all its items, so that a whole grid costs about one walk; where each row
// has donors of its own (permuted columns: the source is the table), an item carries a mask of them. Cells are compared as codes (forest_codes.hpp).
// Values are added in the order of the trees: the sums have the bits of a plain prediction of the changed rows, for any number of threads.
// Cost: n trees depth + (items that leave) depth + n trees groups K additions.
#pragma once

#include "assay/trees/forest.hpp"

namespace assay::explain {

struct Replacements {
    Matrix<const double> cells;    // n x d
    Matrix<const double> source;   // m x d
    const std::int32_t* group;     // by column: its group, or -1
    index_t groups = 0, alternatives = 0;
    Matrix<const std::int32_t> donors;  // (groups K) x n, or x 1 if the same for all rows: rows of `source`
    index_t outputs = 1;           // as in Gathering
    int threads = 1;
};

// OUT sums: (groups K) x n x outputs.
void replaced_sums(const trees::ForestView& forest, const Replacements& what, double* sums);

// The nodes of a tree in preorder, left side first; a node without children has `left` < 0. Empty if the children of nodes lead out of the tree or
// meet a node twice.
std::vector<std::int32_t> preorder(Vector<const std::int32_t> left, Vector<const std::int32_t> right);

}  // namespace assay::explain
