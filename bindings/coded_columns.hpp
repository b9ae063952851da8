// The table that trees and rules take: cells, the number of categories of each column, and new codes for these where some
// are gone.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>

#include "assay/tables/coded_columns.hpp"
#include "bindings.hpp"

namespace assay::bindings {

using Cells = Array2<const double>;
using Order = Array2<tables::Entry>;
using ColumnCounts = Array1<const std::int32_t>;
using Renamed = std::optional<Array1<const std::int32_t>>;
using RenamedFirst = std::optional<Array1<const std::int64_t>>;

inline tables::CodedColumns coded_columns(const Cells& cells, const ColumnCounts& n_categories, const char* kernel) {
    require(n_categories.shape(0) == cells.shape(1), kernel, "one number of categories per column");
    require(cells.shape(0) > 0 && cells.shape(1) > 0, kernel, "needs rows and columns");
    return {view(cells), n_categories.data()};
}

// For trees: `order` holds an entry for each of `rows` in every column.
inline tables::CodedColumns coded_columns(const Cells& cells, const Array2<tables::Entry>& order,
                                          const Array1<const std::int32_t>& rows, const ColumnCounts& n_categories,
                                          const Renamed& renamed, const RenamedFirst& renamed_first, const char* kernel) {
    auto columns = coded_columns(cells, n_categories, kernel);
    require(rows.shape(0) > 0, kernel, "needs rows and columns");
    require(order.shape(0) == cells.shape(1) && order.shape(1) == rows.shape(0), kernel, "one entry per column and row");
    require(renamed.has_value() == renamed_first.has_value(), kernel, "renamed codes and their starts go together");
    if (renamed) {
        require(renamed_first->shape(0) == cells.shape(1) + 1, kernel, "one start of renamed codes per column");
        columns.rename = renamed->data();
        columns.rename_first = renamed_first->data();
    }
    return columns;
}

}  // namespace assay::bindings
