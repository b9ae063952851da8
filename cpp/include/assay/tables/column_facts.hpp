// What a block of rows holds, column by column, in one sweep: smallest and largest number, how many cells are missing (NaN)
// or infinite, the first row with such a cell, and whether every cell is 0, 1 or missing.
//
// In: cells, n x d, C-ordered. Out: arrays of d. Smallest and largest pass over missing cells and are NaN where all are
// missing; `first_odd` is -1 where no cell is missing or infinite. Cost: one read of the cells; only rows with an odd cell
// are looked at again.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::tables {

struct ColumnFacts {
    std::vector<double> low, high;
    std::vector<std::int64_t> missing, infinite, first_odd;
    std::vector<std::uint8_t> zero_one;
};

ColumnFacts column_facts(Matrix<const double> cells);

}  // namespace assay::tables
