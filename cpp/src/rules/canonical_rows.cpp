#include <algorithm>
#include <numeric>

#include "search.hpp"

namespace assay::rules {

CanonicalRows canonical_rows(const std::uint32_t* codes, index_t n, index_t d, const std::int32_t* labels) {
    const auto rows = static_cast<std::size_t>(n);
    std::vector<std::uint64_t> hash(rows);
    for (std::size_t i = 0; i < rows; ++i) hash[i] = mix(static_cast<std::uint64_t>(labels[i]));
    for (index_t j = 0; j < d; ++j) {
        const std::uint32_t* column = codes + j * n;
        for (std::size_t i = 0; i < rows; ++i) hash[i] = mix(hash[i] ^ column[i]);
    }
    const auto at = [&](index_t j, std::int64_t row) { return codes[j * n + row]; };
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
