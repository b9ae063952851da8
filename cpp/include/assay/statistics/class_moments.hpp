// Class-wise sufficient statistics of a table, in one pass: for every class c and column j, over the rows of that class
// whose cell is present (not NaN), with v = x_ij - shift_j:
//
//   count_cj = sum w_i,   sum_cj = sum w_i v,   square_cj = sum w_i v^2,   and for nominal columns, per category code,
//   tally_c[offset_j + code] = sum w_i
//
// together with class_weight_c = sum w_i over all rows of the class. All are sums over rows, so parts add and subtract;
// the shift, near the column means, keeps square - sum^2 / count free of cancellation.
//
// Rows are split into fixed chunks merged in order: the same result for any number of threads. A chunk is first summed
// as if complete; a NaN that turns up in its sums sends it through the careful loop, so complete data pay nothing.
//
// Cost: one read of X, two multiply-adds for each cell; memory 24 bytes for each class and column (per chunk, at most
// 64 MiB in all).
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"
#include "assay/statistics/gram.hpp"

namespace assay {

struct ClassMoments {
    index_t classes = 0, columns = 0, categories = 0;
    std::vector<double> class_weight;           // classes
    std::vector<double> count, sum, square;     // classes x columns
    std::vector<double> tally;                  // classes x categories
};

// Nominal columns and where the codes of each start in a row of `tally`: codes of column k are 0 .. sizes[k] - 1.
struct NominalColumns {
    const std::int32_t* columns = nullptr;
    const std::int32_t* sizes = nullptr;
    index_t count = 0;
};

// codes: class of each row of the table, 0 .. classes - 1; shift: one value per column.
ClassMoments class_moments(Matrix<const double> x, const std::int32_t* codes, index_t classes, RowSelection selection,
                           const double* shift, NominalColumns nominal, int threads);

}  // namespace assay
