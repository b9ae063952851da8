// The confusion matrices of many folds in one call.
//
// predicted (OUT): for each row of each list the class with the largest probability, the first of equals; tables (OUT):
// lists x K x K, how many rows of each true class (row) were predicted as each class (column). The probabilities (N x K) are
// those of the rows of the lists, one list below the other; codes: the class of each row of the table, 0 .. K - 1.
#pragma once

#include <cstdint>

#include "assay/common/row_lists.hpp"
#include "assay/common/views.hpp"

namespace assay {

void fold_tables(Matrix<const double> probabilities, const std::int64_t* codes, const RowLists& lists,
                 std::int64_t* predicted, std::int64_t* tables, int threads);

}  // namespace assay
