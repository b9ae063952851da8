#include "assay/tables/rank_codes.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "assay/common/threads.hpp"

namespace assay::tables {
namespace {

constexpr index_t columns_per_task = 4;  // neighbours share cache lines of the C-ordered cells
constexpr int digit_bits = 11, digits = 6, buckets = 1 << digit_bits;

struct Keyed {
    std::uint64_t key;
    std::uint32_t row;
};

// Doubles in the order of unsigned integers; -0 and 0 are one value. NaN is not passed.
std::uint64_t to_key(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
double to_value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

// Sorts `keyed` by key, stable, with `spare` as the second buffer.
void radix_sort(std::vector<Keyed>& keyed, std::vector<Keyed>& spare) {
    const std::size_t n = keyed.size();
    if (n < 256) {
        std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
        return;
    }
    std::vector<std::array<std::uint32_t, buckets>> counts(digits);
    for (auto& count : counts) count.fill(0);
    for (const Keyed& item : keyed)
        for (int d = 0; d < digits; ++d) ++counts[d][(item.key >> (d * digit_bits)) & (buckets - 1)];
    spare.resize(n);
    for (int d = 0; d < digits; ++d) {
        auto& count = counts[d];
        const int shift = d * digit_bits;
        if (count[(keyed[0].key >> shift) & (buckets - 1)] == n) continue;
        std::uint32_t sum = 0;
        for (auto& c : count) {
            const std::uint32_t size = c;
            c = sum;
            sum += size;
        }
        for (const Keyed& item : keyed) spare[count[(item.key >> shift) & (buckets - 1)]++] = item;
        keyed.swap(spare);
    }
}

void code_numeric(std::vector<Keyed>& keyed, std::vector<Keyed>& spare, std::uint32_t* codes, index_t n,
                  std::vector<double>& values) {
    radix_sort(keyed, spare);
    const bool missing = keyed.size() < static_cast<std::size_t>(n);
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < keyed.size(); ++i) {
        if (i == 0 || keyed[i].key != keyed[i - 1].key) {
            values.push_back(to_value(keyed[i].key));
            code = static_cast<std::uint32_t>(values.size() - 1);
        }
        codes[keyed[i].row] = code;
    }
    if (!missing) return;
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
        std::array<std::vector<Keyed>, columns_per_task> keyed;
        std::vector<Keyed> spare;
        for (index_t j = first; j < last; ++j)
            if (n_categories[j] == 0) keyed[static_cast<std::size_t>(j - first)].reserve(static_cast<std::size_t>(n));
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
                    keyed[static_cast<std::size_t>(j - first)].push_back({to_key(cell), static_cast<std::uint32_t>(i)});
                }
            }
        }
        for (index_t j = first; j < last; ++j) {
            auto& own_values = values[static_cast<std::size_t>(j)];
            if (n_categories[j] > 0) {
                own_values.resize(static_cast<std::size_t>(n_categories[j]));
                for (std::size_t v = 0; v < own_values.size(); ++v) own_values[v] = static_cast<double>(v);
            } else {
                code_numeric(keyed[static_cast<std::size_t>(j - first)], spare, result.codes.data() + j * n, n,
                             own_values);
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
