// Outputs of a sum of trees for rows in which some cells are replaced, without walking every tree for every such row.
//
// The columns are put into groups, each column into one at most. For row i, group g and alternative k the cells of the columns of g are those of
// row s = donors[g, k, i] of `source`, all others are the row's own; what is asked is
//   out[g, k, i] = sum over trees of the leaf that this row reaches.
// A tree is walked once for the row as it is. An alternative leaves that path only at a test on a column of its group that it answers
// otherwise, and is walked on from there; if there is none it ends in the row's own leaf. So a tree costs an alternative nothing but the tests on
// its own columns, and a walk from where it leaves. Permuted columns (source: the table, donors: a permutation), partial dependence and
// individual curves (source: the grid, donors: the same for all rows) are of this kind.
// Values are added in the order of the trees: the sums have the bits of a plain prediction of the changed rows, for any number of threads.
// Cost: n trees depth + (rows, trees, alternatives that leave the path) depth + n trees groups K additions.
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

}  // namespace assay::explain
