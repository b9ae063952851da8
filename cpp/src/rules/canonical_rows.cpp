#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "search.hpp"

namespace assay::rules {

CanonicalRows canonical_rows(const tables::CodedColumns& columns, const tables::Entry* order_of, const std::int32_t* labels) {
    const index_t d = columns.n_columns();
    const auto rows = static_cast<std::size_t>(columns.cells.rows);
    std::vector<std::uint64_t> hash(rows);
    for (std::size_t i = 0; i < rows; ++i) hash[i] = mix(static_cast<std::uint64_t>(labels[i]));
    for (index_t j = 0; j < d; ++j) {
        const std::uint32_t absent = tables::count_codes(columns, order_of, j);
        tables::visit_codes(columns, order_of, j, absent, [&](index_t row, std::uint32_t code) {
            std::uint64_t& here = hash[static_cast<std::size_t>(row)];
            here = mix(here ^ code);
        });
    }
    // In the order of the codes: missing and unknown cells are one, after all others.
    const auto at = [&](index_t j, std::int64_t row) {
        const double cell = columns.value(row, j);
        const std::int32_t count = columns.n_categories[j];
        const bool absent = std::isnan(cell) || (count > 0 && !(cell >= 0 && cell < count));
        return std::pair{absent, absent ? 0.0 : cell};
    };
    // Rows whose hash agrees are told apart by their contents.
    const auto compare = [&](std::int64_t a, std::int64_t b) {
        if (labels[a] != labels[b]) return labels[a] < labels[b] ? -1 : 1;
        for (index_t j = 0; j < d; ++j)
            if (at(j, a) != at(j, b)) return at(j, a) < at(j, b) ? -1 : 1;
        return 0;
    };
    std::vector<std::int64_t> order(rows);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const std::uint64_t x = hash[static_cast<std::size_t>(a)], y = hash[static_cast<std::size_t>(b)];
        if (x != y) return x < y;
        const int c = compare(a, b);
        return c != 0 ? c < 0 : a < b;
    });
    CanonicalRows result;
    result.group.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t row = order[i];
        if (i == 0 || hash[static_cast<std::size_t>(row)] != hash[static_cast<std::size_t>(order[i - 1])] ||
            compare(row, order[i - 1]) != 0)
            result.first.push_back(row);
        result.group[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(result.first.size()) - 1;
    }
    return result;
}

}  // namespace assay::rules
