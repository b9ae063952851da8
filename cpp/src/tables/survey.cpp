#include "assay/tables/survey.hpp"

#include <array>
#include <cstring>

#include "assay/common/simd.hpp"

namespace assay::tables {
namespace {

constexpr index_t lanes = 32;  // as many as registers hold together with their counts

ASSAY_INLINE void bin_codes_body(const double* values, index_t n, const double* edges, index_t m, std::uint8_t* codes) {
    index_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        double x[lanes];
        std::int64_t count[lanes];
        for (index_t k = 0; k < lanes; ++k) {
            x[k] = values[i + k];
            count[k] = x[k] != x[k] ? no_code : 0;
        }
        for (index_t e = 0; e < m; ++e) {
            const double edge = edges[e];
            for (index_t k = 0; k < lanes; ++k) count[k] += x[k] >= edge ? 1 : 0;
        }
        for (index_t k = 0; k < lanes; ++k) codes[i + k] = static_cast<std::uint8_t>(count[k]);
    }
    for (; i < n; ++i) {
        std::uint8_t count = 0;
        for (index_t e = 0; e < m; ++e) count = static_cast<std::uint8_t>(count + (values[i] >= edges[e]));
        codes[i] = values[i] != values[i] ? no_code : count;
    }
}
ASSAY_DISPATCH(void, bin_codes_of, bin_codes_body,
               (const double* values, index_t n, const double* edges, index_t m, std::uint8_t* codes),
               (values, n, edges, m, codes))

// Separators in a stretch of text.
ASSAY_INLINE index_t count_body(const std::uint8_t* text, index_t n, std::uint8_t sought) {
    index_t found = 0;
    for (index_t begin = 0; begin < n; begin += 128) {
        const index_t end = begin + 128 < n ? begin + 128 : n;
        std::uint8_t few = 0;
        for (index_t i = begin; i < end; ++i) few = static_cast<std::uint8_t>(few + (text[i] == sought));
        found += few;
    }
    return found;
}
ASSAY_DISPATCH(index_t, count_of, count_body, (const std::uint8_t* text, index_t n, std::uint8_t sought),
               (text, n, sought))

}  // namespace

void bin_codes(Vector<const double> values, Vector<const double> edges, Vector<std::uint8_t> codes) {
    bin_codes_of(values.data, values.size, edges.data, edges.size, codes.data);
}

std::vector<std::int64_t> cross_counts(Vector<const std::uint8_t> first, Vector<const std::uint8_t> second, int n_first,
                                       int n_second) {
    // Four tables in turn: equal neighbours would wait for each other's sum.
    const std::size_t cells = static_cast<std::size_t>(n_first) * static_cast<std::size_t>(n_second);
    std::array<std::vector<std::int64_t>, 4> tables;
    for (auto& table : tables) table.assign(cells, 0);
    for (index_t i = 0; i < first.size; ++i) {
        const int a = first.data[i], b = second.data[i];
        if (a < n_first && b < n_second)
            ++tables[static_cast<std::size_t>(i & 3)][static_cast<std::size_t>(a * n_second + b)];
    }
    for (std::size_t c = 0; c < cells; ++c) tables[0][c] += tables[1][c] + tables[2][c] + tables[3][c];
    return std::move(tables[0]);
}

bool even_widths(Vector<const std::uint8_t> text, std::uint8_t separator, index_t width) {
    for (index_t begin = 0; begin < text.size;) {
        const void* found = std::memchr(text.data + begin, '\n', static_cast<std::size_t>(text.size - begin));
        const index_t end = found != nullptr ? static_cast<const std::uint8_t*>(found) - text.data : text.size;
        const index_t length = end - begin;
        const bool blank = length == 0 || (length == 1 && text.data[begin] == '\r');
        if (!blank && count_of(text.data + begin, length, separator) != width - 1) return false;
        begin = end + 1;
    }
    return true;
}

}  // namespace assay::tables
