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
    // A row and its code; in lists kept for a search the code is doubled, plus one for a row of the class.
    struct Entry {
        std::uint32_t row, code;
    };

    Table(const Columns& columns, int threads)
        : columns_(columns),
          threads_(threads),
          words_(static_cast<std::size_t>((columns.n + 63) / 64)),
          order_(static_cast<std::size_t>(columns.d)),
          kept_(static_cast<std::size_t>(columns.d)),
          kept_size_(static_cast<std::size_t>(columns.d)),
          planes_(static_cast<std::size_t>(columns.d)) {
        parallel_chunks(columns.d, 1, threads, [&](index_t j, index_t, index_t) { arrange(j); });
        double tests = 0;
        for (index_t j = 0; j < columns.d; ++j) {
            const double distinct = static_cast<double>(missing_code(j));
            tests += columns.n_categories[j] > 0 ? distinct : 2 * distinct;
        }
        possible_tests_ = std::max(tests, 1.0);
    }

    std::size_t words() const { return words_; }
    index_t rows() const { return columns_.n; }
    index_t n_columns() const { return columns_.d; }
    double possible_tests() const { return possible_tests_; }
    int threads() const { return threads_; }

    // All rows that pass a test, among `from`.
    Bits passing(const Condition& condition, const Bits& from) const {
        const std::uint32_t* codes = columns_.codes + condition.column * columns_.n;
        const std::uint32_t absent = missing_code(condition.column), code = condition.code;
        Bits result(words_, 0);
        const auto fill = [&](auto&& passes) {
            for (std::size_t i = 0; i < words_; ++i) {
                if (from[i] == 0) continue;
                const index_t begin = static_cast<index_t>(i) * 64, end = std::min(columns_.n, begin + 64);
                std::uint64_t word = 0;
                for (index_t r = begin; r < end; ++r) word |= static_cast<std::uint64_t>(passes(codes[r])) << (r - begin);
                result[i] = word & from[i];
            }
        };
        switch (condition.test) {
            case Test::at_most: fill([=](std::uint32_t c) { return c <= code && c != absent; }); break;
            case Test::above: fill([=](std::uint32_t c) { return c > code && c != absent; }); break;
            case Test::equal: fill([=](std::uint32_t c) { return c == code; }); break;
            case Test::missing: fill([=](std::uint32_t c) { return c == absent; }); break;
        }
        return result;
    }

    // The best test of each kind on each column, for rows `cover` (d x 4; unfound where there is none). With `first`, a new
    // rule starts; else the lists kept by the last call are narrowed. `remember` keeps the lists for the next call.
    void search(const Bits& cover, const Bits& positive, const double* weights, const Measure& measure, double min_positive,
                bool first, bool remember, std::vector<std::array<Candidate, 4>>& found) {
        const double P = weight_of(cover, positive, weights);
        const Bits negative = without(cover, positive), covered_positive = both(cover, positive);
        const double N = weight_of(cover, negative, weights);
        index_t held = 0;
        for (const auto word : cover) held += std::popcount(word);
        found.assign(static_cast<std::size_t>(columns_.d), {});
        const int threads = held * columns_.d < 100000 ? 1 : threads_;
        parallel_chunks(columns_.d, 1, threads, [&](index_t j, index_t, index_t) {
            std::vector<Group>& groups = group_space();
            groups.clear();
            const auto column = static_cast<std::size_t>(j);
            if (!planes_[column].empty() && weights == nullptr) {
                group_by_planes(j, covered_positive, negative, groups);
            } else {
                const bool whole = first || !remember;
                const std::vector<Entry>& source = whole ? order_[column] : kept_[column];
                const std::size_t size = whole ? source.size() : kept_size_[column];
                if (remember && kept_[column].size() < order_[column].size()) kept_[column].resize(order_[column].size());
                Entry* list = scratch(column, remember);
                const std::size_t left = whole ? filter_first(source.data(), size, cover, positive, list)
                                               : filter(source.data(), size, cover, list);
                if (remember) kept_size_[column] = left;
                const auto one = [](std::uint32_t) { return 1.0; };
                const auto weighed = [=](std::uint32_t row) { return weights[row]; };
                if (columns_.n_categories[j] == 0) {
                    Offers offers{j, P, N, measure, min_positive, found[column]};
                    weights == nullptr ? search_cuts(list, left, one, offers) : search_cuts(list, left, weighed, offers);
                    return;
                }
                weights == nullptr ? group_by_order(list, left, one, groups)
                                   : group_by_order(list, left, weighed, groups);
            }
            Offers offers{j, P, N, measure, min_positive, found[column]};
            search_groups(groups, offers);
        });
    }

private:
    // Neighbouring codes and the weight of either class on them.
    struct Group {
        std::uint32_t first, last;
        double p, n;
    };

    std::uint32_t missing_code(index_t j) const {
        return static_cast<std::uint32_t>(columns_.offsets[j + 1] - columns_.offsets[j]);
    }

    // One list per thread, so that a search allocates nothing.
    static std::vector<Group>& group_space() {
        thread_local std::vector<Group> own;
        return own;
    }

    void arrange(index_t j) {
        const auto n = static_cast<std::size_t>(columns_.n), column = static_cast<std::size_t>(j);
        const std::uint32_t* codes = columns_.codes + j * columns_.n;
        const std::size_t distinct = missing_code(j);
        if (distinct <= 32) {
            planes_[column].assign(distinct + 1, Bits(words_, 0));
            for (std::size_t i = 0; i < n; ++i) put(planes_[column][codes[i]], static_cast<index_t>(i));
        }
        std::vector<std::size_t> start(distinct + 2, 0);
        for (std::size_t i = 0; i < n; ++i) ++start[codes[i] + 1];
        for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
        order_[column].resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[column][start[codes[i]]++] = {static_cast<std::uint32_t>(i), codes[i]};
    }

    Entry* scratch(std::size_t column, bool remember) {
        if (remember) return kept_[column].data();
        thread_local std::vector<Entry> own;
        if (own.size() < order_[column].size()) own.resize(order_[column].size());
        return own.data();
    }

    static std::size_t filter(const Entry* in, std::size_t size, const Bits& cover, Entry* out) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const Entry entry = in[i];
            out[left] = entry;
            left += holds(cover, entry.row) ? 1 : 0;
        }
        return left;
    }

    static std::size_t filter_first(const Entry* in, std::size_t size, const Bits& cover, const Bits& positive, Entry* out) {
        std::size_t left = 0;
        for (std::size_t i = 0; i < size; ++i) {
            const Entry entry = in[i];
            out[left] = {entry.row, entry.code * 2 + (holds(positive, entry.row) ? 1U : 0U)};
            left += holds(cover, entry.row) ? 1 : 0;
        }
        return left;
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

    template <class Weight>
    void group_by_order(const Entry* entries, std::size_t size, Weight&& weight, std::vector<Group>& groups) const {
        std::size_t i = 0;
        while (i < size) {
            const std::uint32_t code = entries[i].code >> 1;
            Group group{code, code, 0, 0};
            for (; i < size && entries[i].code >> 1 == code; ++i) {
                const double w = weight(entries[i].row), in = entries[i].code & 1U;
                group.p += w * in;
                group.n += w * (1.0 - in);
            }
            groups.push_back(group);
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
        const double* values = columns_.values + columns_.offsets[j];
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

    // A numeric column from its sorted list. Cuts between two rows of one class whose values no other row shares are
    // left out; the rest are gathered without branches, since classes come in an order that no processor can guess.
    template <class Weight>
    void search_cuts(const Entry* entries, std::size_t size, Weight&& weight, Offers& offers) const {
        struct Cut {
            std::size_t at;
            double p, n;
        };
        thread_local std::vector<Cut> space;
        if (space.size() < size + 1) space.resize(size + 1);
        Cut* cuts = space.data();
        const std::uint32_t absent = missing_code(offers.column);
        const auto is_present = [=](const Entry& entry) { return entry.code >> 1 < absent; };
        const auto present = static_cast<std::size_t>(std::partition_point(entries, entries + size, is_present) - entries);
        double p = 0, n = 0;
        std::size_t kept = 0;
        std::uint32_t before = ~0U;
        const auto count = [&](const Entry& entry) {
            const double w = weight(entry.row), in = entry.code & 1U;
            p += w * in;
            n += w * (1.0 - in);
        };
        for (std::size_t i = 0; i + 1 < present; ++i) {
            const std::uint32_t code = entries[i].code, next = entries[i + 1].code;
            const std::uint32_t after = entries[i + 2 < present ? i + 2 : i + 1].code;
            count(entries[i]);
            const bool shared_value = (before >> 1 == code >> 1) | (after >> 1 == next >> 1);
            cuts[kept] = {i, p, n};
            kept += (code >> 1 != next >> 1) & ((((code ^ next) & 1U) != 0) | shared_value) ? 1 : 0;
            before = code;
        }
        if (present > 0) count(entries[present - 1]);
        if (present < size) offers.make(Test::missing, 0, 0, offers.P - p, offers.N - n);
        for (std::size_t k = 0; k < kept; ++k) {
            const Cut& cut = cuts[k];
            const std::uint32_t code = entries[cut.at].code >> 1, next = entries[cut.at + 1].code >> 1;
            offers.make(Test::at_most, code, next, cut.p, cut.n);
            offers.make(Test::above, code, next, p - cut.p, n - cut.n);
        }
        place_cuts(offers);
    }

    Columns columns_;
    int threads_;
    std::size_t words_;
    std::vector<std::vector<Entry>> order_, kept_;
    std::vector<std::size_t> kept_size_;
    std::vector<std::vector<Bits>> planes_;
    double possible_tests_ = 1;
};

// One unit in `folds` of the remaining weight goes to pruning, drawn block by block within each class.
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
