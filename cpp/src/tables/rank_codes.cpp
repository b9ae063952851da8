#include "assay/tables/rank_codes.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "assay/common/threads.hpp"

namespace assay::tables {
namespace {

constexpr index_t columns_per_task = 4;  // neighbours share cache lines of the C-ordered cells
constexpr std::size_t ahead = 24;
constexpr int digit_bits = 11, digits = 3, buckets = 1 << digit_bits;

// Doubles in the order of unsigned integers; -0 and 0 are one value. NaN is not passed.
std::uint64_t to_key(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
double to_value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

// Buffers of one column: the keys by row, and the rows in order of key as items (upper half of the key, row).
struct Column {
    std::vector<std::uint64_t> keys, items;
};

// Radix sort of the items by the upper half of the key.
void sort_items(Column& column, std::vector<std::uint64_t>& spare) {
    auto& items = column.items;
    const std::size_t n = items.size();
    if (n < 256) {
        std::sort(items.begin(), items.end());
        return;
    }
    std::array<std::array<std::uint32_t, buckets>, digits> counts{};
    for (const std::uint64_t item : items)
        for (int d = 0; d < digits; ++d) ++counts[d][(item >> (32 + d * digit_bits)) & (buckets - 1)];
    spare.resize(n);
    for (int d = 0; d < digits; ++d) {
        auto& count = counts[d];
        const int shift = 32 + d * digit_bits;
        if (count[(items[0] >> shift) & (buckets - 1)] == n) continue;
        std::uint32_t sum = 0;
        for (auto& c : count) {
            const std::uint32_t size = c;
            c = sum;
            sum += size;
        }
        for (const std::uint64_t item : items) spare[count[(item >> shift) & (buckets - 1)]++] = item;
        items.swap(spare);
    }
}

// Items whose upper halves agree are few or hold one value; they are put in order by the whole key.
void sort_runs(Column& column) {
    auto& items = column.items;
    const std::uint64_t* keys = column.keys.data();
    const auto key_of = [&](std::uint64_t item) { return keys[static_cast<std::uint32_t>(item)]; };
    for (std::size_t begin = 0, end; begin < items.size(); begin = end) {
        end = begin + 1;
        while (end < items.size() && (items[end] >> 32) == (items[begin] >> 32)) ++end;
        if (end - begin == 1) continue;
        const auto first = items.begin() + static_cast<index_t>(begin), last = items.begin() + static_cast<index_t>(end);
        const auto before = [&](std::uint64_t a, std::uint64_t b) { return key_of(a) < key_of(b); };
        if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    }
}

void code_numeric(Column& column, std::vector<std::uint64_t>& spare, std::uint32_t* codes, index_t n,
                  std::vector<double>& values) {
    sort_items(column, spare);
    sort_runs(column);
    const auto& items = column.items;
    std::uint64_t last = 0;
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i + ahead < items.size()) {  // rows come in random order: ask for their cells early
            const auto later = static_cast<std::uint32_t>(items[i + ahead]);
            __builtin_prefetch(&column.keys[later]);
            __builtin_prefetch(&codes[later], 1);
        }
        const auto row = static_cast<std::uint32_t>(items[i]);
        const std::uint64_t key = column.keys[row];
        if (i == 0 || key != last) {
            code = static_cast<std::uint32_t>(values.size());
            values.push_back(to_value(key));
            last = key;
        }
        codes[row] = code;
    }
    if (items.size() == static_cast<std::size_t>(n)) return;
    const auto absent = static_cast<std::uint32_t>(values.size());
    for (index_t i = 0; i < n; ++i)
        if (codes[i] == ~std::uint32_t{0}) codes[i] = absent;
}

}  // namespace

RankCodes rank_codes(Matrix<const double> cells, Vector<const std::int32_t> n_categories, int threads) {
    const index_t n = cells.rows, d = cells.cols;
    RankCodes result;
    result.codes.resize(static_cast<std::size_t>(n * d));
    std::vector<std::vector<double>> values(static_cast<std::size_t>(d));
    parallel_chunks(d, columns_per_task, threads, [&](index_t, index_t first, index_t last) {
        std::array<Column, columns_per_task> work;
        std::vector<std::uint64_t> spare;
        for (index_t j = first; j < last; ++j) {
            if (n_categories[j] > 0) continue;
            work[static_cast<std::size_t>(j - first)].keys.resize(static_cast<std::size_t>(n));
            work[static_cast<std::size_t>(j - first)].items.reserve(static_cast<std::size_t>(n));
        }
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = first; j < last; ++j) {
                const double cell = cells(i, j);
                std::uint32_t& code = result.codes[static_cast<std::size_t>(j * n + i)];
                if (n_categories[j] > 0) {
                    code = cell >= 0 && cell < n_categories[j] ? static_cast<std::uint32_t>(cell)
                                                              : static_cast<std::uint32_t>(n_categories[j]);
                } else if (std::isnan(cell)) {
                    code = ~std::uint32_t{0};
                } else {
                    Column& column = work[static_cast<std::size_t>(j - first)];
                    const std::uint64_t key = to_key(cell);
                    column.keys[static_cast<std::size_t>(i)] = key;
                    column.items.push_back((key >> 32 << 32) | static_cast<std::uint32_t>(i));
                }
            }
        }
        for (index_t j = first; j < last; ++j) {
            auto& own_values = values[static_cast<std::size_t>(j)];
            if (n_categories[j] > 0) {
                own_values.resize(static_cast<std::size_t>(n_categories[j]));
                for (std::size_t v = 0; v < own_values.size(); ++v) own_values[v] = static_cast<double>(v);
            } else {
                Column& column = work[static_cast<std::size_t>(j - first)];
                code_numeric(column, spare, result.codes.data() + j * n, n, own_values);
            }
        }
    });
    result.offsets.assign(static_cast<std::size_t>(d) + 1, 0);
    for (std::size_t j = 0; j < static_cast<std::size_t>(d); ++j)
        result.offsets[j + 1] = result.offsets[j] + static_cast<std::int64_t>(values[j].size());
    result.values.reserve(static_cast<std::size_t>(result.offsets.back()));
    for (const auto& column : values) result.values.insert(result.values.end(), column.begin(), column.end());
    return result;
}

}  // namespace assay::tables
