#include "assay/trees/bins.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "assay/common/freed_memory.hpp"
#include "assay/common/order_keys.hpp"
#include "assay/common/threads.hpp"
#include "assay/tables/coded_columns.hpp"
#include "assay/trees/forest_codes.hpp"

namespace assay::trees {
namespace {

constexpr int digit_bits = 11, digits = 3, buckets = 1 << digit_bits;
constexpr index_t columns_at_once = 4;  // whose keys a thread holds

// A run of equal keys: the smallest and the largest value that has the key, and the weight of its cells.
struct Run {
    double low, high, weight;
};

// A numeric column of the table.
struct Column {
    Matrix<const double> cells;
    index_t at;
    double operator[](index_t row) const { return cells(row, at); }
};

// The distinct values of a column if there are at most `most`; found by probing, so that a column of many stops early.
bool few_values(const Column& column, index_t most, std::vector<double>& found) {
    std::array<std::uint64_t, 1024> slots{};
    std::array<bool, 1024> taken{};
    found.clear();
    for (index_t i = 0; i < column.cells.rows; ++i) {
        if (std::isnan(column[i])) continue;
        const std::uint64_t key = to_key(column[i]);
        std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 54);
        while (taken[at] && slots[at] != key) at = (at + 1) & 1023;
        if (taken[at]) continue;
        if (static_cast<index_t>(found.size()) == most) return false;
        taken[at] = true;
        slots[at] = key;
        found.push_back(to_value(key));
    }
    std::sort(found.begin(), found.end());
    return true;
}

// The upper halves of the keys of some columns, without missing cells, read row by row.
void take_keys(Matrix<const double> cells, const index_t* columns, index_t count, std::vector<std::uint32_t>* keys) {
    std::array<std::size_t, columns_at_once> size{};
    for (index_t k = 0; k < count; ++k) keys[k].resize(static_cast<std::size_t>(cells.rows));
    for (index_t i = 0; i < cells.rows; ++i)
        for (index_t k = 0; k < count; ++k) {
            const double x = cells(i, columns[k]);
            auto& to = size[static_cast<std::size_t>(k)];
            keys[k][to] = static_cast<std::uint32_t>(to_key(x) >> 32);
            to += std::isnan(x) ? 0 : 1;
        }
    for (index_t k = 0; k < count; ++k) keys[k].resize(size[static_cast<std::size_t>(k)]);
}

void radix_sort(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& spare) {
    const std::size_t n = keys.size();
    std::array<std::array<std::uint32_t, buckets>, digits> counts{};
    for (const std::uint32_t key : keys)
        for (int d = 0; d < digits; ++d) ++counts[d][(key >> (d * digit_bits)) & (buckets - 1)];
    spare.resize(n);
    for (int d = 0; d < digits; ++d) {
        auto& count = counts[d];
        const int shift = d * digit_bits;
        if (count[(keys[0] >> shift) & (buckets - 1)] == n) continue;
        std::uint32_t sum = 0;
        for (auto& c : count) {
            const std::uint32_t size = c;
            c = sum;
            sum += size;
        }
        for (const std::uint32_t key : keys) spare[count[(key >> shift) & (buckets - 1)]++] = key;
        keys.swap(spare);
    }
}

double low_of(std::uint32_t upper) { return to_value(std::uint64_t{upper} << 32); }
double high_of(std::uint32_t upper) { return to_value((std::uint64_t{upper} << 32) | 0xFFFFFFFFULL); }

double midpoint(double low, double high) {
    const double middle = low + (high / 2 - low / 2);
    return middle < high ? middle : low;
}

// The ends of bins of nearly equal weight, from runs in rising order.
class Cutter {
public:
    Cutter(double total, index_t max_bins) : rest_(total), left_(max_bins) {}

    void add(const Run& run) {
        if (any_ && left_ > 1) {
            here_ += last_.weight;
            // The bin ends here if the next run would carry it further beyond its share than it lacks now.
            const double share = rest_ / static_cast<double>(left_);
            if (!(here_ + 0.5 * run.weight < share)) {
                cuts.push_back(midpoint(last_.high, run.low));
                rest_ -= here_;
                here_ = 0;
                --left_;
            }
        }
        last_ = run;
        any_ = true;
    }

    std::vector<double> cuts;

private:
    double rest_, here_ = 0;
    index_t left_;
    Run last_{};
    bool any_ = false;
};

// Calls f(item, how often) for the runs of equal items of a sorted list.
template <class T, class F>
void over_runs(const std::vector<T>& sorted, F&& f) {
    for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
        while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
        f(sorted[begin], static_cast<double>(end - begin));
    }
}

std::vector<double> cuts_between(const std::vector<double>& distinct) {
    std::vector<double> cuts;
    for (std::size_t v = 1; v < distinct.size(); ++v) cuts.push_back(midpoint(distinct[v - 1], distinct[v]));
    return cuts;
}

std::vector<double> cuts_of_runs(const std::vector<Run>& runs, index_t max_bins) {
    double total = 0;
    for (const Run& run : runs) total += run.weight;
    Cutter cutter(total, max_bins);
    for (const Run& run : runs) cutter.add(run);
    return std::move(cutter.cuts);
}

// Runs go by the upper halves of the keys, or by whole values where a run of distinct values would fill a bin: a heavy run may
// be one value, which is well, or many values that differ in their lowest bits only.
std::vector<double> cuts_by_weight(const std::vector<double>& values, const std::vector<double>& weights, index_t max_bins) {
    const std::size_t n = values.size();
    double total = 0;
    for (const double w : weights) total += w;
    std::vector<Run> runs;
    std::vector<std::pair<std::uint32_t, double>> keys(n);
    for (std::size_t i = 0; i < n; ++i) keys[i] = {static_cast<std::uint32_t>(to_key(values[i]) >> 32), weights[i]};
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || keys[i].first != keys[i - 1].first) runs.push_back({low_of(keys[i].first), high_of(keys[i].first), 0});
        runs.back().weight += keys[i].second;
    }
    const double share = total / static_cast<double>(max_bins);
    if (std::none_of(runs.begin(), runs.end(), [&](const Run& run) { return run.weight > share; })) return cuts_of_runs(runs, max_bins);
    std::vector<std::pair<double, double>> pairs(n);
    for (std::size_t i = 0; i < n; ++i) pairs[i] = {values[i] + 0.0, weights[i]};
    std::sort(pairs.begin(), pairs.end());
    runs.clear();
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || pairs[i].first != pairs[i - 1].first) runs.push_back({pairs[i].first, pairs[i].first, 0});
        runs.back().weight += pairs[i].second;
    }
    return cuts_of_runs(runs, max_bins);
}

// Of a column of more than `max_bins` values, from the upper halves of its keys.
std::vector<double> cuts_of(const Column& column, std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& spare, index_t max_bins) {
    const auto total = static_cast<double>(keys.size()), share = total / static_cast<double>(max_bins);
    Cutter cutter(total, max_bins);
    bool heavy = false;
    radix_sort(keys, spare);
    over_runs(keys, [&](std::uint32_t, double count) { heavy = heavy || count > share; });
    if (heavy) {
        std::vector<double> sorted;
        sorted.reserve(keys.size());
        for (index_t i = 0; i < column.cells.rows; ++i)
            if (!std::isnan(column[i])) sorted.push_back(column[i] + 0.0);
        std::sort(sorted.begin(), sorted.end());
        over_runs(sorted, [&](double value, double count) { cutter.add({value, value, count}); });
    } else {
        over_runs(keys, [&](std::uint32_t key, double count) { cutter.add({low_of(key), high_of(key), count}); });
    }
    return std::move(cutter.cuts);
}

std::vector<double> cuts_of(const Column& column, const double* weights, index_t max_bins) {
    std::vector<double> present, own;
    present.reserve(static_cast<std::size_t>(column.cells.rows));
    own.reserve(present.capacity());
    for (index_t i = 0; i < column.cells.rows; ++i) {
        if (std::isnan(column[i])) continue;
        present.push_back(column[i]);
        own.push_back(weights[i]);
    }
    return cuts_by_weight(present, own, max_bins);
}

// The same from the distinct values, rising, with the weight of each; those of weight 0 do not occur.
std::vector<double> cuts_of_counts(const std::vector<double>& values, const std::vector<std::uint32_t>& weight, index_t max_bins) {
    std::vector<double> present;
    double total = 0, here = 0, heaviest = 0;
    std::uint32_t upper = 0;
    index_t count = 0;
    for (std::size_t v = 0; v < values.size(); ++v) {
        if (weight[v] == 0) continue;
        const auto key = static_cast<std::uint32_t>(to_key(values[v]) >> 32);
        here = (count > 0 && key == upper ? here : 0.0) + weight[v];
        upper = key;
        heaviest = std::max(heaviest, here);
        total += weight[v];
        if (++count <= max_bins) present.push_back(values[v]);
    }
    if (count <= max_bins) return cuts_between(present);
    const bool heavy = heaviest > total / static_cast<double>(max_bins);
    Cutter cutter(total, max_bins);
    Run run{0, 0, 0};
    for (std::size_t v = 0; v < values.size(); ++v) {
        if (weight[v] == 0) continue;
        const auto key = static_cast<std::uint32_t>(to_key(values[v]) >> 32);
        if (run.weight > 0 && !heavy && key == upper) {
            run.weight += weight[v];
            continue;
        }
        if (run.weight > 0) cutter.add(run);
        run = heavy ? Run{values[v], values[v], 0} : Run{low_of(key), high_of(key), 0};
        run.weight += weight[v];
        upper = key;
    }
    cutter.add(run);
    return std::move(cutter.cuts);
}

constexpr index_t most_categories = bin_stride - 1;  // with a bin of their own; one code is for missing cells

// Categories by falling weight, then by code: the first of them keep their own bin if there are too many.
std::vector<std::uint8_t> category_bins(const std::vector<double>& weight) {
    const auto k = static_cast<index_t>(weight.size());
    std::vector<std::uint8_t> bins(weight.size());
    if (k <= most_categories) {
        for (index_t c = 0; c < k; ++c) bins[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(c);
        return bins;
    }
    std::vector<index_t> by_weight(weight.size());
    std::iota(by_weight.begin(), by_weight.end(), 0);
    std::stable_sort(by_weight.begin(), by_weight.end(), [&](index_t a, index_t b) {
        return weight[static_cast<std::size_t>(a)] > weight[static_cast<std::size_t>(b)];
    });
    for (index_t r = 0; r < k; ++r)
        bins[static_cast<std::size_t>(by_weight[static_cast<std::size_t>(r)])] =
            static_cast<std::uint8_t>(std::min(r, most_categories - 1));
    return bins;
}

Bins empty_bins(index_t n, index_t d, const std::int32_t* n_categories) {
    Bins bins;
    bins.n = n;
    bins.d = d;
    bins.blocks = (d + block_columns - 1) / block_columns;
    bins.codes.assign(static_cast<std::size_t>(bins.blocks * n * block_columns), 0);
    bins.n_bins.resize(static_cast<std::size_t>(d));
    bins.n_categories.assign(n_categories, n_categories + d);
    bins.cuts.resize(static_cast<std::size_t>(d));
    bins.bin_of_category.resize(static_cast<std::size_t>(d));
    return bins;
}

// The bin of every category of a column, which has so many; says how many bins there are.
const std::vector<std::uint8_t>& keep_categories(Bins& bins, std::size_t column, const std::vector<double>& weight) {
    bins.n_bins[column] = static_cast<std::int32_t>(std::min(static_cast<index_t>(weight.size()), most_categories));
    return bins.bin_of_category[column] = category_bins(weight);
}

bool is_category(double cell, index_t count) { return cell >= 0 && cell < static_cast<double>(count); }

std::vector<double> category_weights(Matrix<const double> cells, index_t column, index_t count, const double* weights) {
    std::vector<double> weight(static_cast<std::size_t>(count), 0.0);
    for (index_t i = 0; i < cells.rows; ++i)
        if (is_category(cells(i, column), count)) weight[static_cast<std::size_t>(cells(i, column))] += weights == nullptr ? 1.0 : weights[i];
    return weight;
}

// The codes of a block of columns whose bins are known, some rows of all its columns at a time.
void code_block(Matrix<const double> cells, index_t b, Bins& bins) {
    const index_t n = bins.n, first = b * block_columns;
    for (index_t from = 0; from < n; from += ranked_together) {
        const index_t some = std::min(ranked_together, n - from);
        for (index_t c = 0; c < bins.block_width(b); ++c) {
            const auto j = static_cast<std::size_t>(first + c);
            const auto missing = static_cast<std::uint8_t>(bins.n_bins[j]);
            std::uint8_t* codes = bins.codes.data() + (b * n + from) * block_columns + c;
            double x[ranked_together];
            for (index_t i = 0; i < some; ++i) x[i] = cells(from + i, first + c);
            if (bins.n_categories[j] > 0) {
                for (index_t i = 0; i < some; ++i)
                    codes[i * block_columns] =
                        is_category(x[i], bins.n_categories[j]) ? bins.bin_of_category[j][static_cast<std::size_t>(x[i])] : missing;
                continue;
            }
            std::int32_t rank[ranked_together];
            ranks_among(bins.cuts[j].data(), static_cast<std::int32_t>(bins.cuts[j].size()), x, static_cast<std::int32_t>(some), rank);
            for (index_t i = 0; i < some; ++i) codes[i * block_columns] = std::isnan(x[i]) ? missing : static_cast<std::uint8_t>(rank[i]);
        }
    }
}

}  // namespace

Bins make_bins(Matrix<const double> cells, Vector<const std::int32_t> n_categories, const double* weights, index_t max_bins,
               int threads) {
    const index_t n = cells.rows;
    Bins bins = empty_bins(n, cells.cols, n_categories.data);
    parallel_chunks(bins.blocks, 1, threads, [&](index_t b, index_t, index_t) {
        const index_t first = b * block_columns, width = bins.block_width(b);
        std::vector<index_t> many;  // columns to be cut by their keys
        for (index_t column = first; column < first + width; ++column) {
            const auto j = static_cast<std::size_t>(column);
            if (n_categories[column] > 0) {
                keep_categories(bins, j, category_weights(cells, column, n_categories[column], weights));
                continue;
            }
            std::vector<double> distinct;
            if (few_values({cells, column}, max_bins, distinct))
                bins.cuts[j] = cuts_between(distinct);
            else if (weights != nullptr)
                bins.cuts[j] = cuts_of({cells, column}, weights, max_bins);
            else
                many.push_back(column);
        }
        std::array<std::vector<std::uint32_t>, columns_at_once> keys;
        std::vector<std::uint32_t> spare;
        for (std::size_t from = 0; from < many.size(); from += columns_at_once) {
            const index_t some = std::min(columns_at_once, static_cast<index_t>(many.size() - from));
            take_keys(cells, many.data() + from, some, keys.data());
            for (index_t k = 0; k < some; ++k) {
                const index_t column = many[from + static_cast<std::size_t>(k)];
                bins.cuts[static_cast<std::size_t>(column)] = cuts_of({cells, column}, keys[static_cast<std::size_t>(k)], spare, max_bins);
            }
        }
        for (auto* list : {&keys[0], &keys[1], &keys[2], &keys[3], &spare}) *list = {};
        for (index_t column = first; column < first + width; ++column) {
            const auto j = static_cast<std::size_t>(column);
            if (n_categories[column] == 0) bins.n_bins[j] = static_cast<std::int32_t>(bins.cuts[j].size()) + 1;
        }
        code_block(cells, b, bins);
    });
    return_freed_memory(n * cells.cols);
    return bins;
}

Ranks rank_columns(Matrix<const double> cells, Vector<const std::int32_t> n_categories, int threads) {
    Ranks ranks;
    const index_t n = cells.rows, d = cells.cols;
    ranks.n = n;
    ranks.d = d;
    ranks.rank.resize(static_cast<std::size_t>(n * d));
    ranks.values.resize(static_cast<std::size_t>(d));
    ranks.n_categories.assign(n_categories.data, n_categories.data + d);
    parallel_chunks(d, 1, threads, [&](index_t j, index_t, index_t) {
        std::uint32_t* rank = ranks.rank.data() + j * n;
        if (n_categories[j] > 0) {
            const double k = n_categories[j];
            for (index_t i = 0; i < n; ++i) {
                const double cell = cells(i, j);
                rank[i] = cell >= 0 && cell < k ? static_cast<std::uint32_t>(cell) : no_rank;
            }
            return;
        }
        std::vector<double> column(static_cast<std::size_t>(n));
        for (index_t i = 0; i < n; ++i) column[static_cast<std::size_t>(i)] = cells(i, j);
        std::vector<tables::Entry> order(static_cast<std::size_t>(n));
        const std::int32_t numeric = 0;
        tables::sort_columns(c_matrix(std::as_const(column).data(), n, 1), {&numeric, 1, 1}, order.data(), 1);
        auto& values = ranks.values[static_cast<std::size_t>(j)];
        for (const tables::Entry entry : order) {
            const auto row = static_cast<std::size_t>(tables::row_of(entry));
            if (tables::is_missing(entry)) {
                rank[row] = no_rank;
                continue;
            }
            if (values.empty() || tables::is_fresh(entry)) values.push_back(column[row] + 0.0);
            rank[row] = static_cast<std::uint32_t>(values.size() - 1);
        }
    });
    return ranks;
}

Bins make_bins(const ChosenRanks& chosen, index_t max_bins, int threads) {
    const Ranks& ranks = chosen.ranks;
    const Vector<const std::int32_t> rows = chosen.rows;
    const index_t n = rows.size, counted = chosen.counted < 0 ? n : chosen.counted;
    Bins bins = empty_bins(n, ranks.d, chosen.n_categories);
    parallel_chunks(bins.blocks, 1, threads, [&](index_t b, index_t, index_t) {
        std::vector<std::uint32_t> weight, own(static_cast<std::size_t>(n));
        std::vector<std::uint8_t> bin;
        for (index_t c = 0; c < bins.block_width(b); ++c) {
            const index_t column = b * block_columns + c;
            const auto j = static_cast<std::size_t>(column);
            const std::uint32_t* rank = ranks.rank.data() + column * ranks.n;
            const auto& values = ranks.values[j];
            const bool nominal = chosen.n_categories[column] > 0;  // of a column that lost all its categories every cell is missing
            const std::size_t known = nominal ? static_cast<std::size_t>(ranks.n_categories[j]) : values.size();
            // Missing cells have the last place.
            weight.assign(known + 1, 0);
            for (index_t i = 0; i < n; ++i) {
                const auto place = std::min(rank[rows[i]], static_cast<std::uint32_t>(known));
                own[static_cast<std::size_t>(i)] = place;
                if (i >= counted) continue;
                weight[place] += chosen.weights == nullptr ? 1U : static_cast<std::uint32_t>(chosen.weights[i]);
            }
            weight.pop_back();
            bin.assign(known + 1, 0);
            if (nominal) {
                std::vector<double> of_category(static_cast<std::size_t>(chosen.n_categories[column]), 0.0);
                const auto number = [&](std::size_t code) {
                    return chosen.renamed == nullptr ? static_cast<std::int32_t>(code)
                                                     : chosen.renamed[chosen.renamed_first[column] + static_cast<std::int64_t>(code)];
                };
                for (std::size_t v = 0; v < known; ++v)
                    if (number(v) >= 0) of_category[static_cast<std::size_t>(number(v))] += weight[v];
                const auto& map = keep_categories(bins, j, of_category);
                for (std::size_t v = 0; v < known; ++v)
                    bin[v] = number(v) >= 0 ? map[static_cast<std::size_t>(number(v))] : static_cast<std::uint8_t>(bins.n_bins[j]);
            } else {
                const auto& cuts = bins.cuts[j] = cuts_of_counts(values, weight, max_bins);
                bins.n_bins[j] = static_cast<std::int32_t>(cuts.size()) + 1;
                std::size_t below = 0;
                for (std::size_t v = 0; v < known; ++v) {
                    while (below < cuts.size() && cuts[below] < values[v]) ++below;
                    bin[v] = static_cast<std::uint8_t>(below);
                }
            }
            bin[known] = static_cast<std::uint8_t>(bins.n_bins[j]);
            std::uint8_t* codes = bins.codes.data() + b * n * block_columns + c;
            for (index_t i = 0; i < n; ++i) codes[i * block_columns] = bin[own[static_cast<std::size_t>(i)]];
        }
    });
    return bins;
}

std::vector<std::int32_t> content_order(const Bins& bins, Matrix<const double> extra, int threads) {
    const index_t n = bins.n;
    struct Key {
        std::uint64_t first, rest;
        std::int32_t row;
        auto operator<=>(const Key&) const = default;
    };
    const auto mix = [](std::uint64_t h, std::uint64_t bits) {
        h = (h ^ bits) * 0x9E3779B97F4A7C15ULL;
        return h ^ (h >> 32);
    };
    const auto key_of = [&](index_t i) {
        std::uint64_t h = 0x243F6A8885A308D3ULL;
        for (index_t b = 0; b < bins.blocks; ++b) {
            std::uint64_t codes;
            std::memcpy(&codes, bins.block(b) + i * block_columns, sizeof(codes));
            h = mix(h, codes);
        }
        // The first column decides alone where it can, so that a target given twice orders rows as it does once.
        std::uint64_t first = h;
        for (index_t j = 0; j < extra.cols; ++j) {
            h = mix(h, std::bit_cast<std::uint64_t>(extra(i, j) + 0.0));
            if (j == 0) first = h * 0xD6E8FEB86659FD93ULL;
        }
        return Key{first ^ (first >> 32), h, static_cast<std::int32_t>(i)};
    };
    // Keys of the same upper bits are counted, put together and sorted among themselves.
    constexpr index_t grain = 65536;
    const int shift = n < grain / 4 ? 63 : 52;
    const auto kinds = std::size_t{1} << (64 - shift), chunks = static_cast<std::size_t>(chunk_count(n, grain));
    std::vector<std::uint32_t> places(chunks * kinds, 0), ends(kinds);
    parallel_chunks(n, grain, threads, [&](index_t c, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) ++places[static_cast<std::size_t>(c) * kinds + (key_of(i).first >> shift)];
    });
    std::uint32_t sum = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        for (std::size_t c = 0; c < chunks; ++c) sum += std::exchange(places[c * kinds + kind], sum);
        ends[kind] = sum;
    }
    const std::unique_ptr<Key[]> keys(new Key[static_cast<std::size_t>(n)]);
    parallel_chunks(n, grain, threads, [&](index_t c, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            const Key key = key_of(i);
            keys[places[static_cast<std::size_t>(c) * kinds + (key.first >> shift)]++] = key;
        }
    });
    parallel_chunks(static_cast<index_t>(kinds), 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t kind = begin; kind < end; ++kind)
            std::sort(keys.get() + (kind == 0 ? 0 : ends[static_cast<std::size_t>(kind) - 1]), keys.get() + ends[static_cast<std::size_t>(kind)]);
    });
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = keys[i].row;
    return order;
}

Bins join_columns(const std::vector<const Bins*>& parts) {
    Bins whole;
    whole.n = parts.empty() ? 0 : parts.front()->n;
    for (const Bins* part : parts) whole.d += part->d;
    whole.blocks = (whole.d + block_columns - 1) / block_columns;
    whole.codes.assign(static_cast<std::size_t>(whole.blocks * whole.n * block_columns), 0);
    index_t at = 0;
    for (const Bins* part : parts) {
        whole.n_bins.insert(whole.n_bins.end(), part->n_bins.begin(), part->n_bins.end());
        whole.n_categories.insert(whole.n_categories.end(), part->n_categories.begin(), part->n_categories.end());
        whole.cuts.insert(whole.cuts.end(), part->cuts.begin(), part->cuts.end());
        whole.bin_of_category.insert(whole.bin_of_category.end(), part->bin_of_category.begin(), part->bin_of_category.end());
        for (index_t j = 0; j < part->d; ++j, ++at) {
            const std::uint8_t* from = part->block(j / block_columns) + j % block_columns;
            std::uint8_t* to = whole.codes.data() + (at / block_columns) * whole.n * block_columns + at % block_columns;
            for (index_t i = 0; i < whole.n; ++i) to[i * block_columns] = from[i * block_columns];
        }
    }
    return whole;
}

Bins take_rows(const Bins& bins, Vector<const std::int32_t> order, int threads) {
    Bins taken;
    taken.n = order.size;
    taken.d = bins.d;
    taken.blocks = bins.blocks;
    taken.n_bins = bins.n_bins;
    taken.n_categories = bins.n_categories;
    taken.cuts = bins.cuts;
    taken.bin_of_category = bins.bin_of_category;
    taken.codes.resize(static_cast<std::size_t>(taken.n * taken.blocks * block_columns));
    parallel_chunks(bins.blocks, 1, threads, [&](index_t b, index_t, index_t) {
        std::uint8_t* to = taken.codes.data() + b * taken.n * block_columns;
        for (index_t i = 0; i < taken.n; ++i)
            std::memcpy(to + i * block_columns, bins.block(b) + static_cast<index_t>(order[i]) * block_columns, block_columns);
    });
    return taken;
}

}  // namespace assay::trees
