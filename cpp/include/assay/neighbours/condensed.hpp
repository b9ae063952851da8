// Condensed nearest neighbour (Hart, "The condensed nearest neighbor rule", IEEE Trans. Information Theory 14, 1968):
// a subset of the rows by which the nearest neighbour classifies every row as all rows do.
//
// Rows come in a given order, again and again; a row whose nearest kept row has another class is kept. It ends after a pass
// that kept nothing. Of two kept rows at the same distance the one with the smaller row number is nearer. A row with an
// equal row of another class may stay wrong: both are kept, and only one can be the nearest.
//
// Each row remembers its nearest kept row and how many it has met, so that it is compared with each kept row once: n m d
// multiply-adds for m kept rows, whatever the number of passes. Kept rows lie in panels (metrics.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

struct Condensed {
    std::vector<std::int64_t> kept;        // in the order in which they were kept
    std::vector<std::int64_t> after_pass;  // how many were kept after each pass
};
Condensed condense(Metric metric, Matrix<const double> rows, const std::int32_t* codes, const std::int64_t* order);

}  // namespace assay::neighbours
