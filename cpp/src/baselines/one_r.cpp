#include "assay/baselines/one_r.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "assay/common/threads.hpp"

namespace assay {
namespace {

// A cell as an unsigned key in the order of its value (sign bit set for positive numbers, all bits turned for negative
// ones), so that a column is sorted by counting bytes.
struct Cell {
    std::uint64_t key;
    std::int32_t row;

    Cell() = default;
    Cell(double value, std::int32_t row_) : row(row_) {
        const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0 and 0 are one value
        key = bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
    }
    double value() const { return std::bit_cast<double>(key >> 63 ? key & ~(std::uint64_t{1} << 63) : ~key); }
};

// Sorts by key; rows of equal key stay in order. Bytes in which all keys agree cost nothing.
void sort_cells(std::vector<Cell>& cells) {
    std::array<std::array<std::size_t, 256>, 8> counts{};
    for (const Cell& cell : cells)
        for (std::size_t byte = 0; byte < 8; ++byte) ++counts[byte][(cell.key >> (8 * byte)) & 255];
    std::vector<Cell> other(cells.size());
    for (std::size_t byte = 0; byte < 8; ++byte) {
        auto& starts = counts[byte];
        if (*std::max_element(starts.begin(), starts.end()) == cells.size()) continue;
        std::size_t before = 0;
        for (std::size_t& start : starts) before += std::exchange(start, before);
        for (const Cell& cell : cells) other[starts[(cell.key >> (8 * byte)) & 255]++] = cell;
        cells.swap(other);
    }
}

// The class with most weight, the first on a tie; `before` (if >= 0) wins a tie it takes part in. -1 without weight.
std::int32_t majority(const double* counts, index_t classes, std::int32_t before) {
    const double* const top = std::max_element(counts, counts + classes);
    if (!(*top > 0.0)) return -1;
    if (before >= 0 && counts[before] == *top) return before;
    return static_cast<std::int32_t>(top - counts);
}

// Adds a bucket to the rule, or to its last interval when both predict the same class.
void close_bucket(OneRule& rule, const std::vector<double>& bucket, double cut_below) {
    const auto classes = static_cast<index_t>(bucket.size());
    const std::int32_t before = rule.prediction.empty() ? -1 : rule.prediction.back();
    const std::int32_t winner = majority(bucket.data(), classes, before);
    if (before >= 0 && winner == before) {
        double* const last = rule.counts.data() + rule.counts.size() - bucket.size();
        for (std::size_t k = 0; k < bucket.size(); ++k) last[k] += bucket[k];
        return;
    }
    if (!rule.prediction.empty()) rule.cuts.push_back(cut_below);
    rule.counts.insert(rule.counts.end(), bucket.begin(), bucket.end());
    rule.prediction.push_back(winner);
}

double midway(double low, double high) {
    const double middle = 0.5 * low + 0.5 * high;
    return middle < high ? std::max(middle, low) : low;
}

OneRule numeric_rule(std::vector<Cell>& cells, Vector<const std::int32_t> codes, Vector<const double> weights,
                     index_t classes, double min_bucket) {
    sort_cells(cells);
    OneRule rule;
    std::vector<double> bucket(static_cast<std::size_t>(classes), 0.0), group(bucket);
    double cut_below = 0.0;
    bool open = false, full = false;
    std::int32_t leader = -1;
    for (std::size_t first = 0; first < cells.size();) {
        const std::uint64_t key = cells[first].key;
        std::size_t last = first;
        std::int32_t only = codes[cells[first].row];  // the one class of this value, or -1
        std::fill(group.begin(), group.end(), 0.0);
        for (; last < cells.size() && cells[last].key == key; ++last) {
            const std::int32_t code = codes[cells[last].row];
            group[static_cast<std::size_t>(code)] += weights.empty() ? 1.0 : weights[cells[last].row];
            if (code != only) only = -1;
        }
        if (open && full && only != leader) {
            close_bucket(rule, bucket, cut_below);
            std::fill(bucket.begin(), bucket.end(), 0.0);
            cut_below = midway(cells[first - 1].value(), cells[first].value());
            full = false;
        }
        for (std::size_t k = 0; k < bucket.size(); ++k) bucket[k] += group[k];
        open = true;
        if (!full) {
            leader = majority(bucket.data(), classes, -1);
            full = leader >= 0 && bucket[static_cast<std::size_t>(leader)] >= min_bucket;
        }
        first = last;
    }
    if (open) close_bucket(rule, bucket, cut_below);
    return rule;
}

OneRule column_rule(Matrix<const double> x, index_t column, index_t categories, Vector<const std::int32_t> codes,
                    Vector<const double> weights, index_t classes, double min_bucket) {
    OneRule rule;
    std::vector<double> missing(static_cast<std::size_t>(classes), 0.0);
    std::vector<Cell> cells;
    if (categories > 0)
        rule.counts.assign(static_cast<std::size_t>(categories * classes), 0.0);
    else
        cells.reserve(static_cast<std::size_t>(x.rows));
    for (index_t i = 0; i < x.rows; ++i) {
        const double value = x(i, column), weight = weights.empty() ? 1.0 : weights[i];
        if (std::isnan(value))
            missing[static_cast<std::size_t>(codes[i])] += weight;
        else if (categories > 0)
            rule.counts[static_cast<std::size_t>(static_cast<index_t>(value) * classes + codes[i])] += weight;
        else
            cells.emplace_back(value, static_cast<std::int32_t>(i));
    }
    if (categories == 0)
        rule = numeric_rule(cells, codes, weights, classes, min_bucket);
    else
        for (index_t c = 0; c < categories; ++c)
            rule.prediction.push_back(majority(rule.counts.data() + c * classes, classes, -1));
    rule.counts.insert(rule.counts.end(), missing.begin(), missing.end());
    rule.prediction.push_back(majority(missing.data(), classes, -1));
    for (std::size_t b = 0; b < rule.prediction.size(); ++b)
        for (index_t k = 0; k < classes; ++k)
            if (k != rule.prediction[b])
                rule.error += rule.counts[b * static_cast<std::size_t>(classes) + static_cast<std::size_t>(k)];
    return rule;
}

}  // namespace

std::vector<OneRule> one_rules(Matrix<const double> x, Vector<const std::int32_t> n_categories,
                               Vector<const std::int32_t> codes, Vector<const double> weights, index_t classes,
                               double min_bucket, int threads) {
    std::vector<OneRule> rules(static_cast<std::size_t>(x.cols));
    parallel_chunks(x.cols, 1, threads, [&](index_t j, index_t, index_t) {
        rules[static_cast<std::size_t>(j)] =
            column_rule(x, j, n_categories[j], codes, weights, classes, min_bucket);
    });
    return rules;
}

}  // namespace assay
