// The table as bits and sorted lists, and the search for the best next test of a rule.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "assay/common/threads.hpp"
#include "assay/rules/rules.hpp"
#include "bits.hpp"

namespace assay::rules {

struct Condition {
    std::int32_t column = 0;
    Test test = Test::at_most;
    std::uint32_t code = 0;
};

struct Candidate {
    double score = 0;
    Condition condition;
    double p = 0, n = 0;
    std::uint32_t next = 0;  // the code after a cut, among the rows searched
    bool found = false;
};

// Rows of one growing: those with weight in it, and their weights where they are not all 1.
struct Sample {
    Bits rows;
    std::vector<double> weights;
    const double* weight() const { return weights.empty() ? nullptr : weights.data(); }
};

struct Split {
    Sample grow, prune;
};

struct Measure {
    Quality kind;
    double P, N, base_ratio, base_log;

    Measure(Quality kind_, double P_, double N_)
        : kind(kind_), P(P_), N(N_), base_ratio(P_ / (P_ + N_)), base_log(std::log2(P_ / (P_ + N_))) {}
    double value(double p, double n) const {
        switch (kind) {
            case Quality::foil: return p * (std::log2(p / (p + n)) - base_log);
            case Quality::laplace: return (p + 1) / (p + n + 2);
            case Quality::precision: return p / (p + n);
            default: return (p - (p + n) * base_ratio) / (P + N);
        }
    }
    // False if the quality is not above `best` for sure; spares most logarithms and divisions (log x <= x - 1).
    bool may_beat(double p, double n, double best) const {
        if (kind != Quality::foil) return true;
        const double expected = P * (p + n), excess = p * (P + N) - expected;
        return excess > 0 && p * excess * (1.4426950408889636 * (1 + 1e-9)) >= best * expected;
    }
};

class Table {
public:
    using Entry = tables::Entry;

    // Below `parallel_cells` covered cells (a few milliseconds), waiting for threads costs more than they bring.
    Table(const Columns& columns, int threads, index_t parallel_cells = 4000000)
        : columns_(columns),
          threads_(threads),
          parallel_cells_(parallel_cells),
          words_(static_cast<std::size_t>((columns.codes.n + 63) / 64)),
          order_(static_cast<std::size_t>(columns.codes.d)),
          bins_(static_cast<std::size_t>(columns.codes.d)),
          bin_start_(static_cast<std::size_t>(columns.codes.d)),
          planes_(static_cast<std::size_t>(columns.codes.d)) {
        parallel_chunks(columns.codes.d, 1, threads, [&](index_t j, index_t, index_t) { arrange(j); });
        double tests = 0;
        for (index_t j = 0; j < columns.codes.d; ++j) {
            const double distinct = static_cast<double>(missing_code(j));
            tests += columns.n_categories[j] > 0 ? distinct : 2 * distinct;
        }
        possible_tests_ = std::max(tests, 1.0);
    }

    std::size_t words() const { return words_; }
    index_t rows() const { return columns_.codes.n; }
    index_t n_columns() const { return columns_.codes.d; }
    double possible_tests() const { return possible_tests_; }
    int threads() const { return threads_; }

    // All rows that pass a test, among `from`.
    Bits passing(const Condition& condition, const Bits& from) const {
        const std::uint32_t absent = missing_code(condition.column), code = condition.code;
        Bits result(words_, 0);
        const auto fill = [&](auto&& passes) {
            columns_.codes.with_column(condition.column, [&](const auto* codes) {
                for (std::size_t i = 0; i < words_; ++i) {
                    if (from[i] == 0) continue;
                    const index_t begin = static_cast<index_t>(i) * 64, end = std::min(rows(), begin + 64);
                    std::uint64_t word = 0;
                    for (index_t r = begin; r < end; ++r)
                        word |= static_cast<std::uint64_t>(passes(std::uint32_t{codes[r]})) << (r - begin);
                    result[i] = word & from[i];
                }
            });
        };
        switch (condition.test) {
            case Test::at_most: fill([=](std::uint32_t c) { return c <= code && c != absent; }); break;
            case Test::above: fill([=](std::uint32_t c) { return c > code && c != absent; }); break;
            case Test::equal: fill([=](std::uint32_t c) { return c == code; }); break;
            case Test::missing: fill([=](std::uint32_t c) { return c == absent; }); break;
        }
        return result;
    }

    // The best test of each kind on each column, for rows `cover` (d x 4; unfound where there is none). With `one`, only
    // tests that may be the best of all are sought.
    void search(const Bits& cover, const Bits& positive, const double* weights, const Measure& measure, double min_positive,
                bool one, std::vector<std::array<Candidate, 4>>& found) {
        const Bits negative = without(cover, positive), covered_positive = both(cover, positive);
        const double P = weight_of(cover, positive, weights), N = weight_of(cover, negative, weights);
        rows_.clear();
        for (std::size_t i = 0; i < words_; ++i)
            for (std::uint64_t word = cover[i]; word != 0; word &= word - 1) {
                const auto row = static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(word)));
                rows_.push_back(row * 2 + (holds(positive, row) ? 1U : 0U));
            }
        const auto d = static_cast<std::size_t>(columns_.codes.d);
        found.assign(d, {});
        histograms_.resize(d);
        floors_.assign(d, {});
        const int threads = static_cast<index_t>(rows_.size()) * columns_.codes.d < parallel_cells_ ? 1 : threads_;
        parallel_chunks(columns_.codes.d, 1, threads, [&](index_t j, index_t, index_t) {
            const auto column = static_cast<std::size_t>(j);
            Offers offers{j, P, N, measure, min_positive, found[column]};
            if (!bins_[column].empty()) {
                count_bins(column, weights, offers);
                return;
            }
            std::vector<Group>& groups = group_space();
            groups.clear();
            if (!planes_[column].empty() && weights == nullptr)
                group_by_planes(j, covered_positive, negative, groups);
            else
                group_by_code(j, weights, groups);
            search_groups(groups, offers);
        });
        double best = -1;
        for (std::size_t j = 0; j < d; ++j) {
            for (const auto& candidate : found[j])
                if (candidate.found) best = std::max(best, candidate.score);
            best = std::max({best, floors_[j][0], floors_[j][1]});
        }
        parallel_chunks(columns_.codes.d, 1, threads, [&](index_t j, index_t, index_t) {
            const auto column = static_cast<std::size_t>(j);
            if (bins_[column].empty()) return;
            Offers offers{j, P, N, measure, min_positive, found[column]};
            search_bins(column, cover, positive, weights, one ? std::array{best, best} : floors_[column], offers);
        });
    }

private:
    // Neighbouring codes and the weight of either class on them.
    struct Group {
        std::uint32_t first, last;
        double p, n;
    };

    std::uint32_t missing_code(index_t j) const { return columns_.codes.missing(j); }

    // One list per thread, so that a search allocates nothing.
    static std::vector<Group>& group_space() {
        thread_local std::vector<Group> own;
        return own;
    }

    void arrange(index_t j) {
        columns_.codes.with_column(j, [&](const auto* codes) { arrange(j, codes); });
    }
    template <class Code>
    void arrange(index_t j, const Code* codes) {
        const auto n = static_cast<std::size_t>(columns_.codes.n), column = static_cast<std::size_t>(j);
        const std::size_t distinct = missing_code(j);
        if (distinct <= 32) {
            planes_[column].assign(distinct + 1, Bits(words_, 0));
            for (std::size_t i = 0; i < n; ++i) put(planes_[column][codes[i]], static_cast<index_t>(i));
        }
        if (distinct <= 32 || columns_.n_categories[j] > 0) return;
        std::vector<std::uint32_t> start(distinct + 2, 0);
        for (std::size_t i = 0; i < n; ++i) ++start[codes[i] + std::size_t{1}];
        for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
        auto& order = order_[column];
        order.resize(n);
        for (std::size_t i = 0; i < n; ++i) order[start[codes[i]]++] = static_cast<Entry>(i);
        bins_[column].resize(n);
        auto& starts = bin_start_[column];
        starts.push_back(0);
        const std::size_t size = n / 250 + 1;
        std::uint32_t last = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const Entry row = order[i];
            const std::uint32_t code = codes[row];
            // Rows of one value share a bin; missing rows have the last one to themselves.
            const bool fresh = i > 0 && code != last;
            if (fresh && (code == distinct || i - starts.back() >= size)) starts.push_back(i);
            bins_[column][row] = static_cast<std::uint8_t>(starts.size() - 1);
            last = code;
            if (fresh) order[i] |= tables::fresh_bit<Entry>;
            if (code == distinct) order[i] |= tables::missing_bit<Entry>;
        }
        starts.push_back(n);
    }

    static void add(std::vector<Group>& groups, const Group& group, bool numeric) {
        if (numeric && !groups.empty()) {
            Group& last = groups.back();
            if ((last.p == 0 && group.p == 0) || (last.n == 0 && group.n == 0)) {
                last.last = group.last;
                last.p += group.p;
                last.n += group.n;
                return;
            }
        }
        groups.push_back(group);
    }

    void group_by_code(index_t j, const double* weights, std::vector<Group>& groups) const {
        const bool numeric = columns_.n_categories[j] == 0;
        const std::uint32_t absent = missing_code(j);
        std::vector<double> counts(2 * (static_cast<std::size_t>(absent) + 1), 0.0);
        columns_.codes.with_column(j, [&](const auto* codes) {
            for (const std::uint32_t row : rows_)
                counts[2 * std::size_t{codes[row >> 1]} + (row & 1U)] += weights == nullptr ? 1.0 : weights[row >> 1];
        });
        for (std::uint32_t code = 0; code <= absent; ++code) {
            const double p = counts[2 * code + 1], n = counts[2 * code];
            if (p + n > 0) add(groups, {code, code, p, n}, numeric && code != absent);
        }
    }

    void group_by_planes(index_t j, const Bits& positive, const Bits& negative, std::vector<Group>& groups) const {
        const auto& planes = planes_[static_cast<std::size_t>(j)];
        const bool numeric = columns_.n_categories[j] == 0;
        const auto absent = missing_code(j);
        for (std::uint32_t code = 0; code <= absent; ++code) {
            const Bits& plane = planes[code];
            const auto p = static_cast<double>(shared(plane.data(), positive.data(), words_));
            const auto n = static_cast<double>(shared(plane.data(), negative.data(), words_));
            if (p + n > 0) add(groups, {code, code, p, n}, numeric && code != absent);
        }
    }

    // A cut midway between the values of two codes, as the last code below it.
    std::uint32_t cut_between(index_t j, std::uint32_t low, std::uint32_t high) const {
        const double* values = columns_.codes.values + columns_.codes.offsets[j];
        const double middle = values[low] + (values[high] / 2 - values[low] / 2);
        const double* above = std::upper_bound(values + low, values + high, middle);
        return std::max(low, static_cast<std::uint32_t>(above - values) - 1);
    }

    // Keeps the best test of each kind on one column.
    struct Offers {
        index_t column;
        double P, N;
        const Measure& measure;
        double min_positive;
        std::array<Candidate, 4>& best;

        void make(Test test, std::uint32_t code, std::uint32_t next, double p, double n) {
            if (!(p > 0) || p < min_positive || !(p + n < P + N)) return;
            Candidate& held = best[static_cast<std::size_t>(test)];
            if (!measure.may_beat(p, n, held.found ? held.score : 0.0)) return;
            const double score = measure.value(p, n);
            if (held.found ? score <= held.score : (measure.kind == Quality::foil && score <= 0)) return;
            held = {score, {static_cast<std::int32_t>(column), test, code}, p, n, next, true};
        }
    };

    void place_cuts(Offers& offers) const {
        for (const Test test : {Test::at_most, Test::above}) {
            Candidate& held = offers.best[static_cast<std::size_t>(test)];
            if (held.found) held.condition.code = cut_between(offers.column, held.condition.code, held.next);
        }
    }

    void search_groups(const std::vector<Group>& groups, Offers& offers) const {
        std::size_t present = groups.size();
        double p_present = offers.P, n_present = offers.N;
        if (present > 0 && groups.back().last == missing_code(offers.column)) {
            const Group& absent = groups[--present];
            p_present -= absent.p;
            n_present -= absent.n;
            offers.make(Test::missing, 0, 0, absent.p, absent.n);
        }
        if (columns_.n_categories[offers.column] > 0) {
            for (std::size_t g = 0; g < present; ++g) offers.make(Test::equal, groups[g].first, 0, groups[g].p, groups[g].n);
            return;
        }
        double p = 0, n = 0;
        for (std::size_t g = 0; g + 1 < present; ++g) {
            p += groups[g].p;
            n += groups[g].n;
            offers.make(Test::at_most, groups[g].last, groups[g + 1].first, p, n);
            offers.make(Test::above, groups[g].last, groups[g + 1].first, p_present - p, n_present - n);
        }
        place_cuts(offers);
    }

    // First look at a numeric column: the weight of both classes up to each bin, and the best quality of a cut at the
    // end of a bin, which the best cut of all reaches at least.
    void count_bins(std::size_t column, const double* weights, Offers& offers) {
        const std::uint8_t* bins = bins_[column].data();
        std::array<double, 512> counts{};  // others and the class by turns
        if (weights == nullptr) {
            std::array<std::uint32_t, 512> whole{};
            for (const std::uint32_t row : rows_) ++whole[2 * bins[row >> 1] + (row & 1U)];
            std::copy(whole.begin(), whole.end(), counts.begin());
        } else {
            for (const std::uint32_t row : rows_) counts[2 * bins[row >> 1] + (row & 1U)] += weights[row >> 1];
        }
        const auto& starts = bin_start_[column];
        std::size_t present = starts.size() - 1;
        const bool some_missing = tables::is_missing(order_[column].back());
        if (some_missing) {
            --present;
            offers.make(Test::missing, 0, 0, counts[2 * present + 1], counts[2 * present]);
        }
        Histogram& histogram = histograms_[column];
        histogram.bins = present;
        double p = 0, n = 0;
        for (std::size_t b = 0; b < present; ++b) {
            histogram.p[b] = p += counts[2 * b + 1];
            histogram.n[b] = n += counts[2 * b];
        }
        floors_[column] = {-1, -1};
        for (std::size_t b = 0; b < present && histogram.p[b] + histogram.n[b] < p + n; ++b) {
            raise(floors_[column][0], histogram.p[b], histogram.n[b], offers);
            raise(floors_[column][1], p - histogram.p[b], n - histogram.n[b], offers);
        }
    }

    static void raise(double& floor, double p, double n, const Offers& offers) {
        if (!(p > 0) || p < offers.min_positive || !(p + n < offers.P + offers.N)) return;
        if (!offers.measure.may_beat(p, n, std::max(floor, 0.0))) return;
        floor = std::max(floor, offers.measure.value(p, n));
    }

    // Second look: the rows of those bins whose cuts may reach the floors, in the order of their values. Inside a bin p and n lie
    // between their values at its ends, and every quality rises with p and falls with n.
    void search_bins(std::size_t column, const Bits& cover, const Bits& positive, const double* weights,
                     std::array<double, 2> floors, Offers& offers) const {
        const Histogram& histogram = histograms_[column];
        if (histogram.bins == 0) return;
        const double p_all = histogram.p[histogram.bins - 1], n_all = histogram.n[histogram.bins - 1];
        const auto& starts = bin_start_[column];
        const Entry* entries = order_[column].data();
        const std::size_t end_present = starts[histogram.bins];
        const auto code_of = [&](std::size_t row) {
            return columns_.codes.with_column(offers.column, [&](const auto* codes) { return std::uint32_t{codes[row]}; });
        };
        const auto hopeful = [&](double p, double n, double floor) {
            if (!(p > 0) || !offers.measure.may_beat(p, n, std::max(floor, 0.0) * (1 - 1e-9))) return false;
            return offers.measure.value(p, n) >= floor - 1e-9 * std::abs(floor);
        };
        double p = 0, n = 0;
        for (std::size_t b = 0; b < histogram.bins; ++b) {
            const double p_before = p, n_before = n;
            p = histogram.p[b];
            n = histogram.n[b];
            if (p == p_before && n == n_before) continue;
            if (!hopeful(p, n_before, floors[0]) && !hopeful(p_all - p_before, n_all - n, floors[1])) continue;
            double p_here = p_before, n_here = n_before;
            std::uint32_t code = 0, here = code_of(static_cast<std::size_t>(tables::row_of(entries[starts[b]])));
            bool begun = false;
            // The first covered row after the bin ends its last cut.
            for (std::size_t i = starts[b]; i < end_present; ++i) {
                const Entry entry = entries[i];
                if (i > starts[b] && tables::is_fresh(entry)) here = no_code;
                const auto row = static_cast<std::uint32_t>(tables::row_of(entry));
                if (!holds(cover, row)) continue;
                if (here == no_code) here = code_of(row);
                if (begun && here != code) {
                    offers.make(Test::at_most, code, here, p_here, n_here);
                    offers.make(Test::above, code, here, p_all - p_here, n_all - n_here);
                }
                if (i >= starts[b + 1]) break;
                const double w = weights == nullptr ? 1.0 : weights[row];
                const bool in = holds(positive, row);
                p_here += in ? w : 0.0;
                n_here += in ? 0.0 : w;
                code = here;
                begun = true;
            }
        }
        place_cuts(offers);
    }

    // Weight of the class and of others up to the end of each bin.
    struct Histogram {
        std::size_t bins = 0;
        std::array<double, 256> p, n;
    };

    static constexpr std::uint32_t no_code = ~std::uint32_t{0};

    Columns columns_;
    int threads_;
    index_t parallel_cells_;
    std::size_t words_;
    std::vector<std::vector<Entry>> order_;
    std::vector<std::vector<std::uint8_t>> bins_;
    std::vector<std::vector<std::size_t>> bin_start_;
    std::vector<std::vector<Bits>> planes_;
    double possible_tests_ = 1;
    std::vector<std::uint32_t> rows_;  // covered rows, doubled, plus one for a row of the class
    std::vector<Histogram> histograms_;
    std::vector<std::array<double, 2>> floors_;
};

// One unit in `folds` of the remaining weight goes to pruning, drawn block by block within each class.
// Weights of the rows, with zeros up to the end of the last word of bits; none where every row weighs 1.
struct RowWeights {
    std::vector<double> padded;
    bool whole = true;  // whether all are whole numbers whose sums are exact

    RowWeights(const Table& table, const Target& target) {
        if (target.weights == nullptr) return;
        padded.assign(table.words() * 64, 0.0);
        std::copy(target.weights, target.weights + table.rows(), padded.begin());
        for (const double w : padded) whole = whole && w == std::floor(w) && w < 1e15;
    }
    const double* data() const { return padded.empty() ? nullptr : padded.data(); }
};

inline Bits all_rows(const Table& table) {
    Bits rows(table.words(), 0);
    for (index_t i = 0; i < table.rows(); ++i) put(rows, i);
    return rows;
}

inline Bits rows_of_class(const Table& table, const Target& target, std::int32_t rule_class) {
    Bits rows(table.words(), 0);
    for (index_t i = 0; i < table.rows(); ++i)
        if (target.labels[i] == rule_class) put(rows, i);
    return rows;
}

Split split_rows(const Bits& rows, const Bits& positive, const double* weights, bool whole, int folds, std::uint64_t key);

std::uint64_t mix(std::uint64_t value);

// A rule with the rows that its first 1, 2, ... tests cover.
struct Rule {
    std::vector<Condition> conditions;
    std::vector<Bits> prefix;
    const Bits& cover() const { return prefix.back(); }
    bool empty() const { return conditions.empty(); }
    void shorten(std::size_t length) {
        conditions.resize(length);
        prefix.resize(length);
    }
    void add(const Table& table, const Condition& condition, const Bits& universe) {
        prefix.push_back(table.passing(condition, prefix.empty() ? universe : prefix.back()));
        conditions.push_back(condition);
    }
};

// Adds to `rule` the test of most gain until it covers no row of another class, or no test gains.
void grow_rule(Table& table, Rule& rule, const Bits& universe, const Sample& sample, const Bits& positive,
               double min_positive, int max_conditions);

// Cuts final tests where that keeps or raises (p + 1) / (p + n + 2) on the sample.
void prune_rule(Rule& rule, const Sample& sample, const Bits& positive);

void append(RuleList& list, int rule_class, const std::vector<Condition>& conditions);

}  // namespace assay::rules
