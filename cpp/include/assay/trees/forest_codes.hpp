// Cells as codes by the thresholds of a forest: the code of a numeric cell is the number of thresholds below it, so that
// x <= threshold of rank r is code <= r; of a nominal cell the category, or their number if it is not known or missing.
// A missing numeric cell has the largest value of the code's type.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "assay/trees/forest.hpp"

namespace assay::trees {

constexpr index_t ranked_together = 256;

// OUT rank (m): for each x the number of `cuts` (rising, count of them) below it; any number for NaN. Searches side by side.
void ranks_among(const double* cuts, std::int32_t count, const double* x, std::int32_t m, std::int32_t* rank);

// Thresholds of a column that were met lately, each in the slot of its bits: most nodes of a forest repeat one of few hundred.
class MetCuts {
public:
    // Slots for so many tests of a column, a thousand at most.
    explicit MetCuts(index_t tests)
        : bits_(std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tests))) + 1, 6, 10)),
          cut_(std::size_t{1} << bits_, std::numeric_limits<double>::quiet_NaN()), rank_(std::size_t{1} << bits_) {}
    // Whether `cut` is there; it is afterwards.
    bool met(double cut) { return std::exchange(cut_[slot(cut)], cut) == cut; }
    void keep(double cut, std::int32_t rank) {
        cut_[slot(cut)] = cut;
        rank_[slot(cut)] = rank;
    }
    // -1 where it is not kept.
    index_t rank(double cut) const { return cut_[slot(cut)] == cut ? rank_[slot(cut)] : -1; }

private:
    std::size_t slot(double cut) const {
        return (std::bit_cast<std::uint64_t>(cut + 0.0) * 0x9E3779B97F4A7C15ULL) >> (64 - bits_);
    }
    int bits_;
    std::vector<double> cut_;
    std::vector<std::int32_t> rank_;
};

// OUT tests: the nodes begin .. end - 1 that are no leaves; returns how many. No branch depends on a node, for none could be foretold.
inline index_t list_tests(const std::int32_t* feature, std::int64_t begin, std::int64_t end, std::int64_t* tests) {
    index_t count = 0;
    for (std::int64_t i = begin; i < end; ++i) {
        tests[count] = i;
        count += feature[i] >= 0 ? 1 : 0;
    }
    return count;
}

struct ForestCodes {
    std::vector<std::int32_t> columns, place;  // columns in use; the place of a column among them, or -1
    std::vector<std::vector<double>> cuts;     // by column in use, rising; empty for nominal ones
    std::vector<std::int32_t> categories;      // by column in use
    std::vector<MetCuts> met;
    index_t most = 0;                          // codes of the column with the most

    ForestCodes(const ForestView& f, index_t first, index_t last, index_t n_columns) : place(static_cast<std::size_t>(n_columns), -1) {
        index_t tests = 0;
        for_tests(f, first, last, [&](std::int64_t i) {
            const std::int32_t column = f.feature[i];
            ++tests;
            std::int32_t& at = place[static_cast<std::size_t>(column)];
            if (at >= 0) return;
            at = static_cast<std::int32_t>(columns.size());
            columns.push_back(column);
            categories.push_back(f.n_categories[column]);
        });
        cuts.resize(columns.size());
        met.assign(columns.size(), MetCuts(tests / std::max<index_t>(1, static_cast<index_t>(columns.size()))));
        for_tests(f, first, last, [&](std::int64_t i) {
            if (f.categories[i] >= 0) return;
            const auto at = static_cast<std::size_t>(place[static_cast<std::size_t>(f.feature[i])]);
            if (!met[at].met(f.threshold[i])) cuts[at].push_back(f.threshold[i]);
        });
        for (std::size_t c = 0; c < cuts.size(); ++c) {
            auto& own = cuts[c];
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            for (std::size_t r = 0; r < own.size(); ++r) met[c].keep(own[r], static_cast<std::int32_t>(r));
            most = std::max(most, highest(c));
        }
    }

    // Gives up the quick way to ranks, 12 kilobytes a column: they are searched from now on.
    void forget_met() { std::vector<MetCuts>().swap(met); }

    // Calls use(node) for every test of the trees first .. last - 1.
    template <class Use>
    static void for_tests(const ForestView& f, index_t first, index_t last, Use use) {
        constexpr std::int64_t together = 512;
        std::int64_t tests[together];
        for (std::int64_t begin = f.offsets[first]; begin < f.offsets[last]; begin += together) {
            const index_t count = list_tests(f.feature, begin, std::min(f.offsets[last], begin + together), tests);
            for (index_t k = 0; k < count; ++k) use(tests[k]);
        }
    }

    // The rank of the threshold of a numeric test.
    index_t rank(const ForestView& f, std::int64_t node) const {
        const auto at = static_cast<std::size_t>(place[static_cast<std::size_t>(f.feature[node])]);
        const index_t known = met.empty() ? -1 : met[at].rank(f.threshold[node]);
        if (known >= 0) return known;
        const auto& own = cuts[at];
        return std::lower_bound(own.begin(), own.end(), f.threshold[node]) - own.begin();
    }

    // The highest code of a cell of column c in use, unless a missing one.
    index_t highest(std::size_t c) const { return std::max(static_cast<index_t>(cuts[c].size()), static_cast<index_t>(categories[c])); }

    // OUT codes of rows begin .. begin + m - 1: those of column c in use stand from c * stride on.
    template <class Code>
    void encode(Matrix<const double> cells, index_t begin, index_t m, Code* codes, index_t stride) const {
        for (std::size_t c = 0; c < columns.size(); ++c) encode_column(c, cells, begin, m, codes + static_cast<index_t>(c) * stride);
    }

    // OUT to (m): the codes of column c in use.
    template <class Code>
    void encode_column(std::size_t c, Matrix<const double> cells, index_t begin, index_t m, Code* to) const {
        const auto& own = cuts[c];
        const index_t column = columns[c], k = categories[c], count = static_cast<index_t>(own.size());
        if (k > 0) {
            for (index_t i = 0; i < m; ++i) {
                const double cell = cells(begin + i, column);
                to[i] = cell >= 0 && cell < static_cast<double>(k) ? static_cast<Code>(cell) : static_cast<Code>(k);
            }
            return;
        }
        double x[ranked_together];
        std::int32_t rank[ranked_together];
        for (index_t from = 0; from < m; from += ranked_together) {
            const index_t some = std::min(ranked_together, m - from);
            for (index_t i = 0; i < some; ++i) x[i] = cells(begin + from + i, column);
            ranks_among(own.data(), static_cast<std::int32_t>(count), x, static_cast<std::int32_t>(some), rank);
            for (index_t i = 0; i < some; ++i)
                to[from + i] = x[i] != x[i] ? std::numeric_limits<Code>::max() : static_cast<Code>(rank[i]);
        }
    }
};

}  // namespace assay::trees
