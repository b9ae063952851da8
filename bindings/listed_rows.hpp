// Lists of row numbers as kernels over many folds take them.
#pragma once

#include "assay/common/row_lists.hpp"
#include "bindings.hpp"

namespace assay::bindings {

// Lists of row numbers, checked to be rows of a table.
using ListsOfRows = std::vector<Array1<const std::int64_t>>;
inline RowLists checked_lists(const char* kernel, const ListsOfRows& given, std::size_t table_rows) {
    RowLists lists;
    lists.reserve(given.size());
    for (const auto& one : given) {
        lists.push_back({one.data(), static_cast<index_t>(one.shape(0))});
        require(are_between(one.data(), lists.back().count, 0, static_cast<std::int64_t>(table_rows)), kernel,
                "rows must be indices into the table");
    }
    return lists;
}
inline std::size_t listed(const RowLists& lists) {
    std::size_t total = 0;
    for (const RowList& list : lists) total += static_cast<std::size_t>(list.count);
    return total;
}

}  // namespace assay::bindings
