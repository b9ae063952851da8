#include "assay/tables/survey.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "assay/common/order_keys.hpp"
#include "assay/common/simd.hpp"
#include "assay/tables/coded_columns.hpp"

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

// Sums of (x - centre)^k for k = 1, 2, 3, block by block so that no sum grows long.
ASSAY_INLINE void central_body(const double* x, index_t n, double centre, double* out) {
    constexpr index_t block = 4096, width = 16;
    out[0] = out[1] = out[2] = 0;
    for (index_t begin = 0; begin < n; begin += block) {
        const index_t end = begin + block < n ? begin + block : n;
        double first[width] = {}, second[width] = {}, third[width] = {};
        index_t i = begin;
        for (; i + width <= end; i += width) {
            for (index_t k = 0; k < width; ++k) {
                const double d = x[i + k] - centre;
                first[k] += d;
                second[k] += d * d;
                third[k] += d * d * d;
            }
        }
        for (; i < end; ++i) {
            const double d = x[i] - centre;
            first[0] += d;
            second[0] += d * d;
            third[0] += d * d * d;
        }
        double sums[3] = {};
        for (index_t k = 0; k < width; ++k) {
            sums[0] += first[k];
            sums[1] += second[k];
            sums[2] += third[k];
        }
        for (int k = 0; k < 3; ++k) out[k] += sums[k];
    }
}
ASSAY_DISPATCH(void, central_sums, central_body, (const double* x, index_t n, double centre, double* out),
               (x, n, centre, out))

ASSAY_INLINE void standard_body(const double* x, index_t n, double centre, double spread, double* z, index_t step,
                                std::uint8_t* gap) {
    for (index_t i = 0; i < n; ++i) {
        const double value = (x[i] - centre) / spread;
        const bool missing = value != value;
        z[i * step] = missing ? 0.0 : value;
        gap[i] = static_cast<std::uint8_t>(gap[i] | missing);
    }
}
ASSAY_DISPATCH(void, standard_column, standard_body,
               (const double* x, index_t n, double centre, double spread, double* z, index_t step, std::uint8_t* gap),
               (x, n, centre, spread, z, step, gap))

}  // namespace

index_t standard_rows(const std::vector<const double*>& columns, index_t begin, index_t end, const double* centre,
                      const double* spread, bool complete, double* z) {
    constexpr index_t block = 256;  // rows whose cells stay in the nearest cache while every column is put in
    const auto p = static_cast<index_t>(columns.size());
    index_t kept = 0;
    for (index_t first = begin; first < end; first += block) {
        const index_t rows = std::min(block, end - first);
        double* to = z + kept * p;
        std::array<std::uint8_t, block> gap{};
        for (index_t j = 0; j < p; ++j)
            standard_column(columns[static_cast<std::size_t>(j)] + first, rows, centre[j], spread[j], to + j, p,
                            gap.data());
        index_t stay = rows;
        if (complete) {
            stay = 0;
            for (index_t i = 0; i < rows; ++i) {
                if (gap[static_cast<std::size_t>(i)] != 0) continue;
                if (stay != i) std::copy(to + i * p, to + (i + 1) * p, to + stay * p);
                ++stay;
            }
        }
        kept += stay;
    }
    return kept;
}

Moments moments(Vector<const double> values) {
    const double n = static_cast<double>(values.size);
    double sums[3];
    central_sums(values.data, values.size, 0.0, sums);
    double mean = sums[0] / n;
    central_sums(values.data, values.size, mean, sums);
    // What rounding left of the mean, taken off the sums around it. A shift in the last digits would be rounding itself.
    const double off = sums[0] / n;
    if (std::abs(off) > 4 * std::numeric_limits<double>::epsilon() * std::abs(mean)) mean += off;
    return {mean, sums[1] - n * off * off, sums[2] - 3 * off * sums[1] + 2 * n * off * off * off};
}

std::vector<std::int64_t> code_counts(Vector<const std::uint8_t> codes) {
    std::array<std::array<std::uint32_t, 256>, 4> tables{};
    std::vector<std::int64_t> counts(256, 0);
    constexpr index_t block = index_t{1} << 30;
    for (index_t begin = 0; begin < codes.size; begin += block) {
        const index_t end = std::min(begin + block, codes.size);
        for (auto& table : tables) table.fill(0);
        for (index_t i = begin; i < end; ++i) ++tables[static_cast<std::size_t>(i & 3)][codes.data[i]];
        for (std::size_t c = 0; c < 256; ++c)
            for (const auto& table : tables) counts[c] += table[c];
    }
    return counts;
}

GroupSums group_sums(Vector<const std::uint8_t> codes, Vector<const double> values) {
    std::array<std::array<double, 256>, 4> sums{};
    std::array<std::array<std::int64_t, 256>, 4> counts{};
    for (index_t i = 0; i < codes.size; ++i) {
        const double x = values.data[i];
        const bool present = x == x;
        const std::size_t turn = static_cast<std::size_t>(i & 3), code = codes.data[i];
        sums[turn][code] += present ? x : 0.0;
        counts[turn][code] += present;
    }
    GroupSums found{std::vector<double>(256), std::vector<std::int64_t>(256)};
    for (std::size_t c = 0; c < 256; ++c) {
        found.sums[c] = (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
        found.counts[c] = counts[0][c] + counts[1][c] + counts[2][c] + counts[3][c];
    }
    return found;
}

namespace {

// Calls write(row, twice the rank) for every row; a missing cell has 0.
template <class Write>
void each_rank(Vector<const double> values, Write&& write) {
    const std::int32_t numeric = 0;
    const index_t n = values.size;
    const auto order = std::make_unique_for_overwrite<Entry[]>(static_cast<std::size_t>(n));
    sort_columns(c_matrix(values.data, n, 1), {&numeric, 1, 1}, order.get(), 1);
    for (index_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && !is_fresh(order[static_cast<std::size_t>(end)])) ++end;
        const index_t rank = is_missing(order[static_cast<std::size_t>(begin)]) ? 0 : begin + end + 1;
        for (index_t i = begin; i < end; ++i) write(row_of(order[static_cast<std::size_t>(i)]), rank);
    }
}

}  // namespace

void mid_ranks(Vector<const double> values, Vector<double> ranks) {
    each_rank(values, [&](index_t row, index_t twice) {
        ranks.data[row] = twice == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(twice) / 2;
    });
}

void twice_ranks(Vector<const double> values, Vector<std::uint32_t> ranks) {
    each_rank(values, [&](index_t row, index_t twice) { ranks.data[row] = static_cast<std::uint32_t>(twice); });
}

index_t sort_numbers(Vector<const double> values, double* sorted) {
    constexpr int digit_bits = 11, digits = 3, buckets = 1 << digit_bits;
    const auto n = static_cast<std::size_t>(values.size);
    const auto keys = std::make_unique_for_overwrite<std::uint64_t[]>(n);
    std::array<std::array<std::uint32_t, buckets>, digits> counts{};
    std::size_t m = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (std::isnan(values.data[i])) continue;
        const std::uint64_t key = to_key(values.data[i]);
        keys[m++] = key;
        for (int d = 0; d < digits; ++d) ++counts[d][(key >> (32 + d * digit_bits)) & (buckets - 1)];
    }
    static_assert(sizeof(double) == sizeof(std::uint64_t));
    const auto put = [&](std::size_t at, std::uint64_t key) { std::memcpy(sorted + at, &key, sizeof key); };
    const auto get = [&](std::size_t at) {
        std::uint64_t key;
        std::memcpy(&key, sorted + at, sizeof key);
        return key;
    };
    bool here = true;  // the keys are in `keys`, not in `sorted`
    for (int d = 0; d < digits && m > 0; ++d) {
        auto& count = counts[d];
        const int shift = 32 + d * digit_bits;
        if (count[((here ? keys[0] : get(0)) >> shift) & (buckets - 1)] == m) continue;
        std::uint32_t sum = 0;
        for (auto& c : count) sum += std::exchange(c, sum);
        if (here)
            for (std::size_t i = 0; i < m; ++i) put(count[(keys[i] >> shift) & (buckets - 1)]++, keys[i]);
        else
            for (std::size_t i = 0; i < m; ++i) {
                const std::uint64_t key = get(i);
                keys[count[(key >> shift) & (buckets - 1)]++] = key;
            }
        here = !here;
    }
    if (!here)
        for (std::size_t i = 0; i < m; ++i) keys[i] = get(i);
    for (std::size_t begin = 0, end; begin < m; begin = end) {
        end = begin + 1;
        bool rising = true;
        while (end < m && (keys[end] >> 32) == (keys[begin] >> 32)) {
            rising = rising && keys[end - 1] <= keys[end];
            ++end;
        }
        if (!rising) std::sort(keys.get() + begin, keys.get() + end);
    }
    for (std::size_t i = 0; i < m; ++i) sorted[i] = to_value(keys[i]);
    return static_cast<index_t>(m);
}

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
