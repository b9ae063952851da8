// A table for trees and rules: every column as the order of its rows by value, 4 bytes a cell, made once for all of them.
//
// An entry names a row. Column j is n entries in order of value, rows ascending within a value, missing cells last. The
// entry says whether its value differs from that of the entry before (`fresh_bit`) and whether its cell is missing
// (`missing_bit`), so that a search over boundaries between values reads nothing but entries; values themselves are looked up
// in the cells, which are not copied. Any choice of rows keeps its order: an entry of the choice is fresh if one of the
// entries passed over since the last chosen one is.
//   In a nominal column with K categories the cell holds its code 0..K-1; NaN, and the negative code of a category that is
// unknown, are missing. `rename` gives codes new numbers, for a part of the rows in which some categories are gone.
//
// sort_columns: LSD radix sort by the upper 32 bits of the value, 3 passes of 11 bits less those in which all agree, then a
// comparison sort within runs whose upper bits agree; O(n d) time unless values differ in their lowest bits only, 4 n d
// bytes of result and 24 n bytes of work per thread. Columns run in parallel and independently of each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::tables {

using Entry = std::uint32_t;

// Marks of an entry of any unsigned type: its two highest bits.
template <class E>
inline constexpr E fresh_bit = static_cast<E>(E{1} << (8 * sizeof(E) - 1));
template <class E>
inline constexpr E missing_bit = static_cast<E>(E{1} << (8 * sizeof(E) - 2));
constexpr index_t most_rows = index_t{missing_bit<Entry>};

template <class E>
inline index_t row_of(E entry) {
    return static_cast<index_t>(entry & static_cast<E>(missing_bit<E> - 1));
}
template <class E>
inline bool is_fresh(E entry) {
    return (entry & fresh_bit<E>) != 0;
}
template <class E>
inline bool is_missing(E entry) {
    return (entry & missing_bit<E>) != 0;
}
// How many entries at the end of a segment are missing.
template <class E>
inline index_t count_missing(const E* segment, index_t n) {
    if (!is_missing(segment[n - 1])) return 0;
    return segment + n - std::partition_point(segment, segment + n, [](E e) { return !is_missing(e); });
}

// The cells behind the entries.
struct CodedColumns {
    Matrix<const double> cells;                   // n x d, C-ordered
    const std::int32_t* n_categories = nullptr;   // 0 for a numeric column; with `rename`, the new numbers
    const std::int32_t* rename = nullptr;         // null, or the new code of each code, column after column
    const std::int64_t* rename_first = nullptr;   // where those of a column start

    index_t n_columns() const { return cells.cols; }
    bool nominal(index_t column) const { return n_categories[column] > 0; }
    double value(index_t row, index_t column) const { return cells(row, column) + 0.0; }  // -0 and 0 are one value
    std::int32_t category(index_t row, index_t column) const {
        const auto code = static_cast<std::int32_t>(cells(row, column));
        return rename == nullptr ? code : rename[rename_first[column] + code];
    }
};

// OUT order (d x n).
void sort_columns(Matrix<const double> cells, Vector<const std::int32_t> n_categories, Entry* order, int threads);

// OUT chosen (d x m): the entries of these m rows, which may repeat; an entry then names the place of its row in `rows`.
void choose_rows(const Entry* order, index_t n, index_t d, Vector<const std::int32_t> rows, Entry* chosen, int threads);

// Rank codes of chosen rows, for searches that read a column by row: in a numeric column the rank of the value among the
// distinct ones, in a nominal column the category; a missing cell has the number of these, K. One, two or four bytes a
// code, as K needs: those of column j are at bytes[first[j]], width[j] each.
struct CodesView {
    index_t n = 0, d = 0;
    const std::uint8_t* bytes = nullptr;
    const std::int64_t* first = nullptr;
    const std::uint8_t* width = nullptr;
    const std::int64_t* offsets = nullptr;  // the distinct values of column j are values[offsets[j] .. offsets[j + 1])
    const double* values = nullptr;

    std::uint32_t missing(index_t j) const { return static_cast<std::uint32_t>(offsets[j + 1] - offsets[j]); }
    // Calls `use` with the codes of a column as a pointer of their type.
    template <class Use>
    auto with_column(index_t j, Use&& use) const {
        const std::uint8_t* from = bytes + first[j];
        switch (width[j]) {
            case 1: return use(from);
            case 2: return use(reinterpret_cast<const std::uint16_t*>(from));
            default: return use(reinterpret_cast<const std::uint32_t*>(from));
        }
    }
};
struct RankCodes {
    index_t n = 0, d = 0;
    std::vector<std::uint8_t> bytes, width;
    std::vector<std::int64_t> first, offsets;
    std::vector<double> values;
    CodesView view() const { return {n, d, bytes.data(), first.data(), width.data(), offsets.data(), values.data()}; }
};
RankCodes rank_codes(const CodedColumns& columns, const Entry* order, Vector<const std::int64_t> rows, int threads);

// Calls use(row, code) for every cell of a column, in its order.
template <class Use>
void visit_codes(const CodedColumns& columns, const Entry* order, index_t column, std::uint32_t absent, Use&& use) {
    const index_t n = columns.cells.rows;
    const Entry* entries = order + column * n;
    std::uint32_t code = 0;
    for (index_t i = 0; i < n; ++i) {
        const Entry entry = entries[i];
        const index_t row = row_of(entry);
        if (is_missing(entry)) {
            code = absent;
        } else if (columns.nominal(column)) {
            code = static_cast<std::uint32_t>(columns.category(row, column));
        } else if (i > 0 && is_fresh(entry)) {
            ++code;
        }
        use(row, code);
    }
}
// How many distinct values, or categories, a column has: the code of its missing cells.
std::uint32_t count_codes(const CodedColumns& columns, const Entry* order, index_t column);

}  // namespace assay::tables
