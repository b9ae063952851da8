// Rank codes: each column of a table as integers that keep order and equality, the shared ground of trees, forests,
// boosting and 1R.
//
// For a numeric column with sorted distinct values v_0 < ... < v_{K-1}, the code of a cell is r where the cell equals
// v_r; a missing cell (NaN) has code K. For a nominal column with K categories the cell already holds its code
// 0..K-1; NaN, and the negative code of a category that is unknown, become K. Since codes keep order and equality, a
// search over codes is a search over values: nothing is binned.
//
// IN   cells (n x d, C-ordered), n_categories (d): 0 for a numeric column, else K.
// OUT  codes (d x n, one column after the other), offsets (d + 1) and values: the distinct values of column j are
//      values[offsets[j] .. offsets[j + 1]), so offsets[j + 1] - offsets[j] is K and the missing code of column j.
// Cost: LSD radix sort by the upper 32 bits of the key, 3 passes of 11 bits less those in which every key agrees, then a
// comparison sort within runs whose upper bits agree; O(n d) time unless values differ in their lowest bits only, 4 n d
// bytes of result and 72 n bytes of work per thread. Columns run in parallel and independently of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::tables {

struct RankCodes {
    std::vector<std::uint32_t> codes;
    std::vector<std::int64_t> offsets;
    std::vector<double> values;
};

RankCodes rank_codes(Matrix<const double> cells, Vector<const std::int32_t> n_categories, int threads);

}  // namespace assay::tables
